/* SPDX-License-Identifier: MIT */
/* The walk of a sampled thread's Lua stack, for a BPF program and for user space alike
** (docs/abi-note.md explains the rules). Plain C; everything that differs by LuaJIT is in struct
** lt_abi, everything that differs by machine code in its rules (rules.h). x86-64 with GC64.
**
** The includer defines, before this file:
**   WALK_FN, WALK_INLINE          how functions are declared, and small ones
**   WALK_GLOBAL                   those that the verifier of BPF programs checks once
**   walk_read(w, to, size, from)  reads memory of the process; 0: it could not
**   walk_rule(w, offset)          the rule (LT_RULE_*) of that byte of the interpreter's code
** and may define
**   WALK_HIDE(v)                  hides from the compiler what it knows of the variable v
**
** Before each sample the includer calls walk_forget().
**
** The steps of a loop are such a function, with their variables in struct walk: the verifier counts
** each step of a loop, but not what is in it, and bpf_loop() is not needed.
** The cost of a walk is that of its calls of walk_read(), hardly that of their sizes. Therefore
** objects are read as a whole, and stacks in pieces (struct walk_block).
** Invariant: a stack is right, or it is marked: where the frames at some place are not known, there
** is a WALK_UNKNOWN in their place. All loops are bounded; addresses are never trusted. */
#ifndef LUATRACE_SAMPLE_WALK_H
#define LUATRACE_SAMPLE_WALK_H

#include "luajit-usdt/src/luatrace_abi.h"
#include "recorder/sample/frames.h"

#define WALK_COROUTINES 32  /* that wait for each other */
#define WALK_ENTRIES 64     /* C frames that are passed at once */
#define WALK_SNAPSHOTS 1024 /* of one trace */
#define WALK_INLINED 32     /* calls inlined at one place */
#define WALK_DEPTH 1024     /* slots of the C stack that are searched, */
#define WALK_PIECE 112      /* so many at once: with a C frame, WALK_WORDS */
#define WALK_SAVED 24       /* words of it in which base and pc may be saved */
#define WALK_HANDLER 192    /* bytes of the interpreter's code for an instruction */
#define WALK_BETWEEN 64     /* IR instructions between two snapshots */
#define WALK_STEPS 512      /* frames, listed or not, and coroutines */
#define WALK_WORDS 128      /* of memory that is read at once */

/* Calls step(w, i) up to n times, until it returns 1. */
#define WALK_LOOP(w, n, step) for (uint32_t loop_i = 0; loop_i < (n) && !step(w, loop_i); loop_i++)
#ifndef WALK_HIDE
#define WALK_HIDE(v) (void)(v)
#endif

struct walk_registers {
  uint64_t ip, sp, fp, base, pc, dispatch, a, c; /* rip rsp rbp rdx rbx r14 rax rcx */
};

/* Words of the process's memory that were read at once. */
struct walk_block {
  uint64_t from;
  uint32_t size; /* bytes, 0: none */
  uint32_t unused;
  uint64_t words[WALK_WORDS];
};
enum walk_which {
  WALK_THE_GLOBAL, /* a part of the global_State */
  WALK_THE_STATE,  /* lua_State */
  WALK_THE_CFRAME, /* a C frame of the VM */
  WALK_THE_STACK,  /* a part of the Lua stack */
  WALK_THE_FUNCTION,
  WALK_THE_PROTO,
  WALK_THE_TRACE,  /* GCtrace, */
  WALK_SNAPS,      /* its snapshots, */
  WALK_ENTRIES_OF, /* the entries of one, */
  WALK_CODE,       /* its IR */
  WALK_BLOCKS
};

/* Variables of loops. */
struct walk_loop {
  uint64_t trace, array, place, map, own, pc, frame;
  uint32_t low, high, from, to, entries, last, depth, found, below, slot;
  uint64_t links[WALK_INLINED], functions[WALK_INLINED];
};

