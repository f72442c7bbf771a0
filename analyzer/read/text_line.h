// SPDX-License-Identifier: MIT
// One line of the text form: words and key=value fields, strings in quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/text_names.h"

namespace luatrace::analyze {

class TextLine {
 public:
  // Splits `line`. `where` ("FILE: line N") starts every message. Throws Unreadable.
  TextLine(std::string_view line, std::string where);

  // Returns word n (from 0; fields do not count); throws Unreadable if there are fewer.
  const std::string& word(size_t n) const;
  size_t words() const { return words_.size(); }
  // Return the value of a field, or `fallback` if it is missing.
  std::string text(std::string_view key, std::string fallback = {}) const;
  uint64_t number(std::string_view key, uint64_t fallback = 0) const;
  // Parses a decimal, negative decimal or 0x number; throws Unreadable for other texts.
  uint64_t to_number(std::string_view text) const;
  uint64_t word_number(size_t n) const { return to_number(word(n)); }
  // Returns the index of `text` in `names`, or the number that it is.
  template <class Names>
  uint64_t choice(const Names& names, std::string_view text) const {
    const size_t place = place_of(names, text);
    return place < names.size() ? place : to_number(text);
  }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const std::string* find(std::string_view key) const;
  std::string value(std::string_view line, size_t& pos) const;

  std::string where_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace luatrace::analyze
