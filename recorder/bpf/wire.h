/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
** The protocol between the BPF program (calls.bpf.c) and the recorder: the records of the ring
** buffer and the tables. Invariants: every record begins with struct ltb_hit, so a reader needs
** only its kind and size; those of a process are in the order in which its threads made them.
** Native byte order: both sides run on one machine. Plain C for both compilers, needs
** <linux/types.h>.
*/
#ifndef LUATRACE_RECORDER_BPF_WIRE_H
#define LUATRACE_RECORDER_BPF_WIRE_H

#include <linux/types.h>

/* Kinds of records. */
enum {
  LTB_BLOCK = 0, /* struct ltb_block: event words, many at a time */
  LTB_EXEC = 1,  /* the process has executed another program */
  LTB_TEST = 2   /* the self test was hit */
};

#define LTB_NARGS 7                /* arguments of the probe `block` */
#define LTB_SLOTS 512              /* processes at a time. The cookie of a site is its slot. */
#define LTB_VMS 4096               /* of a process: that flush blocks, or have unreported losses */
#define LTB_ALL_VMS (16 * LTB_VMS) /* of all processes */

struct ltb_hit {
  __u64 time;  /* CLOCK_MONOTONIC, ns */
  __u64 state; /* address of the global_State, 0: none */
  __u32 slot, kind;
};

struct ltb_block { /* LTB_BLOCK. hit.state: the VM */
  struct ltb_hit hit;
  __u64 address;    /* where the bytes were; LT_CHUNK_END: clock */
  __u64 number;     /* events, or functions, in earlier chunks */
  __u32 chunk_kind; /* LT_CHUNK_* */
  __u32 count;
  __u32 size; /* bytes that follow; the record may be longer */
  __u32 pad;
  char bytes[];
};

#define LTB_BLOCK_MAX 65536 /* bytes of one chunk */
#define LTB_UNCOUNTED (~0u) /* ltb_block.count: the reader has to count */

/* Of struct lt_ring (luatrace_format.h; checked in chunks.cc): what an outside reader of unflushed
** words needs. */
#define LTB_RING_META_OFS 32
#define LTB_RING_STATE 56
#define LTB_RING_CHANGING 256
struct ltb_ring_changing {
  __u64 head, meta_head, lost, state, lost_since, meta_lost;
  __u64 flushed, flushed_events, flushed_funcs, wp, meta_count;
};

/* A Lua VM, as a key of tables. */
struct ltb_vm {
  __u64 state;
  __u32 slot;
  __u32 pad;
};

/* -- Tables that the recorder fills in ------------------------------------- */

/* The place of a probe's argument, from the notes. */
enum { LTB_NONE = 0, LTB_REG = 1, LTB_CONST = 2 };
struct ltb_arg {
  __u8 type; /* LTB_NONE: the probe has no such argument (reads as 0) */
  __u8 reg;  /* its number in site_args.cc */
  __s8 size; /* bytes, negative: signed */
  __u8 pad;
  __s32 value; /* LTB_CONST */
};

#endif
