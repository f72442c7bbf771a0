/* SPDX-License-Identifier: MIT */
/* A module whose C functions are reached in every way in which programs reach them. */
#include "lauxlib.h"
#include "lua.h"

#define FUNCTION(name)              \
  static int users_##name(lua_State *L) { \
    lua_pushnumber(L, lua_gettop(L)); \
    return 1;                       \
  }
FUNCTION(direct)
FUNCTION(nested)
FUNCTION(deep)
FUNCTION(deepest)
FUNCTION(shared)
FUNCTION(alias)
FUNCTION(same)
FUNCTION(method)
FUNCTION(closing)
FUNCTION(guarded)
FUNCTION(hidden)
FUNCTION(late)
FUNCTION(final)
FUNCTION(global)
FUNCTION(inherited)
FUNCTION(classed)
FUNCTION(anonymous)
FUNCTION(twice)
FUNCTION(send)
FUNCTION(send_too)
FUNCTION(wrap_runner)

/* The table at -1 gets a function of its own for this C function. */
static void field(lua_State *L, const char *name, lua_CFunction f) {
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, name);
}

/* call(f, ...): calls it from C, where no code names it. */
static int users_call(lua_State *L) {
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* give(name): a function that is in no table. */
static int users_give(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_pushcfunction(L, *name == 'h' ? users_hidden : *name == 'l' ? users_late
                       : *name == 'g' ? users_global : users_final);
  return 1;
}

/* wrap(co): a function with it, as the lua module of nginx has its own coroutine.wrap. */
static int users_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  lua_settop(L, 1);
  lua_pushcclosure(L, users_wrap_runner, 1);
  return 1;
}

static void make_methods(lua_State *L) {
  luaL_newmetatable(L, "users_mt");
  field(L, "__gc", users_closing);
  lua_newtable(L);
  field(L, "method", users_method);
  field(L, "close", users_closing);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

/* Keys of the registry, as nginx's lua module has them: addresses. */
static char stream_key, packet_key;

static void make_socket(lua_State *L, char *key, lua_CFunction send) {
  lua_pushlightuserdata(L, key);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  field(L, "send", send);
  field(L, "twice", users_twice);
  if (key == &packet_key) field(L, "anonymous", users_anonymous);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* socket(): a table with the methods of either. */
static int users_socket(lua_State *L) {
  lua_newtable(L);
  lua_pushlightuserdata(L, lua_toboolean(L, 1) ? &stream_key : &packet_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return 1;
}

/* Methods of a class that is registered as no program calls it. */
static int users_class(lua_State *L) {
  lua_newtable(L);
  luaL_newmetatable(L, "__users_class_mt");
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  field(L, "classed", users_classed);
  lua_setmetatable(L, -2);
  return 1;
}

/* The module at -1 inherits a function. */
static void make_parent(lua_State *L) {
  lua_newtable(L);
  lua_newtable(L);
  field(L, "inherited", users_inherited);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* object(): a table with the methods. */
static int users_object(lua_State *L) {
  lua_newtable(L);
  luaL_getmetatable(L, "users_mt");
  lua_setmetatable(L, -2);
  return 1;
}

static void make_tables(lua_State *L) {
  lua_newtable(L); /* a */
  field(L, "nested", users_nested);
  lua_newtable(L); /* a.b */
  field(L, "deep", users_deep);
  lua_newtable(L); /* a.b.c */
  field(L, "deepest", users_deepest);
  lua_setfield(L, -2, "c");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "up"); /* A cycle. */
  lua_setfield(L, -2, "b");
  lua_setfield(L, -2, "a");
}

int luaopen_users(lua_State *L) {
  make_methods(L);
  make_socket(L, &stream_key, users_send);
  make_socket(L, &packet_key, users_send_too);
  lua_newtable(L);
  make_parent(L);
  field(L, "socket", users_socket);
  field(L, "class", users_class);
  field(L, "direct", users_direct);
  field(L, "call", users_call);
  field(L, "give", users_give);
  field(L, "wrap", users_wrap);
  field(L, "object", users_object);
  field(L, "one", users_shared);
  field(L, "other", users_shared);
  field(L, "same", users_same);
  lua_pushcfunction(L, users_alias);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "a_longer_name");
  lua_setfield(L, -2, "name");
  make_tables(L);
  lua_newtable(L); /* guarded: Lua code gives it a metatable */
  field(L, "inside", users_guarded);
  lua_setfield(L, -2, "guarded");
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index"); /* Another cycle. */
  return 1;
}
