// SPDX-License-Identifier: MIT
#include "analyzer/output/columns/call_rows.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxLabelBytes = 200;  // Texts are repeated in each group of rows.

// By CallEnding.
constexpr const char* kEndNames[kCallEndings] = {"return",    "tail call", "error", "open",
                                                 "abandoned", "lost",      "unseen"};

}  // namespace

std::vector<ParquetColumn> CallRows::columns() {
  using C = ParquetColumn;
  return {{C::kText, "file", true},      {C::kText, "host", true},
          {C::kInt32, "process", true},  {C::kInt32, "thread", true},
          {C::kInt32, "vm", true},       {C::kInt32, "coroutine", true},
          {C::kInt32, "request", true},  {C::kText, "labels", true},
          {C::kText, "function"},        {C::kText, "caller"},
          {C::kInt64, "start_ns"},       {C::kInt64, "inclusive_ns"},
          {C::kInt64, "self_ns"},        {C::kInt64, "suspended_ns", true},
          {C::kText, "beginning", true}, {C::kText, "end", true},
          {C::kInt32, "inside", true}};
}

CallRows::CallRows(ParquetFile& table, SliceNumbers& used, const TraceFacts& facts,
                   const FilterPlan& plan, CallLanes::Namer namer, Define define,
                   const std::vector<std::string>& names, std::string path, std::string host)
    : table_(table),
      define_(std::move(define)),
      names_(names),
      path_(std::move(path)),
      host_(std::move(host)),
      facts_(facts),
      log_(*this, used, facts, plan, std::move(namer)) {}

// -- Events --

void CallRows::opened(const Coroutine& co, StreamId stream, ThreadId tid, FunctionId function,
                      uint64_t now) {
  tid_ = tid;
  log_.opened(co, stream, tid, function, now);
}

void CallRows::closed(const Coroutine& co, StreamId stream, uint64_t now, const CallEnd& end) {
  end_ = end;
  ending_ = &co;
  log_.closed(co, stream, now, end);
  ending_ = nullptr;
}

void CallRows::moved(const Coroutine& co, StreamId stream, ThreadId tid, uint64_t now,
                     const std::vector<Open>& open) {
  tid_ = tid;
  end_ = {};
  ending_ = &co;
  log_.moved(co, stream, tid, now, open);
  ending_ = nullptr;
}

// -- Slices --

CallRows::TrackState& CallRows::state(uint64_t track) {
  if (track == last_track_ && last_state_) return *last_state_;
  last_track_ = track;
  last_state_ = &tracks_[track];
  return *last_state_;
}

void CallRows::begin(const Track& track, const Slice& slice, uint64_t ns) {
  TrackState& s = state(track.number);
  if (slice.kind == Slice::kResumed && slice.track && !s.open.empty())
    tracks_[slice.track].resumed_by = s.open.back().function;
  s.open.push_back({slice.kind, slice.function, tid_, ns});
}

void CallRows::leave(const Track& track) {
  if (last_track_ == track.number) last_state_ = nullptr;
  tracks_.erase(track.number);
}

[[gnu::always_inline]] inline void CallRows::put_call(const OpenSlice& slice,
                                                      SliceFunctionId caller,
                                                      const SliceTimes& times, const CallEnd& end) {
  const auto put = [this](Column column, uint64_t value) {
    table_.put(column, static_cast<int64_t>(value));
  };
  put(kThread, slice.tid);
  table_.put(kFunction, name_id(kFunction, slice.function));
  table_.put(kCaller, name_id(kCaller, caller));
  put(kStart, slice.start_ns + to_real_);
  put(kInclusive, times.inclusive_ns);
  put(kSelf, times.self_ns);
  put(kSuspended, times.suspended_ns);
  table_.put(kBeginning, beginnings_[end.begun]);
  table_.put(kEnd, ends_[static_cast<size_t>(end.ending)]);
  put(kInside, end.inside);
  table_.end_row();
}

void CallRows::end(const Track& track, uint64_t, const SliceTimes& times) {
  TrackState& s = state(track.number);
  const OpenSlice slice = s.open.back();
  s.open.pop_back();
  if (slice.kind != Slice::kCall) return;
  if (group_ != table_.group()) new_group();
  put_common(track);
  put_call(slice, s.caller(), times, end_);
}

