// SPDX-License-Identifier: MIT
// The first of two readings of a file: what has to be known of it before its calls are looked at,
// and may stand behind them: when it begins and ends, its functions, its libraries.
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
  // Reads all of it. What is wrong with it is said when it is read again.
  void read(Input& input);
  // Of a trace that can be read only once, as much as can be known: its clock. False: not even
  // that.
  bool header_only(Input& input);

  // The tick of a point of --time-range; `open` if it has no such end.
  uint64_t tick(const TimePoint& point, uint64_t open) const;

  void on_header(const Clock& clock, const lt_file_header&) override { clock_ = clock; }
  void on_map(const MapInfo& info) override { maps.add(info); }
  void on_stream(const StreamInfo& info) override { process_of_[info.number] = info.process; }
  void on_function(const FunctionInfo& info) override;
  void on_events(const EventBlock& block) override;

  bool complete = false;  // All of the file was read.
  MapTable maps;
  FunctionTable functions;
  uint64_t first = UINT64_MAX, last = 0;

 private:
  uint64_t ticks(uint64_t ns) const;

  Clock clock_;
  std::map<uint32_t, uint32_t> process_of_;  // By stream, as far as told: as Streams has it.
};

}  // namespace luatrace::analyze