struct walk {
  struct lt_abi abi;
  uint64_t text, text_end; /* code of the interpreter */
  struct walk_registers r;
  uint64_t g, L, frame; /* frame: the innermost C frame that was not passed yet, with its flags */
  uint64_t runs;        /* the coroutine that runs: the first L */
  uint64_t base, pc, link;
  uint64_t bottom, top; /* of L's stack: of its first frame, and above all */
  uint32_t coroutines;  /* that were passed */
  uint32_t begun;       /* place of L's own frames in the list: of a C frame that has none in Lua */
  uint32_t resumed;     /* L's last C frame is in the list */
  uint32_t listed;      /* the function of the frame at base is in the list, or to be left out */
  uint32_t state;       /* enum walk_state, when it has ended */
  uint32_t n;
  uint32_t truncated; /* there are more frames */
  int32_t vmstate;
  uint64_t jit_base, trace, place; /* trace: in compiled code, its GCtrace, */
  uint32_t snapshot;               /* the number of the snapshot that holds there, */
  uint32_t number, size;           /* the trace's own one, and the bytes of its machine code */
  struct walk_loop loop;
  struct walk_block blocks[WALK_BLOCKS];
  struct walk_frame frames[WALK_FRAMES];
};

#define WALK_SLOT 8ull
#define WALK_OFFSET(o) ((uint64_t)(int64_t)(o))

/* -- Reading ------------------------------------------------------------------------ */

