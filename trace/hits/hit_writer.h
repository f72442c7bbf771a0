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
// functions, coroutines and threads, each bounded by HitLimits. Throws nothing but bad_alloc, and
// makes no system calls except through the TraceWriter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/hits/hit_process.h"
#include "trace/hits/hit_sorter.h"

namespace luatrace {

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
  // `writer` must outlive this object, and its header must have LT_CLOCK_MONOTONIC with one tick
  // per nanosecond. NOTE, CLOCK and END blocks are left to the owner.
  HitWriter(TraceWriter& writer, HitOptions options);
  HitWriter(HitWriter&&) = delete;  // its parts refer to it

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
  void totals_are_early() { early_totals_ = true; }
  // The totals are wrong.
  void forget_totals() { totals_.clear(); }
  // How many hits the threads' numbers count, up to the last one taken (see settle()) or, if
  // larger, to total().
  uint64_t numbered(bool with_totals) const;

  // The tracer detached at this time: hits that are later, and after total() of their thread, are
  // invalid and left out. Call before finish(), while they are in the window.
  void end_at(uint64_t time) { end_ = time; }
  // The tracer discarded unread hits when it detached. Nothing later than `time` is taken, nor
  // anything after the first gap in the numbers of a thread whose last hit before the gap is not
  // older than `gaps`. What is left out this way is not a loss: the trace has ended. Instead of
  // end_at().
  void cut_at(uint64_t time, uint64_t gaps) { end_ = time, gaps_ = gaps; }

  // All hits have arrived; losses may still be reported.
  void settle() { drain(UINT64_MAX); }
  // Writes everything; VMs whose process is still alive stop with LTE_DETACH. Once, before the END
  // block, whose `lost` is lost_events().
  void finish();

  const HitCounters& counters() const { return shared_.counters; }
  uint64_t lost_events() const;                              // of all kinds
  uint64_t last_time() const { return sorter_.youngest(); }  // of the youngest hit; 0: none

 private:
  void add(const Hit& hit);
  void drain(uint64_t until);
  void take(const Hit& hit, std::span<const Hit> later);
  bool is_after_end(const Hit& hit);
  void late(const Hit& hit);
  bool is_plausible(const Hit& hit, const HitThread& thread, std::span<const Hit> later) const;
  bool count(const Hit& hit, HitThread& thread, std::span<const Hit> later);
  void take_loss(const Hit& hit);
  void release_held(HitThread& thread, uint64_t state);
  void end_process(uint32_t pid);
  HitThread* thread(uint32_t tid);
  HitProcess* process(uint32_t pid);
  HitProcess* find_process(uint32_t pid);

  HitShared shared_;
  HitSorter sorter_;
  std::unordered_map<uint32_t, HitThread> threads_;
  std::unordered_map<uint32_t, std::unique_ptr<HitProcess>> processes_;
  std::vector<std::unique_ptr<HitProcess>> ended_;  // threads may still point to their streams
  std::unordered_map<uint32_t, uint32_t> totals_;
  bool early_totals_ = false;
  uint64_t end_ = UINT64_MAX;   // see end_at()
  uint64_t gaps_ = UINT64_MAX;  // see cut_at()
  uint64_t taken_ = 0;          // time of the youngest hit taken
  uint32_t last_tid_ = 0, last_pid_ = 0;
  HitThread* last_thread_ = nullptr;
  HitProcess* last_process_ = nullptr;
};

}  // namespace luatrace
