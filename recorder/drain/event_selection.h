// SPDX-License-Identifier: MIT
// EventSelection: what of an output's events reaches its file: all, those of the snapshots
// (--flight), or those of slow calls (--only-slow). Invariant: it outlives the writer that it made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recorder/drain/flight_recorder.h"
#include "recorder/drain/slow_trees.h"

namespace luatrace::record {

// Everything is written, unless one of these is set.
struct SelectionSettings {
  FlightSettings flight;
  OpenSnapshot open;
  std::vector<WatchRule> only_slow;
};

struct OutputFile {
  const OpenedOutput& opened;
  std::string name;
  lt_file_header header;
  uint64_t max_size;  // bytes, 0: no limit
  int compression;    // level of zstd, 0: none
  bool empty_it;      // if it is a regular file
};

class EventSelection {
 public:
  // Once: the writer for what comes from the rings.
  std::unique_ptr<TraceWriter> make_writer(WriteQueue& queue, OutputFile file,
                                           SelectionSettings settings,
                                           std::function<ClockRate()> rate);

  // Null: not in use.
  FlightRecorder* flight() const { return flight_.get(); }
  SlowTrees* slow() const { return slow_; }
  bool takes_all() const { return !flight_ && slow_ == nullptr; }
  // Slow calls have filled the file.
  bool full() const { return slow_ != nullptr && slow_->full(); }
  // Nothing more comes from that stream.
  void end_stream(uint32_t stream);

 private:
  std::unique_ptr<FlightRecorder> flight_;
  SlowTrees* slow_ = nullptr;  // belongs to the writer
};

}  // namespace luatrace::record
