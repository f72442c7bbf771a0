/*
** Tracing of calls: what the compiler does.
** SPDX-License-Identifier: MIT
**
** Its work on one bytecode instruction, and at last on the whole trace, is a call of a
** function of its own, "[JIT]", in the coroutine that is being compiled: the program runs
** in between, so a trace from its start to its end is no call. Upstream's lj_trace_ins()
** has another name (LT_TRACEINS). What becomes of traces are records beside the calls.
**
** Invariant: nothing here throws, calls Lua or walks a stack. While the compiler works,
** a VM does not switch (lj_ltswitch_now); so a forked child, which has no ring yet, is
** silent. */

#define lj_ltjit_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_HASJIT

#include <string.h>

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_ff.h"
#include "lj_frame.h"
#include "lj_jit.h"
#include "lj_strfmt.h"
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define J2LT(J)		(&J2GG(J)->lt)

/* -- The compiler's time ----------------------------------------------------- */

/* A bytecode instruction is about to be executed. Record it. */
void lj_trace_ins(jit_State *J, const BCIns *pc)
{
  LTState *lt = J2LT(J);
  uint32_t id;
  if (!lt_ringon(lt) || lt->forked || lt->L != J->L || lt_mute(J2G(J))) {
    lj_trace_plainins(J, pc);
    return;
  }
  id = lj_ltfunc_pseudo(lt, LT_FF_JIT, LT_FF_JIT, "[JIT]");
  lt_ring_event(lt, id, LT_ENTRY);
  lj_trace_plainins(J, pc);
  lt_ring_event(lt, id, LT_RETURN);
}

/* -- What becomes of traces -------------------------------------------------- */

#define lt_jitquiet(J)	(!lt_eventson(J2LT(J)) || J2LT(J)->forked || lt_mute(J2G(J)))

/* A record of two words. */
static void jit_record(LTState *lt, uint32_t arg, uint64_t a, uint64_t b)
{
  if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_TRACE, arg, 2, a, b);
}

#define lt_trace(no, more, hi)	lt_pack((no) | (uint32_t)(more) << 16, (hi))

/* The line of an instruction, plus 1. */
static uint32_t line_of(GCproto *pt, const BCIns *pc)
{
  const BCIns *bc = proto_bc(pt);
  if (pc < bc || pc >= bc + pt->sizebc) return 1;
  return (uint32_t)lj_debug_line(pt, (BCPos)(pc - bc)) + 1;
}

/* Where an instruction is: the function's id if the recording knows it, the line plus 1.
** Never 0. */
static uint64_t place_of(LTState *lt, GCproto *pt, const BCIns *pc)
{
  if (!pt) return lt_pack(LT_ID_UNKNOWN, 1);
  return lt_pack(lt_hasevents(lt, pt) ? pt->lt_id : LT_ID_UNKNOWN,
		 line_of(pt, pc));
}

static const char *chunk_of(GCproto *pt)
{
  return pt ? strdata(proto_chunkname(pt)) : "";
}

void lj_ltjit_start(jit_State *J)
{
  LTState *lt = J2LT(J);
  int stitched = !J->parent && J->exitno;
  uint32_t parent = stitched ? J->exitno : J->parent;
  uint32_t exitno = stitched ? 0 : J->exitno;
  lj_ltseg_start(J);
  if (lt_jitquiet(J)) return;
  if (lt_probeon(lt))
    lj_ltprobe_tracestart(chunk_of(J->pt), (int)line_of(J->pt, J->pc)-1, J->L,
			  J->cur.traceno, parent, exitno);
  jit_record(lt, LTT_START | (stitched ? LTT_FLAG : 0),
	     lt_trace(J->cur.traceno, parent, exitno), place_of(lt, J->pt, J->pc));
}

void lj_ltjit_stop(jit_State *J)
{
  LTState *lt = J2LT(J);
  GCtrace *T = &J->cur;
  lj_ltseg_stop(J);
  if (lt_jitquiet(J)) return;
  if (lt_probeon(lt))
    lj_ltprobe_tracestop(J->L, T->traceno, T->linktype, T->link, T->szmcode);
  jit_record(lt, LTT_STOP, lt_trace(T->traceno, T->linktype, T->link),
	     lt_pack((uint32_t)T->szmcode, (uint32_t)(T->nins - REF_BASE)));
}

/* What a reason is about: an instruction, a library function, or a number. Their numbers
** and names differ between LuaJITs. */
static uint32_t reason_info(jit_State *J)
{
  cTValue *o = &J->errinfo;
  if (tvisnumber(o)) return (uint32_t)numberVint(o) & 0xffff;
  return tvisfunc(o) ? funcV(o)->c.ffid : 0;
}

