// SPDX-License-Identifier: MIT
// Shared by the parts of `--via bpf`: the attached processes, the outputs of their events, the
// clock of the files, and messages. Invariant: used by one thread, the drainer's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/bpf/block_stream.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/drain/output.h"
#include "recorder/os/clock.h"
#include "recorder/os/guarded_memory.h"

namespace luatrace::record::bpf {

struct Settings {
  uint64_t ring_bytes = 64u << 20;      // of a ring buffer
  uint32_t clock = LT_CLOCK_MONOTONIC;  // of the files and of the VMs' blocks
  std::optional<Mechanism> mechanism;   // empty: the best that works
  uint32_t times = 0;                   // of compiled code: LTC_SEGMENTS, LTC_AUTO; 0: events
  FilterRules filter;
  uint32_t max_depth = 0;  // 0: no limit
  bool cpu = false;        // record CPU time
};

struct SourceTotals {
  uint64_t events = 0;  // that arrived
  uint64_t lost = 0;    // that did not fit
  uint64_t early = 0;   // before the first report of their VM: not losses
};

// Events since the last call.
struct News {
  std::vector<pid_t> execs;  // have executed another program; each needs a new number
  std::vector<std::pair<pid_t, uint64_t>> firsts;  // first event, in ns after add() or the exec
  std::set<pid_t> with_c;                          // have reported new C functions
  // Their blocks cannot be interpreted, because we attached late or something was lost: they should
  // begin again.
  std::set<pid_t> unsynced;
};

struct Sink {
  std::shared_ptr<Output> output;
  bool ended = false;  // takes nothing more
};
// A Lua VM that flushes blocks.
struct FlushingVm {
  std::unique_ptr<BlockStream> stream;
  uint64_t address = 0;  // of its struct lt_ring
  uint64_t last_ns = 0;  // when a chunk last came
  bool looked = false;   // its unflushed events have been fetched since
};
struct AttachedProcess {
  pid_t pid;
  uint32_t slot;
  Sink* sink;
  uint32_t number = 0;  // in its file, of this image of the process
  uint64_t added_ns = 0;
  bool began = false;
  // Records since the start, or since an exec, until the image has its number.
  bool waits = true;
  std::vector<std::vector<std::byte>> held = {};
  size_t held_bytes = 0;
  uint64_t held_lost = 0;                            // events; more came than can be held
  std::vector<std::shared_ptr<LuaFile>> files = {};  // attached
  bool leaving = false, gone = false;                // removed; and the process had ended by then
  std::map<uint64_t, FlushingVm> flushing = {};      // by address of the state
  std::unordered_set<uint64_t> other_clock = {};  // VMs whose blocks do not have the file's clock
  GuardedMemory memory = GuardedMemory(pid);
  size_t layouts = 0;            // programs that were loaded for it
  bool warned_files = false;     // some of its LuaJITs are not recorded
  bool warned_too_many = false;  // VMs that flush
};

struct Recording {
  // The current time in the clock of the files, but not after the recording's end.
  uint64_t now() const { return stop_tick != 0 ? stop_tick : read_tick(settings.clock); }

  Settings settings;
  std::map<pid_t, std::unique_ptr<AttachedProcess>> by_pid = {};
  uint64_t stop_ns = UINT64_MAX;  // younger records are not taken
  uint64_t stop_tick = 0;         // the same moment in the clock of the files
  SourceTotals totals = {};
  News news = {};
};

}  // namespace luatrace::record::bpf
