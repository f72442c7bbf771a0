// SPDX-License-Identifier: MIT
// The first pass over a file. It collects what must be known before the calls are processed but may
// come after them: when the file begins and ends, its functions, its libraries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/filter/filter.h"
#include "analyzer/machine/functions.h"
#include "analyzer/read/input.h"
#include "analyzer/read/map_table.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class Preview : public TraceSink {
 public:
  // Reads the whole file. Damage is reported by the last pass only.
  void read(Input& input);
  // For a trace that can be read only once: reads the clock without consuming input. Returns false
  // if the header is missing or invalid.
  bool read_clock(Input& input);

  // Converts a point of --time-range to ticks; returns `open` for an open end. Throws UsageError.
  uint64_t tick(const TimePoint& point, uint64_t open) const;

  void on_header(const Clock& clock, const lt_file_header&) override { clock_ = clock; }
  void on_map(const MapInfo& info) override { maps.add(info); }
  void on_stream(const StreamInfo& info) override { process_of_[info.number] = info.process; }
  void on_function(const FunctionInfo& info) override;
  void on_samples(const SampleBlock& block) override;
  void on_events(const EventBlock& block) override;

  bool complete = false;  // The whole file was read.
  MapTable maps;
  FunctionTable functions;
  uint64_t first = UINT64_MAX, last = 0;

 private:
  uint64_t ticks(uint64_t ns) const;

  Clock clock_;
  std::map<StreamId, ProcessId> process_of_;  // By stream; streams not described yet are missing.
};

}  // namespace luatrace::analyze
