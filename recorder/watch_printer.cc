// SPDX-License-Identifier: MIT
#include "recorder/watch_printer.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/os/clock.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kTerminalChunk = 256;
constexpr int kMaxChunks = 64;  // in a call of print()

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
    if (n < 0 && errno != EAGAIN && errno != EINTR) broken_ = true;
    if (n <= 0) return;
    log_.written(static_cast<size_t>(n));
  }
}

bool WatchPrinter::print() {
  if (options_.watch.empty()) return true;
  for (const std::string& text : log_.messages(options_.verbose))
    if (!options_.quiet) log(text);
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
        (line ? "no function of such a file was called"
              : "no Lua function of this name was called (FILE:LINE of its definition needs no "
                "name; C and library functions cannot be watched)"));
  }
}

void WatchPrinter::finish() {
  if (options_.watch.empty()) return;
  const uint64_t until = monotonic_ns() + kSecond;
  while (print() && !log_.next(1).empty() && monotonic_ns() < until) usleep(1000);
  report_silent();
  if (const uint64_t n = log_.dropped(); n > 0)
    log("--watch: " + counted(n, "line was", "lines were") +
        " not printed, because nobody read them in time");
}

}  // namespace luatrace::record
