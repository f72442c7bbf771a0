/*
** Tracing of calls: switching it on and off.
** SPDX-License-Identifier: MIT
**
** Invariant: a VM switches only where its stack can be walked and no trace is being run
** or recorded; after a switch, a loss or a fork the stack is reported before any other
** event, and each coroutine's when it next runs (lt_epoch). */

#define lj_ltswitch_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <stdlib.h>

#include "lj_bc.h"
#include "lj_frame.h"
#include "lj_trace.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* The part of the control word that asks for stacks. */
#define STACKS_MASK	((uint64_t)0xff << 24)

/* -- Switching ------------------------------------------------------------ */

/* The outputs (LTON_*) that the control word requests from this VM. */
static uint32_t wanted(LTState *lt)
{
  uint32_t on = 0, ring = luajit_usdt_control.ring;
  if (luajit_usdt_control.semaphore) on |= LTON_PROBE;
  if (lj_lthook_wanted(lt)) on |= LTON_HOOK;
  if (lj_ltcontext_wanted()) on |= LTON_CONTEXT;
  if (!ring) lt->refused = 0;
  if (ring && lt->refused != ring && !(lt->stop & LTSTOP_OFF))
    on |= LTON_RING;
  else if (luajit_usdt_control.block || luajit_usdt_control.segments)
    on |= LTON_BLOCK;
  return on;
}

#if LJ_HASJIT
/* Discard the compiled traces. The program's handlers are not called: untraced there
** would be no such event, and a poll is no place to run them. */
static void flush_traces(lua_State *L)
{
  global_State *g = G(L);
  uint8_t mask = g->vmevmask;
  g->vmevmask = 0;
  G2LT(g)->ownflush = 1;
  lj_trace_flushall(L);
  G2LT(g)->ownflush = 0;
  g->vmevmask = mask;
}
#else
#define flush_traces(L)	((void)0)
#endif

static void set_on(lua_State *L, uint32_t on)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int began = (on & LTON_EVENTS) && !lt_eventson(lt), same = !((on ^ lt->on) & LTON_EVENTS);
  lj_assertL(!tvref(g->jit_base) && lt_jitidle(g) &&
	     !(g->hookmask & (HOOK_GC|HOOK_VMEVENT)), "switched at a bad place");
  if (lt->on && !on) {
    g->wrapf = lt->wrapf;
  } else if (on && !lt->on) {
    lt->wrapf = g->wrapf;
    g->wrapf = (lua_CFunction)(void *)lj_ltcall_wrap;
  }
  if (began) {
    lt->ncall = 0;
    lt->run++;
    if ((on & LTON_WORDS)) lj_ltfunc_begin(lt);
  }
  lt->on = on;
  if (!same) flush_traces(L);
  g->dispatchmode |= 0x80;  /* An unused bit: forces the update. */
  lt_dispatch_update(g);
}

/* A recorder has patched the dispatch table to make us poll. */
void lj_ltswitch_restore(global_State *g)
{
  g->dispatchmode |= 0x88;  /* As if tracing had been on: sets up everything. */
  lt_dispatch_update(g);
}

/* All functions have to be described again. */
static void new_recording(LTState *lt)
{
  lt->rec++;
  lt->rec2 = lt->rec << LTREC_SHIFT;
  lj_ltwatch_again(lt);
}

/* Switch from one set of outputs (lt->on) to another. */
static void switch_mode(lua_State *L, uint32_t on, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  uint32_t was = lt->on, was_events = was & LTON_EVENTS;
  if ((was & ~on & LTON_RING)) {
    if ((lt->stop & LTSTOP_OFF)) lt->refused = lt->token;
    lj_ltwatch_end(lt);
    lj_ltopen_close(g, LTE_DETACH);
    lt->stop = 0;
  }
  if ((was & ~on & LTON_BLOCK)) lj_ltstream_close(lt, LTE_DETACH);
  if ((on & ~was & LTON_SINGLE) && !(on & ~was & LTON_WORDS) && (was & on & LTON_WORDS)) {
    lt_newepoch(lt, 0);  /* The reader of the words knows all this. */
    if (pc == PC_NOREPORT) lt->L = NULL;
  } else if ((on & ~was & LTON_EVENTS)) {
    new_recording(lt);
    lt_newepoch(lt, 1);
    lt->cfuncs = luajit_usdt_control.cfuncs & LTC_CLASS;
    lt->ffi = luajit_usdt_control.cfuncs & LTC_FFI;
    lt->L = NULL;
    if ((on & ~was & LTON_RING) && !lj_ltopen_ring(L)) {
      lt->refused = lt->token;
      on &= ~(uint32_t)LTON_RING;
    }
    if ((on & ~was & LTON_RING)) lj_ltwatch_begin(lt);
    if ((on & ~was & LTON_BLOCK) && !lj_ltstream_open(L))
      on &= ~(uint32_t)LTON_BLOCK;
    if ((on & LTON_EVENTS) == was_events) {  /* Refused: nothing was described. */
      lt->rec--;
      lt->rec2 = lt->rec << LTREC_SHIFT;
    }
  }
  if (on == was) return;
  set_on(L, on);
  if (((on ^ was) & LTON_CONTEXT)) {
    if ((on & LTON_CONTEXT)) lj_ltcontext_here(L);
    else lj_ltcontext_hide(lt);
  }
  if ((on & ~was & LTON_EVENTS) && pc != PC_NOREPORT)
    lj_ltstack_report(L, LTR_ACTIVATE, lt_before_entry(pc));
}

