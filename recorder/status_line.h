// SPDX-License-Identifier: MIT
// The status line of a recording, on a terminal: its time, events a second, size, lost events.
// Invariant: used by the session's thread; what the outputs count is read in a job of the drainer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recorder/backend/options.h"
#include "recorder/drain/drainer.h"
#include "recorder/outputs.h"

namespace luatrace::record {

// "1:02  1,234,567 events/s  45.6 MB  0 lost".
std::string status_text(uint64_t ns, double events_per_s, uint64_t bytes, uint64_t lost);

class StatusLine {
 public:
  // It is shown if standard error is a terminal; with a command only if the command's output goes
  // elsewhere, as far as can be seen; with --quiet never.
  explicit StatusLine(const Options& options);

  // Called often while events are recorded: draws the line, at once and then once a second.
  // begin_ns: when the recording began.
  void update(uint64_t now, uint64_t begin_ns, Drainer& drainer, Outputs& outputs);
  // The recording has ended: erases the line.
  void end();

 private:
  struct Sums {
    std::atomic<uint64_t> at_ns = 0, events = 0, bytes = 0, lost = 0;
    void count(const std::vector<std::shared_ptr<Output>>& all);
  };
  void draw(uint64_t at, uint64_t begin_ns);

  const bool wanted_;
  std::shared_ptr<Sums> sums_ = std::make_shared<Sums>();  // of the last job
  uint64_t due_ns_ = 0, last_ns_ = 0, last_events_ = 0;
};

}  // namespace luatrace::record
