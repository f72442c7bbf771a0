// SPDX-License-Identifier: MIT
// --push: sends a report to a profiling server, again after failures that pass, and keeps it in the
// spool while the server is away.
//
// Invariant: a request that the server may have taken is not sent again: if all of it was sent and
// no answer came, it is set aside.
#pragma once

#include <functional>
#include <string>

#include "analyzer/push/target.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

enum class PushResult {
  kSent,     // The server has taken it, and all that had waited in the spool.
  kWaiting,  // It is in the spool.
  kFailed,   // The server has not taken it, or has not said so; nothing waits.
};

// `warn` takes messages without a line end. Throws UsageError and std::runtime_error for what the
// server is not the cause of.
PushResult push_report(const Report& report, const PushOptions& options,
                       const std::function<void(const std::string&)>& warn);

}  // namespace luatrace::analyze
