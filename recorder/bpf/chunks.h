// SPDX-License-Identifier: MIT
// Blocks: processes that hand over their events in blocks, chunk by chunk. What a state has not
// handed over yet is fetched from its memory where that is allowed: when nothing comes of it, and
// at the end. Invariant: each event is passed on once, or counted as lost.
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
  // The recording must live longer.
  explicit Blocks(Recording& recording) : r_(recording) {}

  // A chunk of a process whose output has space for it.
  void take(AttachedProcess& a, const ltb_block& chunk);
  // The kernel has lost some of that state.
  void lose_tail(AttachedProcess& a, const ltb_loss& loss);
  // Fetches what states have not handed over from which nothing came for a while.
  void look_at_idle(uint64_t now_ns);
  // At the end: the same of all states. False: there is no state.
  bool read_rests();
  // gone: the process has ended, or is another program.
  void end_streams(AttachedProcess& a, bool gone);

 private:
  // What a state has not handed over, fetched from its memory.
  struct Rest {
    uint64_t tick = 0;  // when it was read
    uint64_t number = 0, count = 0, funcs_number = 0, funcs = 0;
    std::vector<uint64_t> words;
    std::vector<std::byte> functions;
  };

  void start_stream(AttachedProcess& a, const ltb_block& chunk);
  std::optional<Rest> read_rest(const AttachedProcess& a, const Stated& s) const;
  static void take_rest(Stated& s, const Rest& rest);
  void finish_stream(Stated& s);

  Recording& r_;
  std::map<std::pair<uint32_t, uint64_t>, Rest> rests_;  // at the end, by slot and state
};

}  // namespace luatrace::record::bpf
