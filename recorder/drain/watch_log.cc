// SPDX-License-Identifier: MIT
#include "recorder/drain/watch_log.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/escape.h"
#include "trace/word_scanner.h"

namespace luatrace::record {
namespace {

// The lines of a text, each made printable. Those after the first are of a traceback.
std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void append_text(std::string& out, std::span<const uint64_t> words) {
  for (const uint64_t w : words)
    for (uint64_t byte = 1; byte <= std::min<uint64_t>(w & 0xff, LT_TEXT_BYTES); byte++)
      out += static_cast<char>(w >> (8 * byte));
}

}  // namespace

// -- The log --

void WatchLog::add(uint32_t kind, uint32_t place, pid_t pid, const std::string& text) {
  if (kind > LTW_DONE) return;
  const std::lock_guard lock(mutex_);
  if (place < answers_.size()) answers_[place] |= 1u << kind;
  if (kind == LTW_HIT) {
    const std::string lines = printable_lines(text);
    if (lines_.size() - begin_ + lines.size() <= kMaxBytes)
      lines_ += lines;
    else
      dropped_++;
    return;
  }
  if (kind == LTW_DONE) done_.insert(pid);
  std::string message = "--watch " + printable(text);
  if (kind != LTW_DONE && known_.size() < kMaxMessages && known_.insert(message).second)
    messages_.emplace_back(kind, std::move(message));
}

std::string WatchLog::next(size_t max) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() - begin_ <= max) return lines_.substr(begin_);
  const size_t end = lines_.rfind('\n', begin_ + max - 1);
  return lines_.substr(begin_, end == lines_.npos || end < begin_ ? max : end + 1 - begin_);
}

// What was written goes when it is the larger part, so that this takes time for each byte once.
void WatchLog::written(size_t bytes) {
  const std::lock_guard lock(mutex_);
  begin_ += bytes;
  if (2 * begin_ < lines_.size()) return;
  lines_.erase(0, begin_);
  begin_ = 0;
}

size_t WatchLog::held() {
  const std::lock_guard lock(mutex_);
  return lines_.size() - begin_;
}

uint64_t WatchLog::lines() {
  const std::lock_guard lock(mutex_);
  const auto rest = std::string_view(lines_).substr(begin_);
  return static_cast<uint64_t>(std::count(rest.begin(), rest.end(), '\n'));
}

std::vector<std::string> WatchLog::messages(bool verbose) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (auto& [kind, text] : messages_)
    if (kind != LTW_FOUND || verbose) texts.push_back(std::move(text));
  messages_.clear();
  return texts;
}

bool WatchLog::is_done(pid_t pid) {
  const std::lock_guard lock(mutex_);
  return done_.contains(pid);
}

std::vector<size_t> WatchLog::places(size_t count, uint32_t asked, uint32_t wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < std::min(count, answers_.size()); i++)
    if ((answers_[i] & asked) == wanted) numbers.push_back(i);
  return numbers;
}

std::vector<size_t> WatchLog::silent_places(size_t count) {
  return places(count, ~0u, 0);
}

std::vector<size_t> WatchLog::unreached_places(size_t count) {
  return places(count, 1u << LTW_HIT | 1u << LTW_FOUND, 1u << LTW_FOUND);
}

uint64_t WatchLog::dropped() {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

// -- Reading --

// Local time, as logs have it. It is computed back from now, so steps of the system's clock that
// came in between are not seen.
std::string WatchReader::time_of(uint64_t word, const ClockRate& rate) const {
  constexpr uint64_t kLow = (uint64_t{1} << LT_TIME_BITS) - 1;
  const uint64_t ago = (read_tick(clock_) - lt_time(word)) & kLow;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  if (ago <= kLow / 2) ns -= static_cast<int64_t>(ticks_to_ns(rate, ago));
  const time_t seconds = static_cast<time_t>(ns / 1'000'000'000);
  tm local{};
  localtime_r(&seconds, &local);
  char day[16], text[32];
  strftime(day, sizeof day, "%H:%M:%S", &local);
  std::snprintf(text, sizeof text, "%s.%06d", day, static_cast<int>(ns % 1'000'000'000 / 1000));
  return text;
}

void WatchReader::record(std::span<const uint64_t> r, const std::function<ClockRate()>& rate) {
  const uint32_t arg = lt_ext_arg(lt_payload(r[0]));
  append_text(text_, r.subspan(2));
  if ((arg & LTW_MORE) != 0 && text_.size() < LT_WATCH_MAX) return;
  const std::string text = std::exchange(text_, {});
  const uint32_t kind = arg & LTW_KIND;
  std::string before;
  if (kind == LTW_HIT) before = time_of(r[0], rate()) + " ";
  if (kind == LTW_HIT && show_pid_) before += "[" + std::to_string(pid_) + "] ";
  log_.add(kind, lt_hi(r[1]), pid_, before + text);
}

void WatchReader::read(std::span<const uint64_t> words, const std::function<ClockRate()>& rate) {
  while (!words.empty()) {
    const uint64_t first = words[0];
    const size_t n = record_words(first);
    if (n == 0 || n > words.size()) return;
    const uint32_t sub = sub_of(first);
    if (sub == LTX_LOSS || sub == LTX_START) text_.clear();
    if (sub == LTX_WATCH && n > 2) record(words.first(n), rate);
    words = words.subspan(n);
  }
}

}  // namespace luatrace::record
