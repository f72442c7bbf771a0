/*
** Tracing of calls: frames, the current coroutine, and the outputs.
** SPDX-License-Identifier: MIT
**
** Invariant: frames on a Lua stack are counted by the same rule everywhere
** (lj_ltstack_frameid): a Lua function counts if its prototype was described in this
** recording and is not excluded, a C function if it was called by lj_ltcall_wrap since
** tracing began (LTState.run), or if its coroutine is suspended in it (lt_wait). A stack
** that the reader does not know is reported before any event of its coroutine. */

#define lj_ltstack_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdlib.h>

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_ff.h"
#include "lj_frame.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- Reported calls of C functions ----------------------------------------- */

/* The reported call of a C function at a slot offset, or NULL. */
static LTCall *find_call(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  uint32_t i = lt->ncall;
  while (i-- > 0)
    if (lt->call[i].L == L && lt->call[i].ofs == ofs &&
	lt->call[i].run == lt->run)
      return &lt->call[i];
  return NULL;
}

/* Remove C calls of L at or above a slot offset. */
void lj_ltstack_dropcalls(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  while (lt->ncall > 0 && lt->call[lt->ncall-1].L == L &&
	 lt->call[lt->ncall-1].ofs >= ofs)
    lt->ncall--;
}

/* The C function in which L is suspended, or NULL. After a yield in a hook the frame on top
** has no function (lua_yield). */
GCfunc *lj_ltstack_waiting(lua_State *L)
{
  cTValue *frame = L->base-1;
  GCfunc *fn = frame_func(frame);
  if (L->status != LUA_YIELD || L->cframe || lt_frame_isbottom(L, frame) ||
      fn->c.gct != ~LJ_TFUNC || isluafunc(fn))
    return NULL;
  return fn;
}

/* -- Frames --------------------------------------------------------------- */

/* Id of a C function with a reported call. ctype: see LTCall. */
static uint32_t callid(lua_State *L, GCfunc *fn, uint32_t ctype)
{
  return ctype ? lj_ltffi_callid(L2LT(L), ctype) : lj_ltfunc_cfuncid(L, fn, NULL);
}

/* Id of the reported call in a frame, or 0 if it has no events. With `describe` a Lua
** function that this recording does not know yet is described to it. */
uint32_t lj_ltstack_frameid(lua_State *L, cTValue *frame, int describe)
{
  LTState *lt = L2LT(L);
  GCfunc *fn = frame_func(frame);
  LTCall *call;
  if (fn->c.gct != ~LJ_TFUNC || frame_isvarg(frame)) return 0;
  if (frame_iscont(frame) && frame_iscont_fficb(frame) &&
      (lt_callback(frame+1) & LT_CBIDLE))
    return 0;
  if (isluafunc(fn)) {
    GCproto *pt = funcproto(fn);
    if (lt_hasevents(lt, pt)) return pt->lt_id;
    return describe ? lj_ltfunc_protoid(L, pt, frame) : 0;
  }
  if (L->lt_wait == lt_waitmark(lt, L, frame+1))
    return lj_ltfunc_cfuncid(L, fn, NULL);
  call = find_call(lt, L, lt_stackofs(L, frame+1));
  return call ? callid(L, fn, call->ctype) : 0;
}

/* Number of reported calls of L from one frame down to another; hooked: with those that a filter of
** the recording leaves out. */
static uint32_t count_calls(lua_State *L, cTValue *frame, cTValue *stop, int hooked)
{
  uint32_t n = 0;
  for (; frame > stop && !lt_frame_isbottom(L, frame); frame = frame_prev(frame)) {
    GCfunc *fn = frame_func(frame);
    if (lj_ltstack_frameid(L, frame, 0)) n++;
    else if (hooked && fn->c.gct == ~LJ_TFUNC && !frame_isvarg(frame) && isluafunc(fn))
      n += lt_isexcluded(L2LT(L), funcproto(fn)) && !lj_ltfunc_ishidden(funcproto(fn));
  }
  return n;
}

uint32_t lj_ltstack_countcalls(lua_State *L, cTValue *frame, cTValue *stop)
{
  return count_calls(L, frame, stop, 0);
}

/* Those that hooks see. */
uint32_t lj_ltstack_counthooked(lua_State *L, cTValue *frame, cTValue *stop)
{
  return count_calls(L, frame, stop, 1);
}

/* -- Current coroutine and thread ----------------------------------------- */

/* Fire the entry probe for a call that was already running. */
static void probe_running(lua_State *L, cTValue *frame, uint32_t id);

