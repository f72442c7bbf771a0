/*
** Tracing of calls: events of compiled code.
** SPDX-License-Identifier: MIT
**
** Invariant: an event is emitted after all guards of its bytecode and is followed by a
** new snapshot (J->needsnap), so that no exit from the trace executes the bytecode, and
** the event with it, a second time. */

#define lj_ltrec_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_HASJIT

#include "lj_bc.h"
#include "lj_ff.h"
#include "lj_frame.h"
#include "lj_ir.h"
#include "lj_jit.h"
#include "lj_ircall.h"
#include "lj_record.h"
#include "lj_iropt.h"
#include "lj_snap.h"
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_ffrecord.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* Saves typing. Undef'd at the end. */
#define emitir(ot, a, b)	(lj_ir_set(J, (ot), (a), (b)), lj_opt_fold(J))

#define J2LT(J)			(&J2GG(J)->lt)

/* Argument info of lj_ltrec_jitevent: kind in the low bits, above it the slot offset
** relative to the BASE of the trace. */
#define INFO_SHIFT		4

/* -- Emit one event ------------------------------------------------------- */

static void recevent(jit_State *J, uint32_t kind, uint32_t id, GCobj *what,
		     int32_t ofs, int32_t line)
{
  LTState *lt = J2LT(J);
  if (lt->segrec) lj_ltseg_event(J, id, kind);
  if (lt->segrec && !lt_segauto(lt)) {  /* It has no code. */
  } else if (!(lt->on & LTON_SINGLE) && id < LT_PAYLOAD_BIG) {
    lj_ir_call(J, IRCALL_lj_ltrec_jitword,
	       lj_ir_kint(J, (int32_t)((id << LT_KIND_BITS) | kind)));
  } else {
    int32_t info = (int32_t)((uint32_t)ofs << INFO_SHIFT) | (int32_t)kind;
    lj_assertJ(info >> INFO_SHIFT == ofs, "slot offset %d out of range", ofs);
    lj_ir_call(J, IRCALL_lj_ltrec_jitevent,
	       lj_ir_kgc(J, what, what->gch.gct == ~LJ_TFUNC ? IRT_FUNC :
			 IRT_PROTO),
	       lj_ir_kint(J, info), lj_ir_kint(J, line));
  }
  J->needsnap = 1;
}

#if LJ_HASFFI && LJ_LTSEGMENTS
/* In a trace that stores no events: the time here is of interest. */
static void recmark(jit_State *J)
{
  int32_t nev = (int32_t)J2LT(J)->segnev;
  lj_ir_call(J, IRCALL_lj_ltseg_mark, lj_ir_kint(J, (int32_t)lj_ltseg_newmark(J)),
	     lj_ir_kint(J, nev));
}
#else
#define recmark(J)	((void)0)
#endif

/* Slot offset of J->base relative to the BASE of the trace. */
#define baseofs(J)	((int32_t)(J)->baseslot - (1+LJ_FR2))

/* Line of the current frame's call, for the probes. */
static int32_t recline(jit_State *J)
{
  if (J->framedepth == 0) return LT_LINE_LOOK;
  return lj_ltstack_callline(J->L, J->L->base-1);
}

static uint32_t recproto(jit_State *J, GCproto *pt)
{
  return lj_ltfunc_protoid(J->L, pt, J->L->base-1);
}

/* -- Hooks of the trace recorder ------------------------------------------ */

#define recoff(J)	(!lt_eventson(J2LT(J)))

#define PEND_POLL	LT_ID_NONE	/* LTState.pendff: check whether something changed. */

/*
** Where the control word is checked while nobody is attached: every cycle of compiled
** code that can run for ever passes a guard in each iteration, so that a VM answers
** within one iteration, whatever it allocates or calls.
**   A root trace that is not a function's: at its head, in the loop (lj_ltrec_guard).
**   A side trace that may form a loop of its own, because a type has changed: likewise.
**   A function's root trace: only calls reach its head. While they nest, the stack ends
**   them; so there is a guard where they do not: before a tail call to a compiled
**   function (lj_ltrec_stop), and where a side trace returns to a frame below its own
**   (recreturned). At the head every call would execute it. */

