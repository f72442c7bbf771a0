// SPDX-License-Identifier: MIT
// A host with several threads, each with two Lua VMs: enters Lua by lua_pcall and lua_resume, also
// out of Lua in another coroutine or another VM, and runs C code outside of Lua in between. It says
// what is true (truth.h).
//
//   host HOST.LUA SECONDS THREADS [fork]   fork: a child does it; its pid is printed
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

void truth_set(uint32_t value, uint64_t request);
void truth_started(void);
int luaopen_truth(lua_State* L);

static const char* program;
static time_t stop;

static void work(void) {
  for (volatile int i = 0; i < 20000; i++) continue;
}

static lua_State* other_of(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "other");
  lua_State* const other = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return other;
}

// The truth is unknown before and after.
static void call(lua_State* L, const char* function, lua_Integer me) {
  lua_getglobal(L, function);
  lua_pushinteger(L, me);
  if (lua_pcall(L, 1, 0, 0) != 0) lua_pop(L, 1);
}

static int call_other_vm(lua_State* L) {
  lua_State* const other = other_of(L);
  call(other, luaL_checkinteger(L, 1) % 2 ? "labelled" : "fails", luaL_checkinteger(L, 1));
  return 0;
}

static int call_failing(lua_State* L) {
  call(L, "fails", luaL_checkinteger(L, 1));
  return 0;
}

static int call_other_coroutine(lua_State* L) {
  lua_State* const co = lua_newthread(L);
  call(co, "labelled", luaL_checkinteger(L, 1));
  return 0;
}

static void resume(lua_State* co, const char* function, lua_Integer me, int outside) {
  lua_getglobal(co, function);
  lua_pushinteger(co, me);
  for (int status = lua_resume(co, 1);; status = lua_resume(co, 0)) {
    if (outside) truth_set(kOutside, 0);
    if (outside) work();
    truth_set(kUnknown, 0);
    if (status != LUA_YIELD) break;
  }
}

static int resume_yields(lua_State* L) {
  resume(lua_newthread(L), "yields", luaL_checkinteger(L, 1), 0);
  return 0;
}

static lua_State* open_vm(void) {
  lua_State* const L = luaL_newstate();
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_truth);
  lua_setfield(L, -2, "truth");
  lua_register(L, "call_other_vm", call_other_vm);
  lua_register(L, "call_other_coroutine", call_other_coroutine);
  lua_register(L, "call_failing", call_failing);
  lua_register(L, "resume_yields", resume_yields);
  if (luaL_dofile(L, program)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  lua_settop(L, 0);
  return L;
}

static void outside(void) {
  truth_set(kOutside, 0);
  work();
  truth_set(kUnknown, 0);
}

static void once(lua_State* a, lua_State* b, lua_Integer me) {
  static const char* const functions[] = {
      "labelled", "fails", "in_other_vm", "in_other_coroutine", "in_resumed", "deep", NULL};
  for (int i = 0; functions[i]; i++) {
    call(i % 2 ? a : b, functions[i], me + 20 * i);
    outside();
  }
  resume(lua_newthread(a), "yields", me, 1);
  resume(lua_newthread(a), "deep", me, 1);
  lua_settop(a, 0);
}

static void* run(void* number) {
  lua_Integer me = kFirst + 10000000 * (lua_Integer)(intptr_t)number;
  while (time(NULL) < stop) {
    lua_State *const a = open_vm(), *const b = open_vm();
    lua_pushlightuserdata(a, b);
    lua_setfield(a, LUA_REGISTRYINDEX, "other");
    lua_pushlightuserdata(b, a);
    lua_setfield(b, LUA_REGISTRYINDEX, "other");
    for (int i = 0; i < 200 && time(NULL) < stop; i++, me += 200) once(a, b, me);
    lua_close(b);
    outside();
    lua_close(a);
    outside();
  }
  truth_set(kOutside, 0);
  pause();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  program = argv[1];
  stop = time(NULL) + atoi(argv[2]);
  lua_State* const early = open_vm();
  call(early, "labelled", 7);
  if (argc > 4) {
    const pid_t child = fork();
    if (child > 0) {
      printf("%d\n", (int)child);
      fflush(stdout);
      return waitpid(child, NULL, 0) < 0;
    }
    call(early, "labelled", 7);
  }
  truth_set(kOutside, 0);
  for (intptr_t i = 1; i < atoi(argv[3]); i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void*)i) != 0) abort();
  }
  truth_started();
  alarm((unsigned)atoi(argv[2]) + 5);
  run(NULL);
  return 0;
}
