/* SPDX-License-Identifier: MIT */
/* The result of a walk of a Lua stack (walk.h): frames, and what happened at the top. Plain C. */
#ifndef LUATRACE_SAMPLE_FRAMES_H
#define LUATRACE_SAMPLE_FRAMES_H

#include <stdint.h>

#define WALK_FRAMES 256 /* of one sample, boundaries included */

enum walk_kind {
  WALK_UNKNOWN,   /* what: 0. Here are frames that are not known, or none. */
  WALK_LUA,       /* what: GCproto, pc: after the instruction, 0: not known */
  WALK_LUA_CODE,  /* pc is in a Lua function, which begins with its header (op_funcf ...) */
  WALK_C,         /* what: address of the function */
  WALK_BUILTIN,   /* what: its number */
  WALK_ENTRY,     /* C code has called the frame before this one. what: address of the C frame */
  WALK_COROUTINE, /* what: lua_State of the frames before this one, which ends here; pc: its
                     number */
  WALK_VM,        /* what: global_State of the frames that follow; it waits for C code that has
                     called the one before. */
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

struct walk_frame {
  uint64_t what, pc;
  uint32_t kind;
  uint32_t check; /* WALK_LUA: walk_check() of it */
};

/* Differs between prototypes that have had the same address, one after the other: from the address
** and the hash of the chunk name, the first line, the number of instructions. */
static inline uint32_t walk_mix(uint64_t name, uint32_t hash, uint32_t line, uint32_t size) {
  const uint64_t mixed = (name ^ (uint64_t)hash << 32) * 0x9e3779b97f4a7c15ull ^
                         ((uint64_t)line << 32 | size) * 0xc2b2ae3d27d4eb4full;
  return (uint32_t)(mixed ^ mixed >> 32);
}

#endif
