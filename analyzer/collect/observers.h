// SPDX-License-Identifier: MIT
// Data that the views of time, threads, coroutines and single calls collect while a trace is read:
// in ticks, with function indices of the file. Its size is bounded by the number of slices, of
// threads, of coroutines alive at one time, and of calls kept.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/machine/coroutine.h"
#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_events.h"
#include "analyzer/machine/machine_loop.h"

namespace luatrace::analyze {

// -- Slow calls --

struct SlowNode {
  uint32_t parent = 0;  // Index in SlowCall::nodes; node 0 is the call itself.
  uint32_t function = 0;
  uint64_t calls = 0;
  uint64_t self = 0;
  uint64_t suspended = 0;
  uint64_t apportioned = 0;  // Of self: inside segments.
};
struct SlowCall {
  StreamId stream;
  CoroutineId coroutine;
  ThreadId thread;
  uint64_t serial = 0;  // Increases with each call found in a stream.
  uint64_t begin = 0, running = 0, wall = 0;
  std::vector<SlowNode> nodes;
};

// Watches calls while they are open and keeps the slowest. A watched call has a small tree of its
// own, by function, because its position in the call tree may change.
class SlowCalls {
 public:
  SlowCalls(uint64_t min_ns, bool by_wall, size_t limit)
      : min_ns_(min_ns), by_wall_(by_wall), limit_(limit) {}

  // Begins to watch a call at this depth of its coroutine; returns a number for
  // Coroutine::watched_call.
  WatchId watch(uint32_t depth, FunctionId function, uint64_t begin);
  uint32_t depth(WatchId watch) const { return watches_[watch].depth; }
  // Adds what happened at `node` of `tree`, while the watched call is at `root`.
  void add(WatchId watch, const CallTree& tree, NodeId root, NodeId node, SlowNode what);
  // The call ended at tick `end`; `call` says where. It is kept if it took long enough.
  void finish(WatchId watch, SlowCall call, uint64_t end, const Clock& clock);
  void drop(WatchId watch);          // Stops watching without a result.
  void leave_out() { left_out_++; }  // Counts a call that is not watched (any more).
  // Adds the calls of other streams.
  void add(const SlowCalls& other);

  const std::vector<SlowCall>& kept() const { return kept_; }
  uint64_t found() const { return found_; }  // Including those not kept.
  uint64_t left_out() const { return left_out_; }

 private:
  struct Watch {
    uint32_t depth = 0;
    NodeId root;
    uint64_t begin = 0;
    std::vector<SlowNode> nodes;
    // By parent and function.
    std::unordered_map<uint64_t, uint32_t, RandomHash> children;
    std::unordered_map<uint32_t, uint32_t> known;  // By node of the call tree, for this root.
  };
  // Limit of nodes in all watched calls together: a trace could have many watched calls with many
  // nodes each. Beyond it, events are added to the watched call itself.
  static constexpr size_t kMaxKnown = 1 << 19;
  void clear_known(Watch& w);
  uint32_t local(Watch& w, const CallTree& tree, NodeId node);
  SlowNode& at(WatchId watch, const CallTree& tree, NodeId root, NodeId node);
  uint64_t length(const SlowCall& call) const { return by_wall_ ? call.wall : call.running; }
  void keep(SlowCall call);

  uint64_t min_ns_;
  bool by_wall_;
  size_t limit_;
  std::vector<Watch> watches_{1};
  std::vector<WatchId> free_;
  std::vector<SlowCall> kept_;  // A heap: the shortest first, of equal ones the last.
  uint64_t found_ = 0, left_out_ = 0;
  size_t known_ = 0;  // Sum of the sizes of `known` and `nodes` of all watches.
};

// -- Coroutines --

struct CoroutineLife {
  StreamId stream;
  CoroutineId id;
  FunctionId created_in;  // Function that created it; kNoFunction: not seen.
  FunctionId body;        // Function of its outermost call; kNoFunction: none was seen.
  uint64_t begin = 0, end = 0;
  bool begin_seen = false;
  Gone how = Gone::kCut;
  uint64_t serial = 0;  // Increases with each coroutine that ends.
  uint64_t suspended = 0, resumes = 0;
  uint64_t calls = 0, self = 0;  // That began in it; while one of its calls was innermost.
  uint64_t idle = 0;             // While it ran, but no call: the host did.
  uint64_t lost = 0;             // Ticks in gaps and pauses: it is unknown what the coroutine did.
  uint64_t longest = 0, longest_at = 0;  // The longest suspension, its beginning, and
  FunctionId longest_in;                 // the innermost function; none before it first ran.

