/*
** Tracing of calls: what the program says about itself (luatrace.h).
** SPDX-License-Identifier: MIT
**
** Invariant: an event of a coroutine that runs comes after the report of its stack, so that what
** the report says of sections and labels is what was true before the event. */

#define lj_ltuser_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <string.h>

#include "lj_frame.h"
#include "lj_state.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

/* The coroutine that L stands for: finalizers run in one of the VM's own. Readers know it. */
static lua_State *user_coroutine(lua_State *L)
{
  LTState *lt = L2LT(L);
  if (lt->on && !lt_mute(G(L)) && lt_runs(L)) {
    lj_ltrace_poll(L);
    if (lt_eventson(lt)) lt_check_current(lt, L, 0);
  }
  return lt->lender && lt->L == L ? lt->lender : L;
}

static const char *user_section(lua_State *L, const char *name, int begin)
{
  if (!L) return LT_NO_STATE;
  if (!name || !*name) return "the name of the section is missing";
  if (lj_ltmark_section(user_coroutine(L), name, begin)) return NULL;
  return lj_ltself_fail("this section has not been started in this coroutine", name);
}

const char *luaJIT_trace_section_start(lua_State *L, const char *name)
{
  return user_section(L, name, 1);
}

const char *luaJIT_trace_section_stop(lua_State *L, const char *name)
{
  return user_section(L, name, 0);
}

const char *luaJIT_trace_label(lua_State *L, const char *key, const char *value)
{
  size_t n = key ? strlen(key) : 0;
  int done;
  if (!L) return LT_NO_STATE;
  if (n == 0 || n > LT_LABEL_KEY_MAX) return "the key of a label must have 1 to 28 bytes";
  L = user_coroutine(L);
  done = lj_ltmark_label(L, key, value);
  lj_ltcontext_changed(L);
  if (done > 0) return NULL;
  return done == 0 ? "a coroutine has up to 8 labels" : "not enough memory";
}

/* Has that C function events if these ones have some? */
static int wants_events(lua_State *L, GCfunc *fn, uint32_t cfuncs)
{
  LTState *lt = L2LT(L);
  uint32_t on = lt->on, before = lt->cfuncs;
  int wanted;
  if (!(on & LTON_EVENTS)) lt->on = LTON_HOOK;  /* As it will be then. */
  lt->cfuncs = cfuncs;
  wanted = lj_ltfunc_wantc(G(L), fn);
  lt->on = on;
  lt->cfuncs = before;
  return wanted;
}

/* What its events are about, or NULL: see *why. */
static void *hooked_address(lua_State *L, int index, const char **why)
{
  LTState *lt = L2LT(L);
  GCfunc *fn = (lua_pushvalue(L, index), funcV(L->top-1));
  uint32_t cfuncs = lt->on & LTON_EVENTS ? lt->cfuncs : luajit_usdt_control.cfuncs & LTC_CLASS;
  lua_pop(L, 1);
  if (isluafunc(fn)) return funcproto(fn);
  if (wants_events(L, fn, cfuncs)) return (void *)(uintptr_t)fn->c.f;
  *why = wants_events(L, fn, LTC_ALL) ? "this C function has no events with the c_functions in use, but with \"all\""
				   : "the VM does not report calls of this function";
  return NULL;
}

static void hooks_changed(lua_State *L)
{
  L2LT(L)->stop |= LTSTOP_LOOK;
  lj_ltrace_poll(L);
}

const char *luaJIT_trace_hook(lua_State *L, int index, luatrace_hook_function done, void *data,
			      unsigned int *number)
{
  const char *why = NULL;
  void *addr;
  if (!L) return LT_NO_STATE;
  if (!done || !number) return "the function to call, or the place of the number, is missing";
  if (!lua_isfunction(L, index)) return "only functions can be hooked";
  addr = hooked_address(L, index, &why);
  if (!addr) return why;
  *number = lj_lthook_add(G(L), addr, done, data);
  if (!*number) return "too many hooks";
  hooks_changed(L);
  return NULL;
}

void luaJIT_trace_unhook(lua_State *L, unsigned int number)
{
  if (!L) return;
  lj_lthook_deliver(L);
  lj_lthook_remove(G(L), number);
  hooks_changed(L);
}

/* As lj_debug_frame(), which begins at the innermost call for each level. */
void luaJIT_trace_stack(lua_State *L, int (*each)(lua_State *L, lua_Debug *call, void *data),
			void *data)
{
  ptrdiff_t ofs = L && each ? lt_stackofs(L, L->base-1) : 0, above = ofs;
  int lower = 0;  /* The frame on top of this one is a vararg function's: it is the same call. */
  while (ofs > LJ_FR2) {
    cTValue *frame = tvref(L->stack) + ofs;
    lua_Debug call;
    int skip = lower || frame_gc(frame) == obj2gco(L);
    memset(&call, 0, sizeof(call));
    call.i_ci = (int)((above-ofs) << 16) + (int)ofs;
    above = ofs;
    lower = frame_isvarg(frame);
    ofs = lt_stackofs(L, frame_prev(frame));
    if (!skip && !each(L, &call, data)) return;
  }
}

#endif
