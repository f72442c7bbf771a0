// SPDX-License-Identifier: MIT
// See page_text.h.
#include "analyzer/output/page/page_text.h"

#include <cstdio>

#include "base/json.h"
#include "base/utf8.h"

namespace luatrace::analyze::page {
namespace {

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
  // Cut before the first byte of a character; half a character would look like broken input.
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

std::string script_string(std::string_view bytes) {
  std::string text;
  for (char c : json_string(visible_text(bytes))) {
    if (c == '<' || c == '>' || c == '&')
      text += hex("\\u%04x", static_cast<uint8_t>(c));
    else
      text += c;
  }
  return text;
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

}  // namespace luatrace::analyze::page
