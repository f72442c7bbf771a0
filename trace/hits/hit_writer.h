// SPDX-License-Identifier: MIT
// HitWriter: hits in, event words out. The one place that turns what an outside tracer sees into a
// trace; users are the BPF recorder and the analyzer's importers of bpftrace's and SystemTap's
// output.
//
//   hits (any CPU, roughly in order) -> HitSorter -> HitProcess -> HitStream, one for each Lua
//   state -> EventBlocks -> TraceWriter
//
// Streams. A coroutine's state is told by coroutine__stack and state__open, or is that of the
// coroutine that created or resumed it; if nothing tells, it is the one that ran last on the same
// thread. Coroutines get numbers of their own, since the VM re-uses addresses: after
// coroutine__end(-1), or when another coroutine id shows up at an address, it is a new one.
//
// Loss. Where hits are missing (a jump of Hit.seq, lost(), total()) an LTX_LOSS with count and time
// span is written, and nothing is known about the open calls of that state afterwards: unlike the
// direct recorder, an outside tracer cannot ask the VM for its stack. Nothing is guessed across a
// hole. A hit that cannot be (a return without a call where none can be missing) is proof of a
// hole, too. A number from which the next ones do not go on is no loss but damaged: the hit is left
// out, and missing.
//
// Invariants: every hit given is written, or counted as a loss; words of a stream are in the order
// of time; any values in hits are harmless: memory grows with the number of open calls and of
// distinct functions, coroutines and threads, each bounded by kMax*. Throws nothing but bad_alloc;
// no system calls but the TraceWriter's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trace/hits/hit.h"
#include "trace/trace_writer.h"

namespace luatrace {

struct HitOptions {
  // A hit is held back until one that is window_ns younger was given, or advance() says so, or
  // window_hits are held back. Choose them larger than the disorder between CPUs.
  uint64_t window_ns = 1'000'000'000;
  uint32_t window_hits = 1u << 20;  // 64 bytes each
  // The hits of each Lua state are given in order already: nothing is held back.
  bool in_order = false;
  // Called once for each process, at its first hit: writes the PROCESS block (and MAPS) and returns
  // the number it has in the file. Empty: HitWriter writes a block that has only the pid.
  std::function<uint32_t(uint32_t pid, uint64_t time)> on_process;
  // Gives a new stream its number in the file. Empty: 1, 2, 3, ...
  std::function<uint32_t()> new_stream;
  std::string luajit;         // For struct lt_stream_info: the version, if it is known.
  uint32_t stream_flags = 0;  // LTF_*, as far as known.
  uint32_t max_depth = 0;     // Calls that are deeper are left out; 0: none.
  bool filtered = false;      // Hits of some functions are not given: an unwind may end none.
};

// What happened to the hits. All but hits and streams are anomalies; each is in the file, too, as
// an LTX_LOSS.
struct HitCounters {
  uint64_t hits = 0;         // given
  uint64_t streams = 0;      // Lua states
  uint64_t lost = 0;         // by lost(), total(), jumps of Hit.seq; and late hits without seq
  uint64_t late = 0;         // came after a younger one was written: the window is too small
  uint64_t repeated = 0;     // the same (tid, seq) twice; not a loss, dropped
  uint64_t misnumbered = 0;  // a seq that cannot be; left out, its place in the numbering is lost
  uint64_t odd = 0;          // proof of a hole that nothing else told
  uint64_t reused = 0;       // an address became another coroutine, its end was not seen
  uint64_t dropped = 0;      // malformed, or too many streams, coroutines or calls (kMax*)
};

struct HitLoss {
  uint32_t pid = 0;    // 0: of any process
  uint32_t tid = 0;    // 0: of any thread of the process
  uint64_t state = 0;  // 0: of any state of them
  uint64_t count = 0;
  uint64_t since = 0;  // ns: the first one is not older, ...
  uint64_t until = 0;  // ... the last one not younger.
};

class HitWriter {
 public:
  static constexpr uint32_t kMaxStreams = 65536;
  static constexpr uint32_t kMaxCoroutines = 1u << 23;  // of one process
  static constexpr uint32_t kMaxDepth = 1u << 20;       // open calls of one coroutine
  static constexpr uint32_t kMaxFunctions = 1u << 23;   // of one process

  // Writes to writer, which must live longer and whose header has LT_CLOCK_MONOTONIC with one tick
  // per nanosecond. NOTE, CLOCK and END blocks are the owner's business.
  HitWriter(TraceWriter& writer, HitOptions options);
  ~HitWriter();
  HitWriter(const HitWriter&) = delete;
  HitWriter& operator=(const HitWriter&) = delete;

  // At any time; a hit that leaves the window before its function is described counts as
  // undescribed, but the function gets its name nevertheless. The first description stays.
  void describe(uint32_t pid, uint64_t key, HitFunction function);
  void hit(const Hit& hit);
  // Hits are missing that no seq tells.
  void lost(const HitLoss& loss);
  // The last seq that a thread counted (or, see end_at(), the last one to be believed): what is
  // missing behind its last hit is lost, too.
  void total(uint32_t tid, uint32_t seq);
  // The totals given are of some moment before the end: threads may have counted more.
  void totals_are_early();
  // The totals given are wrong.
  void forget_totals();
  // How many hits the numbers of all threads tell, up to the last one that was taken (see settle())
  // or, if that is more, the total().
  uint64_t numbered(bool with_totals) const;

  // What is later than this, and behind the total() of its thread, is not to be believed: the
  // tracer was leaving its probes. It is left out. Before finish(), while it is in the window.
  void end_at(uint64_t time);
  // The tracer threw away what it had not read yet when it left. Nothing later than `time` is
  // taken; nor what comes after the first hole in the numbers of a thread whose last hit before it
  // is not older than `holes`. What is left out so is no loss: the trace is over. As end_at(), and
  // instead.
  void cut_at(uint64_t time, uint64_t holes);

  // All hits up to this time have been given. For live sources, now and then.
  void advance(uint64_t time);
  // All hits have been given; losses may still be told.
  void settle();
  // Hands all words that are ready to the TraceWriter. For live sources, now and then.
  void flush();
  // Writes everything; states whose process is still there stop with LTE_DETACH. Once, before the
  // END block, whose `lost` is lost_events().
  void finish();

  const HitCounters& counters() const;
  uint64_t lost_events() const;  // of all kinds
  uint64_t last_time() const;    // of the youngest hit, 0: none

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace luatrace