/* After a loss, or in a forked child: report the stack again. */
static void resync(lua_State *L, const BCIns *pc)
{
  LTState *lt = L2LT(L);
  int reason = LTR_LOSS;
  lt->stop &= ~(uint32_t)LTSTOP_RESYNC;
  if (!lt->ring) {
    reason = LTR_FORK;
    new_recording(lt);
    lt->refused = 0;
    lt->L = NULL;
    if ((lt->on & LTON_BLOCK) ? !lj_ltstream_open(L) : !lj_ltopen_ring(L)) {
      lt->stop = LTSTOP_OFF;
      switch_mode(L, wanted(lt) & ~(lt->on & LTON_BLOCK), pc);
      return;
    }
    flush_traces(L);
  } else if (!lj_ltring_space(lt)) {
    return;
  }
  lt_newepoch(lt, 1);
  lt->L = NULL;
  if (pc != PC_NOREPORT) lj_ltstack_report(L, reason, lt_before_entry(pc));
}

/* Another probe has a tracer. A tracer attaches to one probe after the other, and the
** first one has switched us on: the reports went to sites that were not attached yet.
** Or a tracer replaced another one, which the word does not show: it sets
** LT_STOP_REPORT. The reader of event words knows everything, unless it reads blocks
** and has just attached (blocks). */
static void report_again(lua_State *L, const BCIns *pc, int reason, int blocks)
{
  LTState *lt = L2LT(L);
  blocks = blocks && (lt->on & LTON_BLOCK);
  if (!blocks && !(lt->on & LTON_PROBE)) return;
  if (blocks) {
    new_recording(lt);  /* They are described as their code runs: */
    lj_ltstream_again(lt);
    flush_traces(L);  /* compiled code does not check. */
  }
  lt_newepoch(lt, blocks || !lt_ringon(lt));
  if (blocks || !lt_ringon(lt) || pc == PC_NOREPORT) lt->L = NULL;
  if (pc != PC_NOREPORT) lj_ltstack_report(L, reason, lt_before_entry(pc));
}

/* Do what the control word says. A recorder that takes no ring may have attached to the
** probes while we waited for its answer: nothing must happen before that is seen.
** Returns the word that was acted upon. */
static uint64_t follow_word(lua_State *L, uint64_t word, const BCIns *pc)
{
  LTState *lt = L2LT(L);
  switch_mode(L, wanted(lt), pc);
  if (!lt->refused) return word;
  word = lj_ltctl_word();
  if (wanted(lt) != lt->on) switch_mode(L, wanted(lt), pc);
  return word;
}

/* The recording may have ended while the VM made its ring: nobody has seen the ring, and
** a loop without events would never poll again. Whoever ends a recording writes the
** control word before it looks for rings. */
static void leave_ended(lua_State *L, const BCIns *pc)
{
  LTState *lt = L2LT(L);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if ((lt->on & LTON_RING) && ld_acq(&luajit_usdt_control.ring) != lt->token)
    switch_mode(L, lt->on & ~(uint32_t)LTON_RING, pc);
}

