/* SPDX-License-Identifier: MIT */
/* The contract between the BPF program of --sample and the recorder: its maps, and the records of
** its ring buffer. Plain C with the types of <stdint.h>.
**
** Invariant: a record is a struct smp_record with its four parts directly after it, in the order of
** their numbers; the reader checks the numbers against the record's size. */
#ifndef LUATRACE_SAMPLER_WIRE_H
#define LUATRACE_SAMPLER_WIRE_H

#include <stdint.h>

#include "luajit-usdt/src/luatrace_abi.h"

#define SMP_IMAGES 32         /* different LuaJITs at a time, in all processes */
#define SMP_TEXT_MAX 65536u   /* bytes of an interpreter's code */
#define SMP_PROCESSES 16384   /* that are sampled at a time */
#define SMP_PROCESS_IMAGES 2  /* LuaJITs of one process */
#define SMP_NESTED 3          /* Lua VMs of a stack, besides the innermost one */
#define SMP_VMS 256           /* Lua VMs of one LuaJIT that are looked at */
#define SMP_KERNEL_MAX 127    /* kernel frames of a sample */
#define SMP_STACK_MAX 32768u  /* bytes of the C stack that are copied */
#define SMP_RED_ZONE 128u     /* below the stack pointer */
#define SMP_THREADS 16        /* of --tid */
#define SMP_EXECS_BYTES 65536 /* of the ring buffer of exec; 16 for each */

/* Of --off-cpu. The samples of a processor, per second: more only for a moment. */
#define SMP_BLOCKED 65536u      /* threads that are blocked at a time */
#define SMP_WINDOW_NS 100000000 /* in which they are counted */
#define SMP_WINDOW_SAMPLES 100  /* of a window */
#define SMP_RAISED_MAX 10       /* how often the period is doubled */

/* What differs by LuaJIT; the rules of its code are in a map of their own. */
struct smp_image {
  struct lt_abi abi;
};

struct smp_mapped {
  uint64_t text, text_end, vms; /* addresses in the process; text 0: there is none */
  uint32_t image; /* its number; the rest of its division by SMP_IMAGES is its place */
  uint32_t unused;
};

struct smp_process { /* key: its id, as the recorder sees it */
  struct smp_mapped mapped[SMP_PROCESS_IMAGES];
  uint32_t serial; /* the recorder's, repeated in records */
  uint32_t nested; /* 1: Lua VMs may have called each other */
};

/* Flags of records. MADE_STACK: the C stack is not known to be the thread's own: the program may
** have made it, beside others. */
enum {
  SMP_USER_MODE = 1,
  SMP_OFF_CPU = 2,
  SMP_TRUNCATED = 4,
  SMP_STACK_CUT = 8,
  SMP_MADE_STACK = 16
};

struct smp_registers {
  uint64_t ip, sp, bp, bx, r12, r13, r14, r15;
};

struct smp_record {
  uint64_t time, weight;
  uint32_t pid, tid, serial;
  uint32_t flags;  /* SMP_* */
  uint32_t mapped; /* which of the process's LuaJITs; only if g is not 0 */
  uint32_t state;  /* enum walk_state */
  uint64_t g, request;
  uint32_t coroutine;
  uint32_t nframes;    /* struct walk_frame each */
  uint32_t nkernel;    /* addresses */
  uint32_t nlabels;    /* struct lt_abi_label each */
  uint32_t stack_size; /* bytes from stack_at on */
  uint32_t trace;      /* that runs, as in struct lt_sample_code; 0: none, or not known */
  uint32_t code_bytes, code_offset;
  uint64_t stack_at;
  uint64_t lua_frame; /* the innermost C frame of the VM that runs, 0: none */
  struct smp_registers r;
};

#endif
