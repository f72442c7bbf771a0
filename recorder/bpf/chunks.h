// SPDX-License-Identifier: MIT
// Blocks: processes that flush their events in blocks, chunk by chunk. A VM's unflushed events are
// read from its memory where permitted: when it flushes nothing for a while, and at the end.
// Invariants: each event is passed on once, or counted as lost; all words have the clock of the
// file; a process has up to 4,096 streams at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "recorder/bpf/attached.h"
#include "recorder/bpf/wire.h"

namespace luatrace::record::bpf {

class Blocks {
 public:
  // The recording must outlive this object.
  explicit Blocks(Recording& recording) : r_(recording) {}

  // A chunk of a process whose output has space for it.
  void take(AttachedProcess& a, const ltb_block& chunk);
  // The kernel has lost that many events of a VM (0: of several).
  void lose_tail(AttachedProcess& a, uint64_t state, uint64_t events);
  // Reads the unflushed events of VMs that have flushed nothing for a while.
  void look_at_idle(uint64_t now_ns);
  // At the end: the same for all VMs. False: there is no VM.
  bool read_all_unflushed();
  // gone: the process has ended, or runs another program.
  void end_streams(AttachedProcess& a, bool gone);

 private:
  // The unflushed events of a VM, read from its memory.
  struct Unflushed {
    uint64_t tick = 0;  // when it was read
    uint64_t number = 0, count = 0, funcs_number = 0, funcs = 0;
    std::vector<uint64_t> words;
    std::vector<std::byte> functions;
  };

  static bool is_full(const AttachedProcess& a);
  void lose_unrecorded(const AttachedProcess& a, uint64_t count);
  void leave_out(AttachedProcess& a, const ltb_block& chunk);
  void refuse_stream(AttachedProcess& a, uint64_t state);
  void start_stream(AttachedProcess& a, const ltb_block& chunk);
  std::optional<Unflushed> read_unflushed(AttachedProcess& a, const FlushingVm& s) const;
  static void take_unflushed(FlushingVm& s, const Unflushed& rest);
  void finish_stream(FlushingVm& s);

  Recording& r_;
  std::map<std::pair<uint32_t, uint64_t>, Unflushed> unflushed_;  // at the end, by slot and VM
};

}  // namespace luatrace::record::bpf
