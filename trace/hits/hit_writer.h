// SPDX-License-Identifier: MIT
// HitWriter: turns hits into event words. The only place that converts what an outside tracer sees
// into a trace; used by the analyzer's importers of bpftrace and SystemTap output.
//
//   hits (any CPU, roughly in order) -> HitSorter -> HitProcess -> HitStream, one for each Lua
//   state -> EventBlocks -> TraceWriter
//
// Streams. coroutine__stack and state__open name a coroutine's VM; else it is the VM of the
// coroutine that created or resumed it, or else the VM that ran last on the same thread. Coroutines
// get numbers of their own, since the VM re-uses addresses: after coroutine__end(-1), or when
// another coroutine id appears at an address, it is a new coroutine.
//
// Loss. Where hits are missing (a jump of Hit.seq, lost(), total()), an LTX_LOSS with count and
// time span is written, and the open calls of that VM are unknown afterwards: unlike the direct
// recorder, an outside tracer cannot ask the VM for its stack. Nothing is guessed across a gap. An
// impossible hit (a return without a call where none can be missing) is proof of a gap, too. A
// number from which later hits do not continue is not a gap but damage: the hit is left out and
// counts as missing.
//
// Invariants: every hit is written or counted as a loss; the words of a stream are in the order of
// time; any values in hits are harmless: memory grows with the number of open calls and of distinct
// functions, coroutines and threads, each bounded by kMax*. Throws nothing but bad_alloc, and makes
// no system calls except through the TraceWriter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trace/hits/hit.h"
#include "trace/trace_writer.h"

namespace luatrace {

struct HitOptions {
  // A hit is held back until one that is window_ns younger arrives, or more than window_hits are
  // held back. Choose both larger than the disorder between CPUs.
  uint64_t window_ns = 1'000'000'000;
  uint32_t window_hits = 1u << 20;  // 64 bytes each
  // Called once for each process, at its first hit: writes the PROCESS block (and MAPS) and returns
  // the process's number in the file. Empty: HitWriter writes a block with only the pid.
  std::function<uint32_t(uint32_t pid, uint64_t time)> on_process;
};

// All but hits and streams count anomalies; each of those is also in the file, as an LTX_LOSS.
struct HitCounters {
  uint64_t hits = 0;         // given
  uint64_t streams = 0;      // Lua VMs
  uint64_t lost = 0;         // by lost(), total(), jumps of Hit.seq; and late hits without seq
  uint64_t late = 0;         // arrived after a younger one was written: the window is too small
  uint64_t repeated = 0;     // the same (tid, seq) twice; not a loss, dropped
  uint64_t misnumbered = 0;  // a damaged seq; left out, and its number counts as lost
  uint64_t odd = 0;          // proof of a gap that nothing else reported
  uint64_t reused = 0;   // an address became another coroutine whose predecessor's end was missed
  uint64_t dropped = 0;  // malformed, or too many streams, coroutines or calls (kMax*)
};

struct HitLoss {
  uint32_t pid = 0;    // 0: any process
  uint32_t tid = 0;    // 0: any thread of the process
  uint64_t state = 0;  // 0: any of their VMs
  uint64_t count = 0;
  uint64_t since = 0;  // ns: the first lost hit is not older ...
  uint64_t until = 0;  // ... and the last one not younger.
};

class HitWriter {
 public:
  static constexpr uint32_t kMaxStreams = 65536;
  static constexpr uint32_t kMaxCoroutines = 1u << 23;  // of one process
  static constexpr uint32_t kMaxDepth = 1u << 20;       // open calls of one coroutine
  static constexpr uint32_t kMaxFunctions = 1u << 23;   // of one process

  // `writer` must outlive this object, and its header must have LT_CLOCK_MONOTONIC with one tick
  // per nanosecond. NOTE, CLOCK and END blocks are left to the owner.
  HitWriter(TraceWriter& writer, HitOptions options);
  ~HitWriter();
  HitWriter(const HitWriter&) = delete;
  HitWriter& operator=(const HitWriter&) = delete;

  // At any time. A function described after one of its hits left the window is counted as
  // undescribed, but still gets its name. The first description wins.
  void describe(uint32_t pid, uint64_t key, HitFunction function);
  void hit(const Hit& hit);
  // Hits are missing that no seq reveals.
  void lost(const HitLoss& loss);
  // The last seq that a thread counted (with end_at(): the last valid one): hits missing after its
  // last one are lost, too.
  void total(uint32_t tid, uint32_t seq);
  // The totals were taken before the end: threads may have counted more.
  void totals_are_early();
  // The totals are wrong.
  void forget_totals();
  // How many hits the threads' numbers count, up to the last one taken (see settle()) or, if
  // larger, to total().
  uint64_t numbered(bool with_totals) const;

  // The tracer detached at this time: hits that are later, and after total() of their thread, are
  // invalid and left out. Call before finish(), while they are in the window.
  void end_at(uint64_t time);
  // The tracer discarded unread hits when it detached. Nothing later than `time` is taken, nor
  // anything after the first gap in the numbers of a thread whose last hit before the gap is not
  // older than `gaps`. What is left out this way is not a loss: the trace has ended. Instead of
  // end_at().
  void cut_at(uint64_t time, uint64_t gaps);

  // All hits have arrived; losses may still be reported.
  void settle();
  // Writes everything; VMs whose process is still alive stop with LTE_DETACH. Once, before the END
  // block, whose `lost` is lost_events().
  void finish();

  const HitCounters& counters() const;
  uint64_t lost_events() const;  // of all kinds
  uint64_t last_time() const;    // of the youngest hit; 0: none

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace luatrace