// What is the same for all calls of a run.
void CallRows::put_common(const Track& track) {
  table_.put(kFile, path_id_);
  table_.put(kHost, host_id_);
  table_.put(kProcess, track.pid);
  table_.put(kVm, track.stream);
  table_.put(kCoroutine, track.coroutine);
  table_.put(kRequest, end_.request);
  table_.put(kLabels, labels_id());
}

// -- Runs --

bool CallRows::begin_run(const Coroutine& co, StreamId stream, uint64_t now, uint64_t until) {
  if (!log_.begin_run(co, stream, now, until)) return false;
  run_ = &state(log_.track_of_run().number);
  has_common_ = false;
  return true;
}

void CallRows::run_opened(const Coroutine& co, ThreadId tid, uint32_t depth, FunctionId function,
                          uint64_t now) {
  const SliceFunctionId number = log_.open_in_run(co, depth, function, now);
  OpenSlice& slice = run_->open.append();
  slice.kind = Slice::kCall;
  slice.function = number;
  slice.tid = tid;
  slice.start_ns = log_.ns(now);
}

void CallRows::run_closed(const Coroutine& co, uint32_t depth, uint64_t now, const CallEnd& end) {
  log_.close_in_run(co, depth, now, [&](const SliceTimes& times) {
    const OpenSlice& slice = run_->open.back();
    run_->open.pop_back();
    if (group_ != table_.group()) new_group();
    if (!has_common_) put_common_of_run(co, end);
    put_call(slice, run_->caller(), times, end);
  });
}

void CallRows::put_common_of_run(const Coroutine& co, const CallEnd& end) {
  end_ = end;
  ending_ = &co;
  put_common(log_.track_of_run());
  ending_ = nullptr;
  has_common_ = true;
}

// -- Texts --

void CallRows::new_group() {
  group_ = table_.group();
  has_common_ = false;
  const Clock& clock = facts_.clock;
  to_real_ = clock.start_real_ns ? clock.start_real_ns - clock.start_mono_ns : 0;
  path_id_ = table_.text_id(kFile, path_);
  host_id_ = table_.text_id(kHost, host_);
  beginnings_[0] = table_.text_id(kBeginning, "unseen");
  beginnings_[1] = table_.text_id(kBeginning, "seen");
  for (size_t i = 0; i < kCallEndings; i++) ends_[i] = table_.text_id(kEnd, kEndNames[i]);
  for (auto& ids : name_ids_) ids.assign(ids.size(), -1);
  labels_.clear();
  last_labels_ = nullptr;
  no_labels_id_ = table_.text_id(kLabels, "{}");
}

int64_t CallRows::new_name_id(Column column, SliceFunctionId function) {
  std::vector<int64_t>& ids = name_ids_[column == kCaller];
  if (function >= ids.size()) ids.resize(2 * size_t{function} + 64, -1);
  return ids[function] = table_.text_id(column, function ? names_[function] : "");
}

int64_t CallRows::labels_id() {
  const std::shared_ptr<const Labels> none;
  const std::shared_ptr<const Labels>& labels = ending_ ? ending_->labels : none;
  if (!labels) return no_labels_id_;
  if (labels == last_labels_) return last_labels_id_;
  auto [it, fresh] = labels_.try_emplace(labels.get(), labels, 0);
  if (fresh) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const Label& l : *labels) pairs.emplace_back(l.key, l.value);
    it->second.second = table_.text_id(kLabels, labels_json(std::move(pairs)));
  }
  last_labels_ = labels;
  return last_labels_id_ = it->second.second;
}

std::string labels_json(std::vector<std::pair<std::string, std::string>> labels) {
  std::sort(labels.begin(), labels.end());
  std::string out;
  for (const auto& [key, value] : labels)
    out += (out.empty() ? "{" : ",") + json_string(cut_bytes(key, kMaxLabelBytes)) + ':' +
           json_string(cut_bytes(value, kMaxLabelBytes));
  return out.empty() ? "{}" : out + '}';
}

}  // namespace luatrace::analyze
