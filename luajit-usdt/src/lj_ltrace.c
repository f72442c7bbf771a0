/*
** Tracing of calls: what is an event, and when.
** SPDX-License-Identifier: MIT
**
** Invariant: every call that was announced (ENTRY, or FRAME in a report of the
** stack) is ended by exactly one of RETURN, TAIL, UNWIND, or the death of its
** coroutine. To keep it, frames on a Lua stack are counted by the same rule
** everywhere (lj_ltrace_frameid): a Lua function counts if its prototype was
** described in this recording and is not excluded, a C function if it was called
** by lj_ltrace_wrap since tracing began (LTState.run).
*/

#define lj_ltrace_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdlib.h>

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_frame.h"
#include "lj_meta.h"
#include "lj_state.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- Frames --------------------------------------------------------------- */

/* Id of the announced call in a frame, or 0 if it has no events. */
uint32_t lj_ltrace_frameid(lua_State *L, cTValue *frame, int describe)
{
  LTState *lt = L2LT(L);
  GCfunc *fn = frame_func(frame);
  if (fn->c.gct != ~LJ_TFUNC || frame_isvarg(frame)) return 0;
  if (frame_iscont(frame) && frame_iscont_fficb(frame) &&
      (lt_callback(frame+1) & LT_CBIDLE))
    return 0;
  if (isluafunc(fn)) {
    GCproto *pt = funcproto(fn);
    if (pt->lt_rec == lt->rec << 1) return pt->lt_id;
    return describe ? lj_ltrace_protoid(L, pt, frame) : 0;
  }
  if (lj_ltcall_find(lt, L, lt_stackofs(L, frame+1)))
    return lj_ltrace_cfuncid(L, fn, NULL);
  return 0;
}


/* -- Current coroutine and thread ----------------------------------------- */

/* Fire the entry probe for a call that was already running. */
static void probe_running(lua_State *L, cTValue *frame, uint32_t id);

/* L becomes the current coroutine, if it is not; words know its stack. */
static void become_current(LTState *lt, lua_State *L)
{
  int other = lt->L != L;
  if (other && lt_ringon(lt)) lj_ltring_need(lt, 2);
  lt->L = L;
  if (other && lt_ringon(lt))
    lj_ltring_ext(lt, LTX_SWITCH, 0, 1, lt_coid(lt, L), 0);
}

/* Report the stack of L, which becomes the current coroutine. */
void lj_ltrace_report(lua_State *L, int reason, int skiptop)
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
    id = lj_ltrace_frameid(L, frame, 1);
    if (!id) continue;
    if (!lj_ltfunc_grow((void **)&v, &size, n+1, sizeof(*v))) break;
    v[n].id = id;
    v[n++].ofs = (int32_t)lt_stackofs(L, frame);
  }
  if (words)
    lj_ltring_ext(lt, LTX_STACK, (uint32_t)reason, 2, lt_coid(lt, L), n+1);
  if (lt_probeon(lt))
    lj_ltprobe_stack(L, lt_coid(lt, L), n, reason, G(L));
  for (i = n; i-- > 0; ) {
    if (lt_probeon(lt)) probe_running(L, tvref(L->stack)+v[i].ofs, v[i].id);
    if (!words) continue;
    if (v[i].id < LT_PAYLOAD_BIG)
      lj_ltring_put(lt, lj_ltring_clock(), v[i].id, LT_FRAME)
    else
      lj_ltring_big(lt, LT_FRAME, v[i].id);
  }
  free(v);
}

/* L runs although it is not the current coroutine, or on another thread. */
LJ_NOINLINE void lj_ltrace_change(lua_State *L, int skiptop)
{
  LTState *lt = L2LT(L);
  if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
  if (lt->L == L) return;
  lt->left = lt->L;
  if (L->lt_epoch != lt->epoch)
    lj_ltrace_report(L, LTR_RESUMED, skiptop);
  else
    become_current(lt, L);
}

