// SPDX-License-Identifier: MIT
// Progress of reading a file, on standard error: amount, share, rate and remaining time. On a
// terminal, it is one line that is redrawn ten times a second and erased at the end; with
// --progress and no terminal, a line every second and one at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "analyzer/read/input.h"

namespace luatrace::analyze {

enum class ProgressMode { kNever, kTerminal, kLines };

// "3.2 of 20.0 GB, 16 %, 850 MB/s, 0:20 left". `done` and `size` (of the file, 0 if unknown) are in
// bytes.
std::string progress_text(uint64_t done, uint64_t size, double seconds);

// "trace.bin: 3.2 of 20.0 GB ...", narrower than `columns` (0: any); shortens the name first.
std::string progress_line(const std::string& name, const std::string& text, size_t columns);

class ProgressLine {
 public:
  ProgressLine(const Input& input, ProgressMode mode);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void operator()(uint64_t offset);

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  void print(const std::string& text);

  const Input& input_;
  const ProgressMode mode_;
  uint64_t offset_ = 0;
  Clock::time_point begin_, last_;
};

}  // namespace luatrace::analyze
