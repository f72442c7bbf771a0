// SPDX-License-Identifier: MIT
#include "recorder/status_line.h"

#include <unistd.h>

#include <algorithm>
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

// The first one at once, before there is anything to count.
void StatusLine::update(uint64_t now, uint64_t begin_ns, Drainer& drainer, Outputs& outputs) {
  if (!wanted_) return;
  const bool first = due_ns_ == 0;
  if (now >= due_ns_) {
    due_ns_ = now + kSecond;
    drainer.post([sums = sums_, all = outputs.all()] { sums->count(all); });
  }
  const uint64_t at = sums_->at_ns;
  if (first || at != last_ns_) draw(at, begin_ns);
}

void StatusLine::Sums::count(const std::vector<std::shared_ptr<Output>>& all) {
  uint64_t e = 0, b = 0, l = 0;
  for (const auto& o : all) {
    e += o->writer().events();
    b += o->writer().bytes();
    l += o->writer().lost();
  }
  events = e;
  bytes = b;
  lost = l;
  at_ns = monotonic_ns();
}

void StatusLine::draw(uint64_t at, uint64_t begin_ns) {
  const uint64_t events = sums_->events, since = std::max(last_ns_, begin_ns);
  const double ns = at > since ? static_cast<double>(at - since) : 0;
  const double rate = ns > 0 ? static_cast<double>(events - last_events_) * 1e9 / ns : 0;
  last_ns_ = at;
  last_events_ = events;
  // In the background it would be written over what the foreground's program writes.
  if (tcgetpgrp(STDERR_FILENO) != getpgrp()) return;
  std::string text =
      status_text(at > begin_ns ? at - begin_ns : 0, rate, sums_->bytes, sums_->lost);
  if (const size_t columns = terminal_columns(STDERR_FILENO); columns > 0)
    text.resize(std::min(text.size(), columns - 1));
  show_status(text);
}

void StatusLine::end() {
  if (wanted_) show_status("");
}

}  // namespace luatrace::record
