// SPDX-License-Identifier: MIT
#include "analyzer/report/vm_work_time.h"

namespace luatrace::analyze {

uint64_t vm_work_time(const Report& report, bool (*wanted)(const FunctionName&)) {
  uint64_t ns = 0;
  for (const ReportFunction& f : report.functions)
    if (wanted(f)) ns += report.is_sampled() ? f.inclusive_ns : f.self_ns;
  return ns;
}

}  // namespace luatrace::analyze
