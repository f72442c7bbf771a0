// SPDX-License-Identifier: MIT
// A command line, read by a program's table: which options were given, with which values.
//
// Invariant: an option without `many` has at most one value, one with `words` (and not
// `other_words`) only such, and none an empty one, unless its value may be missing.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/usage_error.h"

namespace luatrace {

class CommandLine {
 public:
  using Words = std::vector<std::string>;

  // Names must be given in full. For Operands::kCommand options end at the first word that is none
  // (or behind "--"); the rest is operands(), as it stands. Throws UsageError.
  CommandLine(const Program& program, int argc, const char* const* argv);

  bool has(const char* name) const { return !list(name).empty(); }
  // In the order given; kMissing for a value that is missing, and for an option without value.
  const Words& list(const char* name) const;
  std::optional<std::string> last(const char* name) const;
  // The same; `fallback` for a value that is missing.
  std::optional<std::string> last(const char* name, const std::string& fallback) const;
  const Words& operands() const { return operands_; }

  template <class T>
  std::vector<T> numbers(const char* name) const {
    std::vector<T> out;
    for (const auto& word : list(name)) out.push_back(number<T>(name, word));
    return out;
  }
  template <class T>
  static T number(const char* name, const std::string& word) {
    T value{};
    const char* end = word.data() + word.size();
    auto [rest, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc::result_out_of_range)
      throw UsageError(std::string("--") + name + ": '" + word + "' is too great");
    if (error != std::errc() || rest != end)
      throw UsageError(std::string("--") + name + ": '" + word + "' is no number");
    return value;
  }

  static const std::string kMissing;

 private:
  size_t index(const char* name) const;
  void check(const OptionSpec& option, const Words& values) const;

  const Program& program_;
  std::vector<Words> values_;  // By option.
  Words operands_;
};

}  // namespace luatrace