/* -- Events out of the VM ------------------------------------------------- */

/* Line of the call that made this frame, or -1. */
int lj_ltrace_callline(lua_State *L, cTValue *frame)
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

void lj_ltrace_probec(lua_State *L, GCfunc *fn, uint32_t ofs, uint32_t id,
		    uint32_t kind, int line)
{
  void *addr = (void *)(uintptr_t)fn->c.f;
  LTFunc *f = lj_ltfunc_find(L2LT(L), addr);
  const char *name = f ? f->name : NULL;
  if (!name) name = lj_ltfunc_noname("?");
  if (kind == LT_ENTRY)
    lj_ltprobe_centry(name, addr, fn->c.ffid, L, id, ofs, line);
  else
    lj_ltprobe_creturn(name, addr, fn->c.ffid, L, id, ofs, line);
}

static void probe_running(lua_State *L, cTValue *frame, uint32_t id)
{
  GCfunc *fn = frame_func(frame);
  uint32_t ofs = (uint32_t)lt_stackofs(L, lt_frame_lower(frame)+1);
  if (isluafunc(fn))
    probe_lua(L, funcproto(fn), ofs, id, LT_ENTRY, lj_ltrace_callline(L, frame));
  else
    lj_ltrace_probec(L, fn, ofs, id, LT_ENTRY, -1);
}

/* A call of a Lua function begins or ends: all ways but inlined compiled code. */
static void lua_event(lua_State *L, GCproto *pt, uint32_t kind)
{
  LTState *lt = L2LT(L);
  cTValue *frame = L->base-1;
  uint32_t id;
  lt_check_current(lt, L, kind == LT_ENTRY);
  id = lj_ltrace_protoid(L, pt, frame);
  if (!id) return;
  if (lt_probeon(lt)) {
    uint32_t ofs = (uint32_t)lt_stackofs(L, lt_frame_lower(frame)+1);
    probe_lua(L, pt, ofs, id, kind, lj_ltrace_callline(L, frame));
  }
  if (lt_ringon(lt)) lt_ring_event(lt, id, kind);
}

#if LJ_HASJIT
/* An event of compiled code that is not inlined. ofs: slot offset of the
** (lower) frame. Must not look at frames, but for LT_LINE_LOOK. */
void lj_ltrace_jitout(lua_State *L, GCobj *what, uint32_t kind, uint32_t ofs,
		      int32_t line)
{
  LTState *lt = L2LT(L);
  uint32_t id;
  if (line == LT_LINE_LOOK) line = lj_ltrace_callline(L, tvref(L->stack)+ofs-1);
  if (what->gch.gct == ~LJ_TFUNC) {
    id = lj_ltrace_cfuncid(L, gco2func(what), NULL);
    if (lt_probeon(lt)) lj_ltrace_probec(L, gco2func(what), ofs, id, kind, line);
  } else {
    id = gco2pt(what)->lt_id;
    if (lt_probeon(lt)) probe_lua(L, gco2pt(what), ofs, id, kind, line);
  }
  if (lt_ringon(lt)) lt_ring_event(lt, id, kind);
}
#endif

/* -- Events of the interpreter -------------------------------------------- */

/* A Lua function is about to run (its frame is there). pc is behind FUNC*. */
void lj_ltrace_entry(lua_State *L, GCproto *pt)
{
  global_State *g = G(L);
  if (lj_ltrace_pending(g)) {
    lj_ltrace_switch(L, proto_bc(pt));  /* Its frame is not to be reported. */
    if (!G2LT(g)->on) return;
  }
  if (!lt_mute(g)) lua_event(L, pt, LT_ENTRY);
}

/* The current Lua function returns. */
void lj_ltrace_return(lua_State *L)
{
  global_State *g = G(L);
  if (lj_ltrace_pending(g)) {
    lj_ltrace_switch(L, NULL);
    if (!G2LT(g)->on) return;
  }
  if (!lt_mute(g)) lua_event(L, funcproto(curr_func(L)), LT_RETURN);
}

