// SPDX-License-Identifier: MIT
// The page's chart of calls over time: from slices on tracks (call_writer.h) to a bounded number of
// them that says what it leaves out.
//
// What is too short to be seen is not kept one by one: calls shorter than `shortest` become part of
// a block for the short calls that stand near each other in their caller; a block that is itself
// too short is only counted. `shortest` begins with 1 ns and grows whenever more than twice the
// limit of slices are kept. A call is never shorter than those in it, so what is kept is a tree at
// any time.
//
// Invariants: memory grows with the limit, the depth of the stacks, and the coroutines that live at
// one time. Sums of tracks and of calls are exact, whatever is kept; each call is kept or hidden.
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

// The slices of one track, which come when they end: inner ones first.
class SliceFolder {
 public:
  // Takes a slice that is deeper than or beside the one before, or the one around them.
  void add(FlameSlice slice, uint64_t shortest);
  // The same for a greater `shortest`.
  void fold(uint64_t shortest);
  size_t size() const { return slices_.size(); }
  // In the order in which they ended; of length 0: taken back.
  const GrowArray<FlameSlice>& slices() const { return slices_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // What is known of the slices of one depth since the last one that is less deep.
  struct Level {
    uint32_t depth = 0;
    uint32_t block = kNone;           // Place of the block of short calls that may go on.
    uint64_t calls = 0, self_ns = 0;  // Of calls that are not drawn.
  };
  Level& level(uint32_t depth);
  Level take_level(uint32_t depth);
  void end_block(Level& l, uint64_t shortest);
  void add_block(const FlameSlice& block, uint64_t shortest);

  GrowArray<FlameSlice> slices_;
  GrowArray<Level> levels_;  // Those with anything in them, by depth.
};

class ChartWriter : public CallWriter {
 public:
  // At most `limit` slices, 0: all.
  explicit ChartWriter(size_t limit) : limit_(limit) {}

  void define(uint32_t, const FrameName&) override {}
  void track(const Track& track, const TrackNames& names) override;
  void begin(const Track& track, const Slice& slice, uint64_t ns) override;
  void end(const Track& track, uint64_t ns, uint64_t running_ns, uint64_t self_ns) override;
  void leave(const Track& track) override;
  // The tracks of one file are complete: they cannot be resumed from the next. Its first event was
  // at first_ns.
  void end_file(uint64_t first_ns);

  // What was kept; FlameSlice::what of calls is the number of define(), of others track + 1. To be
  // taken once, after the last file.
  FlameChart take();

 private:
  // A call or stretch of time that has not ended; its depth is its index.
  struct Open {
    uint64_t begin_ns = 0;
    uint32_t what = 0;  // As FlameSlice has it, but of kResumed the number of a track.
    FlameSlice::Kind kind = FlameSlice::kCall;
  };
  // There may be a million of them at one time: what follows from the rest is not in it.
  struct Lane {
    Track what;
    uint32_t file = 0;
    uint32_t process = 0;  // Index in processes_.
    uint64_t resumer = 0;  // Number of its track.
    uint64_t begin_ns = 0, end_ns = 0, suspended_ns = 0, waiting_ns = 0;
    uint32_t resumes = 0;
    bool begun = false, left = false, of_state = false;
    GrowArray<Open> open;
    SliceFolder folder;
  };
  Lane& lane(const Track& track) { return lanes_.at(track.number); }
  void add(Lane& lane, const FlameSlice& slice);
  void prune();
  uint64_t next_shortest() const;
  std::vector<Lane*> lanes_to_show();
  void align_files(const std::vector<Lane*>& lanes, FlameChart& chart) const;
  FlameTrack describe(const Lane& lane, bool many_threads) const;

  const size_t limit_;
  uint64_t shortest_ = 1;
  uint64_t calls_ = 0, self_ns_ = 0, dropped_ = 0;
  size_t kept_ = 0;  // Slices in all folders, about.
  uint32_t file_ = 0;
  uint64_t first_ns_ = UINT64_MAX;  // Of all files.
  std::map<uint64_t, Lane> lanes_;  // By number of the track.
  std::vector<std::shared_ptr<const std::string>> processes_;
};

// The chart while files are read, like CallExport.
class ChartExport : public CallConsumer {
 public:
  explicit ChartExport(size_t limit) : writer_(limit) {}

  CallLog& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                      const SymbolFinder& symbols) override;
  void end_file() override;
  // What was found; its functions are those of the report.
  FlameChart finish(Report& report);

 private:
  ChartWriter writer_;
  std::optional<CallLog> log_;
  const TraceFacts* facts_ = nullptr;  // Of the file that is being read.
  const SymbolFinder* symbols_ = nullptr;
  std::vector<uint32_t> defined_;           // In this file.
  std::vector<FunctionName> functions_{1};  // By number of define().
  uint64_t tracks_ = 0, flows_ = 0;
};

}  // namespace luatrace::analyze
