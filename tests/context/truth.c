// SPDX-License-Identifier: MIT
// The Lua module `truth`: a program says which label its thread has now (truth.h), and sets labels.
// The mapped file is that of the environment variable TRUTH.
#define _GNU_SOURCE
#include "truth.h"

#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <luatrace.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void lua_setexdata(lua_State* L, void* exdata) __attribute__((weak));

static struct truth* map(void) {
  static struct truth* truth;
  if (truth) return truth;
  const int fd = open(getenv("TRUTH"), O_RDWR);
  void* const p = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || p == MAP_FAILED) abort();
  close(fd);
  return truth = p;
}

// The slot of this thread, which a forked child must find again.
static struct truth_slot* slot(void) {
  static __thread struct truth_slot* mine;
  static __thread int32_t owner;
  const int32_t tid = (int32_t)syscall(SYS_gettid);
  if (mine && owner == tid) return mine;
  for (int i = 0; i < TRUTH_SLOTS; i++) {
    int32_t none = 0;
    mine = &map()->slot[i];
    owner = tid;
    if (__atomic_compare_exchange_n(&mine->tid, &none, tid, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return mine;
  }
  abort();
}

void truth_set(uint32_t value, uint64_t request) {
  struct truth_slot* const s = slot();
  s->value = kUnknown;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  s->request = request;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  s->value = value;
}

void truth_started(void) {
  map()->started = 1;
}

static int set(lua_State* L) {
  truth_set((uint32_t)luaL_checkinteger(L, 1), (uint64_t)luaL_optinteger(L, 2, 0));
  return 0;
}

static int started(lua_State* L) {
  (void)L;
  truth_started();
  return 0;
}

// label(key, value): of the coroutine that calls it.
static int label(lua_State* L) {
  const char* const why = luaJIT_trace_label(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
  return why ? luaL_error(L, "%s", why) : 0;
}

// request(number): of the coroutine that calls it. Returns the number, or 0 if this LuaJIT has
// none.
static int request(lua_State* L) {
  const lua_Integer n = luaL_checkinteger(L, 1);
  if (lua_setexdata) lua_setexdata(L, (void*)(intptr_t)n);
  lua_pushinteger(L, lua_setexdata ? n : 0);
  return 1;
}

int luaopen_truth(lua_State* L) {
  static const luaL_Reg functions[] = {
      {"set", set}, {"started", started}, {"label", label}, {"request", request}, {NULL, NULL}};
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  return 1;
}
