// SPDX-License-Identifier: MIT
#include "analyzer/decode/escape.h"

#include <cstdint>
#include <cstdio>

namespace luatrace {
namespace {

void append_hex(std::string& out, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// Length of the valid UTF-8 sequence at text[i] (0 if none), its code point in `code`.
size_t utf8_length(std::string_view text, size_t i, uint32_t& code) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char first = byte(i);
  if (first < 0x80) return code = first, 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || i + length > text.size()) return 0;
  code = first & (0x7fu >> length);
  for (size_t k = 1; k < length; k++) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i + k) & 0x3f);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool good = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return good ? length : 0;
}

// Control characters, and format characters that change what neighbouring text looks like.
bool invisible(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The escape behind a backslash at text[pos]; leaves pos behind it.
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
    uint32_t code = 0;
    size_t length = utf8_length(text, i, code);
    if (length && !invisible(code)) {
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

size_t utf8_length(std::string_view text, size_t i) {
  uint32_t code;
  return utf8_length(text, i, code);
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
