// SPDX-License-Identifier: MIT
// A command line, parsed by a program's table: the options given and their values.
//
// Invariant: an option without `many` has at most one value. An option with `choices` (and without
// `open_choices`) has only values from that list. No value is empty unless it is optional.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"
#include "cli/usage_error.h"

namespace luatrace {

// `choices`: words separated by blanks (OptionSpec::choices).
bool is_choice(const std::string& choices, const std::string& word);
// "a b c" as "a, b or c".
std::string choices_text(std::string_view choices);

class CommandLine {
 public:
  using Tokens = std::vector<std::string>;

  // Options must be spelled out. Except for Operands::kFiles and kNone, options end at the first
  // token that is not an option (or after "--"); operands() is the rest, unchanged. Throws
  // UsageError.
  CommandLine(const Program& program, int argc, const char* const* argv);

  bool has(const char* name) const { return !list(name).empty(); }
  // In the order given. kMissing stands for a missing optional value, and for an option without a
  // value.
  const Tokens& list(const char* name) const;
  std::optional<std::string> last(const char* name) const;
  // The same, with `fallback` for a missing optional value.
  std::optional<std::string> last(const char* name, const std::string& fallback) const;
  const Tokens& operands() const { return operands_; }
  // Prints what --help or --version asks for; false if neither is given.
  bool print_common(const char* version) const;

  template <class T>
  std::vector<T> numbers(const char* name) const {
    std::vector<T> out;
    for (const auto& text : list(name)) out.push_back(number<T>(name, text));
    return out;
  }
  template <class T>
  static T number(const char* name, const std::string& text) {
    T value{};
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::result_out_of_range)
      throw UsageError(std::string("--") + name + ": '" + text + "' is out of range");
    if (error != std::errc() || rest != end)
      throw UsageError(std::string("--") + name + ": '" + text + "' is not a number");
    return value;
  }

  static const std::string kMissing;

 private:
  size_t index(const char* name) const;
  void check(const OptionSpec& option, const Tokens& values) const;

  const Program& program_;
  std::vector<Tokens> values_;  // Indexed by option.
  Tokens operands_;
};

}  // namespace luatrace
