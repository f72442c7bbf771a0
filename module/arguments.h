// SPDX-License-Identifier: MIT
// Arguments: the options in a Lua table as a command line of luatrace-record or luatrace-analyze.
// Invariants: values are checked by their type only; what they mean is checked by the program that
// gets them. An object has no destructor, since Lua's errors may pass it; its strings belong to the
// table, which the caller keeps on the stack. A name that is not known is an error.
#pragma once

#include "lua.hpp"

namespace luatrace::module {

// Throws that message, with the place of the program's call: section() is Lua code of ours.
int fail(lua_State* lua, const char* format, ...);
// The string at that index of the stack. Throws if it is another value, or has a NUL byte: names
// end there in C. `function` and `name` are for the message.
const char* check_text(lua_State* lua, int index, const char* function, const char* name);
// The same for a value of any type.
void check_type(lua_State* lua, int index, int type, const char* function, const char* name);

class Arguments {
 public:
  static constexpr int kMax = 200;

  // The table is at that index of the stack; `function` is for messages. No table: no options.
  Arguments(lua_State* lua, int index, const char* function);

  // A string, or null if it is not given.
  const char* string(const char* name);
  // A whole number from 0 on, or `otherwise`.
  lua_Integer count(const char* name, lua_Integer otherwise);
  // option=VALUE: a string or a number.
  void option(const char* name, const char* option);
  // option VALUE for each string of an array, or for a single one.
  void options(const char* name, const char* option);
  // option, if it is true.
  void flag(const char* name, const char* option);
  // All strings of an array, as they are.
  void verbatim(const char* name);
  // Pushes the value.
  void push(const char* name);
  // Throws if the table has other names than those asked for.
  void end();

  void add(const char* word);
  const char* const* list() const { return words_; }

 private:
  void wrong(const char* name, const char* wanted);
  const char* text(const char* name);
  void add_each(const char* name, const char* option);

  lua_State* lua_;
  int index_;
  const char* function_;
  const char* words_[kMax + 1] = {};
  const char* names_[16] = {};
  int count_ = 0, name_count_ = 0;
};

}  // namespace luatrace::module
