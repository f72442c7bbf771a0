// SPDX-License-Identifier: MIT
#include "recorder/watch_printer.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "recorder/drain/call_watch.h"
#include "recorder/os/clock.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kTerminalChunk = 256;
constexpr int kMaxChunks = 64;  // in a call of print()
// At the end: without a byte that is taken, and in all.
constexpr uint64_t kStuckLimit = kSecond, kEndLimit = 10 * kSecond;

}  // namespace

WatchPrinter::WatchPrinter(const Options& options, WatchLog& log)
    : options_(options),
      log_(log),
      fd_(options.output == "-" ? STDERR_FILENO : STDOUT_FILENO),
      chunk_(isatty(fd_) ? kTerminalChunk : PIPE_BUF) {
  if (!options.watch.empty()) signal(SIGPIPE, SIG_IGN);
}

void WatchPrinter::write_some() {
  for (int i = 0; i < kMaxChunks && !broken_; i++) {
    const std::string text = log_.next(chunk_);
    pollfd fd = {fd_, POLLOUT, 0};
    if (text.empty() || poll(&fd, 1, 0) <= 0) return;
    const ssize_t n = write(fd_, text.data(), text.size());
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
      broken_ = true;
      error_ = errno != EPIPE ? errno : 0;
    }
    if (n <= 0) return;
    log_.written(static_cast<size_t>(n));
  }
}

bool WatchPrinter::print() {
  if (options_.watch.empty()) return true;
  for (const std::string& text : log_.messages(options_.verbose && !options_.quiet)) log(text);
  write_some();
  return !broken_;
}

void WatchPrinter::report_silent() {
  for (const size_t i : log_.silent_places(options_.watch.size())) {
    const std::string& place = options_.watch[i];
    const size_t colon = place.rfind(':');
    const bool line = colon != place.npos &&
                      place.find_first_not_of("0123456789", colon + 1) == place.npos &&
                      colon + 1 < place.size();
    log("--watch " + shell_word(place) + ": " +
        (line ? "no function that has this line was called"
              : "no Lua function of this name was called (" + name_advice(place) +
                    "FILE:LINE of its definition needs no name; C and library functions cannot be "
                    "watched)"));
  }
  for (const size_t i : log_.unreached_places(options_.watch.size()))
    log("--watch " + shell_word(options_.watch[i]) + ": found, but there was no hit");
}

void WatchPrinter::add_descriptors(std::vector<pollfd>& fds) const {
  if (!broken_ && log_.held() > 0) fds.push_back({fd_, POLLOUT, 0});
}

void WatchPrinter::print_rest() {
  const uint64_t limit = monotonic_ns() + kEndLimit;
  uint64_t until = monotonic_ns() + kStuckLimit;
  for (size_t left = log_.held(); print() && log_.held() > 0 && monotonic_ns() < until;) {
    if (log_.held() < left) until = std::min(limit, monotonic_ns() + kStuckLimit);
    left = log_.held();
    pollfd fd = {fd_, POLLOUT, 0};
    poll(&fd, 1, 10);
  }
}

bool WatchPrinter::finish() {
  if (options_.watch.empty()) return true;
  print_rest();
  report_silent();
  const uint64_t missed = log_.dropped() + log_.lines();
  const std::string where = fd_ == STDOUT_FILENO ? "standard output" : "standard error";
  if (error_ != 0)
    log("--watch: " + where + ": " + errno_text(error_) + "; lines are missing");
  else if (missed > 0 && !broken_)
    log("--watch: " + counted(missed, "line was", "lines were") + " not printed: " + where +
        " takes them too slowly; --when or --count makes them fewer");
  return error_ == 0;
}

}  // namespace luatrace::record
