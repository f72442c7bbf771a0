/*
** Tracing of calls: what is an event, and when.
** SPDX-License-Identifier: MIT
**
** Invariant: every call that was reported (by ENTRY, or FRAME in a stack report) is
** ended by exactly one of RETURN, TAIL, UNWIND, or the death of its coroutine.
** lj_ltstack_frameid decides which frames count. */

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
#include "lj_trace.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- Events of the interpreter -------------------------------------------- */

/* Poll before an event. pc as in lj_ltswitch_now. Returns 0 if there is to be none. */
static int poll_event(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  if (lj_ltrace_pending(g)) lj_ltswitch_now(L, pc);
  return lt_eventson(G2LT(g)) && !lt_mute(g);
}

/* The current Lua function returns. */
static void leave_lua(lua_State *L)
{
  if (poll_event(L, NULL))
    lj_ltstack_event(L, funcproto(curr_func(L)), LT_RETURN);
}

/* The function to which CALLT of this value gives the frame, or NULL if it raises an
** error instead. */
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
    leave_lua(L);
  } else if (op == BC_CALLT || op == BC_CALLMT) {
    GCfunc *fn;
    if (poll_event(L, NULL) && (fn = callee(L, L->base + bc_a(ins)))) {
      lj_ltstack_event(L, funcproto(curr_func(L)), LT_TAIL);
      lj_ltfunc_tailcall(L, fn, pc-1);
      lj_ltffi_tailcall(L, fn, pc-1);
    }
  }
}

/* RET* or CALLT/CALLMT? */
#define lt_isend(op)	(bc_isret((op)) || (op) == BC_CALLT || (op) == BC_CALLMT)

/* Would lj_dispatch_ins be called for this instruction in an untraced VM? */
static int wanted_by_others(global_State *g, BCOp op)
{
  uint8_t mask = g->hookmask;
  if (!lt_jitidle(g) || (mask & HOOK_PROFILE)) return 1;
  if ((mask & HOOK_ACTIVE)) return 0;
  return (mask & LUA_MASKLINE) || ((mask & LUA_MASKRET) && bc_isret(op)) ||
	 ((mask & LUA_MASKCOUNT) && g->hookcount == 0);
}

/* Did a recorder patch the slot and die before it set a request or after it withdrew
** it? Then nobody else would ever restore the table. */
static int patched_needlessly(global_State *g, BCOp op)
{
  return lt_jitidle(g) && !(lt_eventson(G2LT(g)) && lt_isend(op)) && !lt_watchlines(G2LT(g)) &&
	 G2GG(g)->dispatch[op] == lj_vm_record;
}

/* While lines are watched every instruction comes here: also the one before which the profiler
** wants to be called. Returns whether the table must be set up again. */
static int watched_ins(lua_State *L, const BCIns *pc)
{
#if LJ_HASPROFILE
  if ((G(L)->hookmask & HOOK_PROFILE)) lj_dispatch_profile(L, pc);
#endif
  return lt_watchlines(L2LT(L)) && lj_lthit_line(L, pc);  /* Its callback may have polled. */
}

/* Called at the start of lj_dispatch_ins: poll. If only tracing needs the instruction,
** do all the work. Returns 0 if there is more to do. */
int lj_ltrace_ins(lua_State *L, const BCIns *pc, const BCIns *oldpc)
{
  global_State *g = G(L);
  BCOp op = bc_op(pc[-1]);
  if (lj_ltrace_pending(g))
    lj_ltswitch_now(L, NULL);
  else if (LJ_UNLIKELY(patched_needlessly(g, op)))
    lj_ltswitch_restore(g);
  if (lj_lthook_wanted(G2LT(g))) lj_lthook_deliver(L);
  if (lt_watchlines(G2LT(g)) && watched_ins(L, pc)) lj_ltswitch_restore(g);
  if (wanted_by_others(g, op)) return 0;
  if (lt_eventson(G2LT(g))) lj_ltrace_end(L, pc);
  setcframe_pc(cframe_raw(L->cframe), oldpc);  /* For the next line hook. */
  return 1;
}

/* Grow the stack for the call of a Lua function, or raise an error, like the static
** instruction, which cannot do it here, since it dispatches again. Returns 0 if it is
** not known how the instruction does it. */
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

/* Where lj_vm_callhook continues. */
static ASMFunction continue_at(LTState *lt, ASMFunction target, const BCIns *oldpc)
{
#if LJ_LTVMFAST
  if (oldpc != LT_NOPC) {
    lt->oldpc = oldpc;
    lt->onward = target;
    return lj_ltvm_back;
  }
#else
  UNUSED(lt); UNUSED(oldpc);
#endif
  return target;
}

