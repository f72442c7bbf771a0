/* SPDX-License-Identifier: MIT */
/* lua_resume() says who has resumed a coroutine, and who runs afterwards (lj_ltabi.c), for walkers
** from outside. Invariant that is tested: neither ever names a coroutine that was freed. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define LUA_CORE
#include "lj_obj.h"
#include "lauxlib.h"
#include "lualib.h"

#define RUNNING(L) (gcref(G(L)->cur_L))
#define CHECK(condition) \
  { if (!(condition)) { printf("line %d: not so: %s\n", __LINE__, #condition); exit(1); } }

static lua_State *expected;

/* Called inside a coroutine: its resumer is the expected one. */
static int see(lua_State *L)
{
  CHECK(L->lt_resumer == expected);
  return 0;
}

/* resume(f): runs f in a new coroutine by lua_resume() until it has ended. */
static int resume(lua_State *L)
{
  lua_State *co = lua_newthread(L), *outer = expected;
  int status;
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  do {
    expected = L;
    status = lua_resume(co, 0);
    CHECK(co->lt_resumer == NULL && L->lt_resumed == NULL && co->lt_sibling == NULL);
    CHECK(RUNNING(L) == obj2gco(L));
  } while (status == LUA_YIELD);
  expected = outer;
  lua_pushboolean(L, status == 0);
  return 1;
}

/* Two coroutines, each on a C stack of its own. A resumes B there; A's stack goes on while B runs,
** A ends and is freed; then B ends. */
static ucontext_t main_stack, stack_a, stack_b;
static lua_State *A, *B;
static char memory_a[256 << 10], memory_b[256 << 10];

static int leave_b(lua_State *L)
{
  CHECK(L == B && B->lt_resumer == A && A->lt_resumed == B);
  swapcontext(&stack_b, &stack_a);
  CHECK(B->lt_resumer == NULL);
  return 0;
}

static void run_b(void)
{
  CHECK(lua_resume(B, 0) == 0);
  CHECK(B->lt_resumer == NULL);
}

static int start_b(lua_State *L)
{
  (void)L;
  getcontext(&stack_b);
  stack_b.uc_stack.ss_sp = memory_b;
  stack_b.uc_stack.ss_size = sizeof memory_b;
  stack_b.uc_link = &main_stack;
  makecontext(&stack_b, run_b, 0);
  swapcontext(&stack_a, &stack_b);
  return 0;
}

static void run_a(void)
{
  CHECK(lua_resume(A, 0) == 0);
}

static lua_State *coroutine(lua_State *L, lua_CFunction f, const char *key)
{
  lua_State *co = lua_newthread(L);
  lua_setfield(L, LUA_REGISTRYINDEX, key);
  lua_pushcfunction(co, f);
  return co;
}

static void other_stacks(lua_State *L, int free_a)
{
  A = coroutine(L, start_b, "a");
  B = coroutine(L, leave_b, "b");
  getcontext(&stack_a);
  stack_a.uc_stack.ss_sp = memory_a;
  stack_a.uc_stack.ss_size = sizeof memory_a;
  stack_a.uc_link = &main_stack;
  makecontext(&stack_a, run_a, 0);
  swapcontext(&main_stack, &stack_a);  /* Until A has ended. */
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, free_a ? "a" : "b");
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  if (!free_a) {  /* B runs, but its own C stack is never used again. */
    CHECK(A->lt_resumed == NULL);
    return;
  }
  CHECK(B->lt_resumer == NULL);
  swapcontext(&main_stack, &stack_b);
  CHECK(RUNNING(L) != obj2gco(A));
}

int main(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "see", see);
  lua_register(L, "resume", resume);
  if (luaL_dostring(L,
	"local function nested(n)\n"
	"  see() coroutine.yield() see()\n"
	"  if n > 0 then assert(resume(function() nested(n - 1) end)) end\n"
	"  coroutine.wrap(function() coroutine.yield() end)()\n"
	"  see() collectgarbage() see()\n"
	"end\n"
	"for i = 1, 100 do assert(resume(function() nested(5) end)) end\n"
	"assert(not resume(function() see() error('x') end))\n"
	"see()")) {
    printf("%s\n", lua_tostring(L, -1));
    return 1;
  }
  other_stacks(L, 1);
  other_stacks(L, 0);
  lua_close(L);
  return 0;
}
