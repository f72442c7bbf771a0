/* SPDX-License-Identifier: MIT */
/* Part of walk.h: the innermost frame. Each of these functions sets w->L, w->frame, w->base and
** w->pc, and adds what is above that frame; a base of 0 stands for frames that are not known.
** Invariant: a base is taken from a register only where the code keeps one there. */

#include "recorder/sample/walk_trace.h"

#define WALK_J(member) walk_word(w, w->g + WALK_OFFSET(w->abi.g_J) + WALK_OFFSET(w->abi.J_##member))

WALK_INLINE int walk_from(struct walk* w, uint64_t base, uint64_t pc) {
  w->base = base;
  w->pc = pc;
  return 1;
}

/* The pc that the interpreter has stored before it called C. */
WALK_INLINE uint64_t walk_saved_pc(struct walk* w) {
  return w->frame == 0 ? 0 : WALK_CFRAME(walk_plain(w, w->frame), pc, 8);
}

WALK_INLINE int walk_unknown(struct walk* w, uint64_t base) {
  walk_add(w, WALK_UNKNOWN, 0, 0);
  return walk_from(w, base, 0);
}

/* L has left the C frame at `at`, its last one (0: not known): its resumer runs, or the host, and
** then this returns 0: there are only the C functions that have entered that frame. */
WALK_INLINE int walk_left(struct walk* w, uint64_t at) {
  w->frame = at != 0 ? at | (uint64_t)w->abi.cf_resume : 0;
  if (at != 0) walk_entry(w);
  if (walk_resumer(w)) return 1;
  w->state = WALK_OUTSIDE;
  return 0;
}

/* Calls that end: from the frame at `base` to the one below its link. */
WALK_FN int walk_pop(struct walk* w, uint64_t base, uint64_t link) {
  w->base = base;
  if (!walk_down(w, link)) return walk_unknown(w, 0);
  /* The frame of a vararg function has another one below. */
  if (w->listed && !walk_down(w, walk_slot(w, w->base - WALK_SLOT))) return walk_unknown(w, 0);
  return 1;
}

/* Base and pc are in their registers, as nearly everywhere in the interpreter. */
WALK_FN int walk_registers(struct walk* w) {
  const uint64_t base = w->r.base, stack = WALK_L(stack);
  if (base % WALK_SLOT != 0 || base < stack || base > WALK_L(maxstack) + 64 * WALK_SLOT)
    return walk_unknown(w, 0);
  if (base > stack + 2 * WALK_SLOT && walk_function(w, base) == 0)
    return walk_pop(w, base, w->r.pc);
  return walk_from(w, base, w->r.pc);
}

/* Is the instruction at pc, or the one before, one of that function? Of a builtin or C function:
** its only one, with which compiled code has left it to the interpreter. */
WALK_INLINE int walk_is_at(struct walk* w, uint64_t fn, uint64_t pc) {
  const uint64_t proto = walk_proto(w, fn);
  if (fn == 0) return 0;
  if (proto != 0) return walk_contains(w, proto, pc + 4);
  const uint64_t only = WALK_FUNCTION(fn, fn_pc, 8);
  return pc == only || pc == only + 4;
}

/* The interpreter, where it enters compiled code or leaves it. */
WALK_FN int walk_at_trace(struct walk* w) {
  if (w->vmstate == w->abi.st_interp && w->r.base == w->jit_base) return walk_registers(w);
  w->state = WALK_LEAVING;
  if (w->vmstate == w->abi.st_exit) { /* rcx, rax: the trace, the exit */
    const uint64_t trace = walk_trace_object(w, w->r.c & 0xffffffff);
    const uint32_t exit = (uint32_t)w->r.a, n = w->n;
    walk_from(w, w->jit_base, 0);
    if (trace != 0 && exit < (uint16_t)WALK_TRACE(trace, T_nsnap, 2) &&
        walk_snapshot(w, trace, exit, 0))
      return 1;
    w->n = n;
    w->listed = 0;
    return walk_unknown(w, w->jit_base);
  }
  if (walk_is_at(w, walk_function(w, w->r.base), w->r.pc)) return walk_registers(w);
  return walk_unknown(w, w->jit_base);
}

/* Is the innermost one of the calls in w->loop the frame at that base? */
WALK_FN int walk_is_restored(struct walk* w, uint64_t base) {
  uint32_t inner = w->loop.depth - 1;
  WALK_HIDE(inner);
  if (inner >= WALK_INLINED) return 0;
  const uint64_t function = w->loop.functions[inner];
  return walk_slot(w, base - WALK_SLOT) == w->loop.links[inner] &&
         (function == 0 || walk_function(w, base) == function);
}

