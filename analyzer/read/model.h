// SPDX-License-Identifier: MIT
// What a trace says about itself, in memory: clock, processes, streams, functions, maps.
//
// Invariant: everything here has been checked against the bounds of its block. Strings may contain
// any byte; code that prints them must escape them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "luatrace_format.h"

namespace luatrace::analyze {

// Numbers in one trace file: of a process and a stream, from 1.
using ProcessId = Id<struct ProcessesOfFile>;
using StreamId = Id<struct StreamsOfFile>;
constexpr ProcessId kNoProcess{0};  // Unknown.
constexpr StreamId kNoStream{0};
// Numbers in one stream: of a coroutine, from 1, and of a function as the VM numbers it.
using CoroutineId = Id<struct CoroutinesOfStream>;
using VmFunctionId = Id<struct FunctionsOfStream>;
constexpr CoroutineId kUnknownCoroutine{0}, kNoCoroutine{LT_ID_NONE};
constexpr VmFunctionId kUnknownVmFunction{LT_ID_UNKNOWN}, kNoVmFunction{LT_ID_NONE};
// A thread, as the operating system numbers it.
using ThreadId = Id<struct ThreadsOfSystem>;

// The trace's clock: ticks and their conversion to nanoseconds.
struct Clock {
  uint32_t kind = 0;  // LT_CLOCK_*
  uint32_t shift = 0;
  uint64_t mult = 1;
  uint64_t start_tick = 0;
  uint64_t start_mono_ns = 0;
  uint64_t start_real_ns = 0;

  // Converts ticks to nanoseconds; saturates at 2^64-1, so that a hostile multiplier cannot wrap.
  uint64_t ns(uint64_t ticks) const {
    unsigned __int128 value = (static_cast<unsigned __int128>(ticks) * mult) >> shift;
    return value > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(value);
  }
  // The time of a tick on the monotonic clock, and as Unix time; saturates at both ends. A tick may
  // be before the file's start: what is recorded runs while the recorder begins.
  uint64_t mono_ns(uint64_t tick) const { return time_of(tick, start_mono_ns); }
  uint64_t real_ns(uint64_t tick) const { return time_of(tick, start_real_ns); }
  // The tick at which this Unix time begins; 0 and 2^64-1 if it is out of range.
  uint64_t tick_at(uint64_t real_ns) const {
    const bool before = real_ns < start_real_ns;
    if (mult == 0) return before ? 0 : UINT64_MAX;
    const uint64_t ns = before ? start_real_ns - real_ns : real_ns - start_real_ns;
    const auto scaled = static_cast<unsigned __int128>(ns) << std::min(shift, 63u);
    const unsigned __int128 ticks = (scaled + mult - 1) / mult;
    if (before) return ticks < start_tick ? start_tick - static_cast<uint64_t>(ticks) : 0;
    const unsigned __int128 tick = start_tick + ticks;
    return tick > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(tick);
  }