/* Leave the trace if the control word is not the value that the VM has acted upon. The
** comparison with 0 takes no register: asm_fusexref makes it one with memory. */
static void guard_word(jit_State *J)
{
  LTState *lt = J2LT(J);
  IRType t = LJ_64 ? IRT_U64 : IRT_INT;
#if LJ_64 && !LJ_GC64  /* Pointer constants have 32 bits, the library may be anywhere. */
  TRef at = lj_ir_kint64(J, (uint64_t)(uintptr_t)&luajit_usdt_control);
#else
  TRef at = lj_ir_kptr(J, &luajit_usdt_control);
#endif
  TRef seen, word = emitir(IRT(IR_XLOAD, t), at, IRXLOAD_VOLATILE);
  if (lt->seen)
    seen = emitir(IRT(IR_XLOAD, t), lj_ir_kptr(J, &lt->seen), IRXLOAD_VOLATILE);
  else
    seen = LJ_64 ? lj_ir_kint64(J, 0) : lj_ir_kint(J, 0);
  emitir(IRTG(IR_EQ, t), word, seen);
}

/* A call by FFI was recorded while events are on. It may have been fork(): the child
** leaves its trace here, so that its first event goes into a ring of its own. */
static void recforked(jit_State *J)
{
  TRef tr;
  if (!J->needsnap) return;
  J->needsnap = 0;
  if (J->pt) lj_snap_purge(J);
  lj_snap_add(J);
  J->mergesnap = 1;
  tr = emitir(IRT(IR_XLOAD, IRT_INT), lj_ir_kptr(J, (void *)&J2LT(J)->stop),
	      IRXLOAD_VOLATILE);
  emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, 0));
}

/* A guard of the control word in the middle of a trace, once: each guard has a
** snapshot, of which a trace may have 500. */
static void recpoll(jit_State *J)
{
  J2LT(J)->polled = 1;
  J->needsnap = 0;
  if (bc_op(*J->pc) < BC_FUNCF) lj_snap_purge(J);
  lj_snap_add(J);
  J->mergesnap = 1;
  guard_word(J);
}

/* Must the interpreter execute this instruction of the current function? */
static int recwatched(jit_State *J, BCOp op)
{
  GCproto *pt = J->pt;
  if (!J2LT(J)->watch || !pt) return 0;
  recproto(J, pt);
  return pt->lt_rec & (op >= BC_FUNCF ? LTREC_ENTRY|LTREC_LINE : LTREC_LINE);
}

/* Start of a trace. While tracing is on, the trace is left when the coroutine is
** switched, or events would count for the wrong coroutine. */
void lj_ltrec_guard(jit_State *J)
{
  global_State *g = J2G(J);
  LTState *lt = J2LT(J);
  IRRef nins = J->cur.nins;
  int isfunc = bc_op(J->cur.startins) == BC_FUNCF;
  lt->pendff = 0;
  lt->polled = 0;
  lt->nguard = 0;
  lj_ltseg_check(J);
  if (J->state == LJ_TRACE_END) return;
  if (J->parent && !J->startpc) return;  /* It cannot form a loop. */
  if (!J->parent && recwatched(J, bc_op(J->cur.startins))) lj_trace_err(J, LJ_TRERR_CJITOFF);
  if (!isfunc) {
    lt->polled = 1;
    guard_word(J);
  }
  if (lt_eventson(lt)) {
    TRef tr = emitir(IRT(IR_XLOAD, IRT_INT), lj_ir_kptr(J, (void *)&lt->stop),
		     IRXLOAD_VOLATILE);
    emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, 0));
    if ((lt->on & LTON_WORDS)) {  /* Events do not name the coroutine. */
      TRef a = emitir(IRT(IR_XLOAD, IRT_PGC), lj_ir_kptr(J, &lt->L),
		      IRXLOAD_READONLY);
      TRef b = emitir(IRT(IR_XLOAD, IRT_PGC), lj_ir_kptr(J, &g->cur_L),
		      IRXLOAD_READONLY);
      emitir(IRTG(IR_EQ, IRT_PGC), a, b);
    }
  }
  lt->nguard = J->cur.nins - nins;
}

