/* SPDX-License-Identifier: MIT
** R1 and R5, re-created from their descriptions: C on lua_sethook with one call stack for all coroutines. A
** function is its source and line; a C function its name. R1 closes, at a return, what was called by the
** function and has not returned (C functions: LuaJIT calls no hook at their returns); R5 closes what was
** entered last. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FUNCTIONS	4096
#define MAX_DEPTH	100000

typedef struct Function {
  char key[128], name[64];
  int line, open;
  long calls;
  double inclusive, self;
} Function;

static Function functions[MAX_FUNCTIONS];
static struct { Function *f; double began, callees; } stack[MAX_DEPTH];
static int count, depth, closes_callees;

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec/1e9;
}

static Function *find(const lua_Debug *ar)
{
  char key[128];
  int i, is_c = *ar->what == 'C';
  const char *name = ar->name ? ar->name : "?";
  strncpy(key, is_c ? name : ar->short_src, sizeof(key)-1);
  key[sizeof(key)-1] = '\0';
  for (i = 0; i < count; i++)
    if (functions[i].line == (is_c ? 0 : ar->linedefined) && !strcmp(functions[i].key, key)) return &functions[i];
  if (count == MAX_FUNCTIONS) return NULL;
  strcpy(functions[count].key, key);
  strncpy(functions[count].name, name, sizeof(functions[count].name)-1);
  functions[count].line = is_c ? 0 : ar->linedefined;
  return &functions[count++];
}

static void end_top(double at)
{
  double spent;
  Function *f;
  if (depth == 0) return;
  f = stack[--depth].f;
  spent = at - stack[depth].began;
  f->self += spent - stack[depth].callees;
  if (--f->open == 0) f->inclusive += spent;
  if (depth) stack[depth-1].callees += spent;
}

static void on_event(lua_State *L, lua_Debug *ar)
{
  double at = now();
  Function *f;
  lua_getinfo(L, "nS", ar);
  if ((f = find(ar)) == NULL) return;
  if (ar->event == LUA_HOOKRET) {
    if (closes_callees && f->open)
      while (depth && stack[depth-1].f != f) end_top(at);
    if (!closes_callees || f->open) end_top(at);
  } else {
    f->calls++;
    if (depth == MAX_DEPTH) return;
    f->open++;
    stack[depth].f = f;
    stack[depth].callees = 0;
    stack[depth++].began = now();
  }
}

static int start(lua_State *L)
{
  memset(functions, 0, sizeof(functions));
  count = depth = 0;
  lua_sethook(L, on_event, LUA_MASKCALL|LUA_MASKRET, 0);
  return 0;
}

static void set_number(lua_State *L, const char *key, double value)
{
  lua_pushnumber(L, value);
  lua_setfield(L, -2, key);
}

static int stop(lua_State *L)
{
  double at = now();
  int i;
  lua_sethook(L, NULL, 0, 0);
  while (depth) end_top(at);
  lua_newtable(L);
  for (i = 0; i < count; i++) {
    lua_newtable(L);
    lua_pushstring(L, functions[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, functions[i].line ? functions[i].key : "");
    lua_setfield(L, -2, "file");
    set_number(L, "line", functions[i].line);
    set_number(L, "calls", (double)functions[i].calls);
    set_number(L, "inclusive", functions[i].inclusive);
    set_number(L, "self", functions[i].self);
    lua_rawseti(L, -2, i+1);
  }
  return 1;
}

static int load(lua_State *L, int closes)
{
  closes_callees = closes;
  lua_newtable(L);
  lua_pushcfunction(L, start);
  lua_setfield(L, -2, "start");
  lua_pushcfunction(L, stop);
  lua_setfield(L, -2, "stop");
  return 1;
}

int luaopen_r1(lua_State *L) { return load(L, 1); }
int luaopen_r5(lua_State *L) { return load(L, 0); }
