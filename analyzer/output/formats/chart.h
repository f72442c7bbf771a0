// SPDX-License-Identifier: MIT
// The page's chart of calls over time: reduces slices on tracks (call_writer.h) to a bounded number
// and counts what is left out.
//
// Calls shorter than `shortest` are not kept individually: neighbouring ones in the same caller are
// merged into a block; a block that is itself shorter is only counted. `shortest` starts at 1 ns
// and grows whenever half as many slices again as the limit are kept. A call is never shorter than
// those in it, so the slices kept are always a tree.
//
// Invariants: memory grows with the limit, the stack depth and the number of live coroutines. Sums
// of tracks and calls are exact, whatever is kept; each call is either kept or hidden.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/collect/call_log.h"
#include "analyzer/collect/filtered_profile.h"
#include "analyzer/output/page/flame_page.h"
#include "analyzer/report/report.h"
#include "base/grow_array.h"

namespace luatrace::analyze {

// The slices of one track, which arrive when they end: inner ones first.
class SliceFolder {
 public:
  // Takes a slice: deeper than the previous one, beside it, or the one that contains it.
  void add(FlameSlice slice, uint64_t shortest);
  // Folds the slices kept so far with a greater `shortest`.
  void fold(uint64_t shortest);
  size_t size() const { return slices_.size(); }
  // In the order in which they ended; a length of 0 means withdrawn.
  const GrowArray<FlameSlice>& slices() const { return slices_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // State of the slices at one depth since the last slice at a lower depth.
  struct Level {
    uint32_t depth = 0;
    uint32_t block = kNone;           // Index of the block of short calls that may continue.
    uint64_t calls = 0, self_ns = 0;  // Of calls that are not drawn.
  };
  Level& level(uint32_t depth);
  Level take_level(uint32_t depth);
  void end_block(Level& l, uint64_t shortest);
  void add_block(const FlameSlice& block, uint64_t shortest);

  GrowArray<FlameSlice> slices_;
  GrowArray<Level> levels_;  // Those that are not empty, by depth.
};

class ChartWriter : public CallWriter {
 public:
  // Keeps up to `limit` slices; 0: all.
  explicit ChartWriter(size_t limit) : limit_(limit) {}

  void define(SliceFunctionId, const FrameName&) override {}
  void track(const Track& track, const TrackNames& names) override;
  void begin(const Track& track, const Slice& slice, uint64_t ns) override;
  void end(const Track& track, uint64_t ns, const SliceTimes& times) override;
  void leave(const Track& track) override;
  // Completes the tracks of a file, which the next file cannot resume. Its first event was at
  // first_ns.
  void end_file(uint64_t first_ns);

  // Returns the chart. FlameSlice::what is the number of define() for calls, track + 1 for others.
  // Call once, after the last file.
  FlameChart take();

 private:
  // An open slice; its depth is its index.
  struct Open {
    uint64_t begin_ns = 0;
    uint32_t what = 0;  // As in FlameSlice, but the number of a track for kResumed.
    FlameSlice::Kind kind = FlameSlice::kCall;
  };
  // There may be a million of them at a time, so derived data is not stored.
  struct Lane {
    Track what;
    uint32_t file = 0;
    uint32_t process = 0;  // Index in processes_.
    uint64_t resumer = 0;  // Track number.
    uint64_t begin_ns = 0, end_ns = 0, suspended_ns = 0, waiting_ns = 0;
    uint32_t resumes = 0;
    bool begun = false, left = false, of_vm = false;
    GrowArray<Open> open;
    SliceFolder folder;
  };
  Lane& lane(const Track& track) { return lanes_.at(track.number); }
  void prune();
  uint64_t next_shortest() const;
  std::vector<Lane*> lanes_to_show();
  void align_files(const std::vector<Lane*>& lanes, FlameChart& chart) const;
  FlameTrack describe(const Lane& lane, bool many_threads) const;

  const size_t limit_;
  uint64_t shortest_ = 1;
  uint64_t calls_ = 0, self_ns_ = 0, dropped_ = 0;
  size_t kept_ = 0;  // Approximate number of slices in all folders.
  uint32_t file_ = 0;
  uint64_t first_ns_ = UINT64_MAX;  // Earliest of all files.
  std::map<uint64_t, Lane> lanes_;  // By track number.
  std::vector<std::shared_ptr<const std::string>> processes_;
};

// Builds the chart while files are read, like CallExport.
class ChartExport : public CallConsumer {
 public:
  explicit ChartExport(size_t limit) : writer_(limit) {}

  CallLog& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                      const SymbolFinder& symbols) override;
  void end_file() override;
  // Returns the chart; its functions are those of the report.
  FlameChart finish(Report& report);

 private:
  ChartWriter writer_;
  std::optional<CallLog> log_;
  const TraceFacts* facts_ = nullptr;  // Of the current file.
  const SymbolFinder* symbols_ = nullptr;
  std::vector<FunctionId> defined_;         // In this file.
  std::vector<FunctionName> functions_{1};  // By number of define().
  SliceNumbers used_;
};

}  // namespace luatrace::analyze
