// SPDX-License-Identifier: MIT
// The command line of luatrace-analyze.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analyzer/export/formats.h"
#include "analyzer/render/summary.h"

namespace luatrace {

// Exit statuses of luatrace-analyze; a contract.
enum ExitStatus { kGood = 0, kUsage = 1, kUnreadable = 2, kDamaged = 3 };

struct Options {
  std::vector<std::string> files;
  std::optional<std::string> dump;     // "text" or "calls"
  std::optional<std::string> convert;  // Binary file to write.
  std::optional<std::string> folded;   // File, "-": standard output.
  std::optional<std::string> json;     // The same.
  std::optional<std::string> flame;    // File; "": next to the trace.
  ExportOptions exports;
  SummaryOptions summary;
  uint64_t unit_ns = 1;  // Of the weights of --folded.
  std::string sysroot;
  std::vector<std::string> debug_dirs;
  bool strict = false;
  bool quiet = false;  // No progress, no summary.
};

class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Empty if --help or --version was asked for and has been printed. Throws UsageError.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace luatrace
