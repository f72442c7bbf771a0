// SPDX-License-Identifier: MIT
#include "recorder/status_line.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/program.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

bool is_wanted(const Options& options) {
  const char* const term = getenv("TERM");
  if (options.quiet || !isatty(STDERR_FILENO) || (term && strcmp(term, "dumb") == 0)) return false;
  return options.attach() || !isatty(STDOUT_FILENO);
}

}  // namespace

std::string status_text(uint64_t ns, double events_per_s, uint64_t bytes, uint64_t lost) {
  const uint64_t s = ns / kSecond;
  char time[40];
  std::snprintf(time, sizeof time, "%llu:%02llu", static_cast<unsigned long long>(s / 60),
                static_cast<unsigned long long>(s % 60));
  return std::string(time) + "  " + grouped(static_cast<uint64_t>(events_per_s)) + " events/s  " +
         bytes_text(bytes) + "  " + grouped(lost) + " lost";
}

StatusLine::StatusLine(const Options& options) : wanted_(is_wanted(options)) {}

void StatusLine::update(uint64_t now, uint64_t begin_ns, Drainer& drainer, Outputs& outputs) {
  if (!wanted_ || now < begin_ns + kSecond || now < due_ns_) return;
  due_ns_ = now + kSecond;
  const uint64_t at = sums_->at_ns, events = sums_->events;
  // In the background it would be written over what the foreground's program writes.
  if (at > last_ns_ && last_ns_ > 0 && at > begin_ns && tcgetpgrp(STDERR_FILENO) == getpgrp()) {
    const double rate =
        static_cast<double>(events - last_events_) * 1e9 / static_cast<double>(at - last_ns_);
    std::string text = status_text(at - begin_ns, rate, sums_->bytes, sums_->lost);
    if (const size_t columns = terminal_columns(STDERR_FILENO); columns > 0)
      text.resize(std::min(text.size(), columns - 1));
    show_status(text);
  }
  last_ns_ = at;
  last_events_ = events;
  drainer.post([sums = sums_, all = outputs.all()] {
    uint64_t events = 0, bytes = 0, lost = 0;
    for (const auto& o : all) {
      events += o->writer().events();
      bytes += o->writer().bytes();
      lost += o->writer().lost();
    }
    sums->events = events;
    sums->bytes = bytes;
    sums->lost = lost;
    sums->at_ns = monotonic_ns();
  });
}

void StatusLine::end() {
  if (wanted_) show_status("");
}

}  // namespace luatrace::record