/* Would lj_dispatch_call be called for this call in an untraced VM? */
static int call_wanted(global_State *g, const BCIns *oldpc)
{
#if LJ_LTVMFAST
  UNUSED(g);
  return oldpc == LT_NOPC;  /* Not called by lj_ltvm_hook. */
#else
  UNUSED(oldpc);
  return !lt_jitidle(g) || (g->hookmask & (LUA_MASKCALL|HOOK_VMEVENT));
#endif
}

/* A Lua function has been called. */
static void enter_lua(lua_State *L, GCproto *pt)
{
  LTState *lt = L2LT(L);
  lj_ltstack_event(L, pt, LT_ENTRY);
  if (!lt->watch) return;
  if (lt->watch->notes) lj_ltwatch_notes(L);
  if ((pt->lt_rec & LTREC_ENTRY)) lj_lthit_entry(L, pt);
}

/* The instruction with which a function begins: that of a C function may have events, and no call
** counts as hot where nothing is compiled. */
BCOp lj_ltrace_target(global_State *g, GCfunc *fn, BCOp op)
{
  if (!isluafunc(fn)) return lj_ltfunc_wantw(g, fn) ? BC_FUNCCW : op;
  if (!(lt_jiton(g) && lt_jitidle(g)) && (op == BC_FUNCF || op == BC_FUNCV))
    op = (BCOp)((int)op+(int)BC_IFUNCF-(int)BC_FUNCF);
  return op;
}

/* Called at the start of lj_dispatch_call: the event. Returns the target if nothing but
** tracing is on and the stack is large enough, else NULL. */
ASMFunction lj_ltrace_call(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  GCfunc *fn = curr_func(L);
  const BCIns *oldpc = lt->oldpc;
  BCOp op;
  lt->oldpc = LT_NOPC;
  /* Its frame exists, but is not in a report that is made now: pc is after FUNC*. */
  if (isluafunc(fn) && poll_event(L, proto_bc(funcproto(fn))))
    enter_lua(L, funcproto(fn));
  if (call_wanted(g, oldpc)) return NULL;
  if (isluafunc(fn) && !have_stack(L, funcproto(fn), pc)) return NULL;
  op = lj_ltrace_target(g, fn, bc_op(pc[-1]));  /* Only now: switching unpatches JFUNCF. */
  return continue_at(lt, makeasmfunc(lj_bc_ofs[op]), oldpc);
}

#if LJ_LTVMFAST
#define CALLHOOK	lj_ltvm_hook
#else
#define CALLHOOK	lj_vm_callhook
#endif

#if LJ_LTVMFAST
/* The plain case: only event words are wanted, of our own clock (see lj_ltvm.c). A C function is called
** through g->wrapf, where lj_ltcall_wrap finds out whether it has events. */
static void dispatch_fast(global_State *g, ASMFunction *disp)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = BC_FUNCF; i < BC__MAX; i++)
    lt->target[i-BC_FUNCF] = makeasmfunc(lj_bc_ofs[i]);
  if (!lt_jiton(g))
    lt->target[0] = makeasmfunc(lj_bc_ofs[BC_IFUNCF]);
  disp[BC_FUNCF] = disp[BC_IFUNCF] = disp[BC_JFUNCF] = lj_ltvm_func;
  disp[BC_FUNCC] = disp[BC_FUNCCW] = makeasmfunc(lj_bc_ofs[BC_FUNCCW]);
  if (lt_watchlines(lt)) return;
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] =
    lj_ltvm_ret;
}
#endif

/* The assembler versions of resume make no events, and leave the thread's context alone. */
static void dispatch_resume(global_State *g, ASMFunction *disp)
{
  uint32_t i = G2LT(g)->coop;
  if (i) disp[i] = disp[i+1] = CALLHOOK;
}

/* Override slots of the dispatch table. all: calls are overridden already. plain:
** nothing else wants calls, returns or instructions. */
void lj_ltrace_dispatch(global_State *g, ASMFunction *disp, int all, int plain)
{
  uint32_t i;
  if (!lt_eventson(G2LT(g))) {
    if (!all) dispatch_resume(g, disp);
    return;
  }
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] = lj_vm_record;
  disp[BC_CALLT] = disp[BC_CALLMT] = lj_vm_record;
  if (lt_watchlines(G2LT(g)))
    for (i = 0; i < GG_LEN_SDISP; i++) disp[i] = lj_vm_record;
  if (all) return;
  for (i = BC_FUNCF; i < GG_LEN_DDISP; i++)
    disp[i] = i < BC__MAX ? CALLHOOK : makeasmfunc(lj_bc_ofs[i]);
  dispatch_resume(g, disp);
#if LJ_LTVMFAST
  if (plain && !(G2LT(g)->on & LTON_SINGLE) && lt_owncounter(G2LT(g)))
    dispatch_fast(g, disp);
