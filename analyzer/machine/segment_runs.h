// SPDX-License-Identifier: MIT
// SegmentRuns: how often each piece of the described machine code ran, by the words of a trace. It
// reads the whole file, once, and expands nothing.
//
// Invariant: what a word stands for is found as for the results (SegmentExpander), so a piece of
// code has the runs by which the time of its function is made.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/machine/segments.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class SegmentRuns : public TraceSink {
 public:
  // What ran of a piece of a described trace.
  struct Piece {
    uint32_t end = 0;   // Where the next one begins.
    uint64_t kind = 0;  // The same if the events before and after it are: of the same functions.
    double bytes = 0;   // Its own ones, times its runs.
    double cost = 1;    // How long they take by the description, for each byte.
  };
  struct Code {
    uint32_t trace = 0, bytes = 0;
    bool loops = false;  // It does not count its iterations: its runs are not known.
    std::vector<Piece> pieces;
  };

  explicit SegmentRuns(Diagnostics& diagnostics) : diag_(diagnostics) {}

  void on_process(const ProcessInfo& info) override { processes_[info.number] = info; }
  void on_stream(const StreamInfo& info) override { infos_[info.number] = info; }
  void on_function(const FunctionInfo& info) override;
  void on_segment(const SegmentInfo& info) override;
  void on_events(const EventBlock& block) override;

  const std::map<ProcessId, ProcessInfo>& processes() const { return processes_; }
  const std::map<StreamId, StreamInfo>& streams() const { return infos_; }
  // The traces of a stream, by the id of their first place.
  std::map<uint32_t, Code> codes(StreamId stream) const;

 private:
  // Runs begin and end at some of these offsets; what changes there.
  struct Steps {
    Code code;
    std::vector<uint32_t> at;
    std::vector<uint64_t> change;
  };
  struct Stream {
    explicit Stream(Diagnostics& diagnostics) : expander(diagnostics) {}
    SegmentExpander expander;
    std::map<uint32_t, uint64_t> functions;  // What tells them from others, in all streams.
    std::map<uint32_t, Steps> steps;         // By id of the trace's first place.
  };
  static uint64_t identity(const Stream& stream, uint32_t event);
  static std::vector<Piece> pieces_that_ran(const Steps& steps);
  Stream& stream(StreamId number) { return streams_.try_emplace(number, diag_).first->second; }

  Diagnostics& diag_;
  std::map<ProcessId, ProcessInfo> processes_;
  std::map<StreamId, StreamInfo> infos_;
  std::map<StreamId, Stream> streams_;
};

}  // namespace luatrace::analyze
