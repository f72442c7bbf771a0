/*
** Tracing of calls: machine code of events and segments, on all processors.
** Included by lj_asm.c.
** SPDX-License-Identifier: MIT */

#if LJ_LTINLINE

#if LJ_TARGET_ARM64
#include "lj_asm_lt_arm64.h"
#else
#include "lj_asm_lt_x64.h"
#endif

/* With another clock than the processor's counter the event word is a call, as the IR has it. */
#define lt_isinline(as, ir) \
  ((ir)->op2 == IRCALL_lj_ltrec_jitword && lt_owncounter(&J2GG((as)->J)->lt))

/* asm_call(): the event word is not a call, and nothing at all in a trace that is described. */
#define LT_ASM_CALL(as, ir) \
  if (lt_isinline((as), (ir))) { \
    if (!J2GG((as)->J)->lt.segrec) asm_ltword((as), (ir)); \
    return; \
  }
/* asm_setup_regsp(): the registers that an event clobbers. */
#define LT_ASM_SETUP(as, ir, inloop) \
  if (lt_isinline((as), (ir))) { \
    (ir)->prev = REGSP_INIT; \
    if ((inloop) && !J2GG((as)->J)->lt.segrec) (as)->modset |= RSET_LTWORD; \
    continue; \
  }

#else

#define LT_ASM_CALL(as, ir)
#define LT_ASM_SETUP(as, ir, inloop)

#endif

#if LJ_LTSEGMENTS

/* A trace that is described ends in a link. One to itself begins an iteration. */
static void asm_ltlink(ASMState *as)
{
  if (!J2GG(as->J)->lt.segrec) return;
  if (as->T->link == as->T->traceno)
    asm_ltcount(as);
  else
    asm_ltend(as, lj_ltseg_endid(as->J));
}

/* asm_loop(), asm_tail_link() */
#define LT_ASM_LOOP(as)		asm_ltcount((as));
#if LJ_LTPACKS
#define LT_ASM_TAIL(as)		asm_lttail((as));
#else
#define LT_ASM_TAIL(as)
#endif
#define LT_ASM_LINK(as)		asm_ltlink((as));

#else

#define LT_ASM_LOOP(as)
#define LT_ASM_TAIL(as)
#define LT_ASM_LINK(as)

#endif

/* asm_fusexref(): the control word, if compiled code can address it. */
#if defined(LUAJIT_USE_SDT) && LJ_TARGET_X64 && LJ_GC64
#define LT_ASM_FUSE(as, ir) \
  if (ir_kptr((ir)) == (void *)&luajit_usdt_control) { \
    intptr_t ofs_ = mcpofs((as), ir_kptr((ir))); \
    if (checki32(ofs_+64)) { \
      (as)->mrm.ofs = (int32_t)ofs_; \
      (as)->mrm.base = RID_RIP; \
      return; \
    } \
  }
#else
#define LT_ASM_FUSE(as, ir)
#endif
