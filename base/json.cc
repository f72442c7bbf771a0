// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace luatrace {
namespace {

void append_format(std::string& out, const char* format, uint32_t value) {
  char text[16];
  snprintf(text, sizeof text, format, value);
  out += text;
}

// Appends \uXXXX, or a surrogate pair of them for a code above U+FFFF.
void append_escape(std::string& out, uint32_t code) {
  if (code >= 0x10000) append_format(out, "\\u%04x", 0xd7c0 + (code >> 10));
  append_format(out, "\\u%04x", code < 0x10000 ? code : 0xdc00 + (code & 0x3ff));
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto [code, length] = read_utf8(text);
    if (length == 0)
      append_format(out, "\\\\x%02x", static_cast<uint8_t>(text[0]));
    else if (code == '"' || code == '\\')
      (out += '\\') += text[0];
    else if (is_invisible(code))
      append_escape(out, code);
    else
      out += text.substr(0, length);
    text.remove_prefix(length ? length : 1);
  }
  return out += '"';
}

}  // namespace luatrace
