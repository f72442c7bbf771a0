/* SPDX-License-Identifier: MIT */
/* The walk of a sampled thread's Lua stack, for a BPF program and for user space alike
** (docs/abi-note.md explains the rules). Plain C; everything that differs by LuaJIT is in struct
** lt_abi, everything that differs by machine code in the rules of rules.h. x86-64 with GC64.
**
** The includer defines, before this file:
**   WALK_FN                       how functions are declared
**   walk_read(w, to, size, from)  reads memory of the process; 0: it could not
**   walk_rule(w, offset)          the rule (enum walk_rule) of that byte of the interpreter's code
**
** Invariant: a stack is right, or it is marked: where the frames at some place are not known, there
** is a WALK_UNKNOWN in their place. All loops are bounded; addresses are never trusted. */
#ifndef LUATRACE_SAMPLE_WALK_H
#define LUATRACE_SAMPLE_WALK_H

#include "luajit-usdt/src/luatrace_abi.h"

#define WALK_FRAMES 256     /* of one sample, boundaries included */
#define WALK_COROUTINES 32  /* that wait for each other */
#define WALK_ENTRIES 64     /* C frames that are passed at once */
#define WALK_SNAPSHOTS 1024 /* of one trace */
#define WALK_INLINED 32     /* calls inlined at one place */
#define WALK_DEPTH 64       /* slots of the C stack that are searched */
#define WALK_BETWEEN 64     /* IR instructions between two snapshots */

enum walk_kind {
  WALK_UNKNOWN,   /* what: 0. Here are frames that are not known, or none. */
  WALK_LUA,       /* what: GCproto, pc: after the instruction, 0: not known */
  WALK_LUA_CODE,  /* pc is in a Lua function, which begins with its header (op_funcf ...) */
  WALK_C,         /* what: address of the function */
  WALK_BUILTIN,   /* what: its number */
  WALK_ENTRY,     /* C code has called the frame before this one. what: address of the C frame */
  WALK_COROUTINE, /* what: lua_State of the frames before this one, which ends here */
};

/* What happens at the top. */
enum walk_state {
  WALK_OUTSIDE, /* not in Lua */
  WALK_INTERPRETER,
  WALK_IN_C,   /* a C function */
  WALK_HELPER, /* C code of the VM, for the interpreter */
  WALK_COMPILED,
  WALK_COMPILED_C, /* C code that compiled code has called */
  WALK_LEAVING,    /* leaves compiled code */
  WALK_COLLECTOR,
  WALK_COMPILER,
};

/* How to find the innermost frame at an instruction of the interpreter. */
enum walk_rule {
  WALK_R_REGISTERS,  /* base and pc are in their registers */
  WALK_R_BASE,       /* L_base */
  WALK_R_SAVED,      /* base is in rbp, L_base may be old */
  WALK_R_LINK,       /* the register pc is the link of the frame at base */
  WALK_R_POP,        /* results overwrite the frame at base; its link is in the register pc */
  WALK_R_TO_C,       /* returns to C: the register pc is the link, less its type */
  WALK_R_TO_C_NEG,   /* pc is -(base of the frame below) */
  WALK_R_TO_C_BASE,  /* pc is the base of the frame below */
  WALK_R_SAVED_LINK, /* the C frame has the link of the frame at base */
  WALK_R_FALLBACK,   /* results may overwrite the frame at L_base; the C frame has its link */
  WALK_R_ENTER,      /* L_base; the C frame at rsp has no frame yet, or no longer */
  WALK_R_RESUMED,    /* back from a coroutine: the C frame has the one that runs */
  WALK_R_UNKNOWN,
  WALK_R_LEAVE = 16, /* the C frame is left: it was that many slots (- 16) below rsp */
};

struct walk_registers {
  uint64_t ip, sp, fp, base, pc, dispatch, a, c; /* rip rsp rbp rdx rbx r14 rax rcx */
};

struct walk_frame {
  uint64_t what, pc;
  uint64_t kind;
};

struct walk {
  const struct lt_abi* abi;
  uint64_t text, text_end; /* code of the interpreter */
  struct walk_registers r;
  uint64_t g, L, frame; /* frame: the innermost C frame that was not passed yet, with its flags */
  uint64_t base, pc, link;
  uint32_t listed; /* the function of the frame at base is in the list, or to be left out */
  uint32_t state;  /* enum walk_state, when it has ended */
  uint32_t n;
  uint32_t truncated; /* there are more frames */
  int32_t vmstate;
  uint64_t jit_base, trace, place; /* trace: in compiled code, its GCtrace, */
  uint32_t snapshot;               /* and the number of the snapshot that holds there */
  struct walk_frame frames[WALK_FRAMES];
};

