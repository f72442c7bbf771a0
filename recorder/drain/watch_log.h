// SPDX-License-Identifier: MIT
// WatchReader finds the records of watched places (LTX_WATCH) among the words of a stream; WatchLog
// collects the texts of all streams for the session's thread, which prints them.
// Invariants: the words are untrusted: texts are bounded, and printable when they leave here. What
// the log holds is bounded, too: if nobody prints it, lines are dropped and counted.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "luatrace_watch.h"
#include "recorder/os/clock.h"

namespace luatrace::record {

class WatchLog {
 public:
  static constexpr size_t kMaxBytes = 16u << 20;

  // From the drainer's thread. kind: LTW_*; place: its number in the request.
  void add(uint32_t kind, uint32_t place, pid_t pid, const std::string& text);

  // From the session's thread: up to `max` bytes of whole lines, or a part of a longer line; the
  // rest stays. Only if written() is called are they gone.
  std::string next(size_t max);
  void written(size_t bytes);
  size_t held();     // bytes
  uint64_t lines();  // the same as a number of lines
  // Messages for the user, each once; verbose: also where places were found.
  std::vector<std::string> messages(bool verbose);
  // Has that process had its number of hits?
  bool is_done(pid_t pid);
  // Numbers of places of which no VM has said anything; those that were found and not reached.
  std::vector<size_t> silent_places(size_t count);
  std::vector<size_t> unreached_places(size_t count);
  uint64_t dropped();

 private:
  static constexpr size_t kMaxMessages = 100;

  // Numbers of places whose answers of the kinds `asked` are `wanted`.
  std::vector<size_t> places(size_t count, uint32_t asked, uint32_t wanted);

  std::mutex mutex_;  // protects everything
  std::string lines_;
  size_t begin_ = 0;  // of what was not written yet
  uint64_t dropped_ = 0;
  std::deque<std::pair<uint32_t, std::string>> messages_;  // and their kinds
  std::set<std::string> known_;                            // messages so far
  std::set<pid_t> done_;
  std::array<uint32_t, LT_WATCH_PLACES_MAX> answers_{};  // of each place, as bits
};

class WatchReader {
 public:
  // All must outlive this object. show_pid: before each text.
  WatchReader(WatchLog& log, pid_t pid, uint32_t clock, bool show_pid)
      : log_(log), pid_(pid), clock_(clock), show_pid_(show_pid) {}

  // Whole records, in their order. rate: of the clock.
  void read(std::span<const uint64_t> words, const std::function<ClockRate()>& rate);

 private:
  void record(std::span<const uint64_t> r, const std::function<ClockRate()>& rate);
  std::string time_of(uint64_t word, const ClockRate& rate) const;

  WatchLog& log_;
  const pid_t pid_;
  const uint32_t clock_;
  const bool show_pid_;
  std::string text_;  // the pieces so far
};

}  // namespace luatrace::record
