// SPDX-License-Identifier: MIT
// See page_text.h. The UTF-8 reader follows the Unicode standard's table of well-formed byte
// sequences (no overlong forms, no surrogates, nothing above U+10FFFF).
#include "page_text.h"

#include <cstdio>

namespace luatrace::page {
namespace {

struct Character {
  uint32_t code = 0;
  size_t length = 0;  // 0: not well-formed
};

Character read_utf8(std::string_view s) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return {};
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

// Characters that are valid but would hide or reorder what stands beside them.
bool is_invisible(uint32_t c) {
  return (c >= 0x80 && c < 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

std::string hex(const char* format, uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string visible_control(uint8_t c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  return hex("\\x%02x", c);
}

}  // namespace

std::string visible_text(std::string_view bytes, size_t max_bytes) {
  const std::string_view all = bytes;
  // A character cut in two would look like broken input: cut before its first byte.
  if (bytes.size() > max_bytes) {
    size_t end = max_bytes;
    while (end > 0 && max_bytes - end < 3 && (static_cast<uint8_t>(bytes[end]) & 0xC0) == 0x80)
      end--;
    bytes = bytes.substr(0, end);
  }
  std::string text;
  text.reserve(bytes.size());
  const size_t cut = bytes.size();
  while (!bytes.empty()) {
    const auto [code, length] = read_utf8(bytes);
    const auto first = static_cast<uint8_t>(bytes[0]);
    if (length == 0) {
      text += hex("\\x%02x", first);
    } else if (code < 0x20 || code == 0x7F) {
      text += visible_control(first);
    } else if (is_invisible(code)) {
      text += hex("\\u{%x}", code);
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  if (cut < all.size()) text += "… (" + std::to_string(all.size()) + " bytes)";
  return text;
}

std::string json_string(std::string_view bytes) {
  std::string text = "\"";
  for (char c : visible_text(bytes)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '<' || c == '>' || c == '&') {
      text += hex("\\u%04x", static_cast<uint8_t>(c));
    } else {
      text += c;
    }
  }
  return text += '"';
}

std::string html_text(std::string_view bytes) {
  std::string text;
  for (char c : visible_text(bytes)) {
    switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = bytes.size() - i < 3 ? bytes.size() - i : 3;
    uint32_t group = 0;
    for (size_t j = 0; j < 3; j++) group = group << 8 | (j < have ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; j++) text += j <= have ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace luatrace::page
