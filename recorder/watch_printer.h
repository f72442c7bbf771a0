// SPDX-License-Identifier: MIT
// WatchPrinter: prints what comes from watched places (--watch), and the messages about them.
// Invariants: used by the session's thread, which it never blocks: it writes as much as a pipe or a
// terminal takes now. What nobody takes in time is dropped and counted.
#pragma once

#include <string>

#include "recorder/backend/options.h"
#include "recorder/drain/watch_log.h"

namespace luatrace::record {

class WatchPrinter {
 public:
  // Values go to standard output; to standard error if the trace or nothing else may go there. Both
  // must outlive this object.
  WatchPrinter(const Options& options, WatchLog& log);

  // What there is, as far as it is taken now. False: nobody reads any more.
  bool print();
  // The recording has ended: the rest, for up to a second; then what was missed.
  void finish();

 private:
  void write_some();
  void report_silent();

  const Options& options_;
  WatchLog& log_;
  const int fd_;
  const size_t chunk_;  // bytes that can be written without blocking if any can
  bool broken_ = false;
};

}  // namespace luatrace::record
