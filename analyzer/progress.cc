// SPDX-License-Identifier: MIT
#include "analyzer/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "analyzer/output/format.h"
#include "analyzer/terminal_line.h"
#include "base/escape.h"
#include "cli/program.h"

namespace luatrace::analyze {
namespace {

std::string amount(uint64_t bytes, bool giga) {
  char text[40];
  snprintf(text, sizeof text, giga ? "%.1f" : "%.0f",
           static_cast<double>(bytes) / (giga ? 1e9 : 1e6));
  return text;
}

std::string duration(double seconds) {
  auto s = static_cast<uint64_t>(std::min(seconds, 1e9) + 0.5);
  char text[40];
  if (s < 3600)
    snprintf(text, sizeof text, "%u:%02u", static_cast<unsigned>(s / 60),
             static_cast<unsigned>(s % 60));
  else
    snprintf(text, sizeof text, "%u:%02u:%02u", static_cast<unsigned>(s / 3600),
             static_cast<unsigned>(s / 60 % 60), static_cast<unsigned>(s % 60));
  return text;
}

}  // namespace

std::string progress_text(uint64_t done, uint64_t size, double seconds) {
  const bool giga = std::max(done, size) >= 1000000000;
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  std::string out = amount(done, giga);
  if (size) out += " of " + amount(size, giga);
  out += giga ? " GB" : " MB";
  if (size) {
    const double share = static_cast<double>(done) / static_cast<double>(size);
    out += ", " + std::to_string(static_cast<int>(100 * std::min(share, 1.0))) + " %";
  }
  out += ", " + amount(static_cast<uint64_t>(rate), false) + " MB/s";
  if (size > done && done)
    out += ", " + duration(static_cast<double>(size - done) / rate) + " left";
  if (size && size <= done) out += ", took " + duration(seconds);
  return out;
}

std::string progress_line(const std::string& name, const std::string& text, size_t columns) {
  const std::string line = name + ": " + text;
  // Leave the last column empty: some terminals wrap when it is written.
  if (columns == 0 || text_width(line) < columns) return line;
  constexpr size_t kShortestName = 8;
  const size_t rest = text_width(text) + 2;
  if (columns > rest + kShortestName) return cut_text(name, columns - 1 - rest) + ": " + text;
  return text_width(text) < columns ? text : cut_text(text, columns - 1);
}

ProgressLine::ProgressLine(const Input& input, ProgressMode mode)
    : input_(input), mode_(mode), begin_(Clock::now()), last_(begin_) {}

ProgressLine::~ProgressLine() {
  if (mode_ == ProgressMode::kTerminal) standard_error().show("");
  if (mode_ == ProgressMode::kLines) print(progress_text(offset_, input_.size(), seconds()));
}

void ProgressLine::operator()(uint64_t offset) {
  offset_ = offset;
  if (mode_ == ProgressMode::kNever) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(mode_ == ProgressMode::kLines ? 1000 : 100)) return;
  last_ = now;
  print(progress_text(offset, input_.size(), seconds()));
}

void ProgressLine::print(const std::string& text) {
  const std::string name = printable(input_.name());
  if (mode_ == ProgressMode::kLines)
    standard_error().print("luatrace-analyze: " + name + ": " + text);
  else
    standard_error().show(progress_line(name, text, terminal_columns(STDERR_FILENO)));
}

}  // namespace luatrace::analyze
