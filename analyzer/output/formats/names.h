// SPDX-License-Identifier: MIT
// Names of functions in exports. All strings are printable (escape.h): valid UTF-8 without control
// characters; each format escapes further characters itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/format.h"
#include "analyzer/output/formats/formats.h"

namespace luatrace::analyze {

// "coroutine 7", or "Lua VM 1, coroutine 7" if `of_vm`.
std::string track_name(const Track& track, bool of_vm);

// Name of a slice that is not a call: "[coroutine 7]", "[suspended]", "[filtered]", "[unknown]".
std::string marker_name(Slice::Kind kind, CoroutineId coroutine);

FrameName frame_name(const FunctionName& function, const ExportOptions& options);
// Names of all functions of a report, by index. Those of different functions differ, in each of
// their forms: of functions with the same name, it is the label.
std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options);

// The same for functions that become known one after the other: of those with the same name, the
// first one keeps it.
class DistinctFrames {
 public:
  explicit DistinctFrames(const ExportOptions& options) : options_(options) {}
  FrameName name(const FunctionName& function);

 private:
  const ExportOptions& options_;
  std::map<std::string, std::string> names_;  // By identity.
  std::set<std::string> used_;
  DistinctNames distinct_;
};

// A cell of a tab-separated table: tabs become blanks, no quotes, no formula. For commas see
// csv_text() in output/format.h.
std::string tsv_cell(const std::string& text);

// "12.345": exact microseconds; takes nanoseconds.
std::string microseconds(uint64_t ns);

}  // namespace luatrace::analyze
