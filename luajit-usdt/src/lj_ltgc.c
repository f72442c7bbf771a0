/*
** Tracing of calls: steps of the garbage collector.
** SPDX-License-Identifier: MIT
**
** A step is a call of a function of its own, "[GC]", in the coroutine that it interrupts,
** whatever runs it: the interpreter, compiled code, collectgarbage() or the host. What a
** finalizer calls is inside it. Upstream's lj_gc_step() and lj_gc_fullgc() have other
** names (LT_GCSTEP, LT_FULLGC), so that a step has one beginning and one end.
**
** Invariant: between the two, nothing here allocates, throws, calls Lua or walks a
** stack; a call that was reported is ended by the end of the step, or by the error that
** leaves it (in LuaJITs whose finalizers' errors do). */

#define lj_ltgc_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include "lj_gc.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* Words of the record and of the call's event, whose id may need one more. */
#define GC_WORDS	4u

/* Both events of one step. The reader of event words gets a record and a call. */
static void gc_event(lua_State *L, LTState *lt, int done, int full)
{
  global_State *g = LT2G(lt);
  uint32_t state = g->gc.state;
  uint64_t bytes = (uint64_t)g->gc.total, now;
  if (lt_probeon(lt)) {
    if (done)
      lj_ltprobe_gcdone(L, g, (int)state, bytes, full);
    else
      lj_ltprobe_gcstart(L, g, (int)state, bytes, full);
  }
  if (!lt_ringon(lt)) return;
  now = lj_ltring_group(lt, GC_WORDS);
  if (done) lt_ring_store(lt, now, lt->gc.id, LT_RETURN);
  lj_ltring_extat(lt, now, LTX_GC, (done ? LTG_END : 0) | (full ? LTG_FULL : 0) |
				   state << LTG_STATE_SHIFT, 1, bytes, 0);
  if (!done) lt_ring_store(lt, now, lt->gc.id, LT_ENTRY);
}

/* Does a step that begins now have events? It is part of what runs: the host may collect
** in another coroutine of the VM than the current one, but then finalizers that collect
** have no events, because the calls in between are not on one stack. */
static int gc_wanted(lua_State *L, LTState *lt)
{
  global_State *g = LT2G(lt);
  if (lt_mute(g) || lt->forked) return 0;
  if (lt->L == L) return !(lt->gc.L && lt->gc.L != L && (g->hookmask & HOOK_GC));
  if ((g->hookmask & HOOK_GC)) return 0;
  if (lt->L == NULL) {
    if (tvref(g->jit_base)) return 0;  /* The frames are not in memory. */
    lt_check_current(lt, L, 0);
  }
  return 1;
}

/* A step begins. *outer: the step around it. */
static void gc_begin(lua_State *L, LTGc *outer, int full)
{
  LTState *lt = L2LT(L);
  *outer = lt->gc;
  if (!gc_wanted(L, lt)) {
    lt->gc.L = NULL;
    return;
  }
  if (lt_ringon(lt)) lj_ltseg_here(lt);
  if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
  lt->gc.L = lt->L;
  lt->gc.ofs = lt_stackofs(lt->L, lt->L->base);
  lt->gc.id = lj_ltfunc_pseudo(lt, LT_FF_GC, LT_FF_GC, "[GC]");
  lt->gc.run = lt->run;
  lt->gc.full = full;
  gc_event(lt->L, lt, 0, full);
}

/* The step that has events ends. */
static void gc_end(lua_State *L, LTState *lt)
{
  lua_State *in = lt->gc.L;
  if (!in || lt->gc.run != lt->run || lt->forked) return;
  if (lt->L != in) {  /* A finalizer's last event was that of another coroutine. */
    if (lt->L == NULL || tvref(G(L)->jit_base)) return;
    lj_ltstack_change(in, 0);
  }
  gc_event(in, lt, 1, lt->gc.full);
}

/* An error removes the frames of L above newbase. */
void lj_ltgc_unwind(lua_State *L, TValue *newbase)
{
  LTState *lt = L2LT(L);
  if (lt->gc.L != L || lt_stackofs(L, newbase) >= lt->gc.ofs) return;
  gc_end(L, lt);
  lt->gc.L = NULL;
}

/* Is this frame of L below a step that runs? Then the step is what L has on top of it. */
int lj_ltgc_covers(lua_State *L, cTValue *frame)
{
  LTState *lt = L2LT(L);
  return lt->gc.L == L && lt->gc.run == lt->run && lt_stackofs(L, frame) < lt->gc.ofs;
}

/* -- What the collector's callers call -------------------------------------- */

int LJ_FASTCALL lj_gc_step(lua_State *L)
{
  LTState *lt = L2LT(L);
  LTGc outer;
  int done;
  if (LJ_UNLIKELY(lj_ltctl_word() != lt->seen || lt->stop)) lj_ltswitch_now(L, NULL);
  lt->gcfrom = G(L)->vmstate;
  if (LJ_LIKELY(!lt_eventson(lt))) return lj_gc_plainstep(L);
  gc_begin(L, &outer, 0);
  done = lj_gc_plainstep(L);
  gc_end(L, lt);
  lt->gc = outer;
  return done;
}

void lj_gc_fullgc(lua_State *L)
{
  LTState *lt = L2LT(L);
  LTGc outer;
  if (LJ_LIKELY(!lt_eventson(lt))) {
    lj_gc_plainfull(L);
    return;
  }
  gc_begin(L, &outer, 1);
  lj_gc_plainfull(L);
  gc_end(L, lt);
  lt->gc = outer;
}

#endif