/* The trace ends in a link to the root trace lnk, or in another way (0). */
void lj_ltrec_stop(jit_State *J, uint32_t linktype, uint32_t lnk)
{
  BCIns start;
  lj_ltseg_reserve(J, (TraceNo)lnk);
  if (!recoff(J) || J2LT(J)->polled || J->framedepth + J->retdepth != 0 ||
      (linktype != LJ_TRLINK_ROOT && linktype != LJ_TRLINK_TAILREC))
    return;
  start = lnk == J->cur.traceno ? J->cur.startins : traceref(J, lnk)->startins;
  if (bc_op(start) == BC_FUNCF) recpoll(J);
}

/* A return was recorded: to a frame below that of the trace? Then poll when the results
** are in place, which is at the next bytecode. */
static void recreturned(jit_State *J)
{
  if (J->parent && J->retdepth && !J2LT(J)->polled && J->needsnap)
    J2LT(J)->pendff = PEND_POLL;
}

/* Entry to the Lua function J->pt, whose frame is set up. */
void lj_ltrec_entry(jit_State *J)
{
  GCproto *pt = J->pt;
  int32_t ofs = baseofs(J);
  uint32_t id;
  if (recoff(J)) return;
  id = recproto(J, pt);
  if (!id) return;
  if ((pt->flags & PROTO_VARARG))  /* Offset of the lower frame. */
    ofs -= (int32_t)(J->L->top - J->L->base) + 1+LJ_FR2;
  recevent(J, LT_ENTRY, id, obj2gco(pt), ofs, recline(J));
}

/* A compiled function is called, and the trace links to it, after the entry event: an
** exit must not enter the function again. Returns 0 if tracing is off. */
int lj_ltrec_jit(jit_State *J, uint32_t lnk)
{
  int self = J->pc == J->startpc && J->framedepth + J->retdepth == 0;
  if (recoff(J)) return 0;
  J->pc++;
  if (self)
    lj_record_stop(J, LJ_TRLINK_TAILREC, J->cur.traceno);
  else
    lj_record_stop(J, LJ_TRLINK_ROOT, lnk);
  return 1;
}

/* CALLT/CALLMT was recorded: the frame now belongs to the callee. */
void lj_ltrec_tail(jit_State *J)
{
  uint32_t id;
  if (recoff(J)) return;
  id = recproto(J, J->pt);
  if (id)
    recevent(J, LT_TAIL, id, obj2gco(J->pt), baseofs(J), recline(J));
}

/* Before RET* is recorded: slot offset of the frame that ends. */
int32_t lj_ltrec_retofs(jit_State *J)
{
  cTValue *frame = J->L->base-1;
  int32_t ofs = baseofs(J);
  if (frame_isvarg(frame)) ofs -= (int32_t)frame_delta(frame);
  return ofs;
}

/* RET* of pt was recorded. */
void lj_ltrec_ret(jit_State *J, GCproto *pt, int32_t ofs, int32_t retdepth)
{
  cTValue *frame;
  uint32_t id;
  if (J->state != LJ_TRACE_RECORD) return;
  if (recoff(J)) {
    recreturned(J);
    return;
  }
  id = recproto(J, pt);
  if (!id) return;
  frame = lt_frame_lower(J->L->base-1);
  if (frame_islua(frame) && J->retdepth != retdepth)  /* BASE has moved down. */
    ofs = 1+LJ_FR2 + (int32_t)bc_a(frame_pc(frame)[-1]);
  recevent(J, LT_RETURN, id, obj2gco(pt), ofs,
	   lj_ltstack_callline(J->L, J->L->base-1));
}

/* The events of a library function that was recorded inline. */
static void recffevents(jit_State *J, uint32_t id, GCfunc *fn, int32_t ofs)
{
  recevent(J, LT_ENTRY, id, obj2gco(fn), ofs, -1);
  recevent(J, LT_RETURN, id, obj2gco(fn), ofs, -1);
}

