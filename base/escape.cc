// SPDX-License-Identifier: MIT
#include "base/escape.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace luatrace {
namespace {

void append_hex(std::string& out, char byte) {
  (out += "\\x") += hex_bytes({&byte, 1});
}

// Appends \uXXXX, or a surrogate pair of them for a code above U+FFFF.
void append_escape(std::string& out, uint32_t code) {
  if (code >= 0x10000) append_escape(out, 0xd7c0 + (code >> 10));
  char text[8];
  snprintf(text, sizeof text, "\\u%04x", code < 0x10000 ? code : 0xdc00 + (code & 0x3ff));
  out += text;
}

// Characters with a short escape, and its letters.
constexpr std::string_view kEscaped = "\n\t\"\\", kLetters = "nt\"\\";

// Decodes the escape at text[pos], after its backslash, and moves `pos` after it; false: malformed.
bool unescape(std::string_view text, size_t& pos, std::string& out) {
  if (pos >= text.size()) return false;
  const char letter = text[pos++];
  if (const size_t at = kLetters.find(letter); at != kLetters.npos)
    return out += kEscaped[at], true;
  if (letter != 'x' || pos + 2 > text.size()) return false;
  uint8_t byte = 0;
  const char* digits = text.data() + pos;
  if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return false;
  out += static_cast<char>(byte);
  pos += 2;
  return true;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t plain = plain_length(text.substr(i));
    out.append(text, i, plain);
    if ((i += plain) == text.size()) break;
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
        append_hex(out, text[i]);
    }
  }
  return out;
}

std::string cut_bytes(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  size_t end = max;  // A character has up to three bytes after its first.
  while (end > 0 && max - end < 3 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) end--;
  return std::string(text.substr(0, end)) + "...";
}

std::string list_text(const std::vector<std::string>& names, size_t max) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < max; i++) out += (i ? ", " : "") + names[i];
  return names.size() > max ? out + " and " + std::to_string(names.size() - max) + " more" : out;
}

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string hex_bytes(std::string_view bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : bytes) (out += digits[byte >> 4]) += digits[byte & 15];
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  while (true) {
    const size_t plain = plain_length(text, true);  // Nearly always all of it.
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [code, length] = read_utf8(text);
    if (length == 0)
      append_hex(out += '\\', text[0]);
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

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (const size_t at = kEscaped.find(c); at != kEscaped.npos)
      (out += '\\') += kLetters[at];
    else if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      append_hex(out, c);
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