/* L becomes the current coroutine, if it is not. The reader of event words knows its
** stack. */
static void become_current(LTState *lt, lua_State *L)
{
  int other = lt->L != L;
  if (other && lt_ringon(lt)) lj_ltring_need(lt, 2);
  lt->L = L;
  if (other && lt_ringon(lt))
    lj_ltring_ext(lt, LTX_SWITCH, 0, 1, lt_coid(lt, L), 0);
}

/* The request for which L works. The first report of a forked child has it. */
void lj_ltstack_request(lua_State *L)
{
  LTState *lt = L2LT(L);
  uint64_t request = lt_exdata(L)+1;
  if (lt_ringon(lt) && !lt->forked)
    lj_ltring_ext(lt, LTX_REQUEST, 0, 2, lt_coid(lt, L), request ? request : 1);
}

/* What L has of the host's and the program's own, if it has any: a reader that does not know L does
** not know it. */
void lj_ltstack_attributes(lua_State *L)
{
  if (lt_exdata(L)) lj_ltstack_request(L);
  if (L->lt_labels || L->lt_open) lj_ltmark_report(L);
}

/* Report the stack of L, which becomes the current coroutine. */
void lj_ltstack_report(lua_State *L, int reason, int skiptop)
{
  LTState *lt = L2LT(L);
  cTValue *frame;
  uint32_t n = 0, size = 0, i;
  struct { uint32_t id; int32_t ofs; } *v = NULL;
  int words = lt_ringon(lt) && !lt_wordsknow(lt, L);
  if (words) {
    lj_ltring_need(lt, 3);
    lt->L = L;
  } else {
    become_current(lt, L);
  }
  L->lt_epoch = lt->epoch;
  for (frame = L->base-1; !lt_frame_isbottom(L, frame); frame = frame_prev(frame)) {
    uint32_t id;
    if (skiptop) { skiptop = 0; continue; }
    id = lj_ltstack_frameid(L, frame, 1);
    if (!id) continue;
    if (!lj_ltfunc_grow((void **)&v, &size, n+1, sizeof(*v))) break;
    v[n].id = id;
    v[n++].ofs = (int32_t)lt_stackofs(L, frame);
  }
  lt->reports = 1;
  if (words)
    lj_ltring_ext(lt, LTX_STACK, (uint32_t)reason, 2, lt_coid(lt, L), n+1);
  if (lt_probeon(lt))
    lj_ltprobe_stack(L, lt_coid(lt, L), n, reason, G(L));
  for (i = n; i-- > 0; ) {
    if (lt_probeon(lt)) probe_running(L, tvref(L->stack)+v[i].ofs, v[i].id);
    if (words) lt_ring_store(lt, lj_ltctl_clock(lt), v[i].id, LT_FRAME);
  }
  lt->reports = 0;
  free(v);
  if (words) lj_ltstack_attributes(L);
  lj_assertL(lt->L == L && lt_known(lt, L), "reported stack not known");
}

/* L runs although it is not the current coroutine, or on another thread. */
LJ_NOINLINE void lj_ltstack_change(lua_State *L, int skiptop)
{
  LTState *lt = L2LT(L);
  if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
  if (lt->L == L) return;
  lt->left = lt->L;
  if (L->lt_epoch != lt->epoch)
    lj_ltstack_report(L, LTR_RESUMED, skiptop);
  else
    become_current(lt, L);
}

#ifdef vmthread
/* Finalizers run in VL, a coroutine of the VM's own, while L waits for them. For a
** reader they are calls of L, as in older LuaJITs: while they run, VL has the id of L. */
void lj_ltstack_lend(lua_State *L, lua_State *VL)
{
  LTState *lt = L2LT(L);
  lj_assertL(VL == vmthread(G(L)), "bad coroutine of finalizers");
  if (lt->lender || lt_mute(G(L))) return;  /* In a finalizer that runs the collector. */
  lt_check_current(lt, L, 0);
  VL->lt_id = lt_coid(lt, L);
  VL->lt_epoch = L->lt_epoch;
  lt->lender = L;
  lt->L = VL;
}

/* The finalizers have run. */
void lj_ltstack_back(lua_State *L, lua_State *VL)
{
  LTState *lt = L2LT(L);
  if (lt->lender != L) return;
  lt->lender = NULL;
  if (lt->L == VL) lt->L = L;
  VL->lt_id = VL->lt_epoch = 0;
}
#endif

/* -- Output of events ----------------------------------------------------- */

/* Line of the call that made this frame, or -1. */
int lj_ltstack_callline(lua_State *L, cTValue *frame)
{
  cTValue *pframe;
  GCfunc *fn;
  frame = lt_frame_lower(frame);
  if (lt_frame_isbottom(L, frame) || !frame_islua(frame)) return -1;
  pframe = frame_prevl(frame);
  fn = frame_func(pframe);
  if (!isluafunc(fn)) return -1;
  return (int)lj_debug_line(funcproto(fn),
			    proto_bcpos(funcproto(fn), frame_pc(frame))-1);
}

