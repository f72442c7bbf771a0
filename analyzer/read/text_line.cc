// SPDX-License-Identifier: MIT
#include "analyzer/read/text_line.h"

#include <charconv>

#include "base/escape.h"

namespace luatrace::analyze {

TextLine::TextLine(std::string_view line, std::string where) : where_(std::move(where)) {
  size_t pos = 0;
  while (true) {
    while (pos < line.size() && (line[pos] == ' ' || line[pos] == '\t')) pos++;
    if (pos >= line.size()) return;
    size_t equals = line.find_first_of("= \t\"", pos);
    if (equals != std::string_view::npos && line[equals] == '=') {
      std::string key(line.substr(pos, equals - pos));
      pos = equals + 1;
      fields_.emplace_back(std::move(key), value(line, pos));
    } else {
      words_.push_back(value(line, pos));
    }
  }
}

// Reads a quoted string, or everything up to the next blank.
std::string TextLine::value(std::string_view line, size_t& pos) const {
  std::string out;
  if (pos < line.size() && line[pos] == '"') {
    if (!unquote(line, pos, out)) fail("malformed string");
    return out;
  }
  size_t end = std::min(line.find_first_of(" \t", pos), line.size());
  out = line.substr(pos, end - pos);
  pos = end;
  return out;
}

void TextLine::fail(const std::string& what) const {
  throw Unreadable(where_ + ": " + what);
}

const std::string& TextLine::word(size_t n) const {
  if (n >= words_.size()) fail("too few words");
  return words_[n];
}

const std::string* TextLine::find(std::string_view key) const {
  for (const auto& [name, value] : fields_)
    if (name == key) return &value;
  return nullptr;
}

std::string TextLine::text(std::string_view key, std::string fallback) const {
  const std::string* value = find(key);
  return value ? *value : fallback;
}

uint64_t TextLine::number(std::string_view key, uint64_t fallback) const {
  const std::string* value = find(key);
  return value ? to_number(*value) : fallback;
}

uint64_t TextLine::to_number(std::string_view text) const {
  bool negative = text.starts_with('-');
  bool hex = text.starts_with("0x");
  std::string_view digits = text.substr(negative ? 1 : hex ? 2 : 0);
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail("not a number: " + quote(text));
  return negative ? 0 - value : value;
}

}  // namespace luatrace::analyze