#else
  UNUSED(plain);
#endif
}

/* -- Exits of compiled code ----------------------------------------------- */

#if LJ_HASJIT
/* A trace that begins with RET* or ITERN was left at its beginning, and will be until
** the finalizer or handler that runs now is over: its first instruction would enter it
** again for ever, so it is flushed. */
static void go_past(jit_State *J, const BCIns *pc)
{
  if (bc_op(*pc) == BC_JLOOP) {
    BCOp op = bc_op(traceref(J, bc_d(*pc))->startins);
    if (bc_isret(op) || op == BC_ITERN) lj_trace_flush(J, bc_d(*pc));
  }
}
#else
#define go_past(J, pc)	((void)0)
#endif

/* A trace was left and the stack restored. Returns 1 if the exit was ours. */
int lj_ltrace_exit(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  if (lj_ltrace_pending(g)) {
    if (!lj_ltswitch_now(L, pc)) go_past(G2J(g), pc);
    return 1;
  }
  if (lt_eventson(lt)) lj_ltjit_exit(G2J(g));
  if (lt_eventson(lt) && lt->L != L && !lt_mute(g)) {
    lj_ltstack_change(L, lt_before_entry(pc));
    return 1;
  }
  return 0;
}

#if LJ_HASJIT
/* A trace that begins with RET* or ITERN was left: the static dispatch that follows
** makes no event for a return. Returns 1 if the trace is gone because it was switched. */
int lj_ltrace_exitret(jit_State *J, lua_State *L, const BCIns *pc, const BCIns *retpc)
{
  if (lt_eventson(L2LT(L)) && J->state != LJ_TRACE_RECORD && bc_isret(bc_op(*retpc)))
    leave_lua(L);
  return bc_op(*pc) != BC_JLOOP;
}
#endif

/* -- Errors --------------------------------------------------------------- */

#define MAXBELOW	32u  /* Frames to check below those that are removed. */

/* L runs finalizers: the coroutine whose calls are below those of L, or NULL. */
static lua_State *lender_of(lua_State *L)
{
  lua_State *by = L2LT(L)->lender;
  return by && L != by && L->lt_id == by->lt_id ? by : NULL;
}

/* Id of the reported call at or below a frame. An error must cost no more than the
** frames it removes, so only a few others are checked. */
static uint32_t next_call(lua_State *L, cTValue *frame)
{
  uint32_t i, id;
  for (i = 0; i < MAXBELOW; i++, frame = frame_prev(frame)) {
    if (lj_ltgc_covers(L, frame)) return L2LT(L)->gc.id;
    if (lt_frame_isbottom(L, frame)) {
      if (!(L = lender_of(L))) return LT_ID_NONE;
      frame = L->base-1;
      if (lj_ltgc_covers(L, frame)) return L2LT(L)->gc.id;
      if (lt_frame_isbottom(L, frame)) return LT_ID_NONE;
    }
    if ((id = lj_ltstack_frameid(L, frame, 0))) return id;
  }
  return LT_ID_UNKNOWN;
}

/* The frames of L above newbase are removed by an error. */
void lj_ltrace_unwind(lua_State *L, TValue *newbase)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  uint32_t n, hooked, id, lost = lt->lostframes;
  if ((L->base <= newbase && !lost) || lt_mute(g)) return;
  lt->lostframes = 0;
  lj_ltgc_unwind(L, newbase);
  lt_check_current(lt, L, 0);
  n = lj_ltstack_countcalls(L, L->base-1, newbase-1);
  hooked = lt_hookon(lt) ? lj_ltstack_counthooked(L, L->base-1, newbase-1) : 0;
  lj_ltstack_dropcalls(lt, L, lt_stackofs(L, newbase)+1);
  if (lt_hookon(lt)) lj_lthook_unwind(L, hooked, lost ? newbase : NULL, lj_ltstack_counthooked);
  if (!n && !lost) return;
  if (lt_probeon(lt)) lj_ltprobe_unwind(L, (uint32_t)lt_stackofs(L, newbase));
  if (!lt_ringon(lt)) return;
  id = next_call(L, newbase-1);
  if (lost) {
    lua_State *by = lender_of(L);
    n = lj_ltstack_countcalls(L, newbase-1, tvref(L->stack));
    if (by) n += lj_ltstack_countcalls(by, by->base-1, tvref(by->stack));
    n += lj_ltgc_covers(by ? by : L, by ? by->base-1 : tvref(L->stack));
    lj_ltring_ext(lt, LTX_UNWIND, 1, 1, lt_pack(n+1, id), 0);
  } else {
    lj_ltring_ext(lt, LTX_UNWIND, 0, 1, lt_pack(n, id), 0);
  }
}

#endif
