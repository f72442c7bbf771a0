// SPDX-License-Identifier: MIT
// How users name functions: `work`, `co.lua:3`, `app/*`, `/^get|^set/`.
//
// Names in a trace are untrusted: matching takes time proportional to their length for globs, and
// is left to the C library's regcomp() otherwise, which does not recurse over the text. Only the
// first kilobyte of a name is looked at.
#pragma once

#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/aggregate/report_function.h"

namespace luatrace {

// Shell-like: * ? [a-z] [!x] and \ for a literal character. * also stands for '/'.
bool glob_matches(std::string_view pattern, std::string_view text);

// A POSIX extended regular expression, found anywhere in the text.
class Regex {
 public:
  explicit Regex(const std::string& pattern);  // Throws UsageError.
  // What the first ( ) matches, or all of it if there is none; empty if nothing matches.
  std::optional<std::string> find(std::string_view text) const;

 private:
  std::shared_ptr<regex_t> regex_;
};

class FunctionPattern {
 public:
  explicit FunctionPattern(const std::string& text);  // Throws UsageError.
  bool matches(const ReportFunction& function) const;
  const std::string& text() const { return text_; }

 private:
  bool matches_text(std::string_view text) const;

  std::string text_;
  bool glob_ = false;
  std::optional<Regex> regex_;
};

// Any of them.
class FunctionPatterns {
 public:
  FunctionPatterns() = default;
  explicit FunctionPatterns(const std::vector<std::string>& texts) {
    for (const auto& text : texts) list_.emplace_back(text);
  }
  bool empty() const { return list_.empty(); }
  bool matches(const ReportFunction& function) const {
    for (const auto& pattern : list_)
      if (pattern.matches(function)) return true;
    return false;
  }

 private:
  std::vector<FunctionPattern> list_;
};

}  // namespace luatrace