#define WALK_SLOT 8ull
#define WALK_OFFSET(o) ((uint64_t)(int64_t)(o))

/* -- Reading ------------------------------------------------------------------------ */

WALK_FN uint64_t walk_word(struct walk* w, uint64_t address) {
  uint64_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_FN uint32_t walk_u32(struct walk* w, uint64_t address) {
  uint32_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_FN uint32_t walk_u16(struct walk* w, uint64_t address) {
  uint16_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_FN uint32_t walk_u8(struct walk* w, uint64_t address) {
  uint8_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
#define WALK_L(member) walk_word(w, w->L + WALK_OFFSET(w->abi->L_##member))

WALK_FN void walk_add(struct walk* w, uint64_t kind, uint64_t what, uint64_t pc) {
  if (w->n >= WALK_FRAMES) {
    w->truncated = 1;
    return;
  }
  w->frames[w->n].kind = kind;
  w->frames[w->n].what = what;
  w->frames[w->n].pc = pc;
  w->n++;
}

/* -- One frame -------------------------------------------------------------------- */

/* The function of the frame at that base; 0: there is none. */
WALK_FN uint64_t walk_function(struct walk* w, uint64_t base) {
  const uint64_t slot = walk_word(w, base - 2 * WALK_SLOT);
  const uint64_t address = slot & ((1ull << w->abi->tag_shift) - 1);
  const uint64_t tag = ~(uint64_t)w->abi->type_func << w->abi->tag_shift;
  if (slot - address != tag ||
      walk_u8(w, address + WALK_OFFSET(w->abi->gc_type)) != (uint32_t)w->abi->type_func)
    return 0;
  return address;
}

/* The GCproto of that Lua function; 0: it is none. */
WALK_FN uint64_t walk_proto(struct walk* w, uint64_t fn) {
  if (fn == 0 || walk_u8(w, fn + WALK_OFFSET(w->abi->fn_ffid)) != 0) return 0;
  return walk_word(w, fn + WALK_OFFSET(w->abi->fn_pc)) - WALK_OFFSET(w->abi->pt_size);
}

/* Is pc after an instruction of that function? */
WALK_FN int walk_contains(struct walk* w, uint64_t proto, uint64_t pc) {
  const uint64_t code = proto + WALK_OFFSET(w->abi->pt_size);
  const uint64_t size = walk_u32(w, proto + WALK_OFFSET(w->abi->pt_sizebc));
  return proto != 0 && pc > code && pc <= code + size * WALK_OFFSET(w->abi->bc_size);
}

/* Adds the function. Returns 0 if it is none. */
WALK_FN int walk_add_function(struct walk* w, uint64_t fn, uint64_t pc) {
  if (fn == 0) return 0;
  const uint32_t ffid = walk_u8(w, fn + WALK_OFFSET(w->abi->fn_ffid));
  if (ffid == 0) {
    const uint64_t proto = walk_proto(w, fn);
    walk_add(w, WALK_LUA, proto, walk_contains(w, proto, pc) ? pc : 0);
  } else if (ffid == 1) {
    walk_add(w, WALK_C, walk_word(w, fn + WALK_OFFSET(w->abi->fn_f)), 0);
  } else {
    walk_add(w, WALK_BUILTIN, ffid, 0);
  }
  return 1;
}

/* -- C frames of the VM ------------------------------------------------------------ */

WALK_FN uint64_t walk_plain(struct walk* w, uint64_t frame) {
  return frame & ~(uint64_t)w->abi->cf_flags;
}

/* C code has entered Lua: passes its C frame, and those before it that have no frame in Lua. */
WALK_FN void walk_entry(struct walk* w) {
  for (int i = 0; i < WALK_ENTRIES && w->frame != 0; i++) {
    const uint64_t at = walk_plain(w, w->frame);
    const int32_t results = (int32_t)walk_u32(w, at + WALK_OFFSET(w->abi->cf_nres));
    if (results >= 0 || (w->frame & (uint64_t)w->abi->cf_resume) != 0) {
      walk_add(w, WALK_ENTRY, at, 0);
      /* The last one of a coroutine stays: it leads to the resumer. */
      if ((w->frame & (uint64_t)w->abi->cf_resume) == 0)
        w->frame = walk_word(w, at + WALK_OFFSET(w->abi->cf_prev));
      return;
    }
    w->frame = walk_word(w, at + WALK_OFFSET(w->abi->cf_prev));
  }
}

/* The coroutine that has resumed L becomes the one that is walked. Returns 0 if there is none. */
WALK_FN int walk_resumer(struct walk* w) {
  uint64_t frame = w->frame;
  for (int i = 0; i < WALK_ENTRIES && frame != 0 && (frame & (uint64_t)w->abi->cf_resume) == 0; i++)
    frame = walk_word(w, walk_plain(w, frame) + WALK_OFFSET(w->abi->cf_prev));
  const uint64_t at = walk_plain(w, frame);
  const uint64_t ret = frame != 0 ? walk_word(w, at + WALK_OFFSET(w->abi->cf_ret)) : 0;
  if (ret > w->text && ret < w->text_end) {
    w->frame = at + WALK_OFFSET(w->abi->cf_size);
    w->L = walk_word(w, w->frame + WALK_OFFSET(w->abi->cf_L));
    /* Its own C frame has flags only in the coroutine. */
    w->frame = WALK_L(cframe);
  } else {
    w->L = WALK_L(resumer);
    w->frame = w->L != 0 ? WALK_L(cframe) : 0;
  }
  if (w->L == 0 || walk_word(w, w->L + WALK_OFFSET(w->abi->L_glref)) != w->g) return 0;
  w->base = WALK_L(base);
  w->pc = 0;
  w->listed = 0;
  return 1;
}

/* -- From frame to frame ------------------------------------------------------------- */

/* To the frame below the one at base, whose link is `link`. Returns 0 if it makes no sense. */
WALK_FN int walk_down(struct walk* w, uint64_t link) {
  const uint64_t type = link & (uint64_t)w->abi->frame_maskp;
  const uint64_t distance = link & ~(uint64_t)w->abi->frame_maskp;
  w->listed = 0;
  if ((link & (uint64_t)w->abi->frame_mask) == (uint64_t)w->abi->frame_lua) {
    uint32_t call = 0;
    if (!walk_read(w, &call, sizeof call, link - 4)) return 0;
    w->base -= WALK_SLOT * (2 + (call >> w->abi->bc_a_shift & 0xff));
    w->pc = link;
    return 1;
  }
  if (distance == 0 || distance > w->base) return 0;
  w->pc = 0;
  if (type == (uint64_t)w->abi->frame_cont) {
    const uint64_t fn = walk_word(w, w->base + WALK_OFFSET(w->abi->cont_fn));
    if (fn == (uint64_t)w->abi->cont_callback) walk_entry(w);
    if (fn > (uint64_t)w->abi->cont_callback)
      w->pc = walk_word(w, w->base + WALK_OFFSET(w->abi->cont_pc));
  } else if (type == (uint64_t)w->abi->frame_c || type == (uint64_t)w->abi->frame_cp) {
    walk_entry(w);
  } else if (type == (uint64_t)w->abi->frame_vararg) {
    w->listed = 1; /* the same call's other frame */
  }
  w->base -= distance;
  return 1;
}

/* All frames of L from base on. Returns 0 if the stack makes no sense. */
WALK_FN int walk_coroutine(struct walk* w) {
  const uint64_t bottom = WALK_L(stack) + 2 * WALK_SLOT;
  const uint64_t end = WALK_L(maxstack) + 64 * WALK_SLOT; /* with the reserve above */
  if (w->base > end || w->base % WALK_SLOT != 0) return 0;
  for (int i = 0; i < WALK_FRAMES; i++) {
    if (w->base <= bottom) return w->base == bottom;
    if (!w->listed && !walk_add_function(w, walk_function(w, w->base), w->pc)) return 0;
    const uint64_t before = w->base;
    const uint64_t link = w->link != 0 ? w->link : walk_word(w, w->base - WALK_SLOT);
    w->link = 0;
    if (!walk_down(w, link) || w->base >= before) return 0;
  }
  w->truncated = 1;
  return 1;
}

#include "recorder/sample/walk_top.h"

/* -- The whole ----------------------------------------------------------------------- */

/* The stack of the thread with the registers w->r in the VM w->g, into w->frames. w->abi, text and
** text_end are set. */
WALK_FN void walk_stack(struct walk* w) {
  w->n = w->truncated = w->listed = w->snapshot = 0;
  w->trace = 0;
  w->link = 0;
  w->L = walk_word(w, w->g + WALK_OFFSET(w->abi->g_cur_L));
  w->state = WALK_OUTSIDE;
  if (w->L == 0 || walk_word(w, w->L + WALK_OFFSET(w->abi->L_glref)) != w->g) return;
  w->frame = WALK_L(cframe);
  if (!walk_top(w)) return;
  for (int i = 0; i < WALK_COROUTINES; i++) {
    if (w->base != 0 && !walk_coroutine(w)) walk_add(w, WALK_UNKNOWN, 0, 0);
    walk_add(w, WALK_COROUTINE, w->L, 0);
    if (!walk_resumer(w)) return;
  }
  w->truncated = 1;
}

#endif