/* The function to which CALLT of this value gives the frame, or NULL if it
** raises an error instead. */
static GCfunc *callee(lua_State *L, cTValue *o)
{
  if (!tvisfunc(o)) o = lj_meta_lookup(L, o, MM_call);
  return tvisfunc(o) ? funcV(o) : NULL;
}

/* RET* or CALLT/CALLMT at pc-1 is about to be executed. */
void lj_ltrace_end(lua_State *L, const BCIns *pc)
{
  BCIns ins = pc[-1];
  BCOp op = bc_op(ins);
  if (op == BC_RETM || op == BC_RET || op == BC_RET0 || op == BC_RET1) {
    lj_ltrace_return(L);
  } else if (op == BC_CALLT || op == BC_CALLMT) {
    global_State *g = G(L);
    GCfunc *fn;
    if (lj_ltrace_pending(g)) {
      lj_ltrace_switch(L, NULL);
      if (!G2LT(g)->on) return;
    }
    if (!lt_mute(g) && (fn = callee(L, L->base + bc_a(ins)))) {
      lua_event(L, funcproto(curr_func(L)), LT_TAIL);
      lj_ltfunc_tailcall(L, fn, pc-1);
    }
  }
}

/* RET* or CALLT/CALLMT? */
#define lt_isend(op)	(bc_isret((op)) || (op) == BC_CALLT || (op) == BC_CALLMT)

/* Would an untraced VM come to lj_dispatch_ins for this instruction? */
static int wanted_by_others(global_State *g, BCOp op)
{
  uint8_t mask = g->hookmask;
  if (!lt_jitidle(g) || (mask & HOOK_PROFILE)) return 1;
  if ((mask & HOOK_ACTIVE)) return 0;
  return (mask & LUA_MASKLINE) || ((mask & LUA_MASKRET) && bc_isret(op)) ||
	 ((mask & LUA_MASKCOUNT) && g->hookcount == 0);
}

/* Did a recorder patch the slot and is gone, before it said so or after it took
** back what it wanted? Then nobody else would ever restore the table. */
static int patched_for_nothing(global_State *g, BCOp op)
{
  return lt_jitidle(g) && !(G2LT(g)->on && lt_isend(op)) &&
	 G2GG(g)->dispatch[op] == lj_vm_record;
}

/* In front of what lj_dispatch_ins does: poll. If nobody but tracing wants the
** instruction, do all there is to do. Returns 0 if there is more. */
int lj_ltrace_ins(lua_State *L, const BCIns *pc, const BCIns *oldpc)
{
  global_State *g = G(L);
  BCOp op = bc_op(pc[-1]);
  if (lj_ltrace_pending(g))
    lj_ltrace_switch(L, NULL);
  else if (LJ_UNLIKELY(patched_for_nothing(g, op)))
    lj_ltrace_restore(g);
  if (wanted_by_others(g, op)) return 0;
  if (lj_ltrace_on(g)) lj_ltrace_end(L, pc);
  setcframe_pc(cframe_raw(L->cframe), oldpc);  /* Of the next line hook. */
  return 1;
}

/* Make the stack suffice for the call of a Lua function, or raise an error, as the
** static instruction would: it must not do so itself, since it dispatches again.
** Returns 0 if it is not known how that looks. */
static int have_stack(lua_State *L, GCproto *pt, const BCIns *pc)
{
  ptrdiff_t need = pt->framesize;
#if LJ_LTVMFAST
  cTValue *from = (pt->flags & PROTO_VARARG) ? L->top + 1+LJ_FR2 : L->base;
  ptrdiff_t ofs = savestack(L, from);
  while (restorestack(L, ofs) + need > tvref(L->maxstack)) {
    setcframe_pc(cframe_raw(L->cframe), pc+1);
    lj_state_growstack(L, (MSize)need);
  }
  return 1;
#else
  UNUSED(pc);
  if ((pt->flags & PROTO_VARARG)) need += 1+LJ_FR2 + (L->top - L->base);
  return mref(L->maxstack, TValue) - L->top > need;
#endif
}

