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
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/bpf/block_stream.h"
#include "recorder/bpf/filter.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/bpf/strings.h"
#include "recorder/drain/output.h"
#include "recorder/os/clock.h"
#include "trace/hits/hit_writer.h"

namespace luatrace::record::bpf {

struct Settings {
  uint64_t ring_bytes = 64u << 20;         // of each ring buffer
  uint32_t rings = 1;                      // processes are spread over them
  std::optional<Granularity> granularity;  // empty: blocks, if the LuaJIT has them
  uint32_t clock = LT_CLOCK_MONOTONIC;     // of the files
  std::optional<Mechanism> mechanism;      // empty: the best that works
  FilterRules filter;
  uint32_t max_depth = 0;  // 0: no limit
};

struct SourceTotals {
  uint64_t hits = 0;          // that arrived: hits of single events, or events in blocks
  uint64_t lost = 0;          // that did not fit
  uint64_t unread_names = 0;  // strings that could not be read from anywhere
  uint64_t early = 0;         // hits before the first report of their VM: not losses
  uint64_t late_names = 0;    // that the recorder could read, but not the BPF program
};

// Events since the last call.
struct News {
  std::vector<pid_t> execs;  // have executed another program; each needs a new number
  std::vector<std::pair<pid_t, uint64_t>> firsts;  // first event, in ns after add()
  std::set<pid_t> with_c;                          // have reported new C functions
  // Their blocks cannot be interpreted, because we attached late or something was lost: they should
  // begin again.
  std::vector<pid_t> unsynced;
};

// Converts times of the kernel (CLOCK_MONOTONIC) to the clock of the files.
class FileClock {
 public:
  explicit FileClock(uint32_t clock) : clock_(clock), start_(sample_clocks(clock)) {}
  uint64_t at(uint64_t ns) const;

 private:
  uint32_t clock_;
  lt_clock_info start_;
  mutable std::optional<ClockRate> rate_;
};

// An output, and what turns hits into its blocks.
struct Sink {
  std::shared_ptr<Output> output;
  std::unique_ptr<HitWriter> hits;
  uint64_t gaps = 0, lost_ticks = 0;
  uint64_t unchecked = 0;  // hits since the last check for space
  bool ended = false;      // takes nothing more
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
  uint32_t image;  // identifies this image of the process to the HitWriter
  ProcessStrings strings;
  uint64_t added_ns = 0;
  bool began = false;
  // Records since the start, or since an exec, until the image has its number. Each: its size, then
  // the record.
  bool waits = true;
  std::vector<std::byte> held = {};
  std::vector<std::shared_ptr<LuaFile>> files = {};    // attached
  std::unordered_map<uint64_t, uint32_t> states = {};  // address -> number within the image
  uint32_t next_state = 1;
  uint64_t last_state = 0;  // and its number: usually the next hit has the same
  uint32_t last_number = 0;
  Filter filter;
  bool will_report = false;
  bool leaving = false, gone = false;  // removed; and the process had ended by then
  Granularity granularity = Granularity::kEvent;
  std::map<uint64_t, FlushingVm> flushing = {};  // by address of the state
  std::unordered_set<uint64_t> reported = {};    // VMs that have reported their stacks
};

struct Recording {
  explicit Recording(Settings s) : settings(std::move(s)), clock(settings.clock) {}

  // The current time in the clock of the files, but not after the recording's end.
  uint64_t now() const {
    return stop_ns == UINT64_MAX ? read_tick(settings.clock) : clock.at(stop_ns);
  }

  Settings settings;
  FileClock clock;
  std::map<pid_t, std::unique_ptr<AttachedProcess>> by_pid;
  std::unordered_map<uint32_t, uint32_t> numbers;  // of images in their files, 0: not known yet
  uint64_t stop_ns = UINT64_MAX;                   // younger records are not taken
  SourceTotals totals;
  News news;
};

}  // namespace luatrace::record::bpf
