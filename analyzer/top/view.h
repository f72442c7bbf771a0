// SPDX-License-Identifier: MIT
// What is shown of a trace that is being recorded: reads it, and makes the text of each interval,
// some sums and a row for each function or request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/output/table.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"

namespace luatrace::top {

struct TableOptions {
  bool requests = false;
  bool samples = false;  // Of samples, not of events.
  std::vector<std::string> request_by;
  std::string sort;
  std::optional<size_t> limit;  // Rows; without it as many as fit, or 20 if lines is 0.
};

// The text of an interval in which nothing was recorded.
constexpr const char* kNothing = "no event came\n";
constexpr const char* kNoSample = "no sample came: the processes have used no CPU time\n";

class View {
 public:
  virtual ~View() = default;
  // Reads about a block of the trace. False at its end.
  virtual bool step() = 0;
  // What happened since the last call, escaped. lines: those of the terminal; 0: any number.
  virtual std::string text(size_t lines, const analyze::TextStyle& style) = 0;
};

// Reads the header of the trace. `warn` as for analyze::LiveTrace. Throws analyze::Unreadable.
using Warn = std::function<void(const std::string&)>;
std::unique_ptr<View> function_view(analyze::Input& input, const Warn& warn, const TableOptions& o);
std::unique_ptr<View> sample_view(analyze::Input& input, const Warn& warn, const TableOptions& o);
std::unique_ptr<View> request_view(analyze::Input& input, const Warn& warn, const TableOptions& o);

// The number of rows, if `others` lines of the terminal are for something else.
size_t row_limit(const TableOptions& options, size_t lines, size_t others);

double percent(uint64_t part, uint64_t whole);

// How the time of all Lua VMs was spent.
struct VmTimes {
  size_t vms = 0;
  uint64_t traced_ns = 0, running_ns = 0, idle_ns = 0, unknown_ns = 0;
};
// A line about them and the events; `all`: the counters since the beginning.
std::string sums_line(const VmTimes& times, const analyze::Trust& trust, const analyze::Trust& all);

}  // namespace luatrace::top
