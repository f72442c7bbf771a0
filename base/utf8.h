// SPDX-License-Identifier: MIT
// Decodes UTF-8 and decides which characters must not be printed as they are, for terminals
// and JSON (base/escape.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace luatrace {

struct Character {
  uint32_t code = 0;
  size_t length = 0;  // Bytes; 0: not well-formed.
};

// Decodes the first character of `text`, which must not be empty, by Unicode's table of well-formed
// sequences: no overlong forms, no surrogates, nothing above U+10FFFF.
inline Character read_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size()) return {};
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kMin[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

// Control characters (terminals take C1 controls for escape sequences), characters that change the
// direction of the text around them, and invisible characters.
inline bool is_invisible(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         code == 0x115f || code == 0x1160 || code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
         code == 0x3164 || code == 0xfeff || code == 0xffa0 || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

// Whether a character stands for itself: it is printable ASCII, and in quotes no quote or
// backslash.
inline bool is_plain(char c, bool in_quotes) {
  return c >= ' ' && c <= '~' && !(in_quotes && (c == '"' || c == '\\'));
}

// The same for eight at once: a long name may be in each row of a table.
inline bool are_plain(uint64_t bytes, bool in_quotes) {
  constexpr uint64_t kEach = 0x0101010101010101, kHigh = 0x80 * kEach;
  const auto lacks = [](uint64_t all, char c) {
    const uint64_t zero = all ^ kEach * static_cast<uint8_t>(c);
    return ((zero - kEach) & ~zero & kHigh) == 0;
  };
  // Bytes below 0x80, to which these additions do not carry.
  if (bytes & kHigh || ((bytes + 0x60 * kEach) & kHigh) != kHigh || (bytes + kEach) & kHigh)
    return false;
  return !in_quotes || (lacks(bytes, '"') && lacks(bytes, '\\'));
}

// How many bytes at the beginning of the text are such characters.
inline size_t plain_length(std::string_view text, bool in_quotes = false) {
  size_t n = 0;
  for (uint64_t bytes; n + sizeof bytes <= text.size(); n += sizeof bytes) {
    memcpy(&bytes, text.data() + n, sizeof bytes);
    if (!are_plain(bytes, in_quotes)) break;
  }
  while (n < text.size() && is_plain(text[n], in_quotes)) n++;
  return n;
}

}  // namespace luatrace
