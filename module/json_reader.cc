// SPDX-License-Identifier: MIT
// See json_reader.h. Nothing here has a destructor: Lua's errors may pass it.
#include "module/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "module/number.h"

namespace luatrace::module {
namespace {

constexpr int kMaxDepth = 100;

class Reader {
 public:
  Reader(lua_State* lua, std::string_view text) : lua_(lua), rest_(text) {}
  void read() {
    value(0);
    blanks();
    if (!rest_.empty()) fail();
  }
  void blanks() {
    while (!rest_.empty() &&
           (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }
  // Is that the next character? Then skips it.
  bool take(char c) {
    blanks();
    const bool is = rest_.starts_with(c);
    if (is) rest_.remove_prefix(1);
    return is;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string_view skip();
  std::string_view rest() const { return rest_; }

 private:
  void fail() { luaL_error(lua_, "the report cannot be read: unexpected JSON"); }
  void skip_string();
  void value(int depth);
  void object(int depth);
  void array(int depth);
  void string();
  bool escape(luaL_Buffer& out);
  void code_point(luaL_Buffer& out, uint32_t c);
  void word();

  lua_State* lua_;
  std::string_view rest_;
};

void Reader::code_point(luaL_Buffer& out, uint32_t c) {
  if (c < 0x80) {
    luaL_addchar(&out, static_cast<char>(c));
  } else if (c < 0x800) {
    luaL_addchar(&out, static_cast<char>(0xc0 | c >> 6));
    luaL_addchar(&out, static_cast<char>(0x80 | (c & 63)));
  } else {
    luaL_addchar(&out, static_cast<char>(0xe0 | c >> 12));
    luaL_addchar(&out, static_cast<char>(0x80 | (c >> 6 & 63)));
    luaL_addchar(&out, static_cast<char>(0x80 | (c & 63)));
  }
}

// What follows a backslash. luatrace-analyze escapes nothing above U+FFFF.
bool Reader::escape(luaL_Buffer& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (rest_.empty()) return false;
  const char c = rest_[0];
  rest_.remove_prefix(1);
  if (const size_t at = kNames.find(c); at != kNames.npos) {
    luaL_addchar(&out, kMeanings[at]);
    return true;
  }
  uint32_t code = 0;
  if (c != 'u' || rest_.size() < 4) return false;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
  if (error != std::errc() || end != rest_.data() + 4) return false;
  rest_.remove_prefix(4);
  code_point(out, code);
  return true;
}

void Reader::string() {
  luaL_Buffer out;
  luaL_buffinit(lua_, &out);
  expect('"');
  for (;;) {
    const size_t n = rest_.find_first_of("\"\\");
    if (n == rest_.npos) return fail();
    luaL_addlstring(&out, rest_.data(), n);
    const bool ends = rest_[n] == '"';
    rest_.remove_prefix(n + 1);
    if (ends) return luaL_pushresult(&out);
    if (!escape(out)) return fail();
  }
}

void Reader::object(int depth) {
  lua_newtable(lua_);
  if (take('}')) return;
  do {
    blanks();
    string();
    expect(':');
    value(depth);
    lua_rawset(lua_, -3);
  } while (take(','));
  expect('}');
}

void Reader::array(int depth) {
  lua_newtable(lua_);
  if (take(']')) return;
  int i = 1;
  do {
    value(depth);
    lua_rawseti(lua_, -2, i++);
  } while (take(','));
  expect(']');
}

// true, false, null or a number.
void Reader::word() {
  const std::string_view w = rest_.substr(0, rest_.find_first_of(",]} \t\r\n"));
  rest_.remove_prefix(w.size());
  if (w == "null") return lua_pushnil(lua_);
  if (w == "true" || w == "false") return lua_pushboolean(lua_, w == "true");
  double number = 0;
  std::string_view left = w;
  if (!take_number(lua_, &left, &number) || !left.empty()) return fail();
  lua_pushnumber(lua_, number);
}

void Reader::value(int depth) {
  if (depth > kMaxDepth) fail();
  luaL_checkstack(lua_, 4, "the report is too deep");
  blanks();
  if (take('{')) return object(depth + 1);
  if (take('[')) return array(depth + 1);
  if (rest_.starts_with('"')) return string();
  word();
}

// What begins or ends a string, an object or an array.
bool is_mark(char c) {
  return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
}

void Reader::skip_string() {
  size_t at = 1;
  while (at < rest_.size() && rest_[at] != '"') at += rest_[at] == '\\' ? 2 : 1;
  if (at >= rest_.size()) fail();
  rest_.remove_prefix(at + 1);
}

// Skips a value. Returns its text.
std::string_view Reader::skip() {
  blanks();
  const std::string_view begin = rest_;
  const auto n = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
  int depth = 0;
  if (n > 0 && !rest_.starts_with('"') && !rest_.starts_with('{') && !rest_.starts_with('['))
    return rest_.remove_prefix(n), begin.substr(0, n);
  do {
    rest_.remove_prefix(
        static_cast<size_t>(std::find_if(rest_.begin(), rest_.end(), is_mark) - rest_.begin()));
    if (rest_.empty()) fail();
    if (rest_[0] == '"') {
      skip_string();
      continue;
    }
    depth += rest_[0] == '{' || rest_[0] == '[' ? 1 : -1;
    rest_.remove_prefix(1);
  } while (depth > 0);
  return begin.substr(0, begin.size() - rest_.size());
}

}  // namespace

void push_json(lua_State* lua, std::string_view text) {
  Reader(lua, text).read();
}

std::string_view json_find(lua_State* lua, std::string_view object, std::string_view name) {
  Reader reader(lua, object);
  if (!reader.take('{') || reader.take('}')) return {};
  do {
    const std::string_view key = reader.skip();
    reader.expect(':');
    if (key.size() == name.size() + 2 && std::string_view(key.data() + 1, name.size()) == name) {
      reader.blanks();
      return reader.rest();
    }
    reader.skip();
  } while (reader.take(','));
  reader.expect('}');
  return {};
}

double json_number(lua_State* lua, std::string_view object, std::string_view name, double other) {
  std::string_view text = json_find(lua, object, name);
  double number = 0;
  return take_number(lua, &text, &number) ? number : other;
}

bool JsonElements::next(std::string_view* element) {
  Reader reader(lua_, rest_);
  if (!reader.take(begun_ ? ',' : '[')) return false;
  begun_ = true;
  if (reader.take(']')) return false;
  *element = reader.skip();
  rest_ = reader.rest();
  return true;
}

}  // namespace luatrace::module