WALK_INLINE uint64_t walk_word(struct walk* w, uint64_t address) {
  uint64_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_INLINE uint32_t walk_u32(struct walk* w, uint64_t address) {
  uint32_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_INLINE uint32_t walk_u16(struct walk* w, uint64_t address) {
  uint16_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}
WALK_INLINE uint32_t walk_u8(struct walk* w, uint64_t address) {
  uint8_t value = 0;
  return walk_read(w, &value, sizeof value, address) ? value : 0;
}

/* Nothing of the process's memory is known: it has run. */
WALK_INLINE void walk_forget(struct walk* w) {
  for (uint32_t i = 0; i < WALK_BLOCKS; i++) w->blocks[i].size = 0;
}

/* Reads those bytes, or nothing: then walk_take() reads each member by itself. */
WALK_INLINE int walk_load(struct walk* w, uint32_t which, uint64_t from, uint64_t size) {
  struct walk_block* b = &w->blocks[which];
  size = (size + (from & 7) + 7) & ~7ull;
  uint32_t bytes = size < sizeof b->words ? (uint32_t)size : sizeof b->words;
  WALK_HIDE(bytes);
  b->from = from & ~7ull;
  b->size = 0;
  if (bytes > sizeof b->words || !walk_read(w, b->words, bytes, b->from)) return 0;
  b->size = bytes;
  return 1;
}

/* The member of `size` bytes at that address: in the lowest ones of the result. */
WALK_INLINE uint64_t walk_take(struct walk* w, uint32_t which, uint64_t address, uint32_t size) {
  const struct walk_block* b = &w->blocks[which];
  const uint64_t at = address - b->from;
  if (at < b->size && (at & (size - 1)) == 0) return b->words[at / 8 % WALK_WORDS] >> at % 8 * 8;
  return size == 8   ? walk_word(w, address)
         : size == 4 ? walk_u32(w, address)
         : size == 2 ? walk_u16(w, address)
                     : walk_u8(w, address);
}

/* The same as functions. */
WALK_GLOBAL int walk_fetch(struct walk* w, uint32_t which, uint64_t from, uint64_t size) {
  return w && which < WALK_BLOCKS ? walk_load(w, which, from, size) : 0;
}
WALK_GLOBAL uint64_t walk_get(struct walk* w, uint32_t which, uint64_t address, uint32_t size) {
  return w && which < WALK_BLOCKS ? walk_take(w, which, address, size) : 0;
}

/* If the block does not have that address, it has `size` bytes from there on now. */
WALK_INLINE void walk_near(struct walk* w, uint32_t which, uint64_t address, uint64_t size) {
  if (address - w->blocks[which].from >= w->blocks[which].size) walk_fetch(w, which, address, size);
}

/* The member at that offset of an object that is read as a whole. sizes: of the member, and of the
** object from bit 8 on. */
WALK_GLOBAL uint64_t walk_member(struct walk* w, uint32_t which, uint64_t object, int64_t offset,
                                 uint32_t sizes) {
  if (!w || which >= WALK_BLOCKS) return 0;
  const struct walk_block* b = &w->blocks[which];
  if (b->size == 0 || b->from != object) walk_load(w, which, object, sizes >> 8);
  return walk_take(w, which, object + (uint64_t)offset, sizes & 0xff);
}

/* Members of objects. */
#define WALK_MEMBER(which, object, all, offset, size) \
  walk_member(w, which, object, offset, (uint32_t)(all) << 8 | (size))
#define WALK_STATE(L, member, size) \
  WALK_MEMBER(WALK_THE_STATE, L, w->abi.L_size, w->abi.L_##member, size)
#define WALK_CFRAME(at, member, size) \
  WALK_MEMBER(WALK_THE_CFRAME, at, w->abi.cf_size, w->abi.cf_##member, size)
#define WALK_FUNCTION(fn, member, size) \
  WALK_MEMBER(WALK_THE_FUNCTION, fn, w->abi.fn_f + 8, w->abi.member, size)
#define WALK_PROTO(proto, member, size) \
  WALK_MEMBER(WALK_THE_PROTO, proto, w->abi.pt_size, w->abi.pt_##member, size)
#define WALK_TRACE(trace, member, size) WALK_MEMBER(WALK_THE_TRACE, trace, 128, w->abi.member, size)
#define WALK_G(member) walk_global(w, w->g, w->abi.g_##member)
#define WALK_L(member) WALK_STATE(w->L, member, 8)

/* The number of a coroutine; 0: this LuaJIT gives them none. */
WALK_FN uint32_t walk_number(struct walk* w, uint64_t L) {
  return w->abi.L_serial > 0 ? (uint32_t)WALK_STATE(L, serial, 4) : 0;
}

/* What is used of g is close together. */
WALK_FN int walk_use_global(struct walk* w, uint64_t g) {
  int32_t first = w->abi.g_vmstate < w->abi.g_cur_L ? w->abi.g_vmstate : w->abi.g_cur_L;
  if (w->abi.g_jit_base < first) first = w->abi.g_jit_base;
  const uint64_t from = (g + WALK_OFFSET(first)) & ~7ull;
  const struct walk_block* b = &w->blocks[WALK_THE_GLOBAL];
  return (b->size != 0 && b->from == from) || walk_fetch(w, WALK_THE_GLOBAL, from, 256);
}

/* A word of it. */
WALK_INLINE uint64_t walk_global(struct walk* w, uint64_t g, int32_t offset) {
  return walk_get(w, WALK_THE_GLOBAL, g + WALK_OFFSET(offset), 8);
}

/* A slot of L's stack. The slots below it are read with it, and one above, for the frame's link. */
WALK_GLOBAL uint64_t walk_slot(struct walk* w, uint64_t address) {
  if (!w) return 0;
  const struct walk_block* b = &w->blocks[WALK_THE_STACK];
  if (address - b->from >= b->size) {
    const uint64_t stack = WALK_L(stack), end = address + 2 * WALK_SLOT;
    uint64_t from = end - sizeof b->words;
    if (from < stack && stack < end) from = stack;
    walk_load(w, WALK_THE_STACK, from, end - from);
  }
  return walk_take(w, WALK_THE_STACK, address, 8);
}

WALK_INLINE void walk_list(struct walk* w, const struct walk_frame* f) {
  uint32_t n = w->n;
  WALK_HIDE(n);
  if (n >= WALK_FRAMES) {
    w->truncated = 1;
    return;
  }
  w->frames[n] = *f;
  w->n = n + 1;
}

WALK_INLINE void walk_add(struct walk* w, uint32_t kind, uint64_t what, uint64_t pc) {
  const struct walk_frame f = {what, pc, kind, 0};
  walk_list(w, &f);
}

/* -- One frame -------------------------------------------------------------------- */

/* The function of the frame at that base; 0: there is none. */
WALK_FN uint64_t walk_function(struct walk* w, uint64_t base) {
  const uint64_t slot = walk_slot(w, base - 2 * WALK_SLOT);
  const uint64_t address = slot & ((1ull << w->abi.tag_shift) - 1);
  const uint64_t tag = ~(uint64_t)w->abi.type_func << w->abi.tag_shift;
  if (slot - address != tag ||
      (uint8_t)WALK_FUNCTION(address, gc_type, 1) != (uint32_t)w->abi.type_func)
    return 0;
  return address;
}

/* The GCproto of that Lua function; 0: it is none. */
WALK_INLINE uint64_t walk_proto(struct walk* w, uint64_t fn) {
  if (fn == 0 || (uint8_t)WALK_FUNCTION(fn, fn_ffid, 1) != 0) return 0;
  return WALK_FUNCTION(fn, fn_pc, 8) - WALK_OFFSET(w->abi.pt_size);
}

/* Is pc after an instruction of that function? */
WALK_INLINE int walk_contains(struct walk* w, uint64_t proto, uint64_t pc) {
  const uint64_t code = proto + WALK_OFFSET(w->abi.pt_size);
  const uint64_t size = (uint32_t)WALK_PROTO(proto, sizebc, 4);
  return proto != 0 && pc > code && pc <= code + size * WALK_OFFSET(w->abi.bc_size);
}

/* Differs between prototypes that have had the same address, one after the other. */
WALK_INLINE uint32_t walk_check(struct walk* w, uint64_t proto) {
  const uint64_t name = WALK_PROTO(proto, chunkname, 8);
  const uint32_t line = (uint32_t)WALK_PROTO(proto, firstline, 4);
  const uint32_t size = (uint32_t)WALK_PROTO(proto, sizebc, 4);
  const uint32_t hash = w->abi.str_hash != 0 ? walk_u32(w, name + WALK_OFFSET(w->abi.str_hash)) : 0;
  return walk_mix(name, hash, line, size);
}

/* Adds the function. Returns 0 if it is none. */
WALK_FN int walk_add_function(struct walk* w, uint64_t fn, uint64_t pc) {
  if (fn == 0) return 0;
  const uint32_t ffid = (uint8_t)WALK_FUNCTION(fn, fn_ffid, 1);
  if (ffid == 0) {
    const uint64_t proto = walk_proto(w, fn);
    const struct walk_frame f = {proto, walk_contains(w, proto, pc) ? pc : 0, WALK_LUA,
                                 walk_check(w, proto)};
    walk_list(w, &f);
  } else if (ffid == 1) {
    walk_add(w, WALK_C, WALK_FUNCTION(fn, fn_f, 8), 0);
  } else {
    walk_add(w, WALK_BUILTIN, ffid, 0);
  }
  return 1;
}

/* -- C frames of the VM ------------------------------------------------------------ */

WALK_INLINE uint64_t walk_plain(struct walk* w, uint64_t frame) {
  return frame & ~(uint64_t)w->abi.cf_flags;
}

/* One of the C frames that walk_entry() passes. */
WALK_GLOBAL int walk_entry_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  WALK_HIDE(i); /* the verifier needs its value */
  if (w->frame == 0) return 1;
  const uint64_t at = walk_plain(w, w->frame);
  const int32_t results = (int32_t)WALK_CFRAME(at, nres, 4);
  const int resumed = (w->frame & (uint64_t)w->abi.cf_resume) != 0;
  const int found = results >= 0 || resumed;
  if (found && !(resumed && w->resumed)) walk_add(w, WALK_ENTRY, at, 0);
  if (resumed) w->resumed = 1;
  /* The last one of a coroutine stays: it leads to the resumer. */
  if (!resumed) w->frame = WALK_CFRAME(at, prev, 8);
  return found;
}

/* C code has entered Lua: passes its C frame, and those before it that have no frame in Lua. */
WALK_INLINE void walk_entry(struct walk* w) {
  WALK_LOOP(w, WALK_ENTRIES, walk_entry_step) continue;
}

WALK_GLOBAL int walk_first_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  const uint64_t frame = w->loop.frame;
  WALK_HIDE(i); /* the verifier needs its value */
  if (frame == 0 || (frame & (uint64_t)w->abi.cf_resume) != 0) return 1;
  w->loop.frame = WALK_CFRAME(walk_plain(w, frame), prev, 8);
  return 0;
}

/* L is the coroutine that is walked from here: its frames follow. */
WALK_INLINE void walk_begin(struct walk* w) {
  w->begun = w->n;
  w->resumed = 0;
  walk_add(w, WALK_ENTRY, 0, 0);
}

WALK_INLINE void walk_limits(struct walk* w) {
  w->bottom = WALK_L(stack) + 2 * WALK_SLOT;
  w->top = WALK_L(maxstack) + 64 * WALK_SLOT; /* with the reserve above */
}

/* The coroutine that has resumed L becomes the one that is walked. Returns 0 if there is none. */
WALK_FN int walk_resumer(struct walk* w) {
  w->loop.frame = w->frame;
  WALK_LOOP(w, WALK_ENTRIES, walk_first_step) continue;
  const uint64_t frame = w->loop.frame, at = walk_plain(w, frame);
  const uint64_t ret = frame != 0 ? WALK_CFRAME(at, ret, 8) : 0;
  if (ret > w->text && ret < w->text_end) {
    w->frame = at + WALK_OFFSET(w->abi.cf_size);
    w->L = WALK_CFRAME(w->frame, L, 8);
    /* Its own C frame has flags only in the coroutine. If it is not there, it does not wait. */
    const uint64_t waits = w->frame;
    w->frame = WALK_L(cframe);
    if (walk_plain(w, w->frame) != waits) return 0;
  } else {
    w->L = WALK_L(resumer);
    w->frame = w->L != 0 ? WALK_L(cframe) : 0;
  }
  if (w->L == 0 || WALK_L(glref) != w->g) return 0;
  w->base = WALK_L(base);
  w->pc = 0;
  w->listed = 0;
  walk_begin(w);
  walk_limits(w);
  return 1;
}

/* To the C frame that should have been passed at the bottom of L's stack, if there is one more than
** there were frames of Lua called by C. */
WALK_GLOBAL int walk_rest_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  WALK_HIDE(i); /* the verifier needs its value */
  const uint64_t frame = w->loop.frame, at = walk_plain(w, frame);
  if (frame == 0 || (frame & (uint64_t)w->abi.cf_resume) != 0) return 1;
  if ((int32_t)WALK_CFRAME(at, nres, 4) >= 0) return 1;
  w->loop.frame = WALK_CFRAME(at, prev, 8);
  return 0;
}

/* Each entry gets the C frame of the next one. */
WALK_GLOBAL int walk_shift_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  uint32_t to = w->loop.from, from = w->begun + 1 + i;
  WALK_HIDE(to);
  WALK_HIDE(from);
  if (to >= WALK_FRAMES || from >= WALK_FRAMES || from >= w->n) return 1;
  if (w->frames[from].kind != WALK_ENTRY) return 0;
  w->frames[to].what = w->frames[from].what;
  w->loop.from = from;
  return 0;
}

/* C code has just entered Lua, or is about to return from it: its C frame is there, and no frame of
** Lua is. It is the innermost one, so that all were listed one place too far outside. */
WALK_FN void walk_shift(struct walk* w) {
  w->loop.frame = w->frame;
  WALK_LOOP(w, WALK_ENTRIES, walk_rest_step) continue;
  const uint64_t rest = w->loop.frame;
  if (rest == 0 || ((rest & (uint64_t)w->abi.cf_resume) != 0 && w->resumed)) return;
  w->loop.from = w->begun;
  WALK_LOOP(w, WALK_FRAMES, walk_shift_step) continue;
  uint32_t last = w->loop.from;
  WALK_HIDE(last);
  if (last < WALK_FRAMES) w->frames[last].what = walk_plain(w, rest);
}

/* -- From frame to frame ------------------------------------------------------------- */

/* To the frame below the one at base, whose link is `link`. Returns 0 if it makes no sense. */
WALK_FN int walk_down(struct walk* w, uint64_t link) {
  const uint64_t type = link & (uint64_t)w->abi.frame_maskp;
  const uint64_t distance = link & ~(uint64_t)w->abi.frame_maskp;
  w->listed = 0;
  if ((link & (uint64_t)w->abi.frame_mask) == (uint64_t)w->abi.frame_lua) {
    uint32_t call = 0;
    if (!walk_read(w, &call, sizeof call, link - 4)) return 0;
    w->base -= WALK_SLOT * (2 + (call >> w->abi.bc_a_shift & 0xff));
    w->pc = link;
    return 1;
  }
  if (distance == 0 || distance > w->base) return 0;
  w->pc = 0;
  if (type == (uint64_t)w->abi.frame_cont) {
    const uint64_t fn = walk_slot(w, w->base + WALK_OFFSET(w->abi.cont_fn));
    if (fn == (uint64_t)w->abi.cont_callback) walk_entry(w);
    if (fn > (uint64_t)w->abi.cont_callback)
      w->pc = walk_slot(w, w->base + WALK_OFFSET(w->abi.cont_pc));
  } else if (type == (uint64_t)w->abi.frame_c || type == (uint64_t)w->abi.frame_cp) {
    walk_entry(w);
  } else if (type == (uint64_t)w->abi.frame_vararg) {
    w->listed = 1; /* the same call's other frame */
  }
  w->base -= distance;
  return 1;
}

/* The frame at base, if it is not listed yet, and to the one below it. Returns 0; 1 if it was the
** last one, or -1 if the stack makes no sense. */
WALK_INLINE int walk_frame(struct walk* w) {
  const uint64_t base = w->base;
  if (base == 0) return 1;
  if (base > w->top || base % WALK_SLOT != 0) return -1;
  if (base <= w->bottom) return base == w->bottom ? 1 : -1;
  if (!w->listed && !walk_add_function(w, walk_function(w, base), w->pc)) return -1;
  const uint64_t link = w->link != 0 ? w->link : walk_slot(w, base - WALK_SLOT);
  w->link = 0;
  return walk_down(w, link) && w->base < base ? 0 : -1;
}

#include "recorder/sample/walk_top.h"

/* -- The whole ----------------------------------------------------------------------- */

WALK_GLOBAL int walk_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  const int end = walk_frame(w);
  if (i + 1 == WALK_STEPS) w->truncated = 1;
  if (w->truncated) return 1;
  if (end == 0) return 0;
  if (end < 0) walk_add(w, WALK_UNKNOWN, 0, 0);
  if (end > 0 && w->base == w->bottom) walk_shift(w);
  walk_add(w, WALK_COROUTINE, w->L, walk_number(w, w->L));
  if (++w->coroutines >= WALK_COROUTINES) {
    w->truncated = 1;
    return 1;
  }
  return !walk_resumer(w);
}

