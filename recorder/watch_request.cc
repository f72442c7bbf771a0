// SPDX-License-Identifier: MIT
// The condition is parsed by recursive descent and written in postfix order:
//   or := and ("or" and)*    and := not ("and" not)*    not := "not" not | comparison
//   comparison := value (OP value)?
//   value := NAME | NUMBER | STRING | nil | true | false | "(" or ")"
#include "recorder/watch_request.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/command_line.h"
#include "luatrace_watch.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint32_t kMaxLine = 0x7fff0000;
constexpr int kMaxNesting = 64;

bool begins_name(char c) {
  return isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_in_name(char c) {
  return begins_name(c) || isdigit(static_cast<unsigned char>(c)) || c == '.';
}

// NAME, or NAME.FIELD: no part is empty.
bool is_name(std::string_view text) {
  if (text.empty() || !begins_name(text[0]) || text.back() == '.') return false;
  return std::all_of(text.begin(), text.end(), is_in_name) && text.find("..") == text.npos;
}

class Condition {
 public:
  explicit Condition(const std::string& text) : text_(text) {}

  std::string steps() {
    disjunction();
    if (skip_space(), pos_ < text_.size()) fail("unexpected '" + text_.substr(pos_, 1) + "'");
    if (count_ > LT_WATCH_TESTS_MAX) fail("the condition is too long");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError("--when: position " + std::to_string(pos_ + 1) + ": " + what);
  }

  void skip_space() {
    while (pos_ < text_.size() && isspace(static_cast<unsigned char>(text_[pos_]))) pos_++;
  }

  // The word that comes next, without taking it.
  std::string_view next_word() {
    skip_space();
    size_t end = pos_;
    while (end < text_.size() && is_in_name(text_[end])) end++;
    return std::string_view(text_).substr(pos_, end - pos_);
  }

  bool take(std::string_view word) {
    if (next_word() != word) return false;
    pos_ += word.size();
    return true;
  }

  void step(char kind, std::string_view argument) {
    if (kind != 'o') {
      if (++held_ > LT_WATCH_STACK_MAX) fail("too many parentheses");
    } else if (argument != "!") {
      held_--;
    }
    count_++;
    out_ += std::string(1, kind) + " " + std::string(argument) + "\n";
  }

  void disjunction() {
    conjunction();
    while (take("or")) conjunction(), step('o', "|");
  }

  void conjunction() {
    negation();
    while (take("and")) negation(), step('o', "&");
  }

  void negation() {
    if (!take("not")) return comparison();
    if (++nesting_ > kMaxNesting) fail("the condition is too deep");
    negation();
    nesting_--;
    step('o', "!");
  }

  void comparison() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOperators = {
        {{"==", "="}, {"~=", "~"}, {"<=", "["}, {">=", "]"}, {"<", "<"}, {">", ">"}}};
    value();
    skip_space();
    for (const auto& [sign, step_name] : kOperators)
      if (std::string_view(text_).substr(pos_).starts_with(sign)) {
        pos_ += sign.size();
        value();
        return step('o', step_name);
      }
    if (pos_ < text_.size() && (text_[pos_] == '=' || text_[pos_] == '!'))
      fail("unknown operator; there are == ~= < > <= >= and or not");
  }

  void value() {
    const std::string_view word = next_word();
    if (pos_ >= text_.size()) fail("a value is missing");
    const char c = text_[pos_];
    if (c == '(') return parenthesis();
    if (c == '"' || c == '\'') return string();
    if (isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.') return number();
    if (word == "nil" || word == "true" || word == "false") {
      step('k', word);
    } else {
      if (!is_name(word) || word == "and" || word == "or" || word == "not")
        fail("expected a name, a number, a string, nil, true or false");
      step('v', word);
    }
    pos_ += word.size();
  }

  void parenthesis() {
    if (++nesting_ > kMaxNesting) fail("the condition is too deep");
    pos_++;
    disjunction();
    if (skip_space(), pos_ >= text_.size() || text_[pos_] != ')') fail("expected ')'");
    pos_++;
    nesting_--;
  }

  // As Lua has it: decimal or hexadecimal.
  void number() {
    const char* const begin = text_.c_str() + pos_;
    char* end = nullptr;
    const double n = strtod(begin, &end);
    if (end == begin || !std::isfinite(n) || is_in_name(*end)) fail("not a number");
    const std::string_view text(begin, static_cast<size_t>(end - begin));
    step('n', text);
    pos_ += text.size();
  }

  // The number of up to `most` digits after text_[at]; `at` becomes the last one.
  unsigned digits(size_t& at, size_t most, int base) {
    unsigned n = 0;
    const char* const begin = text_.data() + at + 1;
    const char* const limit = begin + std::min(most, text_.size() - at - 1);
    const char* const end = std::from_chars(begin, limit, n, base).ptr;
    if (end == begin || (base == 16 && end != begin + most)) fail("unknown escape");
    at += static_cast<size_t>(end - begin);
    return n;
  }

  // What comes after the backslash at `at` stands for; `at` becomes its last character.
  unsigned escape(size_t& at) {
    static constexpr std::string_view kLetters = "abfnrtv\\\"'", kBytes = "\a\b\f\n\r\t\v\\\"'";
    const size_t i = kLetters.find(text_[at + 1]);
    if (i == kLetters.npos && text_[at + 1] != 'x') return digits(at, 3, 10);
    at++;
    return i == kLetters.npos ? digits(at, 2, 16) : static_cast<unsigned char>(kBytes[i]);
  }

  // Takes the next byte of a string, which may be an escape of Lua. The VM compares C strings that
  // are on one line.
  char byte() {
    size_t at = pos_;
    unsigned n = static_cast<unsigned char>(text_[at]);
    if (n == '\\' && at + 1 < text_.size()) n = escape(at);
    if (n > 255) fail("an escape is beyond 255");
    if (n == 0 || n == '\n') fail("a string cannot contain a newline or a zero byte");
    pos_ = at + 1;
    return static_cast<char>(n);
  }

  void string() {
    const size_t begin = pos_++;
    std::string s;
    while (pos_ < text_.size() && text_[pos_] != text_[begin]) s += byte();
    if (pos_ >= text_.size()) pos_ = begin, fail("the string does not end");
    step('s', s);
    pos_++;
  }

  const std::string& text_;
  size_t pos_ = 0;
  std::string out_;
  uint32_t held_ = 0, count_ = 0;
  int nesting_ = 0;
};

// FILE:LINE, or the name of a function.
std::string place_line(const std::string& text) {
  if (text.empty() || text.find_first_of("\n") != text.npos)
    throw UsageError("--watch: a place cannot be empty or contain a newline");
  const size_t colon = text.rfind(':');
  const std::string line = colon == text.npos ? "" : text.substr(colon + 1);
  if (colon != text.npos && line.empty())
    throw UsageError("--watch: '" + text + "': the line is missing (FILE:LINE)");
  const bool number = line.find_first_not_of("0123456789", line[0] == '-') == line.npos;
  if (line.empty() || !number) return "F " + text + "\n";
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), n);
  if (error != std::errc() || end != line.data() + line.size() || n < 1 || n > kMaxLine)
    throw UsageError("--watch: '" + line + "' is not a line number");
  if (colon == 0) throw UsageError("--watch: '" + text + "': the file is missing (FILE:LINE)");
  return "L " + std::to_string(n) + " " + text.substr(0, colon) + "\n";
}

