/*
** Tracing of calls: how long the instructions of a compiled trace take, about.
** SPDX-License-Identifier: MIT
**
** The times are those of single instructions in loops on an x64 processor, rounded: what depends on
** the data (the length of a string, a branch, the cache) is not known when a trace is compiled.
**
** Invariant: what makes no machine code (sunk allocations, our own events) takes nothing. */

#define lj_ltcost_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_HASJIT

#include "lj_ir.h"
#include "lj_jit.h"
#include "lj_ircall.h"
#include "lj_target.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#if LJ_LTSEGMENTS

/* In that of a simple instruction. */
#define WEIGHT_CALL	20u
/* In bytes of simple instructions: 16 take 1 ns. */
#define COST_SLOW	16u	/* A division or root beside other code, a search in a hash part. */
#define COST_CALL	64u	/* A function of the VM, or of C; a remainder. */
#define COST_MATH	128u	/* Of the C library. */
#define COST_STRING	500u	/* A string is made. */
#define COST_TABLE	500u	/* An empty table, another new object. */
#define COST_COPY	900u	/* A table with contents; a new key; a number as text. */

/* Is it a call that stores an event? There is none in a trace that is described. */
static int is_event(IRIns *ir)
{
  return ir->o == IR_CALLS && ir->op2 == IRCALL_lj_ltrec_jitword;
}

/* The code of the trace, in the time of a simple instruction. */
uint32_t lj_ltcost_code(jit_State *J)
{
  IRRef ref;
  uint32_t code = 0;
  for (ref = REF_FIRST; ref < J->cur.nins; ref++) {
    IRIns *ir = &J->cur.ir[ref];
    switch (ir->o) {
    case IR_CALLS: case IR_CALLN: case IR_CALLA: case IR_CALLL: case IR_CALLXS:
    case IR_SNEW: case IR_XSNEW: case IR_TNEW: case IR_TDUP: case IR_CNEW: case IR_CNEWI:
      code += is_event(ir) ? 0 : WEIGHT_CALL;
      break;
    default:
      code += 1;
    }
  }
  return code;
}

static uint32_t cost_of(IRIns *ir)
{
  switch (ir->o) {
  case IR_DIV: case IR_HREF:
    return COST_SLOW;
  case IR_FPMATH:
    return ir->op2 <= IRFPM_TRUNC ? 0 : ir->op2 == IRFPM_SQRT ? COST_SLOW : COST_MATH;
  case IR_CALLN: case IR_CALLA: case IR_CALLL: case IR_CALLS: case IR_CALLXS: case IR_BUFPUT: case IR_MOD:
    return is_event(ir) ? 0 : COST_CALL;
  case IR_POW:
    return COST_MATH;
  case IR_SNEW: case IR_XSNEW: case IR_BUFSTR:
    return COST_STRING;
  case IR_TNEW: case IR_CNEW: case IR_CNEWI:
    return COST_TABLE;
  case IR_TDUP: case IR_NEWREF: case IR_TOSTR:
    return COST_COPY;
  default:
    return 0;
  }
}

/* What instructions of the complete trace take beside their size, in bytes of simple ones. */
uint32_t lj_ltcost_extra(jit_State *J, IRRef from, IRRef to)
{
  uint32_t cost = 0;
  for (; from < to; from++) {
    IRIns *ir = &J->cur.ir[from];
    if (ir->r != RID_SINK) cost += cost_of(ir);
  }
  return cost;
}

#endif

#endif
