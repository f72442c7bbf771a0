// SPDX-License-Identifier: MIT
// Reads JSON (luatrace-analyze's) into Lua tables; what nobody asks for is skipped as text. All
// functions throw a Lua error if the JSON is not well-formed where they read it.
#pragma once

#include <string_view>

#include "lua.hpp"

namespace luatrace::module {

// Pushes the value. null becomes nil: such members do not exist. Numbers are
// doubles: those above 2^53 are rounded. Up to 100 levels deep.
void push_json(lua_State* lua, std::string_view text);

// The text from a member's value on, with all that comes after it; empty if there is no such
// member. name: without characters that are escaped.
std::string_view json_find(lua_State* lua, std::string_view object, std::string_view name);
// The number that a member is; `other` if it is not one.
double json_number(lua_State* lua, std::string_view object, std::string_view name, double other);

// The texts of the elements of the array that a text begins with, one after the other. What is no
// array has none.
class JsonElements {
 public:
  JsonElements(lua_State* lua, std::string_view text) : lua_(lua), rest_(text) {}
  // False: there are no more.
  bool next(std::string_view* element);

 private:
  lua_State* lua_;
  std::string_view rest_;
  bool begun_ = false;
};

}  // namespace luatrace::module
