// SPDX-License-Identifier: MIT
// Standard error, where messages and the line of progress meet. Invariant: only this writes there,
// one thread at a time, so a message never begins behind half a line of progress nor inside another
// message: the line is taken away, the message printed, the line drawn again.
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

  // A line that stays. By any thread.
  void say(const std::string& text);
  // A line that the next one takes the place of, if this is a terminal; "": none any more.
  void show(const std::string& text);

 private:
  std::ostream& out_;
  std::mutex busy_;
  std::string shown_;
};

// That of this process.
TerminalLine& standard_error();

}  // namespace luatrace::analyze
