// SPDX-License-Identifier: MIT
// What the views by time, thread, coroutine and single call keep while a trace is read; in ticks,
// with function indices of the file. Each is bounded by what it can show: a number of slices, of
// threads, of coroutines alive at one time, of calls kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/call_tree.h"
#include "analyzer/machine/coroutine.h"
#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_events.h"
#include "analyzer/machine/machine_loop.h"

namespace luatrace::analyze {

// -- Slow calls --

struct SlowNode {
  uint32_t parent = 0;  // Index in its call; the first is the call itself.
  uint32_t function = 0;
  uint64_t calls = 0;
  uint64_t self = 0;
  uint64_t suspended = 0;
};
struct SlowCall {
  uint32_t stream = 0, coroutine = 0, thread = 0;
  uint64_t serial = 0;  // Rises with the calls of a stream.
  uint64_t begin = 0, running = 0, wall = 0;
  std::vector<SlowNode> nodes;
};

// Watches calls while they are open and keeps the slowest. A watched call has a small tree of its
// own, by functions, since the place where it hangs in the call tree may change.
class SlowCalls {
 public:
  SlowCalls(uint64_t least_ns, bool by_wall, size_t most)
      : least_ns_(least_ns), by_wall_(by_wall), most_(most) {}

  // Begins to watch a call at this depth of its coroutine; a number for Coroutine::watched, not 0.
  uint32_t watch(uint32_t depth, uint32_t function, uint64_t begin);
  uint32_t depth(uint32_t watch) const { return watches_[watch].depth; }
  // What happened at `node` of `tree`, while the watched call hangs at `root`.
  void add(uint32_t watch, const CallTree& tree, uint32_t root, uint32_t node, SlowNode what);
  // The call ended; `call` says where and when. Kept if it took long enough.
  void finish(uint32_t watch, SlowCall call, uint64_t end, const Clock& clock);
  void drop(uint32_t watch);         // It ended unseen.
  void leave_out() { left_out_++; }  // A call that is not watched (any more).
  // Adds what another one has kept of other streams.
  void add(const SlowCalls& other);

  const std::vector<SlowCall>& kept() const { return kept_; }
  uint64_t found() const { return found_; }  // With those not kept.
  uint64_t left_out() const { return left_out_; }

 private:
  struct Watch {
    uint32_t depth = 0, root = 0;
    uint64_t begin = 0;
    std::vector<SlowNode> nodes;
    // By parent << 32 | function.
    std::unordered_map<uint64_t, uint32_t, RandomHash> children;
    std::unordered_map<uint32_t, uint32_t> known;  // From nodes of the call tree, at this root.
  };
  // Nodes that all watched calls together may know of: a trace could have many that are watched
  // with many in each. What is more counts to the call itself.
  static constexpr size_t kMostKnown = 1 << 19;
  void clear_known(Watch& w);
  uint32_t local(Watch& w, const CallTree& tree, uint32_t node);
  SlowNode& at(uint32_t watch, const CallTree& tree, uint32_t root, uint32_t node);
  uint64_t length(const SlowCall& call) const { return by_wall_ ? call.wall : call.running; }
  void keep(SlowCall call);

  uint64_t least_ns_;
  bool by_wall_;
  size_t most_;
  std::vector<Watch> watches_{1};
  std::vector<uint32_t> free_;
  std::vector<SlowCall> kept_;  // A heap, the shortest first; of equal ones the last.
  uint64_t found_ = 0, left_out_ = 0;
  size_t known_ = 0;  // Nodes in `known` of all watches, and in `nodes`.
};

// -- Coroutines --

struct CoroutineLife {
  uint32_t stream = 0, id = 0;
  uint32_t created_in = 0;  // Function that created it, 0: not seen.
  uint32_t body = 0;        // Its first call, 0: none was seen.
  uint64_t begin = 0, end = 0;
  bool begin_seen = false;
  Gone how = Gone::kCut;
  uint64_t serial = 0;  // Rises with the ends of a stream's coroutines.
  uint64_t suspended = 0, resumes = 0;
  uint64_t lost = 0;                     // Between what was seen of it: nobody knows what it did.
  uint64_t longest = 0, longest_at = 0;  // Its longest suspension, when it began, and
  uint32_t longest_in = 0;               // the call that was innermost; 0: before it first ran.

