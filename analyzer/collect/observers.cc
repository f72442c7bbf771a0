// SPDX-License-Identifier: MIT
#include "analyzer/collect/observers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/collect/keep_largest.h"

namespace luatrace::analyze {

WatchId SlowCalls::watch(uint32_t depth, FunctionId function, uint64_t begin) {
  WatchId number;
  if (free_.empty()) {
    number = WatchId(static_cast<uint32_t>(watches_.size()));
    watches_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Watch& w = watches_[number];
  w.depth = depth;
  w.begin = begin;
  w.root = kRootNode;
  w.nodes.assign(1, {0, function, 0, 0, 0});
  known_++;
  return number;
}

void SlowCalls::clear_known(Watch& w) {
  known_ -= w.known.size();
  w.known.clear();
}

void SlowCalls::drop(WatchId watch) {
  constexpr size_t kFew = 64;  // Up to this many nodes, the memory is reused.
  Watch& w = watches_[watch];
  clear_known(w);
  known_ -= w.nodes.size();
  if (w.nodes.size() > kFew) w = {};
  w.children.clear();
  free_.push_back(watch);
}

// Longer call paths below a watched call are not distinguished: a trace could have one for each of
// its calls.
constexpr size_t kMaxPathLength = 2048;

// Maps a node of the call tree to a node of the watched call. A node that is not below the call's
// root (calls of coroutines that are not linked) is attached to the call with the part of its call
// path that the root does not share. A parent's number is smaller than its children's.
uint32_t SlowCalls::local(Watch& w, const CallTree& tree, NodeId node) {
  if (known_ >= kMaxKnown) {
    auto it = w.known.find(node);
    return it == w.known.end() ? 0 : it->second;
  }
  std::vector<NodeId> path;
  NodeId at = node, above = w.root;
  uint32_t here = 0;
  while (at != above) {
    if (at < above) {
      above = tree[above].parent;
      continue;
    }
    auto it = w.known.find(at);
    if (it != w.known.end()) {
      here = it->second;
      break;
    }
    path.push_back(at);
    if (path.size() > kMaxPathLength) return known_++, w.known[node] = 0;
    at = tree[at].parent;
  }
  for (auto up = path.rbegin(); up != path.rend(); ++up) {
    const uint32_t function = tree[*up].function;
    if (function != kCoroutineFunction) {
      auto next = static_cast<uint32_t>(w.nodes.size());
      auto [child, is_new] = w.children.try_emplace(pair_key(here, function), next);
      if (is_new) w.nodes.push_back({here, function, 0, 0, 0}), known_++;
      here = child->second;
    }
    known_ += w.known.emplace(*up, here).second;
  }
  return here;
}

SlowNode& SlowCalls::at(WatchId watch, const CallTree& tree, NodeId root, NodeId node) {
  Watch& w = watches_[watch];
  if (w.root != root) clear_known(w);
  w.root = root;
  return w.nodes[local(w, tree, node)];
}

void SlowCalls::add(WatchId watch, const CallTree& tree, NodeId root, NodeId node, SlowNode what) {
  SlowNode& sums = at(watch, tree, root, node);
  sums.self += what.self;
  sums.calls += what.calls;
  sums.suspended += what.suspended;
  sums.apportioned += what.apportioned;
}

void SlowCalls::finish(WatchId watch, SlowCall call, uint64_t end, const Clock& clock) {
  const Watch& w = watches_[watch];
  call.begin = w.begin;
  call.wall = end - w.begin;
  if (clock.ns(length(call)) >= min_ns_) {
    call.serial = found_++;
    call.nodes = w.nodes;
    keep(std::move(call));
  }
  drop(watch);
}

void SlowCalls::keep(SlowCall call) {
  keep_largest(kept_, limit_, std::move(call), [&](const SlowCall& c) { return length(c); });
}

void SlowCalls::add(const SlowCalls& other) {
  for (const SlowCall& call : other.kept_) keep(call);
  found_ += other.found_;
  left_out_ += other.left_out_;
}

uint64_t CoroutineLog::rank(const CoroutineLife& life) const {
  switch (by_) {
    case By::kRunning:
      return life.running();
    case By::kLife:
      return life.end - life.begin;
    case By::kResumes:
      return life.resumes;
    default:
      return life.suspended;
  }
}

CoroutineLife& CoroutineLog::of(Coroutine& co, StreamId stream, uint64_t now) {
  if (co.log_entry) return alive_[co.log_entry];
  if (const auto it = hidden_.find({stream, co.id}); it != hidden_.end()) {
    co.log_entry = it->second;
    hidden_.erase(it);
    CoroutineLife& life = alive_[co.log_entry];
    life.lost += now - std::min(now, life.end);
    return life;
  }
  if (free_.empty()) {
    co.log_entry = LifeId(static_cast<uint32_t>(alive_.size()));
    alive_.emplace_back();
  } else {
    co.log_entry = free_.back();
    free_.pop_back();
  }
  CoroutineLife& life = alive_[co.log_entry] = {};
  life.stream = stream;
  life.id = co.id;
  life.begin = now;
  return life;
}

void CoroutineLog::gone(Coroutine& co, uint64_t now, Gone how) {
  if (!co.log_entry) return;
  const LifeId entry = std::exchange(co.log_entry, kNoLife);
  CoroutineLife& life = alive_[entry];
  life.end = now;
  life.how = how == Gone::kPaused ? Gone::kCut : how;
  if (how == Gone::kLost || (how == Gone::kPaused && co.id != kUnknownCoroutine))
    hidden_.emplace(std::pair(life.stream, life.id), entry);
  else
    end(entry);
}

void CoroutineLog::end(LifeId entry) {
  CoroutineLife& life = alive_[entry];
  free_.push_back(entry);
  life.serial = ended_++;
  groups_[{life.created_in, life.body}] += CoroutineGroup{
      1,           life.running(), life.suspended, life.resumes, life.longest, life.longest_in,
      life.stream, life.serial};
  keep(life);
}

void CoroutineLog::finish() {
  for (const auto& [id, entry] : hidden_) end(entry);
  hidden_.clear();
}

void CoroutineLog::keep(const CoroutineLife& life) {
  keep_largest(kept_, limit_, life, [&](const CoroutineLife& l) { return rank(l); });
}

void CoroutineLog::add(const CoroutineLog& other) {
  for (const CoroutineLife& life : other.kept_) keep(life);
  for (const auto& [key, group] : other.groups_) groups_[key] += group;
}

CoroutineGroup& CoroutineGroup::operator+=(const CoroutineGroup& other) {
  const bool earlier = std::tie(other.longest_stream, other.longest_serial) <
                       std::tie(longest_stream, longest_serial);
  if (other.longest > longest || (other.longest == longest && (earlier || count == 0))) {
    longest = other.longest;
    longest_in = other.longest_in;
    longest_stream = other.longest_stream;
    longest_serial = other.longest_serial;
  }
  count += other.count;
  running += other.running;
  suspended += other.suspended;
  resumes += other.resumes;
  return *this;
}

ThreadSums& ThreadSums::operator+=(const ThreadSums& other) {
  self += other.self;
  idle += other.idle;
  gap += other.gap;
  filtered += other.filtered;
  calls += other.calls;
  switches += other.switches;
  vms.insert(other.vms.begin(), other.vms.end());
  return *this;
}

std::optional<CoroutineLog::By> find_coroutine_order(const std::string& sort) {
  if (sort == "inclusive" || sort == "total" || sort == "running" || sort == "self")
    return CoroutineLog::By::kRunning;
  if (sort == "life" || sort == "wall") return CoroutineLog::By::kLife;
  if (sort == "resumes" || sort == "calls") return CoroutineLog::By::kResumes;
  if (sort == "suspended") return CoroutineLog::By::kSuspended;
  return std::nullopt;
}

CoroutineLog::By coroutine_order(const std::string& sort) {
  return find_coroutine_order(sort).value_or(CoroutineLog::By::kSuspended);
}

// Doubles the width of slices: merges pairs.
void Timeline::widen() {
  shift_++;
  first_ /= 2;
  last_ /= 2;
  for (auto& [key, lane] : lanes_) {
    Lane wide{lane.first / 2, std::vector<uint64_t>((lane.ticks.size() + lane.first % 2 + 1) / 2)};
    for (size_t i = 0; i < lane.ticks.size(); i++)
      wide.ticks[(lane.first + i) / 2 - wide.first] += lane.ticks[i];
    lane = std::move(wide);
  }
}

// Extends the timeline to from..to, which is not empty.
void Timeline::extend(uint64_t from, uint64_t to) {
  if (!begun_) first_ = last_ = slice(from);
  begun_ = true;
  first_ = std::min(first_, slice(from));
  last_ = std::max(last_, slice(to - 1));
  limit_slices();
}

// Widens slices as the number of lanes and their time span require.
void Timeline::limit_slices() {
  const size_t limit = std::clamp(kCells / std::max<size_t>(lanes_.size(), 1), kMinSlices, kSlices);
  while (last_ - first_ >= limit) widen();
}

Timeline::Lane& Timeline::lane(LaneId id) {
  auto [it, fresh] = lanes_.try_emplace(id);
  if (fresh) limit_slices();
  return it->second;
}

// Returns the ticks of one slice of a lane, which is extended if necessary.
uint64_t& Timeline::at(Lane& lane, uint64_t slice) {
  if (lane.ticks.empty()) lane.first = slice;
  if (slice < lane.first) {
    lane.ticks.insert(lane.ticks.begin(), lane.first - slice, 0);
    lane.first = slice;
  }
  if (slice - lane.first >= lane.ticks.size()) lane.ticks.resize(slice - lane.first + 1);
  return lane.ticks[slice - lane.first];
}

void Timeline::add(LaneId id, uint64_t from, uint64_t to) {
  if (from >= to) return;
  extend(from, to);
  Lane& lane = this->lane(id);
  const uint64_t begin = slice(from), last = slice(to - 1);
  if (begin == last) return static_cast<void>(at(lane, begin) += to - from);
  at(lane, last) += to - (last << shift_);
  at(lane, begin) += width() - (from & (width() - 1));
  for (uint64_t s = begin + 1; s < last; s++) lane.ticks[s - lane.first] += width();
}

void Timeline::add(const Timeline& other) {
  if (!other.begun_) return;
  while (shift_ < other.shift_) widen();
  for (uint64_t end : {other.first_, other.last_})
    extend(end << other.shift_, (end << other.shift_) + 1);
  for (const auto& [id, lane] : other.lanes_) {
    Lane& mine = this->lane(id);
    for (size_t i = 0; i < lane.ticks.size(); i++)
      at(mine, slice((lane.first + i) << other.shift_)) += lane.ticks[i];
  }
}

}  // namespace luatrace::analyze