/* The exit from a trace: C code restores the frames that it had inlined, and then sets L_base to
** the innermost one. In a recursion the frame at L_base may look the same before. */
WALK_FN int walk_exit(struct walk* w) {
  const uint64_t trace = walk_trace_object(w, WALK_J(parent) & 0xffffffff);
  const uint64_t exit = WALK_J(exitno) & 0xffffffff;
  const uint32_t n = w->n;
  w->state = WALK_LEAVING;
  walk_from(w, WALK_L(base), 0);
  if (trace == 0 || exit >= (uint16_t)WALK_TRACE(trace, T_nsnap, 2) ||
      !walk_take_snapshot(w, trace, (uint32_t)exit))
    return walk_unknown(w, w->base);
  if (w->loop.depth > 0 && walk_is_restored(w, w->base)) {
    if (walk_is_restored(w, w->base - WALK_SLOT * (w->loop.slot - 1ull)))
      return walk_unknown(w, w->base);
    return walk_from(w, w->base, w->loop.pc);
  }
  if (walk_add_inlined(w)) return 1;
  w->n = n;
  w->listed = 0;
  return walk_unknown(w, w->base);
}

/* The slots of a C frame that are above the stack pointer, at an instruction that saves registers
** in it; the others have been left. */
WALK_FN uint32_t walk_unsaved(struct walk* w) {
  const uint32_t code = walk_u32(w, w->r.ip), all = (uint32_t)w->abi.cf_size / 8 - 1;
  if ((code & 0xff) == 0x55) return all; /* push rbp, rbx, r15, r14, r13, r12; sub rsp, 40 */
  if ((code & 0xff) == 0x53) return all - 1;
  if ((code & 0xf8ff) == 0x5041) {
    const uint32_t number = code >> 8 & 7;
    if (number >= 4) return all - 2 - (7 - number);
  }
  return (code & 0xffffff) == 0xec8348 ? 5 : 0;
}

/* The C frame at `at` is not yet, or no longer, one of L's: what C code has called, or returns to.
 */
WALK_INLINE void walk_not_linked(struct walk* w, uint64_t at) {
  if (walk_plain(w, w->frame) != at) walk_add(w, WALK_ENTRY, at, 0);
}

WALK_FN int walk_by_rule(struct walk* w, uint32_t rule) {
  const uint64_t pc = w->r.pc;
  if (rule == LT_RULE_RESUMED) {
    w->L = WALK_CFRAME(w->r.sp, L, 8);
    w->frame = WALK_L(cframe);
    return walk_from(w, WALK_L(base), 0);
  }
  if (w->frame == 0)
    return walk_left(w, rule >= LT_RULE_LEAVE   ? w->r.sp - 8 * (rule - LT_RULE_LEAVE)
                        : rule == LT_RULE_ENTER ? w->r.sp - 8ull * walk_unsaved(w)
                                                : w->r.sp);
  switch (rule) {
    case LT_RULE_BASE:
      if (w->vmstate == w->abi.st_exit) return walk_exit(w);
      return walk_from(w, WALK_L(base), walk_saved_pc(w));
    case LT_RULE_SAVED:
      return walk_from(w, w->r.fp, pc);
    case LT_RULE_LINK:
      w->link = pc;
      return walk_from(w, w->r.base, 0);
    case LT_RULE_SAVED_LINK:
      w->link = walk_saved_pc(w);
      return walk_from(w, w->r.base, 0);
    case LT_RULE_POP:
      return walk_pop(w, w->r.base, pc);
    case LT_RULE_FALLBACK:
      return walk_pop(w, WALK_L(base), walk_saved_pc(w));
    case LT_RULE_TO_C:
      if ((pc & 3) == 0) walk_entry(w);
      return walk_from(w, w->r.base - (pc & ~7ull), 0);
    case LT_RULE_TO_C_NEG:
      walk_entry(w);
      return walk_from(w, 0 - pc, 0);
    case LT_RULE_TO_C_BASE:
      walk_entry(w);
      return walk_from(w, pc, 0);
    case LT_RULE_ENTER:
      walk_not_linked(w, w->r.sp - 8ull * walk_unsaved(w));
      if (w->vmstate == w->abi.st_exit) return walk_exit(w);
      return walk_from(w, WALK_L(base), 0);
    default:
      break;
  }
  if (rule >= LT_RULE_LEAVE) {
    walk_not_linked(w, w->r.sp - 8 * (rule - LT_RULE_LEAVE));
    return walk_from(w, WALK_L(base), 0);
  }
  return walk_unknown(w, 0);
}

