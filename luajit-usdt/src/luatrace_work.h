/*
** What a Lua VM does besides running the program: collecting garbage, compiling, reporting.
** SPDX-License-Identifier: MIT
**
** The VM describes three functions that no program has (struct lt_func, type LT_FUNC_FF,
** ffid LT_FF_*). A step of the collector, and the compiler's work on one instruction or
** on a whole trace, are a call of one of them: ENTRY and RETURN, in the coroutine that
** is interrupted. So is work of the recording itself: a report that the program makes of
** it, and what the pages of a new ring cost. A reader that knows nothing of this shows
** them as library functions. What a finalizer calls is inside its step. The records
** below, which change no stack, say the rest. Their words are never 0.
*/

#ifndef _LUATRACE_WORK_H
#define _LUATRACE_WORK_H

#include "luatrace_format.h"

/* ffid of a description that is not of a library function. */
#define LT_FF_GC		0xffff0001u	/* "[GC]" */
#define LT_FF_JIT		0xffff0002u	/* "[JIT]" */
#define LT_FF_REASON		0xffff0003u	/* Never called: the name is a reason for
						** which the compiler gives up. */
#define LT_FF_OWN		0xffff0004u	/* "[luatrace]" */

/* LTX_GC. Word: bytes allocated. Before the ENTRY of a step, and after its RETURN.
** arg: these, and the state of the collector (a number of LuaJIT's). */
#define LTG_END			0x01u
#define LTG_FULL		0x02u	/* A whole cycle, as by collectgarbage(). */
#define LTG_STATE_SHIFT		2

/*
** LTX_TRACE: what becomes of compiled code. arg: one of these, and LTT_FLAG. A trace has
** a number, which is used again when it is gone. First word, except of FLUSH and OFF:
** lt_pack(number | a << 16, b). A place is lt_pack(function id, line + 1), or
** LT_ID_UNKNOWN if the recording does not know the function.
*/
enum {
  LTT_START = 0,	/* Recording begins. a: parent trace, 0: none; b: its exit. Second
			** word: place. FLAG: it continues the parent behind a call. */
  LTT_STOP = 1,		/* The trace is complete. a: type of its link; b: trace to which it
			** links. Second word: lt_pack(bytes of machine code,
			** IR instructions). */
  LTT_ABORT = 2,	/* It is given up. b: id of the reason. Second word: place. FLAG:
			** where it began is blacklisted now. */
  LTT_FLUSH = 3,	/* All traces are discarded. First word: lt_pack(how many, 1).
			** FLAG: because a recording begins or was interrupted. */
  LTT_EXIT = 4,		/* A trace was left for the interpreter. b: number of the exit.
			** One word only. */
  LTT_OFF = 5		/* A hot loop or function for which the compiler is switched off.
			** Second word: place. */
};
#define LTT_MASK		0x07u
#define LTT_FLAG		0x08u

#endif
