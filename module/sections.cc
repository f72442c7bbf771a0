// SPDX-License-Identifier: MIT
// Sections; see sections.h. In the registry, below the address of kSections: by name
//   { time = s, cpu = s, calls = n, open = { [coroutine] = { depth, wall, cpu } } }
// where open has weak keys: a coroutine that is collected inside a section leaves nothing behind.
#include "module/sections.h"

#include <time.h>

#include <initializer_list>

#include "module/arguments.h"
#include "module/table.h"
#include "module/vm.h"

namespace luatrace::module {
namespace {

const char kSections = 0;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Pushes the table that the registry has below that address.
void push_registered(lua_State* lua, const char* key) {
  lua_pushlightuserdata(lua, const_cast<char*>(key));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  if (!lua_isnil(lua, -1)) return;
  lua_pop(lua, 1);
  lua_newtable(lua);
  lua_pushlightuserdata(lua, const_cast<char*>(key));
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

double get(lua_State* lua, int index, const char* field) {
  lua_getfield(lua, index, field);
  const double value = lua_tonumber(lua, -1);
  lua_pop(lua, 1);
  return value;
}

// The name at index 1.
void check_name(lua_State* lua, const char* function) {
  if (*check_text(lua, 1, function, "the name") == '\0')
    fail(lua, "%s: the name is empty", function);
}

// Pushes the section of the name at index 1, and what is open of it in this coroutine, or nil. If
// there is no such section and none is to be made, it pushes nil for both.
void push_section(lua_State* lua, bool make) {
  push_registered(lua, &kSections);
  lua_pushvalue(lua, 1);
  lua_rawget(lua, -2);
  if (lua_isnil(lua, -1) && !make) return lua_remove(lua, -2), lua_pushnil(lua);
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    lua_newtable(lua);
    for (const char* field : {"time", "cpu", "calls"}) set(lua, field, 0);
    lua_newtable(lua);
    lua_newtable(lua);
    lua_pushliteral(lua, "k");
    lua_setfield(lua, -2, "__mode");
    lua_setmetatable(lua, -2);
    lua_setfield(lua, -2, "open");
    lua_pushvalue(lua, 1);
    lua_pushvalue(lua, -2);
    lua_rawset(lua, -4);
  }
  lua_remove(lua, -2);
  lua_getfield(lua, -1, "open");
  lua_pushthread(lua);
  lua_rawget(lua, -2);
  lua_remove(lua, -2);
}

// What is open of the section below it becomes the table on top, or nil.
void set_open(lua_State* lua) {
  lua_getfield(lua, -2, "open");
  lua_pushthread(lua);
  lua_pushvalue(lua, -3);
  lua_rawset(lua, -3);
  lua_pop(lua, 2);
}

// For LUATRACE=mode=tag. Older LuaJITs have no such function.
void announce(lua_State* lua, bool begins, int arguments) {
  if (luaJIT_trace_section != nullptr) luaJIT_trace_section(lua, begins ? 1 : 0, arguments);
}

// A copy of the section at the top of the stack.
void copy_section(lua_State* lua) {
  const int from = lua_gettop(lua);
  lua_newtable(lua);
  for (const char* field : {"time", "cpu", "calls"}) set(lua, field, get(lua, from, field));
  lua_remove(lua, from);
}

// Ends the section of the name at index 1. False: it is not open in this coroutine.
bool end_section(lua_State* lua) {
  push_section(lua, false);
  if (lua_isnil(lua, -1)) return false;
  luaJIT_trace_section_stop(lua, lua_tostring(lua, 1));
  announce(lua, false, 1);
  const int open = lua_gettop(lua), section = open - 1;
  const double depth = get(lua, open, "depth") - 1;
  set(lua, "depth", depth);
  if (depth > 0) return true;
  const double wall = seconds(CLOCK_MONOTONIC) - get(lua, open, "wall");
  const double cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - get(lua, open, "cpu");
  lua_pop(lua, 1);
  lua_pushnil(lua);
  set_open(lua);
  set(lua, "time", get(lua, section, "time") + wall);
  set(lua, "cpu", get(lua, section, "cpu") + (cpu > 0 ? cpu : 0));  // another thread may stop it
  return true;
}

}  // namespace

int check_section(lua_State* lua) {
  check_name(lua, "section");
  if (luaL_getmetafield(lua, 2, "__call") == 0)
    check_type(lua, 2, LUA_TFUNCTION, "section", "what it runs");
  return 0;
}

int section_start(lua_State* lua) {
  check_name(lua, "section_start");
  const int arguments = lua_gettop(lua);
  push_section(lua, true);
  announce(lua, true, arguments);
  const int section = lua_gettop(lua) - 1;
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    lua_newtable(lua);
    set(lua, "depth", 0);
    set(lua, "wall", seconds(CLOCK_MONOTONIC));
    set(lua, "cpu", seconds(CLOCK_THREAD_CPUTIME_ID));
  }
  set(lua, "depth", get(lua, -1, "depth") + 1);
  set_open(lua);
  set(lua, "calls", get(lua, section, "calls") + 1);
  luaJIT_trace_section_start(lua, lua_tostring(lua, 1));
  return 0;
}

int section_end(lua_State* lua) {
  lua_pushboolean(lua, end_section(lua) ? 1 : 0);
  return 1;
}

int section_stop(lua_State* lua) {
  check_name(lua, "section_stop");
  if (!end_section(lua))
    return fail(lua, "section_stop: section '%s' has not been started in this coroutine",
                lua_tostring(lua, 1));
  return 0;
}

int sections(lua_State* lua) {
  if (!lua_isnoneornil(lua, 1)) {
    check_name(lua, "sections");
    push_registered(lua, &kSections);
    lua_pushvalue(lua, 1);
    lua_rawget(lua, -2);
    if (lua_isnil(lua, -1))
      return luaL_error(lua, "sections: there is no section '%s'", lua_tostring(lua, 1));
    copy_section(lua);
    return 1;
  }
  lua_newtable(lua);
  const int all = lua_gettop(lua);
  push_registered(lua, &kSections);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    copy_section(lua);
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, all);
  }
  lua_pop(lua, 1);
  return 1;
}

}  // namespace luatrace::module