std::string item_line(const std::string& item) {
  for (const char* const what : {"args", "locals", "upvalues", "traceback"})
    if (item == what) return "P " + item + "\n";
  return "V " + item + "\n";
}

}  // namespace

std::vector<std::string> watch_items(const std::string& text) {
  std::vector<std::string> items;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, end - at);
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    if (!is_name(item))
      throw UsageError("--print: invalid value '" + item +
                       "'; choose args, locals, upvalues, traceback, NAME or NAME.FIELD");
    items.push_back(item);
    at = end + 1;
  }
  return items;
}

std::string watch_request(const WatchOptions& options) {
  std::string text;
  if (options.places.size() > LT_WATCH_PLACES_MAX)
    throw UsageError("--watch: more than " + std::to_string(LT_WATCH_PLACES_MAX) + " places");
  if (options.items.size() > LT_WATCH_ITEMS_MAX)
    throw UsageError("--print: more than " + std::to_string(LT_WATCH_ITEMS_MAX) + " values");
  for (const auto& place : options.places) text += place_line(place);
  for (const auto& item : options.items) text += item_line(item);
  text += "D " + std::to_string(options.depth) + "\n";
  if (options.count > 0) text += "N " + std::to_string(options.count) + "\n";
  if (!options.condition.empty()) text += Condition(options.condition).steps();
  if (text.size() > LT_WATCH_REQUEST_MAX)
    throw UsageError("--watch, --print and --when are too long together: " + grouped(text.size()) +
                     " bytes, " + grouped(LT_WATCH_REQUEST_MAX) + " are possible");
  return text;
}

}  // namespace luatrace::record
