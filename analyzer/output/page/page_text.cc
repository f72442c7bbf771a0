// SPDX-License-Identifier: MIT
#include "analyzer/output/page/page_text.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"

namespace luatrace::analyze::page {
namespace {

std::string visible_text(std::string_view bytes) {
  constexpr size_t kLongest = 2000;
  return printable(cut_bytes(bytes, kLongest));
}

// Replaces characters by the texts that quote them.
std::string quoted(const std::string& text, std::span<const std::pair<char, const char*>> quotes) {
  std::string out;
  for (char c : text) {
    const auto quote =
        std::find_if(quotes.begin(), quotes.end(), [c](const auto& q) { return q.first == c; });
    quote == quotes.end() ? out += c : out += quote->second;
  }
  return out;
}

}  // namespace

std::string script_string(std::string_view bytes) {
  static constexpr std::pair<char, const char*> kQuotes[] = {
      {'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}};
  return quoted(json_string(visible_text(bytes)), kQuotes);
}

std::string html_text(std::string_view bytes) {
  static constexpr std::pair<char, const char*> kQuotes[] = {
      {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  return quoted(visible_text(bytes), kQuotes);
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; j++) group = group << 8 | (j < have ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; j++) text += j <= have ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace luatrace::analyze::page
