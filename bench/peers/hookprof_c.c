/*
** A peer for comparison: a profiler on lua_sethook, as lean as this interface
** allows: calls and inclusive time per function, one stack per coroutine, time
** stamps by rdtsc. Functions are identified by the address of their closure. C
** functions never report their end to a hook: they are only counted. Neither do
** tail calls: a return removes everything above its function.
** Lua: local p = require "hookprof_c"; p.start(); ...; calls = p.stop()
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include <lauxlib.h>
#include <lua.h>

#define TABLE_MIN	1024u

typedef struct Frame {
  void *func;
  uint64_t start;
} Frame;

typedef struct Stack {
  size_t depth, size;
  Frame *frame;
} Stack;

typedef struct Entry {		/* Key NULL: free. */
  void *key;
  uint64_t calls, time;		/* A function's figures... */
  Stack *stack;			/* ...or a coroutine's stack. */
} Entry;

typedef struct Table {		/* Open addressing, linear probing. */
  Entry *entry;
  size_t size, used;
} Table;

static Table functions, coroutines;
static lua_State *current;
static Stack *stack;
static uint64_t ncalls;

/* -- Hash table by address ------------------------------------------------ */

static size_t slot_of(const Table *t, const void *key)
{
  size_t i = (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (t->size - 1);
  while (t->entry[i].key && t->entry[i].key != key)
    i = (i + 1) & (t->size - 1);
  return i;
}

static void grow(Table *t)
{
  Table bigger = {NULL, t->size ? 2 * t->size : TABLE_MIN, t->used};
  bigger.entry = calloc(bigger.size, sizeof(Entry));
  if (!bigger.entry)
    abort();
  for (size_t i = 0; i < t->size; i++)
    if (t->entry[i].key)
      bigger.entry[slot_of(&bigger, t->entry[i].key)] = t->entry[i];
  free(t->entry);
  *t = bigger;
}

static Entry *find(Table *t, void *key)
{
  if (2 * t->used >= t->size)
    grow(t);
  Entry *e = &t->entry[slot_of(t, key)];
  if (!e->key) {
    e->key = key;
    t->used++;
  }
  return e;
}

static void clear(Table *t)
{
  for (size_t i = 0; i < t->size; i++)
    if (t->entry[i].stack) {
      free(t->entry[i].stack->frame);
      free(t->entry[i].stack);
    }
  free(t->entry);
  memset(t, 0, sizeof(*t));
}

/* -- The hook ------------------------------------------------------------- */

static void switch_to(lua_State *L)
{
  Entry *e = find(&coroutines, L);
  if (!e->stack && !(e->stack = calloc(1, sizeof(Stack))))
    abort();
  stack = e->stack;
  current = L;
}

static void push(void *func, uint64_t now)
{
  if (stack->depth == stack->size) {
    stack->size = stack->size ? 2 * stack->size : 256;
    stack->frame = realloc(stack->frame, stack->size * sizeof(Frame));
    if (!stack->frame)
      abort();
  }
  stack->frame[stack->depth].func = func;
  stack->frame[stack->depth++].start = now;
}

static void on_return(void *func, uint64_t now)
{
  size_t depth = stack->depth;
  while (depth && stack->frame[depth - 1].func != func)
    depth--;
  if (!depth)
    return;
  find(&functions, func)->time += now - stack->frame[depth - 1].start;
  stack->depth = depth - 1;
}

static void hook(lua_State *L, lua_Debug *ar)
{
  uint64_t now = __rdtsc();
  void *func;
  int is_c;
  if (L != current)
    switch_to(L);
  lua_getinfo(L, "f", ar);
  func = (void *)lua_topointer(L, -1);
  is_c = lua_iscfunction(L, -1);
  lua_pop(L, 1);
  if (ar->event == LUA_HOOKRET) {
    on_return(func, now);
    return;
  }
  ncalls++;
  find(&functions, func)->calls++;
  if (!is_c)
    push(func, now);
}

static int start(lua_State *L)
{
  clear(&functions);
  clear(&coroutines);
  current = NULL;
  ncalls = 0;
  lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET, 0);
  return 0;
}

static int stop(lua_State *L)
{
  lua_sethook(L, NULL, 0, 0);
  lua_pushnumber(L, (lua_Number)ncalls);
  return 1;
}

int luaopen_hookprof_c(lua_State *L)
{
  lua_newtable(L);
  lua_pushcfunction(L, start);
  lua_setfield(L, -2, "start");
  lua_pushcfunction(L, stop);
  lua_setfield(L, -2, "stop");
  return 1;
}
