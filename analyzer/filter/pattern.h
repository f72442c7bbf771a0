// SPDX-License-Identifier: MIT
// How users name functions and files, the same everywhere: `work`, `co.lua:3`, `app/*`,
// `/^get|^set/`. Places and files fit with all of their folders, or without the outer ones.
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

#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// Shell-like: * ? [a-z] [!x] and \ for a literal character. * also stands for '/'. `stars`, if it
// is not null, gets what each * stands for; the first ones for as little as possible.
bool glob_matches(std::string_view pattern, std::string_view text,
                  std::vector<std::string_view>* stars = nullptr);

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
  bool matches(const FunctionName& function) const;
  const std::string& text() const { return text_; }

 private:
  bool matches_text(std::string_view text) const;
  bool matches_name(const FunctionName& f, const std::string& name) const;

  std::string text_;
  std::string wanted_;  // As a glob, if it is one.
  bool glob_ = false;
  std::optional<Regex> regex_;
};

// --group-by: files that fit a pattern, and what of their name is the name of their group: in a
// regular expression the first ( ), in a glob the first * that it does not begin with (if there is
// but one, that); else the whole name.
class GroupPattern {
 public:
  // What has a bracket in it is a regular expression without slashes around it, too.
  explicit GroupPattern(const std::string& text);  // Throws UsageError.
  // Empty if the file does not fit. `file` is what file_name() says.
  std::optional<std::string> find(std::string_view file) const;

 private:
  std::string text_;
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
  bool matches(const FunctionName& function) const {
    for (const auto& pattern : list_)
      if (pattern.matches(function)) return true;
    return false;
  }

 private:
  std::vector<FunctionPattern> list_;
};

}  // namespace luatrace::analyze