/* The stack of the thread with the registers w->r in the VM w->g, into w->frames. It is no longer
** in Lua if w->state is WALK_OUTSIDE, but may be on its way out. w->abi, text and text_end are
** set. */
WALK_INLINE void walk_stack(struct walk* w) {
  w->n = w->truncated = w->listed = w->snapshot = w->coroutines = 0;
  w->trace = 0;
  w->link = 0;
  w->state = WALK_OUTSIDE;
  if (!walk_use_global(w, w->g)) return;
  w->L = WALK_G(cur_L);
  if (w->L == 0 || WALK_L(glref) != w->g) return;
  w->frame = WALK_L(cframe);
  walk_begin(w);
  w->runs = 0;
  if (!walk_top(w)) return;
  w->runs = w->L;
  walk_limits(w);
  WALK_LOOP(w, WALK_STEPS, walk_step) continue;
}

/* Adds the stack of another VM, w->g: it has called C code, on this C stack, that has called the VM
** of the frames so far. */
WALK_INLINE int walk_outer(struct walk* w) {
  const uint32_t state = w->state;
  w->listed = w->coroutines = 0;
  w->link = w->trace = 0;
  if (!walk_use_global(w, w->g)) return 0;
  w->L = WALK_G(cur_L);
  if (w->L == 0 || WALK_L(glref) != w->g) return 0;
  w->frame = WALK_L(cframe);
  w->jit_base = WALK_G(jit_base);
  w->vmstate = (int32_t)walk_global(w, w->g, w->abi.g_vmstate);
  walk_add(w, WALK_VM, w->g, 0);
  walk_begin(w);
  if (w->frame == 0)
    walk_unknown(w, 0);
  else if (w->jit_base != 0)
    walk_in_compiled(w);
  else
    walk_from(w, WALK_L(base), walk_saved_pc(w));
  walk_limits(w);
  WALK_LOOP(w, WALK_STEPS, walk_step) continue;
  w->state = state;
  return 1;
}

#endif
