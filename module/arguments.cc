// SPDX-License-Identifier: MIT
// Arguments; see arguments.h.
#include "module/arguments.h"

#include <cmath>
#include <cstdarg>
#include <cstring>

#include "module/vm.h"

namespace luatrace::module {

int fail(lua_State* lua, const char* format, ...) {
  lua_Debug call{};
  const bool of_ours = lua_getstack(lua, 1, &call) != 0 && lua_getinfo(lua, "S", &call) != 0 &&
                       std::strcmp(call.source, LUATRACE_HIDDEN) == 0;
  luaL_where(lua, of_ours ? 2 : 1);
  va_list values;
  va_start(values, format);
  lua_pushvfstring(lua, format, values);
  va_end(values);
  lua_concat(lua, 2);
  return lua_error(lua);
}

void check_type(lua_State* lua, int index, int type, const char* function, const char* name) {
  if (lua_type(lua, index) != type)
    fail(lua, "%s: %s: %s expected, got %s", function, name, lua_typename(lua, type),
         luaL_typename(lua, index));
}

const char* check_text(lua_State* lua, int index, const char* function, const char* name) {
  check_type(lua, index, LUA_TSTRING, function, name);
  size_t size = 0;
  const char* const text = lua_tolstring(lua, index, &size);
  if (std::strlen(text) != size) fail(lua, "%s: %s has a NUL byte", function, name);
  return text;
}

Arguments::Arguments(lua_State* lua, int index, const char* function)
    : lua_(lua), index_(index), function_(function) {
  if (lua_isnoneornil(lua, index)) {
    lua_settop(lua, index);
    lua_newtable(lua);
    lua_replace(lua, index);
  }
  check_type(lua, index, LUA_TTABLE, function, "the options");
}

void Arguments::wrong(const char* name, const char* wanted) {
  luaL_error(lua_, "%s: %s must be %s, not a %s", function_, name, wanted, luaL_typename(lua_, -1));
}

// The string or number on top of the stack.
const char* Arguments::text(const char* name) {
  size_t size = 0;
  const char* const value = lua_tolstring(lua_, -1, &size);
  if (value != nullptr && std::strlen(value) != size)
    luaL_error(lua_, "%s: %s has a NUL byte", function_, name);
  return value;
}

void Arguments::add(const char* word) {
  if (count_ == kMax)
    luaL_error(lua_, "%s: %s: too many values: all options together have up to %d", function_,
               name_count_ > 0 ? names_[name_count_ - 1] : "options", kMax / 2);
  words_[count_++] = word;
}

void Arguments::push(const char* name) {
  names_[name_count_++] = name;
  lua_pushstring(lua_, name);
  lua_rawget(lua_, index_);
}

const char* Arguments::string(const char* name) {
  push(name);
  if (!lua_isnil(lua_, -1) && lua_type(lua_, -1) != LUA_TSTRING) wrong(name, "a string");
  const char* const value = text(name);
  lua_pop(lua_, 1);  // the table still has it
  return value;
}

lua_Integer Arguments::count(const char* name, lua_Integer otherwise) {
  constexpr double kMax = 1e15;
  push(name);
  const double value = lua_tonumber(lua_, -1);
  const bool given = !lua_isnil(lua_, -1);
  if (given && lua_type(lua_, -1) != LUA_TNUMBER) wrong(name, "a number");
  if (given && !(value >= 0 && value <= kMax && std::floor(value) == value))
    luaL_error(lua_, "%s: %s must be a whole number from 0 on, not %f", function_, name, value);
  lua_pop(lua_, 1);
  return given ? static_cast<lua_Integer>(value) : otherwise;
}

// One word, option=VALUE, which stays on the stack: an option whose value is optional takes no
// other.
void Arguments::option(const char* name, const char* option) {
  push(name);
  if (lua_isnil(lua_, -1)) return lua_pop(lua_, 1);
  if (!lua_isstring(lua_, -1)) wrong(name, "a string or a number");
  luaL_checkstack(lua_, 2, "too many options");
  add(lua_pushfstring(lua_, "%s=%s", option, text(name)));
}

// The array is on top of the stack. As many elements as it has keys: there are no others.
void Arguments::add_each(const char* name, const char* option) {
  int keys = 0;
  for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) keys++;
  for (int i = 1; i <= keys; i++) {
    lua_rawgeti(lua_, -1, i);
    if (lua_isnil(lua_, -1))
      luaL_error(lua_, "%s: %s must be an array of strings, without gaps and other keys", function_,
                 name);
    if (lua_type(lua_, -1) != LUA_TSTRING) wrong(name, "an array of strings");
    if (option != nullptr) add(option);
    add(text(name));
    lua_pop(lua_, 1);
  }
  lua_pop(lua_, 1);
}

void Arguments::options(const char* name, const char* option) {
  push(name);
  if (lua_istable(lua_, -1)) return add_each(name, option);
  if (!lua_isnil(lua_, -1) && lua_type(lua_, -1) != LUA_TSTRING)
    wrong(name, "a string or an array of strings");
  if (!lua_isnil(lua_, -1)) {
    add(option);
    add(text(name));
  }
  lua_pop(lua_, 1);
}

void Arguments::flag(const char* name, const char* option) {
  push(name);
  if (!lua_isnil(lua_, -1) && !lua_isboolean(lua_, -1)) wrong(name, "true or false");
  if (lua_toboolean(lua_, -1) != 0) add(option);
  lua_pop(lua_, 1);
}

void Arguments::verbatim(const char* name) {
  push(name);
  if (lua_isnil(lua_, -1)) return lua_pop(lua_, 1);
  if (!lua_istable(lua_, -1)) wrong(name, "an array of strings");
  add_each(name, nullptr);
}

void Arguments::end() {
  lua_pushnil(lua_);
  while (lua_next(lua_, index_) != 0) {
    lua_pop(lua_, 1);
    bool known = false;
    const bool text = lua_type(lua_, -1) == LUA_TSTRING;
    for (int i = 0; text && i < name_count_; i++)
      known = known || std::strcmp(names_[i], lua_tostring(lua_, -1)) == 0;
    if (!text)
      luaL_error(lua_, "%s: options have names, not a key that is a %s", function_,
                 luaL_typename(lua_, -1));
    if (!known) luaL_error(lua_, "%s: unknown option '%s'", function_, lua_tostring(lua_, -1));
  }
}

}  // namespace luatrace::module
