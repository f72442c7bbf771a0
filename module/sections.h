// SPDX-License-Identifier: MIT
// Sections: named stretches of a program, counted per Lua VM whether anything is recorded or not.
// A section belongs to the coroutine that starts it. Nested starts of the same name count as calls;
// time passes once, from the outermost start to its stop, suspended time included.
#pragma once

#include "lua.hpp"

namespace luatrace::module {

// Functions for Lua. What begins and ends is an event, too, so that each section is a row of every
// report.
int section_start(lua_State* lua);
int section_stop(lua_State* lua);
int sections(lua_State* lua);
// section_stop() without an error: returns whether the section was open.
int section_end(lua_State* lua);
// Checks the name and the function of section(), which is Lua code.
int check_section(lua_State* lua);

}  // namespace luatrace::module