WALK_INLINE int walk_in_interpreter(struct walk* w) {
  const uint32_t rule = walk_rule(w, w->r.ip - w->text);
  w->state = WALK_INTERPRETER;
  if (rule != LT_RULE_REGISTERS || w->frame == 0) return walk_by_rule(w, rule);
  if (w->jit_base != 0) return walk_at_trace(w);
  if (w->vmstate == w->abi.st_exit) {
    w->state = WALK_LEAVING;
    return walk_from(w, WALK_L(base), walk_saved_pc(w) + 4);
  }
  return walk_registers(w);
}

/* Not in the interpreter's code, but g_jit_base is set. */
WALK_INLINE int walk_in_compiled(struct walk* w) {
  const uint64_t inner = walk_plain(w, w->frame) - WALK_OFFSET(w->abi.cf_size_jit - w->abi.cf_size);
  uint64_t number = w->vmstate > 0 ? (uint64_t)w->vmstate : 0;
  w->state = WALK_COMPILED;
  if (w->vmstate == w->abi.st_gc)
    number = walk_u32(w, w->g - WALK_OFFSET(w->abi.vm_g) + WALK_OFFSET(w->abi.vm_gctrace));
  uint64_t trace = walk_trace_object(w, number);
  w->number = (uint32_t)number;
  if (walk_in_code(w, trace, w->r.ip)) {
    walk_trace(w, trace);
    return 1;
  }
  const uint64_t adjust = (uint16_t)WALK_TRACE(trace, T_spadjust, 2);
  /* Below the stack pointer is an old return address. */
  if (w->r.sp <= inner - adjust - 8 &&
      walk_in_code(w, trace, walk_word(w, inner - adjust - 8) - 1)) {
    w->state = w->vmstate == w->abi.st_gc ? WALK_COLLECTOR : WALK_COMPILED_C;
    walk_trace(w, trace);
    return 1;
  }
  number = walk_head(w, w->r.ip);
  trace = walk_trace_object(w, number);
  w->number = (uint32_t)number;
  if (walk_in_code(w, trace, w->r.ip)) {
    w->place = 0;
    walk_trace(w, trace);
    return 1;
  }
  w->state = WALK_LEAVING;
  return walk_unknown(w, w->jit_base);
}

/* The function of the frame at that base, if it may be one; 0: it is none. */
WALK_INLINE uint64_t walk_function_at(struct walk* w, uint64_t base) {
  if (base % WALK_SLOT != 0 || base <= WALK_L(stack) || base >= WALK_L(maxstack)) return 0;
  return walk_function(w, base);
}

/* Is pc that of the frame at w->loop.place, whose function is fn, and does the interpreter's code
** for the instruction contain the call that returns to w->loop.own? Builtins have a single
** instruction, and some take their link into the register of pc before they call. */
WALK_FN int walk_has_called(struct walk* w, uint64_t fn, uint64_t pc) {
  const uint64_t only = walk_proto(w, fn) != 0 ? 0 : WALK_FUNCTION(fn, fn_pc, 8);
  if (only != 0 && pc != only + 4 && pc != walk_slot(w, w->loop.place - WALK_SLOT)) return 0;
  if (only == 0 && (pc % 4 != 0 || !walk_is_at(w, fn, pc - 4))) return 0;
  const uint64_t op = walk_u8(w, only != 0 ? only : pc - 4);
  const uint64_t code = walk_word(w, w->g + WALK_OFFSET(w->abi.g_dispatch) + 8 * op);
  return w->loop.own > code && w->loop.own - code <= WALK_HANDLER;
}

/* The register, or (i > 0) what may be its saved value, i words below the return address;
** 0: below the stack pointer. */
WALK_INLINE uint64_t walk_saved_word(struct walk* w, uint64_t value, uint32_t i) {
  const uint64_t at = w->loop.frame - 8ull * i;
  if (i == 0) return value;
  return at < w->r.sp ? 0 : walk_take(w, WALK_THE_CFRAME, at, 8);
}

/* w->loop.pc: the pc of the frame at w->loop.place, if it is there. */
WALK_GLOBAL int walk_saved_pc_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  WALK_HIDE(i); /* the verifier needs its value */
  const uint64_t pc = walk_saved_word(w, w->r.pc, i);
  if (pc == 0 || !walk_has_called(w, w->loop.map, pc)) return 0;
  w->loop.pc = pc;
  return 1;
}