/* Where lj_vm_callhook goes on. */
static ASMFunction go_on(LTState *lt, ASMFunction target, const BCIns *oldpc)
{
#if LJ_LTVMFAST
  if (oldpc != LT_NOPC) {
    lt->oldpc = oldpc;
    lt->onward = target;
    return lj_ltrace_vmback;
  }
#else
  UNUSED(lt); UNUSED(oldpc);
#endif
  return target;
}

/* Would an untraced VM come to lj_dispatch_call for this call? */
static int call_wanted(global_State *g, const BCIns *oldpc)
{
#if LJ_LTVMFAST
  UNUSED(g);
  return oldpc == LT_NOPC;  /* Not by lj_ltrace_vmhook. */
#else
  UNUSED(oldpc);
  return !lt_jitidle(g) || (g->hookmask & (LUA_MASKCALL|HOOK_VMEVENT));
#endif
}

/* In front of lj_dispatch_call: the event. Returns the target if nothing but
** tracing is on and the stack suffices, else NULL. */
ASMFunction lj_ltrace_call(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  GCfunc *fn = curr_func(L);
  const BCIns *oldpc = lt->oldpc;
  BCOp op;
  lt->oldpc = LT_NOPC;
  if (isluafunc(fn)) lj_ltrace_entry(L, funcproto(fn));
  if (call_wanted(g, oldpc)) return NULL;
  op = bc_op(pc[-1]);  /* Not before: switching unpatches JFUNCF. */
  if (isluafunc(fn)) {
    if (!have_stack(L, funcproto(fn), pc)) return NULL;
    if (!(lt_jiton(g) && lt_jitidle(g)) && (op == BC_FUNCF || op == BC_FUNCV))
      op = (BCOp)((int)op+(int)BC_IFUNCF-(int)BC_FUNCF);
  } else if (lj_ltrace_wantw(g, fn)) {
    op = BC_FUNCCW;
  }
  return go_on(lt, makeasmfunc(lj_bc_ofs[op]), oldpc);
}

#if LJ_LTVMFAST
#define CALLHOOK	lj_ltrace_vmhook
#else
#define CALLHOOK	lj_vm_callhook
#endif

#if LJ_LTVMFAST
/* The plain case: only event words are wanted (see lj_ltvm.c). */
static void dispatch_fast(global_State *g, ASMFunction *disp)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = BC_FUNCF; i < BC__MAX; i++)
    lt->target[i-BC_FUNCF] = makeasmfunc(lj_bc_ofs[i]);
  if (!lt_jiton(g))
    lt->target[0] = makeasmfunc(lj_bc_ofs[BC_IFUNCF]);
  disp[BC_FUNCF] = disp[BC_IFUNCF] = disp[BC_JFUNCF] = lj_ltrace_vmfunc;
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] =
    lj_ltrace_vmret;
}
#endif

/* Override slots of the dispatch table. all: calls are overridden already.
** plain: nobody else wants calls, returns or instructions. */
void lj_ltrace_dispatch(global_State *g, ASMFunction *disp, int all, int plain)
{
  uint32_t i;
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] = lj_vm_record;
  disp[BC_CALLT] = disp[BC_CALLMT] = lj_vm_record;
  if (all) return;
  for (i = BC_FUNCF; i < GG_LEN_DDISP; i++)
    disp[i] = i < BC__MAX ? CALLHOOK : makeasmfunc(lj_bc_ofs[i]);
  /* The assembler versions of resume cannot tell. */
  i = G2LT(g)->coop;
  if (i) disp[i] = disp[i+1] = CALLHOOK;
#if LJ_LTVMFAST
  if (plain && !(G2LT(g)->on & LTON_PROBE)) dispatch_fast(g, disp);
#else
  UNUSED(plain);
#endif
}

#endif
