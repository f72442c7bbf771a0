/* SPDX-License-Identifier: MIT */
/* Programs whose threads or fibers have their C stacks side by side in one mapping: one that never
** touches Lua (pure_c), above it in memory one with a Lua stack (handler) that waits or works.
**
**   hosts threads|fibers SECONDS */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <lauxlib.h>
#include <lualib.h>

enum { STACK = 1 << 20 };
static double seconds;
static ucontext_t home, c_fiber, lua_fiber;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void pure_c(void) {
  for (volatile long i = 0; i < 3000000; i++) continue;
}

static int go_on(lua_State *L) {
  (void)L;
  if (home.uc_stack.ss_size == 0 && c_fiber.uc_stack.ss_size != 0) swapcontext(&lua_fiber, &c_fiber);
  return 0;
}

static void *run_lua(void *unused) {
  (void)unused;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "go_on", go_on);
  lua_pushnumber(L, seconds);
  lua_setglobal(L, "seconds");
  if (luaL_dostring(L, "local till = os.clock() + 2 * seconds\n"
                       "function handler() for i = 1, 1e6 do end go_on() end\n"
                       "while os.clock() < till do handler() end"))
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  return NULL;
}

static void *run_c(void *unused) {
  (void)unused;
  for (const double till = now() + seconds; now() < till;) {
    pure_c();
    if (c_fiber.uc_stack.ss_size != 0) swapcontext(&c_fiber, &lua_fiber);
  }
  if (c_fiber.uc_stack.ss_size != 0) setcontext(&home);
  return NULL;
}

static void fiber_of_c(void) { run_c(NULL); }
static void fiber_of_lua(void) { run_lua(NULL); }

int main(int argc, char **argv) {
  char *const block = aligned_alloc(4096, 2 * STACK);
  if (argc < 3 || block == NULL) return 2;
  seconds = atof(argv[2]);
  if (!strcmp(argv[1], "fibers")) {
    getcontext(&c_fiber);
    getcontext(&lua_fiber);
    c_fiber.uc_stack = (stack_t){.ss_sp = block, .ss_size = STACK};
    lua_fiber.uc_stack = (stack_t){.ss_sp = block + STACK, .ss_size = STACK};
    makecontext(&c_fiber, fiber_of_c, 0);
    makecontext(&lua_fiber, fiber_of_lua, 0);
    return swapcontext(&home, &c_fiber);
  }
  pthread_t threads[2];
  pthread_attr_t attributes[2];
  for (int i = 0; i < 2; i++) {
    pthread_attr_init(&attributes[i]);
    pthread_attr_setstack(&attributes[i], block + i * STACK, STACK);
    pthread_create(&threads[i], &attributes[i], i == 0 ? run_c : run_lua, NULL);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
