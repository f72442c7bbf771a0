// SPDX-License-Identifier: MIT
#include "base/escape.h"

#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace luatrace {
namespace {

void append_hex(std::string& out, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes the escape at text[pos], after its backslash, and moves `pos` after it; false: malformed.
bool unescape(std::string_view text, size_t& pos, std::string& out) {
  if (pos >= text.size()) return false;
  switch (text[pos++]) {
    case 'n':
      out += '\n';
      return true;
    case 't':
      out += '\t';
      return true;
    case '"':
      out += '"';
      return true;
    case '\\':
      out += '\\';
      return true;
    case 'x':
      break;
    default:
      return false;
  }
  if (pos + 2 > text.size()) return false;
  int high = hex_digit(text[pos]), low = hex_digit(text[pos + 1]);
  if (high < 0 || low < 0) return false;
  out += static_cast<char>(high << 4 | low);
  pos += 2;
  return true;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto [code, length] = read_utf8(text.substr(i));
    if (length && !is_invisible(code)) {
      out.append(text, i, length);
      i += length;
      continue;
    }
    for (size_t end = i + (length ? length : 1); i < end; i++) {
      if (text[i] == '\n')
        out += "\\n";
      else if (text[i] == '\t')
        out += "\\t";
      else
        append_hex(out, static_cast<unsigned char>(text[i]));
    }
  }
  return out;
}

std::string cut_bytes(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) max--;
  return std::string(text.substr(0, max)) + "...";
}

size_t utf8_length(std::string_view text, size_t i) {
  return read_utf8(text.substr(i)).length;
}

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      append_hex(out, static_cast<unsigned char>(c));
  }
  return out += '"';
}

bool unquote(std::string_view text, size_t& pos, std::string& out) {
  out.clear();
  if (pos >= text.size() || text[pos] != '"') return false;
  for (pos++; pos < text.size();) {
    char c = text[pos++];
    if (c == '"') return true;
    if (c != '\\')
      out += c;
    else if (!unescape(text, pos, out))
      return false;
  }
  return false;
}

}  // namespace luatrace
