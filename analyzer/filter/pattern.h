// SPDX-License-Identifier: MIT
// Patterns by which users name functions and files, the same everywhere: `work`, `co.lua:3`,
// `app/*`, `/^get|^set/`. A location or file matches with its whole path or without outer folders.
//
// Names in a trace are untrusted: globs match in time proportional to the length of the name, and
// regular expressions use the C library's regcomp(), which does not recurse over the text. Only
// the first kilobyte of a name is examined.
#pragma once

#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// Supports the shell's * ? [a-z] [!x], and \ for a literal character; * also matches '/'. If
// `stars` is not null, the text that each * matches is appended to it; the earlier ones match as
// little as possible.
bool glob_matches(std::string_view pattern, std::string_view text,
                  std::vector<std::string_view>* stars = nullptr);

// A POSIX extended regular expression, which may match anywhere in the text.
class Regex {
 public:
  explicit Regex(const std::string& pattern);  // Throws UsageError.
  // Returns what the first ( ) matches, or the whole match if the pattern has none; nullopt if
  // nothing matches.
  std::optional<std::string> find(std::string_view text) const;

 private:
  std::shared_ptr<regex_t> regex_;
};

class FunctionPattern {
 public:
  explicit FunctionPattern(const std::string& text);  // Throws UsageError.
  bool matches(const FunctionName& function) const;
  const std::string& text() const { return text_; }

 private:
  bool matches_text(std::string_view text) const;
  bool matches_shown(const std::string& name, const std::string& place) const;
  bool matches_place(const std::string& place) const;
  bool matches_name(const FunctionName& f, const std::string& name) const;

  std::string text_;
  std::string wanted_;  // The name or glob to match, unless it is a regular expression.
  bool glob_ = false;
  std::optional<Regex> regex_;
};

// A pattern of --group-by: selects files and derives the group's name from the file's name. The
// group is named by the first ( ) of a regular expression, or the first * of a glob, not counting
// one at its beginning unless it is the only one; otherwise by the whole matched name.
class GroupPattern {
 public:
  // Text with a '(' is a regular expression even without slashes around it.
  explicit GroupPattern(const std::string& text);  // Throws UsageError.
  // Returns the group's name; nullopt if the file does not match. `file` is from file_name().
  std::optional<std::string> find(std::string_view file) const;

 private:
  std::string text_;
  std::optional<Regex> regex_;
};

class FunctionPatterns {
 public:
  FunctionPatterns() = default;
  explicit FunctionPatterns(const std::vector<std::string>& texts) {
    for (const auto& text : texts) list_.emplace_back(text);
  }
  bool empty() const { return list_.empty(); }
  bool matches(const FunctionName& function) const {
    for (const auto& pattern : list_)
      if (pattern.matches(function)) return true;
    return false;
  }

 private:
  std::vector<FunctionPattern> list_;
};

}  // namespace luatrace::analyze
