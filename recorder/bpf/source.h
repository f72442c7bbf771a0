// SPDX-License-Identifier: MIT
// Source: what `--via bpf` records. Processes are added, and their hits drained into the HitWriters
// of their outputs.
//
//   probe sites -> BPF program -> ring buffers -> drain() -> HitWriter -> TraceWriter
//
// Invariants: used by one thread (the drainer's, which owns the outputs); every hit that the kernel
// saw while a process was attached is given to a HitWriter or counted as lost; while the outputs
// are not ready (Output::ready) nothing is taken from the ring buffers, where the kernel counts
// what does not fit: nothing here waits for a disk until everything is detached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recorder/bpf/attached.h"
#include "recorder/bpf/chunks.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/bpf/records.h"
#include "recorder/bpf/sinks.h"

namespace luatrace::record::bpf {

// How the sites are attached, for messages and the NOTE block.
struct AttachMode {
  Mechanism mechanism = Mechanism::kEach;
  Granularity granularity = Granularity::kEvent;  // the last one used
  bool shared = false;  // another tool has sites at the same places: the beginning is incomplete
};

// Why a process could not be attached.
struct Refused {
  enum Kind { kNo, kGone, kNoRight, kNoLua, kBusy, kOther } kind = kNo;
  std::string why;  // for the user: the problem, and what to do about it
  explicit operator bool() const { return kind != kNo; }
};

class Source {
 public:
  explicit Source(Settings settings);
  ~Source();

  // Is everything available that this needs? Tries it, on this program itself.
  Failure able();
  // Attaches to a process; if it is attached already, to LuaJITs that it has mapped since. Its
  // events wait until begin() says where to put them; `number` is that of its PROCESS block there.
  // will_report: its VMs were on before and will report their stacks; earlier events are left out.
  // single: use only single events.
  Refused add(pid_t pid, bool will_report = false, bool single = false);
  void begin(pid_t pid, const std::shared_ptr<Output>& output, uint32_t number);

  // Passes on records, as far as the outputs take them, for up to 20 ms. Returns the number of
  // records. Call it every few milliseconds.
  uint64_t drain();
  // The process has ended, or is no longer wanted: detaches from it, and passes on its last events
  // as soon as the outputs take them (by drain()). Until then its number cannot be add()ed.
  void remove(pid_t pid);
  // Detaches from all; only then waits for the outputs: passes on everything, ends the streams,
  // fills in the totals of the outputs.
  void finish();

  // Events since the last call.
  News take_news() { return std::exchange(r_.news, {}); }
  // A process that has executed another program gets that number.
  void renumber(pid_t pid, uint32_t number);

  // Was the holder of the probes killed? Then no more events come.
  bool unguarded() const { return unguarded_; }
  bool has(pid_t pid) const { return r_.by_pid.contains(pid); }
  const AttachMode& mode() const { return mode_; }
  const SourceTotals& totals() const { return r_.totals; }

 private:
  Failure load(const ProbedFile& layout, Program** program);
  Failure load_one(const ProbedFile& layout, std::unique_ptr<Program>& program);
  Failure attach_files(AttachedProcess& a, const MappedLua& lua);
  Granularity granularity_for(const MappedLua& lua, bool single, Refused& refused) const;
  std::optional<uint32_t> free_slot() const;
  bool drain_all();
  void end_leaving();
  void end(AttachedProcess& a);
  void check_guards();
  void settle();

  void pass_held(AttachedProcess& a);
  void take(std::span<const std::byte> record);
  static bool too_early(AttachedProcess& a, const ltb_hit& hit, uint32_t kind);
  void use(AttachedProcess& a, const ltb_hit& hit);
  void take_loss(AttachedProcess& a, const ltb_loss& loss);
  void take_exec(AttachedProcess& a, const ltb_hit& hit);

  Recording r_;
  Sinks sinks_;
  SingleEvents events_;
  Blocks blocks_;
  MappedFiles mapped_;
  std::vector<std::unique_ptr<Program>> programs_;  // one for each layout of arguments
  std::vector<AttachedProcess*> by_slot_;
  uint32_t next_image_ = 1;
  uint64_t look_due_ns_ = 0;
  uint64_t guarded_ns_ = 0;  // the last time when all probes were held
  size_t leaving_ = 0;       // processes
  bool left_some_ = false;   // at the last drain(): outputs were not ready, or time ran out
  AttachMode mode_;
  bool unguarded_ = false, finished_ = false;
};

}  // namespace luatrace::record::bpf