/* The same for base, and then its pc. */
WALK_GLOBAL int walk_saved_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  WALK_HIDE(i); /* the verifier needs its value */
  const uint64_t base = walk_saved_word(w, w->r.fp, i);
  w->loop.map = walk_function_at(w, base);
  if (w->loop.map == 0) return 0;
  w->loop.place = base;
  WALK_LOOP(w, WALK_SAVED, walk_saved_pc_step) continue;
  return w->loop.pc != 0;
}

/*
** The interpreter has called a function that does not need L_base, so that it is as it was: base
** was in rbp, and pc in rbx. That function, or one that it has called, may have put both on the C
** stack, in the words below the return address, and use the registers for something else. What is
** there from before has another instruction: the one that was executed last must call there.
*/
WALK_INLINE int walk_saved(struct walk* w, uint64_t plain) {
  const uint64_t fn = walk_function_at(w, w->r.fp);
  if (walk_contains(w, walk_proto(w, fn), w->r.pc)) return walk_from(w, w->r.fp, w->r.pc);
  w->loop.frame = plain - 8;
  w->loop.own = walk_word(w, plain - 8);
  w->loop.pc = 0;
  walk_load(w, WALK_THE_CFRAME, plain - 8 - 8 * WALK_SAVED, 8 * WALK_SAVED);
  WALK_LOOP(w, WALK_SAVED, walk_saved_step) continue;
  w->blocks[WALK_THE_CFRAME].size = 0;
  return w->loop.pc != 0 ? walk_from(w, w->loop.place, w->loop.pc) : walk_unknown(w, 0);
}

WALK_GLOBAL int walk_stopped_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  WALK_HIDE(i); /* the verifier needs its value */
  const uint64_t at = w->r.sp + 8ull * i;
  /* The calls of a BPF program have a limit in their depth: these are inlined. */
  if (i % WALK_PIECE == 0) walk_load(w, WALK_THE_CFRAME, at, 8 * WALK_PIECE + 128);
  const uint64_t ret = walk_take(w, WALK_THE_CFRAME, at, 8);
  if (ret <= w->text || ret >= w->text_end ||
      walk_take(w, WALK_THE_CFRAME, at + 8 + WALK_OFFSET(w->abi.cf_L), 8) != w->L ||
      walk_take(w, WALK_THE_CFRAME, at + 8 + WALK_OFFSET(w->abi.cf_prev), 8) != 0)
    return 0;
  w->loop.frame = at + 8;
  return 1;
}

/* L has stopped, by lua_yield() or by an error that is being thrown: its last C frame is forgotten,
** but C code has not returned to it. Looks for it on the C stack. The address; 0: it is not
** there. */
WALK_GLOBAL uint64_t walk_stopped(struct walk* w) {
  if (!w) return 0;
  w->loop.frame = 0;
  if (w->L == WALK_G(mainthref)) return 0; /* nobody resumes it */
  WALK_LOOP(w, WALK_DEPTH, walk_stopped_step) continue;
  w->blocks[WALK_THE_CFRAME].size = 0;
  return w->loop.frame;
}

WALK_INLINE int walk_in_c(struct walk* w) {
  const uint64_t plain = walk_plain(w, w->frame);
  if (w->frame == 0) { /* L has stopped. Does its resumer run again, or the host? */
    w->state = WALK_IN_C;
    return walk_left(w, walk_stopped(w));
  }
  if (w->jit_base != 0) return walk_in_compiled(w);
  if (w->vmstate == w->abi.st_exit) return walk_exit(w);
  w->state = w->vmstate == w->abi.st_c        ? WALK_IN_C
             : w->vmstate == w->abi.st_interp ? WALK_HELPER
             : w->vmstate == w->abi.st_gc     ? WALK_COLLECTOR
                                              : WALK_COMPILER;
  const uint64_t ret = walk_word(w, plain - 8);
  const uint32_t rule =
      ret > w->text && ret < w->text_end ? walk_rule(w, ret - w->text) : LT_RULE_BASE;
  if (rule == LT_RULE_SAVED) return walk_saved(w, plain);
  if (rule == LT_RULE_FALLBACK && walk_function(w, WALK_L(base)) == 0)
    return walk_pop(w, WALK_L(base), walk_saved_pc(w));
  return walk_from(w, WALK_L(base), walk_saved_pc(w));
}

WALK_INLINE int walk_top(struct walk* w) {
  w->jit_base = WALK_G(jit_base);
  w->vmstate = (int32_t)walk_global(w, w->g, w->abi.g_vmstate);
  return w->r.ip >= w->text && w->r.ip < w->text_end ? walk_in_interpreter(w) : walk_in_c(w);
}