/* Fire the probe of a Lua function. frame is the lower one. */
static void probe_lua(lua_State *L, GCproto *pt, uint32_t ofs, uint32_t id,
		      uint32_t kind, int line)
{
  const char *chunk = strdata(proto_chunkname(pt));
  LTFunc *f = lj_ltfunc_find(L2LT(L), pt);
  int first = f ? (int)f->rec : (int)lj_ltfunc_line(L2LT(L), pt);
  const char *name = f ? f->name : NULL;
  if (!name) name = first ? lj_ltfunc_noname("?") : lj_ltfunc_noname("main");
  if (kind == LT_RETURN)
    lj_ltprobe_return(chunk, name, first, L, id, ofs, line);
  else if (kind == LT_TAIL)
    lj_ltprobe_tailcall(chunk, name, first, L, id, ofs, line);
  else
    lj_ltprobe_entry(chunk, name, first, L, id, ofs, line);
}

/* Fire the probe of a C function. What FFI calls has no address here: compiled code does
** not know it. */
void lj_ltstack_probec(lua_State *L, GCfunc *fn, uint32_t ctype, uint32_t ofs, uint32_t id,
		       uint32_t kind, int line)
{
  void *addr = ctype ? NULL : (void *)(uintptr_t)fn->c.f;
  int ffid = fn->c.ffid;
  LTFunc *f = ctype ? lj_ltffi_find(L2LT(L), ctype) : lj_ltfunc_find(L2LT(L), addr);
  const char *name = f ? f->name : NULL;
  if (!name) name = lj_ltfunc_noname("?");
  if (kind == LT_ENTRY)
    lj_ltprobe_centry(name, addr, ffid, L, id, ofs, line);
  else
    lj_ltprobe_creturn(name, addr, ffid, L, id, ofs, line);
}

static void probe_running(lua_State *L, cTValue *frame, uint32_t id)
{
  GCfunc *fn = frame_func(frame);
  uint32_t ofs = (uint32_t)lt_stackofs(L, lt_frame_lower(frame)+1);
  if (isluafunc(fn))
    probe_lua(L, funcproto(fn), ofs, id, LT_ENTRY, lj_ltstack_callline(L, frame));
  else {
    LTCall *call = find_call(L2LT(L), L, ofs);
    lj_ltstack_probec(L, fn, call ? call->ctype : 0, ofs, id, LT_ENTRY, -1);
  }
}

/* A call of a Lua function begins or ends, by all paths but inlined compiled code. */
void lj_ltstack_event(lua_State *L, GCproto *pt, uint32_t kind)
{
  LTState *lt = L2LT(L);
  cTValue *frame = L->base-1;
  uint32_t id;
  lt_check_current(lt, L, kind == LT_ENTRY);
  id = lj_ltfunc_protoid(L, pt, frame);
  if (lt_hookon(lt) && (id || !lj_ltfunc_ishidden(pt))) lj_lthook_event(L, obj2gco(pt), kind);
  if (!id) return;
  if (lt_probeon(lt)) {
    uint32_t ofs = (uint32_t)lt_stackofs(L, lt_frame_lower(frame)+1);
    probe_lua(L, pt, ofs, id, kind, lj_ltstack_callline(L, frame));
  }
  if (lt_ringon(lt)) lt_ring_event(lt, id, kind);
}

#if LJ_HASJIT
/* An event of compiled code that is not inlined. ofs: slot offset of the (lower) frame.
** Must not access frames, except for LT_LINE_LOOK. */
void lj_ltstack_jitevent(lua_State *L, GCobj *what, uint32_t kind, uint32_t ofs,
		      int32_t line)
{
  LTState *lt = L2LT(L);
  uint32_t id;
  if (line == LT_LINE_LOOK) line = lj_ltstack_callline(L, tvref(L->stack)+ofs-1);
  if (what->gch.gct == ~LJ_TPROTO) {
    id = gco2pt(what)->lt_id;
    if (lt_probeon(lt)) probe_lua(L, gco2pt(what), ofs, id, kind, line);
  } else {
    GCfunc *fn = gco2func(what);
    uint32_t ctype = line <= LT_LINE_FFI ? (uint32_t)(LT_LINE_FFI - line) : 0;
    id = callid(L, fn, ctype);
    if (lt_probeon(lt)) lj_ltstack_probec(L, fn, ctype, ofs, id, kind, ctype ? -1 : line);
  }
  if (lt_hookon(lt)) lj_lthook_event(L, what, kind);
  if (lt_ringon(lt)) lt_ring_event(lt, id, kind);
}
#endif

#endif
