/*
** Tracing of calls: what the files of the VM's side share (lj_lt*.c).
** SPDX-License-Identifier: MIT
**
** Everything that an event needs is inline: in a build that is not amalgamated
** a call per event would be paid for the sake of tidiness.
*/

#ifndef _LJ_LTLOCAL_H
#define _LJ_LTLOCAL_H

#include "lj_frame.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"

#define lt_ringon(lt)	((lt)->on & LTON_WORDS)
#define lt_probeon(lt)	((lt)->on & LTON_PROBE)
/* No events inside of handlers for VM events. */
#define lt_mute(g)	((g)->hookmask & HOOK_VMEVENT)

#if LJ_HASJIT
#define lt_jitidle(g)	(G2J(g)->state == LJ_TRACE_IDLE)
#define lt_jiton(g)	(G2J(g)->flags & JIT_F_ON)
#else
#define lt_jitidle(g)	1
#define lt_jiton(g)	0
#endif

#define LT2G(lt) \
  (&((GG_State *)((char *)(lt) - offsetof(GG_State, lt)))->g)

/* Some upstreams ask for more (quirks). */
#ifndef lt_dispatch_update
#define lt_dispatch_update(g)	lj_dispatch_update((g))
#endif

/* Is the memory for event words private, handed over by a probe? */
#define lt_private(lt)	((lt)->ring && ((lt)->ringflags & LT_RING_PROBE))

#define ld_acq(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define st_rel(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define WARMBLOCKS	4u  /* Blocks of a ring that get their pages at a time. */
#define LT_NOTAIL	(~(uint64_t)0)

/* For lj_ltrace_switch: the caller reports the stack. */
#define PC_NOREPORT	((const BCIns *)(intptr_t)-1)

/* -- Frames --------------------------------------------------------------- */

/* Offset of a stack slot, in slots. */
#define lt_stackofs(L, p)	((p) - tvref((L)->stack))
#define lt_frame_isbottom(L, frame)	((frame) <= tvref((L)->stack)+LJ_FR2)

/* Lower frame of a vararg function. */
static LJ_AINLINE cTValue *lt_frame_lower(cTValue *frame)
{
  return frame_isvarg(frame) ? (cTValue *)frame_prevd(frame) : frame;
}

LJ_FUNC uint32_t lj_ltrace_frameid(lua_State *L, cTValue *frame, int describe);
LJ_FUNC int lj_ltrace_callline(lua_State *L, cTValue *frame);

/* -- Current coroutine ---------------------------------------------------- */

/* Id of a coroutine, given at first need, never again. */
static LJ_AINLINE uint32_t lt_coid(LTState *lt, lua_State *L)
{
  if (!L->lt_id) L->lt_id = ++lt->nextco;
  return L->lt_id;
}

/* Does the reader of event words know the stack of L? */
#define lt_wordsknow(lt, L)	((L)->lt_epoch >= (lt)->wordepoch)

/* Does anybody who listens know the stack of L? */
#define lt_known(lt, L) \
  ((L)->lt_epoch == (lt)->epoch || (lt_ringon(lt) && lt_wordsknow((lt), (L))))

/* From here on no stack is known. words: to the reader of event words, either. */
static LJ_AINLINE void lt_newepoch(LTState *lt, int words)
{
  lt->epoch++;
  if (words) lt->wordepoch = lt->epoch;
}

LJ_FUNC void lj_ltrace_report(lua_State *L, int reason, int skiptop);
LJ_FUNC void lj_ltrace_change(lua_State *L, int skiptop);

#define lt_check_current(lt, L, skiptop) \
  if (LJ_UNLIKELY((lt)->L != (L) || (lt)->thread != lj_ltring_thread())) \
    lj_ltrace_change((L), (skiptop))

/* -- Events --------------------------------------------------------------- */

/* What has to be done once in a while, before an event. */
static LJ_AINLINE uint64_t lt_ring_tick(LTState *lt)
{
  uint64_t now = lj_ltring_clock();
  if (LJ_UNLIKELY(now >= lt->deadline)) {
    lj_ltring_tick(lt, now);
    now = lj_ltring_clock();
  }
  return now;
}

/* Store one event of one function, or coroutine. */
static LJ_AINLINE void lt_ring_store(LTState *lt, uint64_t now, uint32_t id,
				     uint32_t kind)
{
  if (LJ_LIKELY(id < LT_PAYLOAD_BIG))
    lj_ltring_put(lt, now, id, kind)
  else
    lj_ltring_big(lt, kind, id);
}

static LJ_AINLINE void lt_ring_event(LTState *lt, uint32_t id, uint32_t kind)
{
  lt_ring_store(lt, lt_ring_tick(lt), id, kind);
}

LJ_FUNC void lj_ltrace_probec(lua_State *L, GCfunc *fn, uint32_t ofs,
			      uint32_t id, uint32_t kind, int line);

/* -- Functions and announced C calls -------------------------------------- */

LJ_FUNC int lj_ltfunc_grow(void **vec, uint32_t *size, uint32_t need,
			   size_t elem);
LJ_FUNC LTFunc *lj_ltfunc_find(LTState *lt, void *addr);
LJ_FUNC uint32_t lj_ltfunc_line(LTState *lt, GCproto *pt);
LJ_FUNC void lj_ltfunc_begin(LTState *lt);
LJ_FUNC void lj_ltfunc_free(LTState *lt);
LJ_FUNC void lj_ltfunc_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins);
LJ_FUNC LTCall *lj_ltcall_find(LTState *lt, lua_State *L, ptrdiff_t ofs);
LJ_FUNC void lj_ltcall_drop(LTState *lt, lua_State *L, ptrdiff_t ofs);

#endif
