// SPDX-License-Identifier: MIT
// Hooks; see hooks.h. The VM watches the calls (luaJIT_trace_hook); here its trees become tables.
// In the registry, below the address of kHooks: by number
//   { function, callback, message = why the callback has failed }
// The function is there so that it lives as long as the hook.
//
// Invariant: what the VM calls (done) must not throw, and runs without a frame of its own on the
// Lua stack: it uses no indices from the bottom.
#include "module/hooks.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/utf8.h"
#include "module/arguments.h"
#include "module/table.h"
#include "module/vm.h"

namespace luatrace::module {
namespace {

const char kHooks = 0;
constexpr int kMaxJsonDepth = 2200;  // Of JSON: two tables for each level of calls.

void push_hooks(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>(&kHooks));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  if (!lua_isnil(lua, -1)) return;
  lua_pop(lua, 1);
  lua_newtable(lua);
  lua_pushlightuserdata(lua, const_cast<char*>(&kHooks));
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

// -- Trees --

void set_flag(lua_State* lua, const char* field, int value) {
  if (value == 0) return;
  lua_pushboolean(lua, 1);
  lua_setfield(lua, -2, field);
}

double microseconds(unsigned long long ns) {
  return static_cast<double>(ns) / 1000;
}

void push_node(lua_State* lua, const luatrace_node& node) {
  lua_createtable(lua, 0, 8);
  lua_pushstring(lua, node.source);
  lua_setfield(lua, -2, "source");
  lua_pushstring(lua, node.name);
  lua_setfield(lua, -2, "name");
  set(lua, "line_number", node.line);
  set(lua, "call_full_duration", microseconds(node.full_ns));
  set(lua, "call_inner_duration", microseconds(node.self_ns));
  set(lua, "call_native_duration", microseconds(node.native_ns));
  set(lua, "call_count", node.calls);
  lua_newtable(lua);
  lua_setfield(lua, -2, "children");
}

// (tree, callback): calls callback(table).
int pass_on(lua_State* lua) {
  const auto& tree = *static_cast<const luatrace_tree*>(lua_touserdata(lua, 1));
  lua_createtable(lua, static_cast<int>(tree.count), 0);  // All nodes, at index 3.
  for (unsigned int i = 0; i < tree.count; i++) {
    push_node(lua, tree.node[i]);
    lua_pushvalue(lua, -1);
    lua_rawseti(lua, 3, static_cast<int>(i + 1));
    if (i > 0) {
      lua_rawgeti(lua, 3, static_cast<int>(tree.node[i].parent + 1));
      lua_getfield(lua, -1, "children");
      lua_pushvalue(lua, -3);
      lua_rawseti(lua, -2, static_cast<int>(lua_objlen(lua, -2)) + 1);
    }
    lua_settop(lua, 3);
  }
  lua_pushvalue(lua, 2);
  lua_rawgeti(lua, 3, 1);
  set(lua, "suspended_duration", microseconds(tree.suspended_ns));
  if (tree.skipped != 0) set(lua, "skipped", tree.skipped);
  set_flag(lua, "error", tree.error);
  set_flag(lua, "cut", tree.cut);
  lua_call(lua, 1, 0);
  return 0;
}

// A callback that fails is not called again.
void done(lua_State* lua, const luatrace_tree* tree, void* data) {
  const auto number = static_cast<int>(reinterpret_cast<intptr_t>(data));
  push_hooks(lua);
  lua_rawgeti(lua, -1, number);
  lua_rawgeti(lua, -1, 3);  // pass_on
  lua_pushlightuserdata(lua, const_cast<luatrace_tree*>(tree));
  lua_rawgeti(lua, -3, 2);
  if (lua_pcall(lua, 2, 0, 0) == 0) return lua_pop(lua, 2);
  if (lua_type(lua, -1) != LUA_TSTRING) {
    lua_pop(lua, 1);
    lua_pushliteral(lua, "the callback has thrown an error");
  }
  lua_setfield(lua, -2, "message");
  lua_getfield(lua, -1, "number");
  const auto hook_number = static_cast<unsigned int>(lua_tointeger(lua, -1));
  lua_pop(lua, 3);
  luaJIT_trace_unhook(lua, hook_number);
}

// -- Hooks --

// Upvalue 2: the key in the table of hooks. Returns true, or nil and why the callback has failed.
int unhook(lua_State* lua) {
  lua_settop(lua, 0);
  push_hooks(lua);
  const int key = static_cast<int>(lua_tointeger(lua, lua_upvalueindex(2)));
  lua_rawgeti(lua, 1, key);
  if (lua_isnil(lua, 2))
    return lua_pushnil(lua), lua_pushliteral(lua, "this hook has been removed"), 2;
  lua_getfield(lua, 2, "number");
  luaJIT_trace_unhook(lua, static_cast<unsigned int>(lua_tointeger(lua, -1)));
  lua_pushnil(lua);
  lua_rawseti(lua, 1, key);
  lua_getfield(lua, 2, "message");
  if (lua_isnil(lua, -1)) return lua_pushboolean(lua, 1), 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

// A free key in the table of hooks, which is on top of the stack.
int free_key(lua_State* lua) {
  for (int key = 1;; key++) {
    lua_rawgeti(lua, -1, key);
    const bool is_free = lua_isnil(lua, -1);
    lua_pop(lua, 1);
    if (is_free) return key;
  }
}

// -- JSON --

// Text that grows in a userdata at index 2 of the stack. The tables that are being written are
// above: each with a key, or in an array the index, that was written last. So the C stack has one
// frame.
class Json {
 public:
  explicit Json(lua_State* lua) : lua_(lua) { lua_settop(lua, 1), grow(); }
  void write();
  void push() { lua_pushlstring(lua_, text_, size_); }

 private:
  void grow();
  void add(std::string_view s);
  void string(std::string_view s);
  void begin_table();
  bool next();
  void value();
  void check_keys(int table, int count);

  lua_State* lua_;
  char* text_ = nullptr;
  size_t size_ = 0, space_ = 0;
  int depth_ = 0;
};

void Json::grow() {
  space_ = space_ == 0 ? 4096 : 2 * space_;
  auto* const more = static_cast<char*>(lua_newuserdata(lua_, space_));
  if (size_ > 0) std::memcpy(more, text_, size_);
  text_ = more;
  if (lua_gettop(lua_) > 2) lua_replace(lua_, 2);
}

void Json::add(std::string_view s) {
  while (space_ - size_ < s.size()) grow();
  std::memcpy(text_ + size_, s.data(), s.size());
  size_ += s.size();
}

void Json::string(std::string_view s) {
  add("\"");
  while (!s.empty()) {
    const Character c = read_utf8(s);
    char escaped[8];
    if (c.length == 0)
      add("\\ufffd");
    else if (c.code == '"' || c.code == '\\')
      add(c.code == '"' ? "\\\"" : "\\\\");
    else if (c.code < 0x20)
      add({escaped,
           static_cast<size_t>(std::snprintf(escaped, sizeof escaped, "\\u%04x", c.code))});
    else
      add(s.substr(0, c.length));
    s.remove_prefix(c.length == 0 ? 1 : c.length);
  }
  add("\"");
}

// An array that has other fields, too, has no form in JSON.
void Json::check_keys(int table, int count) {
  int keys = 0;
  for (lua_pushnil(lua_); lua_next(lua_, table) != 0; lua_pop(lua_, 1)) keys++;
  if (keys != count) luaL_error(lua_, "to_json: a table has fields beside its array");
}

// The table on top of the stack. An empty table is an array: trees have no others.
void Json::begin_table() {
  if (depth_++ > kMaxJsonDepth) luaL_error(lua_, "to_json: the tables are nested too deeply");
  luaL_checkstack(lua_, 8, "to_json");
  const int at = lua_gettop(lua_), count = static_cast<int>(lua_objlen(lua_, at));
  lua_pushnil(lua_);
  const bool is_array = count > 0 || lua_next(lua_, at) == 0;
  lua_settop(lua_, at);
  if (count > 0) check_keys(at, count);
  add(is_array ? "[" : "{");
  is_array ? lua_pushinteger(lua_, 0) : lua_pushnil(lua_);
}

// Of the innermost table: pushes its next value, or takes the table away and returns false.
bool Json::next() {
  const int at = lua_gettop(lua_) - 1;
  const bool is_array = lua_type(lua_, -1) == LUA_TNUMBER;
  const lua_Integer before = lua_tointeger(lua_, -1);
  const bool is_first = is_array ? before == 0 : lua_isnil(lua_, -1);
  const bool more =
      is_array ? before < static_cast<lua_Integer>(lua_objlen(lua_, at)) : lua_next(lua_, at) != 0;
  if (!more) {
    add(is_array ? "]" : "}");
    depth_--;
    return lua_settop(lua_, at - 1), false;
  }
  if (!is_first) add(",");
  if (is_array) {
    lua_pop(lua_, 1);
    lua_pushinteger(lua_, before + 1);
    return lua_rawgeti(lua_, at, static_cast<int>(before) + 1), true;
  }
  if (lua_type(lua_, -2) != LUA_TSTRING) luaL_error(lua_, "to_json: a key is no string");
  size_t size = 0;
  const char* const key = lua_tolstring(lua_, -2, &size);
  string({key, size});
  return add(":"), true;
}

// The table on top of the stack, which it takes.
void Json::write() {
  for (begin_table(); depth_ > 0;) {
    if (!next()) continue;
    if (lua_istable(lua_, -1))
      begin_table();
    else
      value();
  }
}

// The value on top of the stack, which it takes; no table.
void Json::value() {
  size_t size = 0;
  char number[32];
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING: {
      const char* const text = lua_tolstring(lua_, -1, &size);
      string({text, size});
      break;
    }
    case LUA_TNUMBER:
      if (!std::isfinite(lua_tonumber(lua_, -1))) luaL_error(lua_, "to_json: not a finite number");
      add({number, static_cast<size_t>(
                       std::snprintf(number, sizeof number, "%.14g", lua_tonumber(lua_, -1)))});
      break;
    case LUA_TBOOLEAN:
      add(lua_toboolean(lua_, -1) != 0 ? "true" : "false");
      break;
    default:
      luaL_error(lua_, "to_json: a %s has no form in JSON", luaL_typename(lua_, -1));
  }
  lua_pop(lua_, 1);
}

}  // namespace

void push_hidden(lua_State* lua, lua_CFunction function, int values) {
  lua_pushlightuserdata(lua, luaJIT_trace_hidden());
  lua_insert(lua, -1 - values);
  lua_pushcclosure(lua, function, 1 + values);
}

int hook(lua_State* lua) {
  if (lua_istable(lua, 1)) {  // The function that is in the field now; the table stays as it is.
    if (lua_isnone(lua, 2)) return luaL_error(lua, "hook: the field: value expected, got no value");
    lua_settop(lua, 3);
    lua_pushvalue(lua, 2);
    lua_gettable(lua, 1);
    lua_replace(lua, 2);
    lua_remove(lua, 1);
  }
  check_type(lua, 1, LUA_TFUNCTION, "hook", "the function");
  check_type(lua, 2, LUA_TFUNCTION, "hook", "the callback");
  lua_settop(lua, 2);
  push_hooks(lua);
  const int key = free_key(lua);
  unsigned int number = 0;
  lua_createtable(lua, 3, 2);
  for (int i = 1; i <= 2; i++) {
    lua_pushvalue(lua, i);
    lua_rawseti(lua, -2, i);
  }
  push_hidden(lua, pass_on);
  lua_rawseti(lua, -2, 3);
  lua_rawseti(lua, 3, key);
  const char* const why =
      luaJIT_trace_hook(lua, 1, done, reinterpret_cast<void*>(static_cast<intptr_t>(key)), &number);
  lua_rawgeti(lua, 3, key);
  if (why != nullptr) {
    lua_pushnil(lua);
    lua_rawseti(lua, 3, key);
    return lua_pushnil(lua), lua_pushstring(lua, why), 2;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(number));
  lua_setfield(lua, -2, "number");
  lua_pushinteger(lua, key);
  push_hidden(lua, unhook, 1);
  return 1;
}

int to_json(lua_State* lua) {
  check_type(lua, 1, LUA_TTABLE, "to_json", "the tree");
  Json json(lua);
  lua_pushvalue(lua, 1);
  json.write();
  json.push();
  return 1;
}

}  // namespace luatrace::module