/* Slot offset of the frame on top, from which lj_record_ret has already returned. */
static int32_t returnedofs(jit_State *J)
{
  cTValue *frame = J->L->base-1;
  int32_t ofs = baseofs(J);
  for (; frame_ispcall(frame); frame = frame_prevd(frame))
    ofs += (int32_t)frame_delta(frame);
  return ofs + (frame_islua(frame) ?
		1+LJ_FR2 + (int32_t)bc_a(frame_pc(frame)[-1]) :
		(int32_t)frame_delta(frame));
}

/* A fast function was recorded inline: entry and return, one after the other. */
void lj_ltrec_ff(jit_State *J, GCfunc *fn)
{
  uint32_t id;
  if (J->state != LJ_TRACE_RECORD) return;
  if (recoff(J)) recreturned(J);
#if LJ_HASFFI
  else if (fn->c.ffid == FF_ffi_meta___call) J2LT(J)->pendff = PEND_POLL;
#endif
  if (!lj_ltfunc_wantc(J2G(J), fn)) return;
  id = lj_ltfunc_cfuncid(J->L, fn, NULL);
  if (!id) return;
  if (J->postproc == LJ_POST_FIXGUARD || J->postproc == LJ_POST_FIXGUARDSNAP) {
    J2LT(J)->pendff = id;  /* Not before its guard. */
    J2LT(J)->pendofs = returnedofs(J);
    setgcref(J2LT(J)->pendfn, obj2gco(fn));
  } else {
    recffevents(J, id, fn, returnedofs(J));
  }
}

#if LJ_HASFFI
static void ffievent(jit_State *J, GCcdata *cd, uint32_t kind)
{
  lua_State *L = J->L;
  uint32_t id;
  if (recoff(J) || !lt_wantffi(J2G(J))) return;
  id = lj_ltffi_id(L, cd, L->base-1);
  if (!id) return;
  recevent(J, kind, id, obj2gco(J->fn), baseofs(J), LT_LINE_FFI - (int32_t)cd->ctypeid);
  if (J2LT(J)->segrec) recmark(J);
}

/* A C function is called by FFI: its arguments have been recorded, with all guards, and
** are returned. */
TRef lj_ltrec_fficall(jit_State *J, GCcdata *cd, TRef args)
{
  ffievent(J, cd, LT_ENTRY);
  return args;
}

/* That call was recorded; its result has not been checked. */
void lj_ltrec_ffireturn(jit_State *J, GCcdata *cd)
{
  ffievent(J, cd, LT_RETURN);
}
#endif

/* What waited for the guard, which has been emitted. */
static void recpending(jit_State *J)
{
  uint32_t id = J2LT(J)->pendff;
  J2LT(J)->pendff = 0;
  if (id == PEND_POLL) {
    if (recoff(J)) recpoll(J);
    else recforked(J);
    return;
  }
  if (!recoff(J))
    recffevents(J, id, gco2func(gcref(J2LT(J)->pendfn)), J2LT(J)->pendofs);
}

/* -- Inlined calls, for samplers ------------------------------------------ */

/* A sampler takes the inlined calls from the last snapshot before the code that runs. Without
** a guard in between the caller's is the last one, so before a bytecode that may take long
** there is a snapshot of its own, if it would have other calls. It makes no code; guards after
** it leave the trace there instead of at the one before. */
#if LJ_FR2

/* May that bytecode take long? A call of a Lua function is none: it is recorded itself. */
static int recslow(jit_State *J, BCIns ins)
{
  cTValue *base = J->L->base, *callee = &base[bc_a(ins)];
  BCOp op = bc_op(ins);
  if (op >= BC_CALLM && op <= BC_CALLT) return !tvisfunc(callee) || !isluafunc(funcV(callee));
  if (op >= BC_ADDVN && op < BC_POW) /* Of 64-bit integers: they call C, and make an object. */
    return tviscdata(&base[bc_b(ins)]) || (op >= BC_ADDVV && tviscdata(&base[bc_c(ins)]));
  return op == BC_POW || op == BC_CAT || op == BC_TNEW || op == BC_TDUP;
}