 private:
  uint64_t time_of(uint64_t tick, uint64_t start_ns) const {
    if (tick < start_tick) return start_ns - std::min(start_ns, ns(start_tick - tick));
    return start_ns + std::min(UINT64_MAX - start_ns, ns(tick - start_tick));
  }
};

struct ProcessInfo {
  ProcessId number;
  int32_t pid = 0;
  int32_t ns_pid = 0;
  int32_t parent = 0;
  int32_t uid = 0;
  uint64_t start_tick = 0;
  std::string exe;
  std::vector<std::string> cmdline;
};

struct StreamInfo {
  StreamId number;
  ProcessId process;
  uint32_t flags = 0;  // LTF_*
  uint64_t state_addr = 0;
  uint32_t recording = 0;
  int32_t tid = 0;
  uint64_t start_tick = 0;
  uint64_t event_cost_ps = 0;
  std::string luajit;
};

struct FunctionInfo {
  StreamId stream;
  VmFunctionId id;
  uint16_t type = 0;       // LT_FUNC_*; 0: no description was delivered.
  bool hint = false;       // The name comes from a call, not from the definition.
  uint32_t firstline = 0;  // If LT_LINE_CODE is set, not a line: see lt_func.
  uint32_t lastline = 0;
  uint32_t ffid = 0;
  uint32_t fileofs = 0;  // C: ELF address in the file `chunk`. 0: unknown.
  uint64_t addr = 0;
  std::string chunk;
  std::string name;
};

// A compiled trace whose events are recorded as segments: struct lt_segment. Its numbers agree with
// each other.
struct SegmentInfo {
  struct Place {
    uint32_t before = 0;  // Events of the iteration before it.
    uint32_t offset = 0;  // In the machine code.
  };
  // Code from one exit to the next that takes longer than its size says.
  struct Cost {
    uint32_t end = 0;    // Where in the machine code it ends.
    uint32_t bytes = 0;  // So many bytes of other code take as long as what it takes longer.
  };
  StreamId stream;
  uint32_t id = 0;  // Of the first place.
  uint32_t parent = 0;
  uint32_t trace = 0;
  uint32_t bytes = 0;
  uint32_t marks = 0;  // The first places; the others are exits.
  uint32_t loop = 0;   // The first exit of the loop's own code, or 0.
  uint32_t level = 0;
  bool counts = false;
  bool loops = false;  // Without counting.
  std::vector<Place> places;
  std::vector<uint32_t> events;  // Kind, and function id << LT_KIND_BITS.
  std::vector<Cost> costs;       // By rising ends.
};

struct MapInfo {
  ProcessId process;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string build_id;  // Raw bytes, may be empty.
  std::string path;
  bool is_elf_address = false;  // `offset` is an ELF address, not a file offset.
};

struct EndInfo {
  uint64_t events = 0;
  uint64_t lost = 0;
  uint64_t blocks = 0;
  uint32_t streams = 0;
  uint32_t reason = 0;
  int32_t exit_status = -1;
};

// One EVENTS block. `words` is valid until on_events() returns, or while a copy of `hold` exists.
struct EventBlock {
  StreamId stream;
  uint32_t seq = 0;
  uint32_t flags = 0;  // LT_BLOCK_F_*
  uint32_t count = 0;
  uint64_t base_tick = 0;
  uint64_t end_tick = 0;
  CoroutineId coroutine;
  uint32_t depth = LT_DEPTH_UNKNOWN;
  bool cut = false;     // The file ends inside this block: its checksum could not be verified.
  uint64_t offset = 0;  // Of the block, in the file.
  std::span<const uint64_t> words;
  std::shared_ptr<const void> hold;
};

// A sample of a thread. `frames` is valid until on_samples() returns.
struct Sample {
  lt_sample head{};
  std::span<const uint64_t> frames;  // As in the file: the innermost first.
  lt_sample_code code{};             // Only with LTS_CODE.
};

// The well-formed samples of one SAMPLES block.
struct SampleBlock {
  StreamId stream;
  uint32_t seq = 0;
  uint64_t offset = 0;  // Of the block, in the file.
  std::span<const Sample> samples;
};

struct Block;  // read/blocks.h

// Receives a trace in file order: one call per block or description, never per event.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_header(const Clock&, const lt_file_header&) {}
  virtual void on_process(const ProcessInfo&) {}
  virtual void on_stream(const StreamInfo&) {}
  virtual void on_function(const FunctionInfo&) {}
  virtual void on_segment(const SegmentInfo&) {}
  virtual void on_map(const MapInfo&) {}
  virtual void on_note(const std::string&) {}
  virtual void on_clock(const lt_clock_info&) {}
  virtual void on_events(const EventBlock&) {}
  // Whether on_packed() gets compressed EVENTS blocks as they are in the file, for decompression in
  // another thread (read/blocks.h).
  virtual bool takes_packed() const { return false; }
  virtual void on_packed(const Block&) {}
  virtual void on_samples(const SampleBlock&) {}
  virtual void on_end(const EndInfo&) {}
};

}  // namespace luatrace::analyze
