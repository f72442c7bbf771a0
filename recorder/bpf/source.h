// SPDX-License-Identifier: MIT
// Source: what `--via bpf` records. Processes are added, and their chunks drained into the streams
// of their outputs.
//
//   probe sites -> BPF program -> ring buffer -> drain() -> BlockStream -> TraceWriter
//
// Invariants: used by one thread (the drainer's, which owns the outputs); every chunk that was
// flushed while a process was attached is given to a BlockStream or counted as lost; while the
// outputs are not ready (Output::ready) nothing is taken from the ring buffers, where the kernel
// counts what does not fit: nothing here waits for a disk until everything is detached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "recorder/bpf/attached.h"
#include "recorder/bpf/chunks.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/bpf/sinks.h"
#include "recorder/vm/attached.h"

namespace luatrace::record::bpf {

class Source {
 public:
  explicit Source(Settings settings);

  // Is everything available that this needs? Tries it, on this program itself.
  Failure able();
  // Attaches to a process; if it is attached already, to LuaJITs that it has mapped since. Its
  // events wait until begin() says where to put them; `number` is that of its PROCESS block there.
  Attached add(pid_t pid);
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
  // How the sites are attached, once a program is loaded.
  std::optional<Mechanism> mechanism() const { return r_.settings.mechanism; }
  const SourceTotals& totals() const { return r_.totals; }

 private:
  Failure load(const ProbedFile& layout, Program** program);
  Failure load_one(const ProbedFile& layout, std::unique_ptr<Program>& program);
  void unload_unused();
  bool is_too_many(AttachedProcess& a, const LuaFile& file);
  Failure attach_files(AttachedProcess& a, const MappedLua& lua);
  std::optional<uint32_t> free_slot() const;
  bool drain_all();
  void end_leaving();
  void end(AttachedProcess& a);
  void check_guards();
  void settle();

  void pass_held(AttachedProcess& a);
  void take(std::span<const std::byte> record);
  void use(AttachedProcess& a, const ltb_hit& hit);
  void take_exec(AttachedProcess& a);

  Recording r_;
  Sinks sinks_;
  Blocks blocks_;
  MappedFiles mapped_;
  std::vector<std::unique_ptr<Program>> programs_;  // one for each layout of arguments
  uint64_t unattributed_ = 0;                       // of those that were unloaded
  std::vector<AttachedProcess*> by_slot_;
  uint64_t look_due_ns_ = 0;
  size_t leaving_ = 0;      // processes
  bool left_some_ = false;  // at the last drain(): outputs were not ready, or time ran out
  bool unguarded_ = false, finished_ = false;
};

}  // namespace luatrace::record::bpf
