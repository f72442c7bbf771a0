// SPDX-License-Identifier: MIT
// For the analyzer's tests: analyse a trace that is in memory, look at the result.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/pipeline.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

struct Analysed {
  Report report;
  std::vector<std::string> messages;
  bool unreadable = false;
  std::string reason;

  // The function with this name; fails the test and gives an empty one if there is none.
  const ReportFunction& function(const std::string& name) const;
  const Trust& trust() const { return report.trust; }
};

// The times of a function, in ns.
struct FunctionTimes {
  uint64_t calls, wall, running, self;
  bool operator==(const FunctionTimes&) const = default;
};
std::ostream& operator<<(std::ostream& out, const FunctionTimes& t);
FunctionTimes times_of(const Analysed& a, const std::string& name);

// Analyses a trace in binary or text form.
Analysed analyse(const std::vector<uint8_t>& bytes);
Analysed analyse(const std::string& text);

// A trace or saved profile in memory; traces may be text.
struct FileBytes {
  std::string name;
  std::vector<uint8_t> bytes;
};
FileBytes file_bytes(const std::string& name, const std::string& bytes);
// The report of all files, as luatrace-analyze makes it. Throws what Pipeline throws.
Report report_of(const std::vector<FileBytes>& files, PipelineOptions options);
// The saved profile of a report.
std::string saved(const Report& report);

// A text trace: clock of 1 ns, one process and stream, functions f1..f9 (id = number, line = 10 *
// number), then `events`, in which a line "10 entry 1" is short for "10 1 entry 1"; then the end.
std::string trace_text(const std::string& events);

std::vector<uint8_t> to_binary(const std::string& text);
std::string dump(const std::vector<uint8_t>& bytes);
std::string dump_calls(const std::string& text);

}  // namespace luatrace::analyze