/* The string with number n of a list that ends with an empty one. */
static const char *nth_string(const char *p, uint32_t n)
{
  while (n-- > 0 && *p) p += strlen(p)+1;
  return p;
}

/* Text of a reason. */
static const char *reason_text(jit_State *J, uint32_t e, char *buf, size_t size)
{
#define TREDEF(name, msg)	msg "\0"
  static const char text[] =
#include "lj_traceerr.h"
  ;
#define BCNAME(name, ma, mb, mc, mt)	#name "\0"
  static const char bcnames[] = BCDEF(BCNAME);
  const char *p = nth_string(text, e), *what = "?", *cut = strchr(p, '%');
  char name[64];
  uint32_t info = reason_info(J);
  if (!cut) return p;
  if (e == LJ_TRERR_NYIBC) {
    what = nth_string(bcnames, info);
  } else if (tvisfunc(&J->errinfo) && info > FF_C) {
    what = lj_ltname_builtin(info, name, sizeof(name));
  } else if (tvisnumber(&J->errinfo)) {
    *lj_strfmt_wint(name, (int32_t)info) = '\0';
    what = name;
  }
  if (!what || (size_t)(cut - p) + strlen(what) >= size) return p;
  memcpy(buf, p, (size_t)(cut - p));
  strcpy(buf + (cut - p), what);
  return buf;
}

/* Is the instruction at which the trace began blacklisted now? */
static int is_blacklisted(jit_State *J)
{
  const BCIns *pc = mref(J->cur.startpc, const BCIns);
  BCOp was = bc_op(J->cur.startins), op;
  if (J->parent || J->exitno || !pc || bc_isret(was)) return 0;
  op = bc_op(*pc);
  return was == BC_ITERN ? op == BC_ITERC :
			   (int)op == (int)was+(int)BC_ILOOP-(int)BC_LOOP;
}

/* A trace is given up; the error is on the stack. */
void lj_ltjit_abort(jit_State *J, int e)
{
  LTState *lt = J2LT(J);
  char buf[128];
  const char *why;
  uint32_t id;
  int black;
  if (lt_jitquiet(J)) return;
  black = is_blacklisted(J);
  why = reason_text(J, (uint32_t)e, buf, sizeof(buf));
  if (lt_probeon(lt))
    lj_ltprobe_traceabort(chunk_of(J->pt), J->pt ? (int)line_of(J->pt, J->pc)-1 : -1,
			  J->L, J->cur.traceno, why, black);
  if (!lt_ringon(lt)) return;
  id = lj_ltfunc_pseudo(lt, LT_FF_REASON + ((uintptr_t)e << 16) + reason_info(J),
			LT_FF_REASON, why);
  jit_record(lt, LTT_ABORT | (black ? LTT_FLAG : 0), lt_trace(J->cur.traceno, 0, id),
	     place_of(lt, J->pt, J->pc));
}

/* The compiler is switched off for a function that is hot. */
void lj_ltjit_off(jit_State *J)
{
  LTState *lt = J2LT(J);
  if (!lt_jitquiet(J))
    jit_record(lt, LTT_OFF, lt_pack(0, 1), place_of(lt, J->pt, J->pc));
}

/* All traces are discarded: by ourselves (lt->ownflush), or by the program or the VM. */
void lj_ltjit_flush(jit_State *J)
{
  LTState *lt = J2LT(J);
  uint32_t n = 0;
  MSize i;
  if (lt_jitquiet(J)) return;
  for (i = 1; i < J->sizetrace; i++)
    if (gcref(J->trace[i]) && gcref(J->trace[i]) != obj2gco(&J->cur)) n++;
  if (lt_probeon(lt)) lj_ltprobe_traceflush(J->L, n, (int)lt->ownflush);
  jit_record(lt, LTT_FLUSH | (lt->ownflush ? LTT_FLAG : 0), lt_pack(n, 1), lt_pack(0, 1));
}

/* A trace was left for the interpreter. */
void lj_ltjit_exit(jit_State *J)
{
  LTState *lt = J2LT(J);
  if (lt_jitquiet(J)) return;
  if (lt_probeon(lt)) lj_ltprobe_traceexit(J->L, J->parent, J->exitno);
  if (lt_ringon(lt))
    lj_ltring_ext(lt, LTX_TRACE, LTT_EXIT, 1, lt_trace(J->parent, 0, J->exitno), 0);
}

#endif
