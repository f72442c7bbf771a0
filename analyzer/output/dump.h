// SPDX-License-Identifier: MIT
// Writes the text form of a trace, which text_reader.h reads: one line per event and description.
// Binary -> text -> binary -> text yields the same text.
#pragma once

#include <iosfwd>

#include "analyzer/read/model.h"

namespace luatrace::analyze {

class DumpSink : public TraceSink {
 public:
  explicit DumpSink(std::ostream& out) : out_(out) {}
  void on_header(const Clock& clock, const lt_file_header& header) override;
  void on_process(const ProcessInfo& p) override;
  void on_stream(const StreamInfo& s) override;
  void on_function(const FunctionInfo& f) override;
  void on_segment(const SegmentInfo& s) override;
  void on_map(const MapInfo& m) override;
  void on_note(const std::string& text) override;
  void on_clock(const lt_clock_info& c) override;
  void on_events(const EventBlock& block) override;
  void on_samples(const SampleBlock& block) override;
  void on_end(const EndInfo& e) override;

 private:
  std::ostream& out_;
};

}  // namespace luatrace::analyze
