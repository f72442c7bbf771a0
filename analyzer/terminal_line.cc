// SPDX-License-Identifier: MIT
#include "analyzer/terminal_line.h"

#include <iostream>

namespace luatrace::analyze {
namespace {

constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

void TerminalLine::print(const std::string& text) {
  std::lock_guard lock(mutex_);
  // One write: other programs may write to the same terminal.
  const std::string erase = shown_.empty() ? "" : kEraseLine;
  out_ << erase + text + '\n' + shown_ << std::flush;
}

void TerminalLine::show(const std::string& text) {
  std::lock_guard lock(mutex_);
  if (text == shown_) return;
  out_ << (shown_.empty() ? "" : kEraseLine) + text << std::flush;
  shown_ = text;
}

TerminalLine& standard_error() {
  static TerminalLine line(std::cerr);
  return line;
}

}  // namespace luatrace::analyze
