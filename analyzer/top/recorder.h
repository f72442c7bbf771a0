// SPDX-License-Identifier: MIT
// luatrace-record as a child process, whose trace comes through a pipe.
//
// It is in a process group of its own: a ^C in the terminal would end it a second time, which
// leaves the traced processes less well than the first.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace luatrace::top {

class Recorder {
 public:
  // Starts it with these options. keeps_messages: its messages come through a pipe, too, instead of
  // going to standard error. Throws std::system_error.
  Recorder(const char* self, std::vector<std::string> options, bool keeps_messages);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  int trace() const { return trace_; }        // To read; the file descriptor stays the Recorder's.
  int messages() const { return messages_; }  // -1: none, or all read.
  // Appends the messages that are there. They are untrusted only in so far as names of programs
  // are.
  void read_messages(std::string& text);
  // Asks it to end; the trace then ends.
  void stop();
  // Reads and drops the rest of the trace, waits, and returns its exit status (128+N: signal N).
  int wait(std::string& messages);

 private:
  pid_t pid_ = -1;
  int trace_ = -1, messages_ = -1;
};

}  // namespace luatrace::top
