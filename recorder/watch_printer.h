// SPDX-License-Identifier: MIT
// WatchPrinter: prints what comes from watched places (--watch), and the messages about them.
// Invariants: used by the session's thread, which it never blocks: it writes as much as a pipe or a
// terminal takes now. What nobody takes in time is dropped and counted.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

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
  // What to wait for: more can be printed now.
  void add_descriptors(std::vector<pollfd>& fds) const;
  // The recording has ended: the rest, as long as it is taken; then what was missed. False: it
  // could not be written.
  bool finish();

 private:
  void write_some();
  void print_rest();
  void report_silent();

  const Options& options_;
  WatchLog& log_;
  const int fd_;
  const size_t chunk_;  // bytes that can be written without blocking if any can
  bool broken_ = false;
  int error_ = 0;  // why, unless the reader has closed its end
};

}  // namespace luatrace::record