  uint64_t running() const { return end - begin - suspended - lost; }
};
struct CoroutineGroup {
  uint64_t count = 0, running = 0, suspended = 0, resumes = 0, longest = 0;
  uint32_t longest_in = 0;      // Of the longest suspension; of equal ones that of the lowest ...
  uint32_t longest_stream = 0;  // ... stream, and there of the coroutine that ended first, ...
  uint64_t longest_serial = 0;  // ... which had this number.

  CoroutineGroup& operator+=(const CoroutineGroup& other);
};

class CoroutineLog {
 public:
  enum class By { kSuspended, kRunning, kLife, kResumes };
  CoroutineLog(By by, size_t most) : by_(by), most_(most) {}

  CoroutineLife& of(Coroutine& co, uint32_t stream, uint64_t now);
  void gone(Coroutine& co, uint64_t now, Gone how);
  // All is read: those that were not seen again after a gap ended in it.
  void finish();
  // Adds what another one has kept of other streams, when nothing is alive any more.
  void add(const CoroutineLog& other);

  const std::vector<CoroutineLife>& kept() const { return kept_; }
  // By birth place and body.
  const std::map<std::pair<uint32_t, uint32_t>, CoroutineGroup>& groups() const { return groups_; }

 private:
  uint64_t rank(const CoroutineLife& life) const;
  void keep(const CoroutineLife& life);
  void end(uint32_t record);

  By by_;
  size_t most_;
  std::vector<CoroutineLife> alive_{1};  // By Coroutine::record; 0: none.
  std::vector<uint32_t> free_;
  // Records of those that a gap hides, by stream and id. Ids are given once: one that is seen again
  // is the same one.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> hidden_;
  uint64_t ended_ = 0;
  std::vector<CoroutineLife> kept_;  // A heap, the least first; of equal ones the last.
  std::map<std::pair<uint32_t, uint32_t>, CoroutineGroup> groups_;
};

// What --sort asks for, if that is an order of coroutines; else suspended time.
std::optional<CoroutineLog::By> find_coroutine_order(const std::string& sort);
CoroutineLog::By coroutine_order(const std::string& sort);

// -- Time --

// Time by slice for each lane: at most kSlices, of a width that doubles when time goes on; fewer,
// but kLeastSlices, if there are so many lanes that it would be more than kCells in all of them.
//
// Invariant: slices begin at multiples of their width, which is a power of two. So those of any two
// timelines fit into each other, and what a timeline says does not depend on what came first.
class Timeline {
 public:
  static constexpr size_t kSlices = 1024, kLeastSlices = 16, kCells = 4 << 20;
  struct Lane {
    uint64_t first = 0;           // Number of the first slice: its beginning, divided by the width.
    std::vector<uint64_t> ticks;  // By slice.
  };

  // Ticks from..to belong to lane `key`.
  void add(uint64_t key, uint64_t from, uint64_t to);
  // Adds another one's time to the same lanes.
  void add(const Timeline& other);
  const std::map<uint64_t, Lane>& lanes() const { return lanes_; }
  uint64_t first() const { return first_; }  // Number of the first slice.
  uint64_t width() const { return uint64_t{1} << shift_; }
  static uint64_t key(uint32_t kind, uint32_t number) { return uint64_t{kind} << 32 | number; }

 private:
  void widen();
  void reach(uint64_t from, uint64_t to);
  void fit();
  Lane& lane(uint64_t key);
  uint64_t slice(uint64_t tick) const { return tick >> shift_; }
  uint64_t& at(Lane& lane, uint64_t slice);

  bool begun_ = false;
  uint64_t first_ = 0, last_ = 0;  // Slices.
  uint32_t shift_ = 0;
  std::map<uint64_t, Lane> lanes_;
};

struct ThreadSums {
  uint64_t self = 0, idle = 0, gap = 0, filtered = 0, calls = 0, switches = 0;
  std::set<uint32_t> states;

  ThreadSums& operator+=(const ThreadSums& other);
};
// By process and thread.
using ThreadLog = std::map<std::pair<uint32_t, uint32_t>, ThreadSums>;

}  // namespace luatrace::analyze
