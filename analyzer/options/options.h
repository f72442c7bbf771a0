// SPDX-License-Identifier: MIT
// The parsed command line of luatrace-analyze.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/output/formats/formats.h"
#include "analyzer/output/views.h"
#include "analyzer/push/target.h"

namespace luatrace::analyze {

// Exit statuses of luatrace-analyze, a stable interface.
enum ExitStatus {
  kGood = 0,
  kUsage = 1,
  kUnreadable = 2,
  kDamaged = 3,
  kConditionTrue = 4,
  kNotPushed = 5
};

// Contents of the page of --flame and --page.
struct PageOptions {
  bool all_views = false;             // --page; else only the flame graph.
  std::optional<size_t> chart_limit;  // Calls in the chart; 0: all; none: by the size of the files.
  size_t graph_limit = 300000;        // Nodes of the call tree; 0: all.
};

struct Options : ReadOptions {
  std::vector<std::string> command;  // The whole command line.
  std::vector<std::string> files;
  std::optional<std::string> dump;  // "text" or "calls"
  bool jit = false;
  std::optional<std::string> convert;  // Binary file to write.
  std::optional<std::string> folded;   // File; "-": standard output.
  std::optional<std::string> json;     // The same.
  std::optional<std::string> csv;      // The same.
  std::optional<std::string> flame;    // File; "": next to the trace. Also set by --page.
  PageOptions page;
  std::optional<std::string> save_profile;
  bool no_buckets = false;        // --bucket none
  uint64_t compact_ns = 0;        // --compact
  std::vector<std::string> diff;  // The baseline to compare with.
  std::vector<std::string> fail_if;
  bool allow_missing = false;  // Functions of fail_if need not occur.
  ExportOptions exports;
  PushOptions push;
  ViewOptions views;
  uint64_t unit_ns = 1;  // Unit of the weights of --folded.
  bool strict = false;
  bool growing = false;   // See Diagnostics.
  bool quiet = false;     // No progress, no summary.
  bool progress = false;  // Also if standard error is not a terminal, then in lines.
};

// Returns nullopt if --help or --version was given and has been printed. Throws UsageError.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace luatrace::analyze
