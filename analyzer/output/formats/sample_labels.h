// SPDX-License-Identifier: MIT
// Labels of the samples of a grouped report, for formats whose samples have labels: pprof and OTLP.
//
// Invariant: all files of the report are grouped alike, or no sample has a label.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

class SampleLabels {
 public:
  using List = std::vector<std::pair<std::string, std::string>>;  // Key and value.

  // all: also of groups by thread, Lua VM, coroutine, request and phase; otherwise only by label.
  SampleLabels(const Report& report, bool all);

  // Those of the samples below `root`, a function without a caller; printable (base/escape.h).
  List of(const ReportFunction& root) const;

 private:
  std::string groups_;  // WHAT of --group-by; "": no labels.
};

}  // namespace luatrace::analyze
