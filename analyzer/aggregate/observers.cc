// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/observers.h"

#include <algorithm>

#include "analyzer/aggregate/call_tree.h"

namespace luatrace {
namespace {

// Keeps the `most` greatest (0: all) in a heap whose first is the least of them.
template <class T, class Rank>
void keep(std::vector<T>& heap, size_t most, T item, Rank rank) {
  auto above = [&](const T& a, const T& b) { return rank(a) > rank(b); };
  if (most && heap.size() >= most) {
    if (rank(item) <= rank(heap.front())) return;
    std::pop_heap(heap.begin(), heap.end(), above);
    heap.pop_back();
  }
  heap.push_back(std::move(item));
  std::push_heap(heap.begin(), heap.end(), above);
}

}  // namespace

uint32_t SlowCalls::watch(uint32_t depth, uint32_t function, uint64_t begin) {
  uint32_t number;
  if (free_.empty()) {
    number = static_cast<uint32_t>(watches_.size());
    watches_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Watch& w = watches_[number];
  w.depth = depth;
  w.begin = begin;
  w.root = 0;
  w.nodes.assign(1, {0, function, 0, 0, 0});
  w.children.clear();
  w.known.clear();
  return number;
}

// Chains longer than this below a watched call are not told apart: a trace could make each of its
// calls one.
constexpr size_t kMostDepth = 2048;

// The call's own node for a node of the call tree at or below its root.
uint32_t SlowCalls::local(Watch& w, const CallTree& tree, uint32_t node) {
  std::vector<uint32_t> chain;
  uint32_t at = node, here = 0;
  for (; at > w.root; at = tree[at].parent) {
    auto it = w.known.find(at);
    if (it != w.known.end()) {
      here = it->second;
      break;
    }
    chain.push_back(at);
    if (chain.size() > kMostDepth) return w.known[node] = 0;
  }
  for (auto up = chain.rbegin(); up != chain.rend(); ++up) {
    const uint32_t function = tree[*up].function;
    if (function != kCoroutineFunction) {
      auto next = static_cast<uint32_t>(w.nodes.size());
      auto [child, is_new] = w.children.try_emplace(uint64_t{here} << 32 | function, next);
      if (is_new) w.nodes.push_back({here, function, 0, 0, 0});
      here = child->second;
    }
    w.known[*up] = here;
  }
  return here;
}

void SlowCalls::add(uint32_t watch, const CallTree& tree, uint32_t root, uint32_t node,
                    SlowNode what) {
  Watch& w = watches_[watch];
  if (w.root != root) w.known.clear();
  w.root = root;
  SlowNode& sums = w.nodes[local(w, tree, node)];
  sums.self += what.self;
  sums.calls += what.calls;
  sums.suspended += what.suspended;
}

void SlowCalls::finish(uint32_t watch, SlowCall call, uint64_t end, const Clock& clock) {
  Watch& w = watches_[watch];
  free_.push_back(watch);
  call.begin = w.begin;
  call.wall = end - w.begin;
  if (clock.ns(length(call)) < least_ns_) return;
  found_++;
  call.nodes = w.nodes;
  keep(kept_, most_, std::move(call), [&](const SlowCall& c) { return length(c); });
}

uint64_t CoroutineLog::rank(const CoroutineLife& life) const {
  switch (by_) {
    case By::kRunning:
      return life.end - life.begin - life.suspended;
    case By::kLife:
      return life.end - life.begin;
    case By::kResumes:
      return life.resumes;
    default:
      return life.suspended;
  }
}

CoroutineLife& CoroutineLog::of(Coroutine& co, uint32_t stream, uint64_t now) {
  if (co.record) return alive_[co.record];
  if (free_.empty()) {
    co.record = static_cast<uint32_t>(alive_.size());
    alive_.emplace_back();
  } else {
    co.record = free_.back();
    free_.pop_back();
  }
  CoroutineLife& life = alive_[co.record] = {};
  life.stream = stream;
  life.id = co.id;
  life.begin = now;
  return life;
}

void CoroutineLog::gone(Coroutine& co, uint64_t now, Gone how) {
  if (!co.record) return;
  CoroutineLife& life = alive_[co.record];
  free_.push_back(co.record);
  co.record = 0;
  life.end = now;
  life.how = how;
  CoroutineGroup& group = groups_[{life.born_in, life.body}];
  group.count++;
  group.running += life.end - life.begin - life.suspended;
  group.suspended += life.suspended;
  group.resumes += life.resumes;
  if (life.longest > group.longest) {
    group.longest = life.longest;
    group.longest_in = life.longest_in;
  }
  keep(kept_, most_, life, [&](const CoroutineLife& l) { return rank(l); });
}

CoroutineLog::By coroutine_order(const std::string& sort) {
  if (sort == "total" || sort == "running" || sort == "self") return CoroutineLog::By::kRunning;
  if (sort == "life" || sort == "wall") return CoroutineLog::By::kLife;
  if (sort == "resumes" || sort == "calls") return CoroutineLog::By::kResumes;
  return CoroutineLog::By::kSuspended;
}

void Timeline::widen() {
  width_ *= 2;
  for (auto& [key, lane] : lanes_) {
    for (size_t i = 0; i < lane.size() / 2; i++) lane[i] = lane[2 * i] + lane[2 * i + 1];
    if (lane.size() % 2) lane[lane.size() / 2] = lane.back();
    lane.resize((lane.size() + 1) / 2);
  }
}

// Makes room up to `to`; nothing is before the first tick ever told.
void Timeline::reach(uint64_t& from, uint64_t to) {
  if (!begun_) origin_ = from;
  begun_ = true;
  from = std::max(from, origin_);
  while (to > origin_ && (to - origin_ - 1) / width_ >= kSlices) widen();
}

template <class F>
void Timeline::each_piece(uint64_t from, uint64_t to, F f) {
  if (from >= to) return;
  reach(from, to);
  while (from < to) {
    const uint64_t left = width_ - (from - origin_) % width_;  // Of the slice.
    const uint64_t end = to - from > left ? from + left : to;
    f(TimePiece{from, end - from});
    from = end;
  }
}

void Timeline::add(uint64_t key, uint64_t from, uint64_t to) {
  if (from >= to) return;
  reach(from, to);
  if (from >= to) return;
  // Not as pieces: a trace can be made of recordings that all cover the same slices.
  Lane& lane = lanes_[key];
  const size_t last = slice(to - 1);
  if (last >= lane.size()) lane.resize(last + 1);
  size_t at = slice(from);
  const uint64_t left = width_ - (from - origin_) % width_;  // Of the first slice.
  if (at == last) return static_cast<void>(lane[at] += to - from);
  lane[at] += left;
  while (++at < last) lane[at] += width_;
  lane[last] += to - origin_ - last * width_;
}

void Timeline::add(uint64_t key, TimePiece piece) {
  Lane& lane = lanes_[key];
  const size_t at = slice(piece.at);
  if (at >= lane.size()) lane.resize(at + 1);
  lane[at] += piece.ticks;
}

void Timeline::keep(std::vector<TimePiece>& pieces, uint64_t from, uint64_t to) {
  each_piece(from, to, [&](TimePiece piece) { keep(pieces, piece); });
}

// Pieces of one slice become one: at once if they follow each other, as they nearly always do.
void Timeline::keep(std::vector<TimePiece>& pieces, TimePiece piece) {
  auto joins = [&](TimePiece a, TimePiece b) { return slice(a.at) == slice(b.at); };
  if (!pieces.empty() && joins(pieces.back(), piece)) {
    pieces.back().ticks += piece.ticks;
    return;
  }
  pieces.push_back(piece);
  if (pieces.size() < kMaxPieces) return;
  std::vector<TimePiece> all;
  all.swap(pieces);
  std::sort(all.begin(), all.end(), [](TimePiece a, TimePiece b) { return a.at < b.at; });
  for (TimePiece p : all)
    if (!pieces.empty() && joins(pieces.back(), p))
      pieces.back().ticks += p.ticks;
    else
      pieces.push_back(p);
}

}  // namespace luatrace
