// SPDX-License-Identifier: MIT
// The output of luatrace-analyze: in a mapping, not in a string of Lua, which would be garbage of
// the program.
#pragma once

#include <string_view>

#include "lua.hpp"

namespace luatrace::module {

// Runs luatrace-analyze with these options on the recording. Returns a descriptor with its output;
// or -1, and the reason in *why.
int make_output(lua_State* lua, const char* const* options, const char** why);

// The same. Pushes an object and sets *text, which is
// valid while that object is on the stack and until release_output(). Returns why it failed, or
// null; then nothing is pushed.
const char* push_output(lua_State* lua, const char* const* options, std::string_view* text);

// Gives the mapping of the object at that index back now, not when it is collected.
void release_output(lua_State* lua, int index);

}  // namespace luatrace::module
