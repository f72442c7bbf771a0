// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/chart.h"

#include <algorithm>

#include "analyzer/output/formats/names.h"
#include "analyzer/report/report_views.h"

namespace luatrace::analyze {
namespace {

// Limit of coroutines on the page; those that live longest are kept.
constexpr size_t kMaxTracks = 100000;
// Short calls join a block if the gap between them is up to this many times `shortest`.
constexpr uint64_t kWidestGap = 16;

uint64_t end_of(const FlameSlice& slice) {
  return slice.begin_ns + slice.length_ns;
}

FlameSlice::Kind kind_of(Slice::Kind kind) {
  switch (kind) {
    case Slice::kCall:
      return FlameSlice::kCall;
    case Slice::kResumed:
      return FlameSlice::kResumed;
    case Slice::kSuspended:
      return FlameSlice::kSuspended;
    default:
      return FlameSlice::kFiltered;
  }
}

}  // namespace

// -- Folding of short calls --

// The level of a depth. A slice ends after those in it, so there is rarely more than one deeper
// level to skip.
SliceFolder::Level& SliceFolder::level(uint32_t depth) {
  size_t at = levels_.size();
  while (at > 0 && levels_[at - 1].depth >= depth) at--;
  if (at < levels_.size() && levels_[at].depth == depth) return levels_[at];
  levels_.push_back({});
  std::move_backward(levels_.begin() + at, levels_.end() - 1, levels_.end());
  levels_[at] = {depth, kNone, 0, 0};
  return levels_[at];
}

// Removes and returns the level of a depth; drops deeper ones.
SliceFolder::Level SliceFolder::take_level(uint32_t depth) {
  Level found;
  for (; !levels_.empty() && levels_.back().depth >= depth; levels_.pop_back())
    if (levels_.back().depth == depth) found = levels_.back();
  return found;
}

// Ends the block of this depth; withdraws it if it is too short.
void SliceFolder::end_block(Level& l, uint64_t shortest) {
  if (l.block == kNone) return;
  FlameSlice& block = slices_[l.block];
  if (block.length_ns < shortest) {
    l.calls += block.calls;
    l.self_ns += block.self_ns;
    block.length_ns = 0;
    if (l.block + 1 == slices_.size()) slices_.pop_back();
  }
  l.block = kNone;
}

void SliceFolder::add_block(const FlameSlice& block, uint64_t shortest) {
  Level& l = level(block.depth);
  if (l.block != kNone && block.begin_ns <= end_of(slices_[l.block]) + kWidestGap * shortest) {
    FlameSlice& to = slices_[l.block];
    to.length_ns = end_of(block) - to.begin_ns;
    to.calls += block.calls;
    to.self_ns += block.self_ns;
    to.suspended_ns += block.suspended_ns;
    return;
  }
  end_block(l, shortest);
  l.block = static_cast<uint32_t>(slices_.size());
  slices_.push_back(block);
}

void SliceFolder::add(FlameSlice slice, uint64_t shortest) {
  Level inside = take_level(slice.depth + 1);
  end_block(inside, shortest);
  const bool is_call = slice.kind == FlameSlice::kCall;
  if (slice.kind == FlameSlice::kShort) return add_block(slice, shortest);
  if (slice.length_ns >= shortest) {
    if (is_call) slice.calls += inside.calls;
    end_block(level(slice.depth), shortest);
    return slices_.push_back(slice);
  }
  FlameSlice block = slice;
  block.kind = FlameSlice::kShort;
  block.what = 0;
  block.calls += inside.calls + is_call;
  block.self_ns += inside.self_ns;
  if (slice.kind == FlameSlice::kSuspended) block.suspended_ns = slice.length_ns;
  add_block(block, shortest);
}

void SliceFolder::fold(uint64_t shortest) {
  const GrowArray<FlameSlice> slices = std::exchange(slices_, {});
  const GrowArray<Level> levels = std::exchange(levels_, {});
  for (const FlameSlice& slice : slices)
    if (slice.length_ns) add(slice, shortest);
  for (Level& l : levels_) end_block(l, shortest);
  const auto kept = std::remove_if(slices_.begin(), slices_.end(),
                                   [](const FlameSlice& slice) { return slice.length_ns == 0; });
  slices_.resize(static_cast<size_t>(kept - slices_.begin()));
  if (slices_.empty()) slices_ = {};
  // Keep the counts of hidden calls of calls that are still open.
  GrowArray<Level> all;
  for (size_t i = 0, j = 0; i < levels.size() || j < levels_.size();) {
    const bool older =
        j == levels_.size() || (i < levels.size() && levels[i].depth <= levels_[j].depth);
    const Level& l = older ? levels[i++] : levels_[j++];
    if (!l.calls && !l.self_ns) continue;
    if (all.empty() || all.back().depth != l.depth) all.push_back({l.depth, kNone, 0, 0});
    all.back().calls += l.calls;
    all.back().self_ns += l.self_ns;
  }
  levels_ = std::move(all);
}

// -- Input --

void ChartWriter::track(const Track& track, const TrackNames& names) {
  Lane& lane = lanes_[track.number];
  lane.what = track;
  lane.file = file_;
  lane.of_vm = names.of_vm;
  if (processes_.empty() || processes_.back() != names.process) processes_.push_back(names.process);
  lane.process = static_cast<uint32_t>(processes_.size()) - 1;
}

void ChartWriter::begin(const Track& track, const Slice& slice, uint64_t ns) {
  Lane& l = lane(track);
  if (!l.begun) l.begin_ns = ns;
  l.begun = true;
  Open open{ns, slice.function, kind_of(slice.kind)};
  if (slice.kind == Slice::kResumed) open.what = static_cast<uint32_t>(slice.track);
  l.open.push_back(open);
  auto other = slice.track ? lanes_.find(slice.track) : lanes_.end();
  if (other == lanes_.end()) return;
  other->second.resumer = track.number;
  other->second.resumes++;
}

void ChartWriter::end(const Track& track, uint64_t ns, const SliceTimes& times) {
  Lane& l = lane(track);
  const Open open = l.open.back();
  l.open.pop_back();
  FlameSlice slice;
  slice.kind = open.kind;
  slice.depth = static_cast<uint32_t>(l.open.size());
  slice.what = open.what;
  slice.begin_ns = open.begin_ns;
  slice.length_ns = ns - slice.begin_ns;
  l.end_ns = ns;
  if (slice.kind == FlameSlice::kSuspended) l.suspended_ns += slice.length_ns;
  if (slice.kind == FlameSlice::kResumed) l.waiting_ns += slice.length_ns;
  if (slice.kind == FlameSlice::kCall) {
    slice.self_ns = times.self_ns;
    slice.suspended_ns = slice.length_ns - std::min(slice.length_ns, times.inclusive_ns);
    calls_++;
    self_ns_ += times.self_ns;
  }
  const size_t before = l.folder.size();
  l.folder.add(slice, shortest_);
  kept_ += l.folder.size() - before;
  if (limit_ && kept_ > limit_ + limit_ / 2) prune();
}

void ChartWriter::leave(const Track& track) {
  Lane& l = lane(track);
  l.left = true;
  if (l.folder.size()) return;
  lanes_.erase(track.number);
  dropped_++;
}

void ChartWriter::end_file(uint64_t first_ns) {
  first_ns_ = std::min(first_ns_, first_ns);
  for (auto& [number, lane] : lanes_) lane.left = true;
  file_++;
}

// -- Pruning --

uint64_t ChartWriter::next_shortest() const {
  std::vector<uint64_t> lengths;
  for (const auto& [number, lane] : lanes_)
    for (const FlameSlice& slice : lane.folder.slices()) lengths.push_back(slice.length_ns);
  const uint64_t minimum = shortest_ + shortest_ / 8 + 1;
  const size_t wanted = limit_ - limit_ / 8;  // The rest is for blocks of short calls.
  if (lengths.size() <= wanted) return minimum;
  auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::nth_element(lengths.begin(), middle, lengths.end(), std::greater<>());
  return std::max(minimum, *middle + 1);
}

void ChartWriter::prune() {
  do {
    shortest_ = next_shortest();
    kept_ = 0;
    for (auto it = lanes_.begin(); it != lanes_.end();) {
      Lane& l = it->second;
      l.folder.fold(shortest_);
      kept_ += l.folder.size();
      const bool drop = l.left && l.folder.size() == 0;
      dropped_ += drop;
      it = drop ? lanes_.erase(it) : std::next(it);
    }
  } while (kept_ > limit_);
}

// -- Output --

// The lanes that live longest, sorted by file, thread and beginning.
std::vector<ChartWriter::Lane*> ChartWriter::lanes_to_show() {
  std::vector<Lane*> lanes;
  for (auto& [number, lane] : lanes_)
    if (lane.begun && lane.folder.size()) lanes.push_back(&lane);
  dropped_ += lanes_.size() - lanes.size();
  auto life = [](const Lane* l) { return l->end_ns - l->begin_ns; };
  std::stable_sort(lanes.begin(), lanes.end(),
                   [&](const Lane* a, const Lane* b) { return life(a) > life(b); });
  if (limit_ && lanes.size() > kMaxTracks) {
    dropped_ += lanes.size() - kMaxTracks;
    lanes.resize(kMaxTracks);
  }
  std::stable_sort(lanes.begin(), lanes.end(), [](const Lane* a, const Lane* b) {
    auto key = [](const Lane* l) {
      return std::tuple(l->file, l->what.pid, l->what.tid, l->begin_ns, l->what.number);
    };
    return key(a) < key(b);
  });
  return lanes;
}

// Files that were recorded far apart in time share no timeline: each begins at 0.
void ChartWriter::align_files(const std::vector<Lane*>& lanes, FlameChart& chart) const {
  struct Range {
    uint64_t begin = UINT64_MAX, end = 0;
    void add(uint64_t from, uint64_t to) {
      begin = std::min(begin, from);
      end = std::max(end, to);
    }
  };
  std::map<uint32_t, Range> files;
  for (const Lane* l : lanes) files[l->file].add(l->begin_ns, l->end_ns);
  Range all;
  uint64_t sum = 0;
  for (const auto& [file, range] : files) {
    all.add(range.begin, range.end);
    sum += range.end - range.begin;
  }
  if (files.size() < 2 || (all.end - all.begin) / 2 <= sum) return;
  chart.zero_ns = 0;
  chart.file_begins_ns.resize(file_);
  for (const auto& [file, range] : files) chart.file_begins_ns[file] = range.begin;
  chart.note = "The files were recorded at different times: each begins at 0 here.";
  for (size_t i = 0; i < lanes.size(); i++) {
    const uint64_t begin = files[lanes[i]->file].begin;
    FlameTrack& track = chart.tracks[i];
    track.begin_ns -= begin;
    track.end_ns -= begin;
    for (FlameSlice& slice : track.slices) slice.begin_ns -= begin;
  }
}

FlameTrack ChartWriter::describe(const Lane& lane, bool many_threads) const {
  FlameTrack track;
  track.name = track_name(lane.what, lane.of_vm);
  track.thread = "thread " + std::to_string(lane.what.tid);
  if (many_threads)
    track.thread += ", process " + std::to_string(lane.what.pid) + ": " + *processes_[lane.process];
  track.begin_ns = lane.begin_ns;
  track.end_ns = lane.end_ns;
  track.suspended_ns = lane.suspended_ns;
  track.waiting_ns = lane.waiting_ns;
  track.resumes = lane.resumes;
  track.file = lane.file;
  track.vm = lane.what.stream;
  return track;
}

FlameChart ChartWriter::take() {
  FlameChart chart;
  for (auto& [number, lane] : lanes_) lane.folder.fold(shortest_);  // Ends open blocks.
  kept_ = 0;
  for (const auto& [number, lane] : lanes_) kept_ += lane.folder.size();
  if (limit_ && kept_ > limit_) prune();
  std::vector<Lane*> lanes = lanes_to_show();
  const bool many = std::any_of(lanes.begin(), lanes.end(), [&](const Lane* l) {
    return l->what.pid != lanes[0]->what.pid || l->file != lanes[0]->file;
  });
  std::unordered_map<uint64_t, uint32_t> places;  // By track number: index + 1.
  for (const Lane* l : lanes) places.emplace(l->what.number, places.size() + 1);
  auto place = [&](uint64_t number) {
    auto it = places.find(number);
    return it == places.end() ? 0 : it->second;
  };
  chart.hidden_calls = calls_;
  chart.hidden_ns = self_ns_;
  for (Lane* l : lanes) {
    FlameTrack track = describe(*l, many);
    track.resumer = place(l->resumer);
    const SliceFolder folder = std::exchange(l->folder, {});  // Not in memory twice.
    track.slices.reserve(folder.size());
    for (FlameSlice slice : folder.slices()) {
      if (slice.kind == FlameSlice::kResumed) slice.what = place(slice.what);
      chart.hidden_calls -= slice.kind == FlameSlice::kCall;
      chart.hidden_ns -= slice.kind == FlameSlice::kCall ? slice.self_ns : 0;
      track.slices.push_back(slice);
    }
    std::stable_sort(track.slices.begin(), track.slices.end(),
                     [](const FlameSlice& a, const FlameSlice& b) {
                       return std::pair(a.begin_ns, a.depth) < std::pair(b.begin_ns, b.depth);
                     });
    chart.tracks.push_back(std::move(track));
  }
  if (first_ns_ != UINT64_MAX) chart.zero_ns = first_ns_;
  align_files(lanes, chart);
  chart.shortest_ns = shortest_;
  chart.calls = calls_;
  chart.self_ns = self_ns_;
  chart.hidden_tracks = dropped_;
  return chart;
}

// -- Reading files --

CallLog& ChartExport::begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                 const SymbolFinder& symbols) {
  facts_ = &facts;
  symbols_ = &symbols;
  log_.emplace(writer_, used_, facts, plan, [this](FunctionId function) {
    defined_.push_back(function);
    return FrameName();
  });
  return *log_;
}

// Functions are described only now, when all their descriptions have been read.
void ChartExport::end_file() {
  log_->finish();
  for (FunctionId function : defined_)
    functions_.push_back(describe(facts_->functions[function], *symbols_));
  defined_.clear();
  log_.reset();
  writer_.end_file(facts_->clock.mono_ns(first_tick(*facts_)));
}

FlameChart ChartExport::finish(Report& report) {
  FlameChart chart = writer_.take();
  for (FlameTrack& track : chart.tracks)
    for (FlameSlice& slice : track.slices)
      if (slice.kind == FlameSlice::kCall) slice.what = report.function(functions_[slice.what]);
  return chart;
}

}  // namespace luatrace::analyze
