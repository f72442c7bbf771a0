// SPDX-License-Identifier: MIT
// HitWriter: hits in, trace file out. The one place that turns what an outside tracer sees into
// event words; users are the BPF recorder and the analyzer's importers of bpftrace's and
// SystemTap's output.
//
//   hits (any CPU, roughly in order) -> HitSorter -> HitStream, one for each Lua state -> words
//
// Streams. The probes name the coroutine (L), not the state. Coroutines are of one state if one
// created or resumed the other; a state whose birth was not seen takes what appears on its thread.
// Coroutines get numbers of their own, since the VM frees and re-uses addresses: after
// coroutine__end(-1), or when another coroutine id shows up at an address, it is a new one.
//
// Loss. Where hits are missing (a jump of Hit.seq, or lost()) an LTX_LOSS with count and time span
// is written, and everything about the open calls of that state is unknown afterwards; the source
// has no way to ask the VM for its stack. Nothing is guessed across a hole.
//
// Invariants: every hit given is written, or counted in HitCounters; words of a stream are in the
// order of time; any values in hits are harmless: memory grows with the number of open calls and
// of distinct functions, coroutines and threads, each bounded by kMax* below.
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
  uint32_t window_hits = 1u << 20;  // 48 bytes each
  // The library fires coroutine__stack before it reports calls that are already running. Without,
  // the first calls of a coroutine whose creation was not seen are taken for such as long as
  // nothing but entries comes (counted: assumed_running).
  bool stack_reports = false;
  // Asked once for each process at its first hit; may be empty.
  std::function<HitProcess(uint32_t pid)> on_process;
  // Told the number that a process got in the file, so that MAPS blocks can be written; may be
  // empty.
  std::function<void(uint32_t pid, uint32_t number)> on_process_number;
  std::string luajit;  // For struct lt_stream_info: the version if it is known.
  uint32_t stream_flags = 0;  // LTF_*, as far as known.
};

// What happened to the hits. Those in the second group are anomalies: each is also in the file, as
// an LTX_LOSS of one event or as words that the analyzer counts.
struct HitCounters {
  uint64_t hits = 0;     // given to hit()
  uint64_t written = 0;  // became words, or information
  uint64_t assumed_running = 0;
  uint64_t lost = 0;      // by lost() and jumps of Hit.seq
  uint64_t late = 0;      // came after a younger one was written: window too small. Written as lost.
  uint64_t repeated = 0;  // the same (tid, seq) twice: dropped
  uint64_t odd = 0;       // could not be: a return without call where none can be missing, an
                          // unknown kind, a coroutine that ends twice, ...
  uint64_t reused = 0;    // an address became another coroutine, its end was not seen
  uint64_t dropped = 0;   // too many streams, coroutines or calls (kMax*). Written as lost.
};

class HitWriter {
 public:
  static constexpr uint32_t kMaxStreams = 65536;
  static constexpr uint32_t kMaxCoroutines = 1u << 24;  // alive, of all streams
  static constexpr uint32_t kMaxDepth = 1u << 20;       // open calls of one coroutine
  static constexpr uint32_t kMaxFunctions = 1u << 24;

  // Writes to writer, which must live longer and whose header has LT_CLOCK_MONOTONIC with one tick
  // per nanosecond. NOTE, CLOCK, MAPS and END blocks are the owner's business.
  HitWriter(TraceWriter& writer, HitOptions options);
  ~HitWriter();
  HitWriter(const HitWriter&) = delete;
  HitWriter& operator=(const HitWriter&) = delete;

  // In any order, as long as the description comes before the hit leaves the window (else the
  // function is undescribed up to then). A second one with the same key: the function from now on.
  void describe(uint32_t pid, uint64_t key, HitFunction function);
  void hit(const Hit& hit);
  // `count` hits are missing that no seq tells: of thread tid, or of all threads of process pid
  // (tid 0), or of all (both 0), some time between since and until (ns).
  void lost(uint32_t pid, uint32_t tid, uint64_t count, uint64_t since, uint64_t until);
  // The last seq that a thread counted: what is missing behind its last hit is lost, too.
  void total(uint32_t tid, uint32_t seq);

  // All hits older than this have been given. For live sources, now and then.
  void advance(uint64_t time);
  // Hands all words that are ready to the TraceWriter. For live sources, now and then.
  void flush();
  // Writes everything; streams that are still open stop here (LTE_DETACH). Once, before the END
  // block.
  void finish();

  const HitCounters& counters() const;
  uint64_t last_time() const;  // of the youngest hit, 0: none

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace luatrace