/* Are the inlined calls those of the last snapshot? */
static int recsamecalls(jit_State *J)
{
  SnapShot *snap = &J->cur.snap[J->cur.nsnap-1];
  SnapEntry *map = &J->cur.snapmap[snap->mapofs];
  const BCIns *pc = snap_pc(&map[snap->nent]);
  MSize n, frames = 0;
  for (n = 0; n < snap->nent; n++) {
    if (!(map[n] & SNAP_FRAME) || snap_slot(map[n]) <= LJ_FR2) continue;
    if (tref_ref(J->slot[snap_slot(map[n])]) != snap_ref(map[n])) return 0;
    frames = snap_slot(map[n]) + 1;
  }
  return pc >= proto_bc(J->pt) && pc < proto_bc(J->pt) + J->pt->sizebc &&
	 (frames == J->baseslot || (frames == 0 && J->baseslot == 1+LJ_FR2));
}

static void reccalls(jit_State *J)
{
  MSize nsnap = J->cur.nsnap;
  /* A trace has a limited number, and a loop two of each: those of guards come first. */
  if (nsnap == 0 || nsnap >= (MSize)J->param[JIT_P_maxsnap] / 4) return;
  if (!J->pt || !recslow(J, *J->pc)) return;
  if (!recsamecalls(J)) {
    J->needsnap = 0;
    lj_snap_purge(J);
    lj_snap_add(J);
  }
  J->mergesnap = 0;
}

static int isslowins(const IRIns *ir)
{
  switch (ir->o) {
  case IR_CALLN: case IR_CALLA: case IR_CALLL: case IR_CALLS:
    return ir->op2 < IRCALL_lj_ltrec_jitword;
  case IR_CALLXS: case IR_TNEW: case IR_TDUP: case IR_SNEW: case IR_CNEW: case IR_CNEWI:
  case IR_BUFSTR: case IR_POW: case IR_FPMATH:
    return 1;
  case IR_DIV: case IR_MOD: case IR_MUL:
    return irt_isint64(ir->t);
  default:
    return 0;
  }
}

/* A loop is copied, without its guards: does code that may take long follow the last snapshot? */
int lj_ltrec_keepsnap(jit_State *J)
{
  IRRef ref = J->cur.snap[J->cur.nsnap-1].ref;
  for (; ref < J->cur.nins; ref++)
    if (isslowins(&J->cur.ir[ref])) return 1;
  return 0;
}
#else
#define reccalls(J)	((void)0)
int lj_ltrec_keepsnap(jit_State *J) { UNUSED(J); return 0; }
#endif

/* -- Next bytecode -------------------------------------------------------- */

/* Returns 1 if the trace ends here: the interpreter executes what is watched. */
int lj_ltrec_next(jit_State *J)
{
  if (J2LT(J)->pendff) recpending(J);
  if (!recwatched(J, bc_op(*J->pc))) {
    reccalls(J);
    return 0;
  }
  lj_record_stop(J, LJ_TRLINK_INTERP, 0);
  return 1;
}

/* -- Helpers called by compiled code -------------------------------------- */

/* One event word, where it is not emitted inline. */
void LJ_FASTCALL lj_ltrec_jitword(lua_State *L, int32_t word)
{
  LTState *lt = L2LT(L);
  lj_ltring_put(lt, lj_ltctl_clock(lt), (uint32_t)word >> LT_KIND_BITS,
		(uint32_t)word & ((1u << LT_KIND_BITS)-1));
}

/* Any event: probe and/or ring. */
void lj_ltrec_jitevent(lua_State *L, GCobj *what, int32_t info, int32_t line)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  ptrdiff_t ofs = (tvref(g->jit_base) - tvref(L->stack)) + (info >> INFO_SHIFT);
  /* Compiled code checks lt->stop only; with a ring, the tick would do this. */
  if (LJ_UNLIKELY(lj_ltctl_word() != lt->seen)) lt->stop |= LTSTOP_LOOK;
  lj_ltstack_jitevent(L, what, (uint32_t)info & 15, (uint32_t)ofs, line);
}

#undef emitir

#endif
