// SPDX-License-Identifier: MIT
// Standard error, shared by messages and the progress line. Invariant: only this class writes
// there, one thread at a time, so a message never begins in the middle of the progress line or of
// another message: the progress line is erased, the message printed, the line drawn again.
#pragma once

#include <iosfwd>
#include <mutex>
#include <string>

namespace luatrace::analyze {

class TerminalLine {
 public:
  explicit TerminalLine(std::ostream& out) : out_(out) {}
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  // Prints a permanent line. Thread-safe.
  void print(const std::string& text);
  // Shows a line that the next one replaces, if this is a terminal; "" erases it.
  void show(const std::string& text);

 private:
  std::ostream& out_;
  std::mutex mutex_;
  std::string shown_;
};

// The instance of this process.
TerminalLine& standard_error();

}  // namespace luatrace::analyze