/* Something has changed. Act on it if that is safe here: not on a trace, not while
** recording one, not inside a finalizer or a handler of VM events. pc: where the
** interpreter continues, if that may be at a function header, else NULL; or PC_NOREPORT.
** Returns 0 if it is not safe here. */
int lj_ltswitch_now(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int olderr = errno;
  uint32_t poll = lt->stop & LTSTOP_POLL, report = lt->stop & LTSTOP_REPORT;
  uint32_t flush = lt->stop & LTSTOP_FLUSH;
  uint32_t was, rec, forked, more, changed, stacks;
  uint64_t word;
  if (tvref(g->jit_base)) return 0;
  if ((g->hookmask & (HOOK_GC|HOOK_VMEVENT)) && G2GG(g)->dispatch[0] != lj_vm_record)
    lj_ltstate_poll(lt);  /* When the finalizer or handler returns. */
  if ((g->hookmask & (HOOK_GC|HOOK_VMEVENT)) || !lt_jitidle(g)) return 0;
  forked = !lt_ringon(lt) && (lt->stop & LTSTOP_RESYNC);
  lt->stop &= ~(LTSTOP_POLL|LTSTOP_REPORT|LTSTOP_LOOK|LTSTOP_FLUSH);
  if (!lt_ringon(lt)) lt->stop = 0;
  word = lj_ltctl_word();
  /* No longer wanted, or wanted by another recorder. */
  if ((lt->on & LTON_RING) && ((lt->stop & LTSTOP_OFF) ||
			       luajit_usdt_control.ring != lt->token))
    switch_mode(L, lt->on & ~(uint32_t)LTON_RING, pc);
  if ((lt->on & LTON_BLOCK) && lj_ltstream_outdated(lt))
    switch_mode(L, lt->on & ~(uint32_t)LTON_BLOCK, pc);  /* Begins again below. */
  was = lt->on;
  rec = lt->rec;
  if (wanted(lt) != was)
    word = follow_word(L, word, pc);
  else if (lt->stop & LTSTOP_RESYNC)
    resync(L, pc);
  leave_ended(L, pc);
  more = report || lt_word_block(word) > lt_word_block(lt->seen) ||
	 lt_word_segments(word) > lt_word_segments(lt->seen);
  changed = lt->rec != rec && !(lt->on & LTON_RING);
  if (was && lt->on == was &&
      (forked || more || changed || (uint16_t)word > (uint16_t)lt->seen))
    report_again(L, pc, forked ? LTR_FORK : LTR_ACTIVATE, more);
  if (!lt_eventson(lt) && word && !lt->seen)
    flush_traces(L);  /* Not for us: their guards would always fail. */
  stacks = ((word ^ lt->seen) & STACKS_MASK) != 0;
  lt->seen = word;
  if (lt->watch) lj_ltwatch_notes(L);
  if (lt->watch && lt->watch->flush) {
    lt->watch->flush = 0;
    flush_traces(L);
  }
  if (flush) flush_traces(L);
  if (poll) lj_ltswitch_restore(g);
  if (stacks) lj_ltprint_stacks(L);
  errno = olderr;
  return 1;
}

/* HOOK_VMEVENT was set or cleared. Code in a handler of VM events, or in a profiler's
** callback, has no events, but compiled code contains them, so it is left as soon as it
** is entered. Leaving it, and calling a hot function, overwrites what the compiler
** knows of the trace that the handler interrupts. */
void lj_ltswitch_mute(global_State *g)
{
  LTState *lt = G2LT(g);
#if LJ_HASJIT
  jit_State *J = G2J(g);
#endif
  if (!lt_mute(g) == !(lt->stop & LTSTOP_MUTE)) return;
  lt->stop ^= LTSTOP_MUTE;
#if LJ_HASJIT
  if (lt_mute(g)) {
    lt->jitL = J->L;
    lt->jitparent = J->parent;
    lt->jitexitno = J->exitno;
  } else {
    J->L = lt->jitL;
    J->parent = lt->jitparent;
    J->exitno = lt->jitexitno;
  }
#endif
}

/* -- Life of a VM --------------------------------------------------------- */

void lj_ltswitch_newstate(lua_State *L)
{
  LTState *lt = L2LT(L);
  lt->fd = -1;
  lt->oldpc = LT_NOPC;
  lt->clock = LJ_LT_CLOCK;
  lt->seen = lj_ltctl_word() & STACKS_MASK;  /* Asked for before it existed. */
  lt->epoch = 1;
  lt_coid(lt, L);
  lj_ltctl_env();
  lj_ltstate_add(lt);
  L->lt_serial = ++lt->lastco;
  if (luajit_usdt_control.semaphore) lj_ltprobe_open(G(L), L);
}

/* Before anything of the VM is freed. */
void lj_ltswitch_closestate(lua_State *L)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  if (luajit_usdt_control.semaphore) lj_ltprobe_close(g, L);
  if ((lt->on & LTON_BLOCK))
    lj_ltstream_close(lt, LTE_CLOSE);
  else if (lt_ringon(lt) && (lt->ring || lt->scratch))
    lj_ltopen_close(g, LTE_CLOSE);
  lj_ltwatch_end(lt);
  lj_ltstate_remove(lt);
  if ((lt->on & LTON_CONTEXT)) lj_ltcontext_hide(lt);
  lt->on = 0;
  lt->nresumer = lt->ncall = 0;
}

void lj_ltswitch_freestate(global_State *g)
{
  LTState *lt = G2LT(g);
  lj_ltstate_free(lt);
  lj_ltcontext_free(mainthread(g));
  lj_ltmark_free(mainthread(g));
  lj_lthook_free(lt);
  lj_ltfunc_free(lt);
  free(lt->call);
  free(lt->resumer);
  free(lt->segment);
  free(lt->segev);
}

#endif
