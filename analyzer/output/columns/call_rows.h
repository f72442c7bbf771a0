// SPDX-License-Identifier: MIT
// Makes a row of each call that ends, while a file is read. CallLog decides what is a call and
// whose time is whose; this adds what is known of the call when it ends: its request, its labels,
// and how it ended.
//
// Invariants: each call that is shown gets one row, in the order in which calls end; the self times
// of a function's rows sum to those of the report. Memory grows with the calls that are open.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/call_log.h"
#include "analyzer/collect/call_writer.h"
#include "analyzer/output/columns/parquet_file.h"
#include "base/grow_array.h"

namespace luatrace::analyze {

class CallRows final : public CallObserver, private CallWriter {
 public:
  // Its columns, in the order of the table.
  enum Column {
    kFile,
    kHost,
    kProcess,
    kThread,
    kVm,
    kCoroutine,
    kRequest,
    kLabels,
    kFunction,
    kCaller,
    kStart,
    kInclusive,
    kSelf,
    kSuspended,
    kBeginning,
    kEnd,
    kInside
  };
  static std::vector<ParquetColumn> columns();

  // Of the file `path`; `define` takes the functions, before the first row that has them; `names`
  // has them by number.
  using Define = std::function<void(SliceFunctionId, const FrameName&)>;
  CallRows(ParquetFile& table, SliceNumbers& used, const TraceFacts& facts, const FilterPlan& plan,
           CallLanes::Namer namer, Define define, const std::vector<std::string>& names,
           std::string path, std::string host);

  void opened(const Coroutine& co, StreamId stream, ThreadId tid, FunctionId function,
              uint64_t now) override;
  void closed(const Coroutine& co, StreamId stream, uint64_t now, const CallEnd& end) override;
  void moved(const Coroutine& co, StreamId stream, ThreadId tid, uint64_t now,
             const std::vector<Open>& open) override;
  void add_self_time(FilteredProfile::Machine& machine, StreamId stream, uint64_t from, uint64_t to,
                     Owner owner) override {
    log_.add_self_time(machine, stream, from, to, owner);
  }
  void gone(const Coroutine& co, StreamId stream, uint64_t now) override {
    end_ = {};
    log_.gone(co, stream, now);
  }
  bool begin_run(const Coroutine& co, StreamId stream, uint64_t now, uint64_t until) override;
  void run_opened(const Coroutine& co, ThreadId tid, uint32_t depth, FunctionId function,
                  uint64_t now) override;
  void run_closed(const Coroutine& co, uint32_t depth, uint64_t now, const CallEnd& end) override;
  void finish() override { log_.finish(); }

 private:
  struct OpenSlice {
    Slice::Kind kind;
    SliceFunctionId function;
    ThreadId tid;
    uint64_t start_ns;
  };
  struct TrackState {
    GrowArray<OpenSlice> open;
    SliceFunctionId resumed_by;  // The call that resumed the coroutine.
    // Of the call that ends, which is not in `open` any more.
    SliceFunctionId caller() const { return open.empty() ? resumed_by : open.back().function; }
  };

  void define(SliceFunctionId function, const FrameName& name) override { define_(function, name); }
  void track(const Track& track, const TrackNames&) override { tracks_[track.number]; }
  void begin(const Track& track, const Slice& slice, uint64_t ns) override;
  void end(const Track& track, uint64_t ns, const SliceTimes& times) override;
  void leave(const Track& track) override;

  TrackState& state(uint64_t track);
  void put_common(const Track& track);
  void put_common_of_run(const Coroutine& co, const CallEnd& end);
  void put_call(const OpenSlice& slice, SliceFunctionId caller, const SliceTimes& times,
                const CallEnd& end);
  void new_group();
  int64_t name_id(Column column, SliceFunctionId function) {
    std::vector<int64_t>& ids = name_ids_[column == kCaller];
    if (function < ids.size() && ids[function] >= 0) [[likely]]
      return ids[function];
    return new_name_id(column, function);
  }
  int64_t new_name_id(Column column, SliceFunctionId function);
  int64_t labels_id();

  ParquetFile& table_;
  const Define define_;
  const std::vector<std::string>& names_;
  const std::string path_, host_;
  const TraceFacts& facts_;
  CallLog log_;
  std::unordered_map<uint64_t, TrackState> tracks_;
  uint64_t last_track_ = 0;
  TrackState* last_state_ = nullptr;  // Of last_track_.
  TrackState* run_ = nullptr;         // Of the track of the run.
  bool has_common_ = false;           // Of the run: put_common() has been called, in this group.
  // What is known of the event that is being handled.
  ThreadId tid_;
  CallEnd end_;
  const Coroutine* ending_ = nullptr;
  // Numbers of texts in the current group.
  uint64_t group_ = UINT64_MAX;
  uint64_t to_real_ = 0;              // From the monotonic clock's times to Unix times.
  std::vector<int64_t> name_ids_[2];  // Of functions and callers, by number; -1: none yet.
  int64_t path_id_ = 0, host_id_ = 0, beginnings_[2] = {}, ends_[kCallEndings] = {};
  std::unordered_map<const Labels*, std::pair<std::shared_ptr<const Labels>, int64_t>> labels_;
  std::shared_ptr<const Labels> last_labels_;
  int64_t last_labels_id_ = 0, no_labels_id_ = 0;
};

// {"key":"value",...} in the order of the keys.
std::string labels_json(std::vector<std::pair<std::string, std::string>> labels);

}  // namespace luatrace::analyze
