/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
** The protocol between the BPF program (calls.bpf.c) and the recorder: the records of the ring
** buffers and the table of probes. Invariants: every record begins with struct ltb_hit, so a reader
** needs only its kind and size; a function is described (LTB_FUNC) before the first hit that uses
** its id; records of one process are in one ring buffer, in the order in which its threads made
** them. Native byte order: both sides run on one machine. Plain C for both compilers, needs
** <linux/types.h>.
*/
#ifndef LUATRACE_RECORDER_BPF_WIRE_H
#define LUATRACE_RECORDER_BPF_WIRE_H

#include <linux/types.h>

/* The probes, in the order of the table in calls.bpf.c and sites.cc. */
enum {
  LTB_ENTRY = 0,
  LTB_RETURN = 1,
  LTB_TAIL = 2,
  LTB_CENTRY = 3,
  LTB_CRETURN = 4,
  LTB_UNWIND = 5,
  LTB_CREATE = 6,
  LTB_RESUME = 7,
  LTB_YIELD = 8,
  LTB_END = 9,
  LTB_OPEN = 10,
  LTB_CLOSE = 11,
  LTB_STACK = 12,
  LTB_BLOCK = 13,  /* struct ltb_block: event words, many at a time */
  LTB_SWITCH = 14, /* never hit: a place for raising the semaphore of LTB_BLOCK */
  LTB_NPROBES = 15,
  /* Records that no probe makes. */
  LTB_FUNC = 16, /* struct ltb_func: what an id means */
  LTB_LOSS = 17, /* struct ltb_loss: hits of one VM did not fit */
  LTB_EXEC = 18, /* the process has executed another program */
  LTB_TEST = 19  /* the self test was hit */
};

#define LTB_NARGS 7   /* the highest number of arguments */
#define LTB_SLOTS 512 /* processes at a time */
#define LTB_RINGS 16  /* maximum number of ring buffers */
#define LTB_TEXT 1024 /* longest string, with its NUL */

/* ltb_hit.where = frame:18 | kind:5 | slot:9 (low to high). A frame is a slot offset in a Lua
** stack, whose limit is 65,500; larger ones are cut to LTB_FRAME_MAX. */
#define LTB_FRAME_MAX 0x3ffffu
#define ltb_where(slot, kind, frame) \
  ((__u32)(frame) | ((__u32)(kind) << 18) | ((__u32)(slot) << 23))
#define ltb_frame(where) ((where)&LTB_FRAME_MAX)
#define ltb_kind(where) (((where) >> 18) & 31u)
#define ltb_slot(where) ((where) >> 23)

/* The cookie of a site: slot:16 | kind:16 (low to high). */
#define ltb_cookie(slot, kind) ((__u64)(slot) | (__u64)(kind) << 16)
#define ltb_cookie_kind(cookie) ((__u32)((cookie) >> 16) & 0xffffu)

struct ltb_hit {
  __u64 time;  /* CLOCK_MONOTONIC, ns */
  __u64 state; /* address of the global_State, 0: could not be read */
  __u64 L;     /* coroutine (create, resume: the one that calls it) */
  __u32 id;    /* function; of coroutine probes: coroutine id */
  __s32 extra; /* calls: line of the call; end: status; stack: reason */
  __u32 tid;   /* in the recorder's pid namespace */
  __u32 where;
};

struct ltb_co { /* LTB_CREATE, RESUME, YIELD, END */
  struct ltb_hit hit;
  __u64 co; /* address of the coroutine that is created, resumed ... */
};

struct ltb_func { /* LTB_FUNC. hit.id, hit.state: the described function */
  struct ltb_hit hit;
  __u64 chunk, name; /* addresses of the strings; chunk 0: a C function */
  __u64 addr;        /* C function: its address */
  __s32 line;        /* of the definition; C function: ffid */
  __s32 chunk_len;   /* bytes with the NUL, negative: could not be read */
  __s32 name_len;
  __u32 reserved;
  char chunk_text[LTB_TEXT], name_text[LTB_TEXT];
};

struct ltb_loss { /* LTB_LOSS. hit.state: the VM */
  struct ltb_hit hit;
  __u64 count; /* hits */
  __u64 since; /* time of the first of them, 0: not known */
};

struct ltb_block { /* LTB_BLOCK. hit.state: the VM */
  struct ltb_hit hit;
  __u64 address;    /* where the bytes were; LT_CHUNK_END: clock */
  __u64 number;     /* events, or functions, in earlier chunks */
  __u32 chunk_kind; /* LT_CHUNK_* */
  __u32 count;
  __u32 recording;
  __u32 size; /* bytes that follow; the record may be longer */
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

struct ltb_handing_key {
  __u64 state;
  __u32 slot;
  __u32 pad;
};

/* -- Tables that the recorder fills in ------------------------------------- */

/* The place of a probe's argument, from the notes. */
enum { LTB_NONE = 0, LTB_REG = 1, LTB_CONST = 2 };
struct ltb_arg {
  __u8 type; /* LTB_NONE: the probe has no such argument (reads as 0) */
  __u8 reg;  /* index into struct pt_regs, in words */
  __s8 size; /* bytes, negative: signed */
  __u8 pad;
  __s32 value; /* LTB_CONST */
};

struct ltb_known_key {
  __u64 state;
  __u32 id;
  __u32 epoch; /* changes when a VM of the process is opened, or by exec */
};

#define LTB_CACHE (1u << 15)
struct ltb_cached {
  __u64 a, b;
};

struct ltb_loss_key {
  __u64 state;
  __u32 slot;
  __u32 pad;
};

struct ltb_loss_count {
  __u64 count, since;
};

#endif
