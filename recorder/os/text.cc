// SPDX-License-Identifier: MIT
#include "recorder/os/text.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/escape.h"

namespace luatrace::record {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 32 || c == 127;
}

std::string format(const char* fmt, double value) {
  char text[64];
  std::snprintf(text, sizeof text, fmt, value);
  return text;
}

}  // namespace

std::string grouped(uint64_t n) {
  std::string s = std::to_string(n);
  for (int at = static_cast<int>(s.size()) - 3; at > 0; at -= 3)
    s.insert(static_cast<size_t>(at), ",");
  return s;
}

std::string counted(uint64_t n, const std::string& one, const std::string& many) {
  return grouped(n) + " " + (n == 1 ? one : many.empty() ? one + "s" : many);
}

std::string bytes_text(uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  if (b < 1e6) return format("%.1f kB", b / 1e3);
  if (b < 1e9) return format("%.1f MB", b / 1e6);
  return format("%.2f GB", b / 1e9);
}

std::string time_text(double ns) {
  if (ns < 1e6) return format("%.1f us", ns / 1e3);
  if (ns < 1e9) return format("%.1f ms", ns / 1e6);
  return format("%.3f s", ns / 1e9);
}

std::string shell_word(std::string_view word) {
  static constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
  if (!word.empty() && word.find_first_not_of(kSafe) == word.npos) return std::string(word);
  bool control = false;
  for (const char c : word) control = control || is_control(c);
  std::string out = control ? "$'" : "'";
  for (const char c : word) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
    if (control && is_control(c))
      out += hex;
    else if (control && (c == '\'' || c == '\\'))
      out += std::string("\\") + c;
    else if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& w : words) line += (line.empty() ? "" : " ") + shell_word(w);
  return line;
}

std::string lines_of(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& p : parts) all += (all.empty() ? "" : "\n") + p;
  return all;
}

std::string pids_text(const std::vector<int>& pids) {
  constexpr size_t kMaxNamed = 10;
  std::string text;
  for (size_t i = 0; i < pids.size() && i < kMaxNamed; i++)
    text += (text.empty() ? "" : ", ") + std::to_string(pids[i]);
  return pids.size() > kMaxNamed ? text + ", ..." : text;
}

std::string expand(std::string name, std::string_view what, int number) {
  const std::string digits = std::to_string(number);
  for (size_t at = 0; (at = name.find(what, at)) != name.npos; at += digits.size())
    name.replace(at, what.size(), digits);
  return name;
}

std::string expand_pid(const std::string& name, int pid) {
  return expand(name, "%p", pid);
}

std::string errno_text(int err) {
  return std::strerror(err);
}

namespace {

// Waits a moment for standard error; after a timeout, no more until it accepts output again.
bool can_log() {
  constexpr int kPauseMs = 200;
  static std::atomic<bool> blocked = false;
  pollfd p{STDERR_FILENO, POLLOUT, 0};
  blocked = poll(&p, 1, blocked ? 0 : kPauseMs) <= 0;
  return !blocked;
}

constexpr const char* kEraseLine = "\r\033[K";
const char* own_name = "luatrace-record";
std::atomic<bool> has_status = false;

void print(const std::string& line) {
  size_t at = 0;
  while (at < line.size() && can_log()) {
    const size_t part = std::min<size_t>(line.size() - at, PIPE_BUF);
    const ssize_t n = write(STDERR_FILENO, &line[at], part);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

}  // namespace

void take_program_name() {
  const char* const caller = std::getenv(kCallerVariable);
  if (caller != nullptr && std::string_view(caller) == "luatrace-top") own_name = "luatrace-top";
  unsetenv(kCallerVariable);  // not for programs that are started
}

std::string program_name() {
  return own_name;
}

// One write: other threads may print, too.
void log(std::string_view text) {
  print((has_status ? kEraseLine : "") + (program_name() + ": " + printable(text)) + "\n");
}

void show_status(const std::string& text) {
  if (has_status.exchange(!text.empty()) || !text.empty()) print(kEraseLine + text);
}

}  // namespace luatrace::record