  uint64_t running() const { return end - begin - suspended - idle - lost; }
};
struct CoroutineGroup {
  uint64_t count = 0, running = 0, suspended = 0, resumes = 0, longest = 0;
  FunctionId longest_in;        // Function of the longest suspension. Ties are won by the lowest
  StreamId longest_stream;      // stream, then by the coroutine that ended first,
  uint64_t longest_serial = 0;  // which had this serial.

  CoroutineGroup& operator+=(const CoroutineGroup& other);
};

class CoroutineLog {
 public:
  enum class By { kSuspended, kRunning, kLife, kResumes };
  CoroutineLog(By by, size_t limit) : by_(by), limit_(limit) {}

  CoroutineLife& of(Coroutine& co, StreamId stream, uint64_t now);
  void gone(Coroutine& co, uint64_t now, Gone how);
  // All has been read: coroutines that were not seen again after a gap or a pause ended in it.
  void finish();
  // Adds the coroutines of other streams, after finish().
  void add(const CoroutineLog& other);

  const std::vector<CoroutineLife>& kept() const { return kept_; }
  // By creation site (created_in) and body.
  const std::map<std::pair<FunctionId, FunctionId>, CoroutineGroup>& groups() const {
    return groups_;
  }

 private:
  uint64_t rank(const CoroutineLife& life) const;
  void keep(const CoroutineLife& life);
  void end(LifeId entry);

  By by_;
  size_t limit_;
  std::vector<CoroutineLife> alive_{1};  // By Coroutine::log_entry; kNoLife is not used.
  std::vector<LifeId> free_;
  // Entries of coroutines hidden by a gap or a pause, by stream and id. Ids are not reused: an id
  // seen again is the same coroutine.
  std::map<std::pair<StreamId, CoroutineId>, LifeId> hidden_;
  uint64_t ended_ = 0;
  std::vector<CoroutineLife> kept_;  // A heap: the smallest first, of equal ones the last.
  std::map<std::pair<FunctionId, FunctionId>, CoroutineGroup> groups_;
};

// The order that `sort`, the value of --sort, means for coroutines. If it means none, the first
// returns nullopt and the second returns kSuspended.
std::optional<CoroutineLog::By> find_coroutine_order(const std::string& sort);
CoroutineLog::By coroutine_order(const std::string& sort);

// -- Time --

// The lane of a thread, or of a function or group.
struct LaneId {
  enum class Kind : uint32_t { kThread, kFunction } kind;
  uint32_t number;
  explicit LaneId(ThreadId thread) : kind(Kind::kThread), number(thread) {}
  explicit LaneId(FunctionId function) : kind(Kind::kFunction), number(function) {}
  auto operator<=>(const LaneId&) const = default;
};

// Time by slice for each lane: up to kSlices slices, whose width doubles as time goes on. The limit
// falls, down to kMinSlices, if all lanes together would exceed kCells.
//
// Invariant: slices begin at multiples of their width, which is a power of two. So the slices of
// two timelines nest, and a timeline does not depend on the order in which times were added.
class Timeline {
 public:
  static constexpr size_t kSlices = 1024, kMinSlices = 16, kCells = 4 << 20;
  struct Lane {
    uint64_t first = 0;           // Number of the first slice: its beginning / width().
    std::vector<uint64_t> ticks;  // By slice.
  };

  // Adds the ticks from..to to the lane.
  void add(LaneId id, uint64_t from, uint64_t to);
  // Adds the times of another timeline to the same lanes.
  void add(const Timeline& other);
  const std::map<LaneId, Lane>& lanes() const { return lanes_; }
  uint64_t first() const { return first_; }  // Number of the first slice.
  uint64_t width() const { return uint64_t{1} << shift_; }

 private:
  void widen();
  void extend(uint64_t from, uint64_t to);
  void limit_slices();
  Lane& lane(LaneId id);
  uint64_t slice(uint64_t tick) const { return tick >> shift_; }
  uint64_t& at(Lane& lane, uint64_t slice);

  bool begun_ = false;
  uint64_t first_ = 0, last_ = 0;  // Numbers of slices.
  uint32_t shift_ = 0;
  std::map<LaneId, Lane> lanes_;
};

struct ThreadSums {
  uint64_t self = 0, idle = 0, gap = 0, filtered = 0, calls = 0, switches = 0;
  std::set<StreamId> vms;

  ThreadSums& operator+=(const ThreadSums& other);
};
// By process and thread.
using ThreadLog = std::map<std::pair<ProcessId, ThreadId>, ThreadSums>;

}  // namespace luatrace::analyze
