/*
** The contract between the VM, the recorders and the analyzer.
** SPDX-License-Identifier: MIT
**
** Four layers, from the inside out:
**   1. event words   what the VM stores, one u64 (sometimes a few) per event
**   2. ring          the shared memory through which the VM passes words
**   3. control       how a recorder attaches to a running process
**   4. trace file    what a recorder writes and luatrace-analyze reads (luatrace_file.h)
**
** Everything is little-endian. Every struct has only fixed-width members and
** no implicit padding (checked at the end of each file). These two headers are the
** only definition of these layouts: docs/trace-format.md explains them.
** They are plain C99, usable from C++, and include nothing else but <stdint.h>.
*/

#ifndef _LUATRACE_FORMAT_H
#define _LUATRACE_FORMAT_H

#include <stdint.h>

#include "luatrace_file.h"

/* -- 1. Event words ------------------------------------------------------ */

/*
** word = time:40 | payload:21 | kind:3      (bit 63 ... bit 0)
**
** time     low 40 bits of the clock (ticks, see struct lt_file_header.clock).
**          At 3 GHz it wraps after 366 s; the base tick of the block and
**          LTX_TIME records resolve the wraps. Within one stream the clock
**          never runs backwards; a difference of more than 2^39 ticks from
**          the previous word is a clock anomaly, not a long wait.
** payload  depends on the kind. All ones (LT_PAYLOAD_BIG) means: the value
**          does not fit and is in the next word (kinds ENTRY, RETURN, TAIL,
**          FRAME, RESUME).
** kind     never 0, so a word of the ring that is 0 is not written yet.
**          Continuation words are never 0 either.
**
** Why not {32-bit time, 29-bit id}: a 32-bit TSC wraps every 1.4 s, which any
** blocking C call exceeds, and compiled code cannot afford to check.
*/
#define LT_KIND_BITS		3
#define LT_PAYLOAD_BITS		21
#define LT_TIME_SHIFT		(LT_KIND_BITS+LT_PAYLOAD_BITS)
#define LT_TIME_BITS		40
#define LT_PAYLOAD_BIG		((1u<<LT_PAYLOAD_BITS)-1)

enum {
  LT_ENTRY = 1,		/* payload: function id. A call of a function begins. */
  LT_RETURN = 2,	/* payload: function id. The call on top ends. */
  LT_TAIL = 3,		/* payload: function id. The call on top ends by a tail
			** call; the callee's ENTRY follows (unless the callee is a
			** kind of function that has no events). */
  LT_RESUME = 4,	/* payload: coroutine id. It runs now, resumed by the
			** coroutine that was current. */
  LT_SUSPEND = 5,	/* payload: LTS_*. The current coroutine is suspended or
			** dead; its resumer is current again. From LT_SEGMENT_FIRST on:
			** no such event, but a segment (see struct lt_segment) whose id
			** is the payload - LT_SEGMENT_FIRST; or several (LT_PACKED). */
  LT_FRAME = 6,		/* payload: function id. Belongs to an LTX_STACK record: a
			** call that was already running, outermost first. */
  LT_EXT = 7		/* payload: sub:6 | nwords:4 | arg:11 (low to high), then
			** nwords continuation words. */
};

/* Function id 0: a function whose description could not be delivered. */
#define LT_ID_UNKNOWN		0u

/* Status of LT_SUSPEND. */
enum {
  LTS_YIELD = 0,	/* Suspended, may be resumed; its calls stay open. */
  LTS_DONE = 1,		/* Body returned; the coroutine is dead. */
  LTS_ERROR = 2		/* Died from an error: all its calls end now, unwound. */
};

/* Payload of LT_SUSPEND: where ids of segments begin, and the first id that has no place. */
#define LT_SEGMENT_FIRST	8u
#define LT_SEGMENT_IDS		(LT_PACKED - LT_SEGMENT_FIRST)

/* Payload of LT_SUSPEND: this bit says that the word has several segments and no time. The other bits
** and those of the time are LT_PACKED_ITEMS items, the first one in the topmost bits:
** 0			none; only before the others
** up to LT_PACKED_PLACE	iterations (the low 8 bits, not 0) on a level (the other bits), of the next
**			place; by rising levels
** from there on	a segment: LT_PACKED_PLACE + the id of its place. The last item is one. */
#define LT_PACKED		(1u<<20)
#define LT_PACKED_BITS		20
#define LT_PACKED_ITEMS		3
#define LT_PACKED_LEVELS	4u
#define LT_PACKED_COUNTS	256u
#define LT_PACKED_PLACE		(LT_PACKED_LEVELS*LT_PACKED_COUNTS)

/* Sub-kinds of LT_EXT. Readers skip the ones they do not know. */
enum {
  LTX_PAD = 1,		/* nwords=0. Filler at the end of a ring block. */
  LTX_BLOCK = 2,	/* First record of each ring block. Words: full 64-bit
			** clock; coroutine id (current at this point, LT_ID_NONE if
			** it is not known);
			** lt_pack(tid, recording number). */
  LTX_UNWIND = 3,	/* An error removes calls of the current coroutine.
			** arg 0: word lt_pack(n, id): the n (>0) topmost calls.
			** arg 1: word lt_pack(d+1, id): all but the d lowest (if
			** the VM lost count: a stack overflow, an error in a trace's exit).
			** id: the function that is then on top (LT_ID_NONE: no call
			** is left; LT_ID_UNKNOWN: not determined). */
  LTX_CREATE = 4,	/* Word: id. Coroutine created by the current one, inside
			** the call on top, which is its creation site. */
  LTX_COLLECT = 5,	/* Word: id. Coroutine collected; if still suspended its
			** calls end here ("abandoned"). */
  LTX_SWITCH = 6,	/* Word: id. That coroutine runs now, without a recorded resume:
			** a resume from before the recording ended, or the host
			** called into another coroutine of the same VM. The one that
			** was current stays open (suspended). */
  LTX_STACK = 7,	/* arg: LTR_*. Words: coroutine id; number n of calls + 1.
			** That coroutine is current and its stack consists of
			** exactly the n LT_FRAME records that follow; calls that the
			** reader had open on it are closed (truncated). */
  LTX_LOSS = 8,		/* arg: LT_LOSS_*, 0 ring full. Words: number of events lost
			** + 1; full clock at the first of them. The gap ends at
			** this record's time. LTX_STACK follows; the stacks of all
			** other coroutines are unknown until their own LTX_STACK. */
  LTX_THREAD = 9,	/* Word: tid. The VM runs on this OS thread from now on. */
  LTX_TIME = 10,	/* Word: full 64-bit clock. */
  LTX_START = 11,	/* arg: 0, or LT_START_ATTACHED. Words: full clock;
			** lt_pack(recording number, LTF_*). First record of a
			** recording. */
  LTX_STOP = 12,	/* arg: LTE_*. Recording ends; open calls end here. */
  LTX_GC = 13,		/* A step of the collector: see luatrace_work.h. */
  LTX_TRACE = 14,	/* What becomes of compiled code: likewise. */
  LTX_MARK = 15,	/* arg: LTM_*. Words: coroutine id; the name as text (see below),
			** up to LT_MARK_MAX bytes. A section that the program named
			** begins or ends in that coroutine. */
  LTX_REQUEST = 16,	/* Words: coroutine id; request + 1. That coroutine works for
			** this request from now on: an address of the host's, 0 if for
			** none. LTX_CREATE passes the current coroutine's on; after
			** LTX_LOSS, and when a recording begins, it is not known until
			** a record of the coroutine, which follows its LTX_STACK. */
  LTX_LABEL = 17,	/* arg: LTL_*. Words: lt_pack(coroutine id, number k of words of
			** the key); the key as text, k words; the value as text. The
			** coroutine has this label from now on. LTX_CREATE passes all
			** labels of the current coroutine on; they are known and not
			** known like its request. */
  LTX_CPU = 19,		/* arg: LTC_*. Word: ticks until this record's time. Written by
			** recorders that follow the scheduler (--cpu). The first one of
			** a stream says that it is followed from there on. */
  LTX_SEGMENT = 20,	/* Words: id of a segment + 1; then for each level from 0 on (up to
			** LT_SEGMENT_LEVELS) the iterations + 1. A segment whose loops have
			** been passed. (18: see luatrace_watch.h) */
  LTX__MAX = 64
};

/* Kinds of LTX_MARK. An open section has begun before the recording, or in a gap: it follows
** the coroutine's LTX_STACK. */
enum { LTM_BEGIN = 0, LTM_END = 1, LTM_OPEN = 2 };

/* Kinds of LTX_CPU: so long the VM's thread waited; it was ready to run, but another one ran in its
** place; or neither that nor whether it ran is known. */
enum { LTC_OFF = 0, LTC_PREEMPTED = 1, LTC_UNKNOWN = 2 };

/* Kinds of LTX_LABEL. An empty value: the coroutine no longer has a label of this key. With CLEAR
** there is only the first word: it has none at all; all that it has follow. */
enum { LTL_SET = 0, LTL_CLEAR = 1 };

/* Text in continuation words: up to LT_TEXT_BYTES bytes in each, the first above the lowest byte
** of the word, which is their number; so no word is 0. Only the last word of a text has fewer. */
#define LT_TEXT_BYTES		7u
#define lt_text_words(n)	(((n) + LT_TEXT_BYTES-1) / LT_TEXT_BYTES)
#define LT_MARK_MAX		(14u*LT_TEXT_BYTES)
#define LT_LABEL_KEY_MAX	(4u*LT_TEXT_BYTES)
#define LT_LABEL_VALUE_MAX	(10u*LT_TEXT_BYTES)

#define LT_ID_NONE		0xffffffffu

#define LT_LOSS_OTHER	1u	/* Not because the ring was full. */
#define LT_LOSS_LEAST	2u	/* There were so many at least. */

/* LTX_START: stacks are unknown until their own LTX_STACK, as after LTX_LOSS. The
** tracer was attached to only some of the probes when stacks were reported. */
#define LT_START_ATTACHED	1u

/* Reasons of LTX_STACK. */
enum {
  LTR_ACTIVATE = 0,	/* Recording began while this coroutine was running. */
  LTR_RESUMED = 1,	/* It already had calls when it first ran while recorded. */
  LTR_LOSS = 2,		/* After LTX_LOSS. */
  LTR_FORK = 3		/* First report of a forked child. */
};

/* Reasons of LTX_STOP. */
enum {
  LTE_DETACH = 0,	/* Switched off from outside. */
  LTE_CLOSE = 1,	/* lua_close(). */
  LTE_ORPHAN = 2,	/* The recorder is gone (see lt_ring.alive). */
  LTE_FAIL = 3		/* Reserved, not written: a failure inside the VM. */
};

#define lt_word(time, payload, kind) \
  (((uint64_t)(time) << LT_TIME_SHIFT) | \
   ((uint64_t)(uint32_t)(payload) << LT_KIND_BITS) | (uint64_t)(kind))
#define lt_kind(w)		((uint32_t)(w) & ((1u<<LT_KIND_BITS)-1))
#define lt_payload(w)		(((uint32_t)(w) >> LT_KIND_BITS) & LT_PAYLOAD_BIG)
#define lt_time(w)		((uint64_t)(w) >> LT_TIME_SHIFT)
#define lt_is_packed(w)		(lt_kind(w) == LT_SUSPEND && (lt_payload(w) & LT_PACKED))
/* Items of such a word, i = 0, 1, 2; and the word with them all in the low 60 bits of `items`. */
#define lt_packed_item(w, i) \
  ((uint32_t)((w) >> ((i) == 0 ? 44 : (i) == 1 ? 24 : LT_KIND_BITS)) & (LT_PACKED-1))
#define lt_packed_word(items) \
  ((uint64_t)(items) >> LT_PACKED_BITS << LT_TIME_SHIFT | \
   (((uint64_t)(items) & (LT_PACKED-1)) | LT_PACKED) << LT_KIND_BITS | (uint64_t)LT_SUSPEND)

#define lt_ext(sub, nwords, arg) \
  ((uint32_t)(sub) | ((uint32_t)(nwords) << 6) | ((uint32_t)(arg) << 10))
#define lt_ext_sub(p)		((uint32_t)(p) & 63u)
#define lt_ext_nwords(p)	(((uint32_t)(p) >> 6) & 15u)
#define lt_ext_arg(p)		((uint32_t)(p) >> 10)

/* Two 32-bit values in a continuation word: lo, hi. */
#define lt_pack(lo, hi) \
  ((uint64_t)(uint32_t)(lo) | ((uint64_t)(uint32_t)(hi) << 32))
#define lt_lo(w)		((uint32_t)(w))
#define lt_hi(w)		((uint32_t)((uint64_t)(w) >> 32))

/* Flags of a recording (LTX_START, struct lt_stream_info). */
#define LTF_JIT			0x01u	/* JIT compiler on at the start. */
#define LTF_GC64		0x02u
#define LTF_INLINE		0x04u	/* Events are emitted inline by traces. */
#define LTF_CFUNC_SHIFT		4	/* Two bits: LTC_* class of C functions. */
#define LTF_DUALNUM		0x40u
#define LTF_52COMPAT		0x80u
#define LTF_FFI			0x100u	/* Calls of C functions by FFI have events. */
#define LTF_SAMPLED		0x200u	/* Files: samples instead of events. */
#define LTF_SEGMENTS		0x400u	/* Compiled code is recorded as segments. */

/* Classes of C functions that have events. Each includes the ones before. */
enum { LTC_NONE = 0, LTC_USER = 1, LTC_DEFAULT = 2, LTC_ALL = 3 };
#define LTC_CLASS		3u
#define LTC_FFI			4u	/* With a class: C functions called by FFI, too. */
#define LTC_SEGMENTS		8u	/* With a class: compiled code as segments, where the VM
					** can do that. */
#define LTC_AUTO		16u	/* With LTC_SEGMENTS: only code that would take less time
					** than its events. */

/* -- 2. The ring ---------------------------------------------------------- */

/*
** One memfd per Lua VM and recording, made by the VM:
**
**   offset 0           struct lt_ring; LT_RING_HDR_SIZE bytes or more are its
**   offset data_ofs    nblocks blocks of block_size bytes (words)
**   offset meta_ofs    meta_size bytes, circular: function descriptions
**
** Blocks: the VM fills block number head % nblocks, word by word, in order.
** A word that is 0 is not written yet: the recorder may read a block that is
** still being filled (x86-64 stores become visible in order; on other
** processors all code that stores words does so with release, compiled code, too). No record straddles two blocks. When a block is
** full, the VM increments head. The recorder, once it has read all words of
** block tail, sets the whole block to 0 and increments tail. Free blocks:
** nblocks - (head - tail) - 1; if there is none the VM drops events (into
** private memory), counts them and reports them by LTX_LOSS as soon as a block
** is free, or waits if LT_RING_BLOCK is set.
**
** Descriptions: the VM appends records (struct lt_func) to the circular meta
** area and stores meta_head with release BEFORE it stores a word that uses
** the id. The recorder reads words first, then meta up to meta_head, and
** writes the descriptions to the file before the words. A record does not
** wrap: one with type LT_META_WRAP fills the rest.
*/
#define LT_RING_MAGIC		0x31474e495254554cull	/* "LUTRING1" */
#define LT_RING_VERSION		1u
#define LT_RING_HDR_SIZE	4096u	/* Nothing else begins before this. */
#define LT_RING_BLOCK_SIZE	65536u	/* The only size in version 1. */
#define LT_RING_MIN_BLOCKS	4u	/* Limits that the VM applies */
#define LT_RING_MAX_BLOCKS	16384u	/* to the requested size. */
#define LT_RING_NAME		"luatrace-ring"	/* Name of the memfd. */

/* lt_ring.flags */
#define LT_RING_BLOCK		0x01u	/* Wait instead of dropping. */
#define LT_RING_PROBE		0x02u	/* Private memory, flushed through a probe: see below. */
#define LT_RING_SEGMENTS	0x04u	/* In its place: flushed through the probe luajit:segments. */

/* lt_ring.state (written by the VM) */
enum { LT_RING_OPEN = 1, LT_RING_CLOSED = 2 };

struct lt_ring {
  /* Constant after creation. */
  uint64_t magic;
  uint32_t version;
  uint32_t flags;		/* LT_RING_* */
  uint32_t data_ofs;		/* Bytes. */
  uint32_t block_size;		/* Bytes, a power of two. */
  uint32_t nblocks;
  uint32_t meta_size;		/* Bytes, a power of two. */
  uint64_t meta_ofs;		/* Bytes. */
  int32_t pid;			/* In the target's namespace. If it is another process's,
				** this is a fork's copy: ignore it. */
  int32_t tid;			/* Thread that made the ring. */
  int32_t parent_pid;		/* After fork: the parent's pid, else 0. */
  uint32_t stream_flags;	/* LTF_* */
  uint64_t state_addr;		/* Address of the global_State: identifies the VM. */
  uint32_t recording;		/* Number of this recording of that VM, from 1. */
  uint32_t clock;		/* LT_CLOCK_* */
  uint64_t start_tick;		/* Clock at which the recording began. */
  uint64_t event_cost_ps;	/* Measured cost of one event, picoseconds; 0: unknown. */
  char luajit[64];		/* Version string, NUL-terminated. */
  uint64_t clock_hz;		/* LT_CLOCK_CNTVCT: ticks per second, and CLOCK_MONOTONIC */
  uint64_t start_ns;		/* at start_tick: a reader on another processor cannot read
				** that clock. Else 0. */
  uint8_t pad0[256-168];
  /* Written by the VM. */
  uint64_t head;		/* Blocks finished. */
  uint64_t meta_head;		/* Bytes appended to the meta area in all. */
  uint64_t lost;		/* Events lost so far: those of all LTX_LOSS records
				** and of an unfinished loss. */
  uint32_t state;		/* LT_RING_OPEN, LT_RING_CLOSED. */
  uint32_t stop_reason;		/* LTE_*, once closed. */
  uint64_t lost_since;		/* Clock of the first event of an unfinished loss,
				** 0 if none. */
  uint64_t meta_lost;		/* Descriptions lost because the area was full. */
  /* LT_RING_PROBE and LT_RING_SEGMENTS only. */
  uint64_t flushed;		/* Address of the first word not yet flushed. */
  uint64_t flushed_events;	/* Events flushed in all. */
  uint64_t flushed_funcs;	/* Descriptions flushed in all. */
  uint64_t wp;			/* Address of the pointer past the last word. */
  uint64_t meta_count;		/* Descriptions in the meta area. */
  uint8_t pad1[128-88];
  /* Written by the recorder. */
  uint64_t tail;		/* Blocks read and zeroed. */
  uint64_t meta_tail;		/* Bytes of the meta area read in all. */
  uint64_t alive;		/* Recorder's clock when it last read. If it is older than
				** LT_ORPHAN_SECONDS the VM stops recording. (Attached:
				** until `taken` that of lt_control counts.) */
  uint32_t detach;		/* 1: the VM is to stop recording. */
  uint32_t tick_khz;		/* Recorder's estimate of the clock rate, 0: unknown. */
  uint32_t taken;		/* 1: the recorder has mapped the ring. */
  uint8_t pad2[128-36];
};

#define LT_ORPHAN_SECONDS	5

/*
** Without a memfd: the probe luajit:block. While lt_control.block is not 0 (and
** there is no ring as above) a VM writes the same words into private memory of
** the same layout (LT_RING_PROBE). It flushes a chunk of it through the probe when
** a block is full, at the first event 10 ms after the last flush, and when the
** recording ends.
**
** The probe luajit:segments has the same arguments, and is hit instead of it while
** lt_control.segments is not 0 and lt_control.block is: then all tracers know segments, and
** the words may be segments (LTF_SEGMENTS in the header's stream_flags). A stream has one of
** the two probes from START to END; if it is to have the other one, it ends, and another one
** begins. Arguments:
**
**   address, bytes   of the chunk (up to LT_RING_BLOCK_SIZE); END: clock, 0
**   g                address of the global_State: identifies the stream
**   kind             LT_CHUNK_*
**   number           events (EVENTS) or descriptions (FUNCS) flushed before
**   count            how many are in the chunk; END: LTE_*
**   recording        lt_ring.recording
**
** Events are counted without LTX_PAD and LTX_BLOCK records, so the numbers give
** exactly how many were in chunks that a tracer missed. FUNCS come before the
** EVENTS that use them. A chunk of EVENTS holds whole records.
*/
enum {
  LT_CHUNK_START = 1,		/* struct lt_ring. A stream begins; or, if it has begun,
				** all functions are described again for a new tracer. */
  LT_CHUNK_FUNCS = 2,		/* struct lt_func and struct lt_segment records. */
  LT_CHUNK_EVENTS = 3,		/* Event words. */
  LT_CHUNK_END = 4		/* Empty. The stream ends. */
};
#define LT_CHUNK_EXIT	255u	/* count of END: the program exits. No LTX_STOP follows;
				** if it still runs Lua, more chunks follow. */

/* Clocks: the time stamp counter of x86, CLOCK_MONOTONIC in ns, the virtual counter of arm64 (CNTVCT_EL0). */
enum { LT_CLOCK_TSC = 1, LT_CLOCK_MONOTONIC = 2, LT_CLOCK_CNTVCT = 3 };

/* Function description: meta area of the ring, and LT_BLOCK_FUNCS payload.
** Each record starts at a multiple of 8 bytes. */
enum { LT_META_WRAP = 0xffff, LT_META_SEGMENT = 0x100, LT_FUNC_LUA = 1, LT_FUNC_C = 2, LT_FUNC_FF = 3,
       LT_FUNC_KERNEL = 4, LT_FUNC_LABEL = 5 };

struct lt_func {
  uint32_t size;		/* Whole record in bytes, a multiple of 8. */
  uint16_t type;		/* LT_FUNC_*: Lua; C function (lua_pushcclosure);
				** library function; in samples: function of the kernel,
				** with its module as chunk, "" if it has none; no function,
				** but a label: its key as chunk, and its value as name. */
  uint16_t flags;		/* LT_FUNC_HINT: name comes from the call, not from the
				** definition or from package.loaded. */
  uint32_t id;			/* > 0, unique in its stream. */
  uint32_t firstline;		/* Line of the definition, 0 for a main chunk or C.
				** LT_LINE_CODE is set: no line numbers (stripped
				** bytecode); the rest is a hash of the code. */
  uint32_t lastline;
  uint32_t ffid;		/* Library functions: LuaJIT's FF_* number. */
  uint64_t addr;		/* C: address of the function, else of the prototype. */
  uint16_t chunk_len;		/* Bytes, without the NUL. */
  uint16_t name_len;
  uint32_t fileofs;		/* C with a chunk: address in that file, as ELF counts. */
  /* char chunk[chunk_len+1], name[name_len+1], zero bytes up to size.
  ** chunk is the source name in LuaJIT: "@file", "=name" or the code itself; if it
  ** is longer than 1023 bytes, or holds a NUL, it is cut there and ends in "...#"
  ** and a hash of the whole. C: the library's path, or "". Both may contain any
  ** byte but NUL. */
};
#define LT_LINE_CODE		0x80000000u	/* Except 0xffffffff: bytecode of the library. */
#define LT_FUNC_HINT		0x01u
/* The byte before the name to which a call probe points. DEFINED: not from a call. */
enum { LT_NAME_HINT, LT_NAME_DEFINED };
#define LT_FUNC_STR_MAX		1023u

/*
** Segments. Between the entry of a compiled trace and an exit from it the sequence of events
** is fixed when the trace is compiled. So compiled code need not store them: one word says where
** it was left. The description of a trace, in the meta area of the ring, and the payload of
** LT_BLOCK_SEGMENTS:
**
** events    an iteration of the trace has these, in order. Where a trace is not a loop, it has one
**           iteration, which is not counted.
** places    id + 0, id + 1 ... : where a word may be stored. The first one is the trace's beginning,
**           which is that of an iteration, too; nmarks-1 places inside it follow, then its exits.
**           Each has the number of events of the iteration before it.
** parent    the place, an exit, from which the trace is entered; 0: it is entered from elsewhere, and
**           everything before it has been stored. So the place at the end names the whole path.
** level     number of traces on the path, itself included, that count their iterations. An iteration
**           is counted when the next one begins.
**
** costs     code that takes longer than its size says, between two exits: about as long as so many bytes
**           of simple instructions more.
**
** A word stands for the events since the word before it: on each trace of the path, outermost first,
** iterations * events, and then those before the place where it leaves the path. If the place is none
** of the exits, the trace goes on: the next word stands for what follows.
**
** In a ring a segment with the time 0 has none: compiled code reads the clock for one segment in
** LT_SEGMENT_UNTIMED where it is left. The recorder gives it the time of the record before it. So of a
** segment with that time no more is known than that it ended before the next record. Of segments in one
** word (LT_PACKED), where one trace follows another, no more is known either.
*/
#define LT_SEGMENT_UNTIMED	16u
#define LT_SEGMENT_LEVELS	8u
#define LT_SEGMENT_EVENTS_MAX	65535u
#define LT_SEGMENT_PLACES_MAX	65535u
#define LT_SEGMENT_PATH_MAX	1000u	/* Traces. */
#define LT_SEGMENT_CODE_MAX	(1u<<20)  /* Bytes. */

struct lt_segment {
  uint32_t size;		/* Whole record in bytes, a multiple of 8. */
  uint16_t type;		/* LT_META_SEGMENT */
  uint16_t flags;		/* LT_SEGMENT_* */
  uint32_t id;			/* Of its first place, > 0. Never used again in this stream. */
  uint32_t parent;		/* Id of a place described earlier, or 0. */
  uint32_t trace;		/* The VM's number of the trace. */
  uint32_t bytes;		/* Of its machine code. */
  uint32_t nevents;
  uint16_t nmarks;		/* > 0 */
  uint16_t nexits;
  uint16_t loop;		/* Exits from this one on are those of the loop's own code, which comes
				** after that of the first iteration; 0: there is no such code. */
  uint16_t level;
  uint32_t ncosts;
  /* uint32_t places[nmarks+nexits]: events before it | offset in the machine code << 16;
  ** uint32_t events[nevents]: kind | function id << LT_KIND_BITS; uint32_t costs[ncosts]: where in the
  ** machine code it ends | cost << 16; zeros up to size. */
};
#define LT_SEGMENT_COUNTS	0x01u	/* It counts its iterations. */
#define LT_SEGMENT_LOOPS	0x02u	/* It has iterations, without events, and does not count them. */

/* Hello: what the VM sends over the recorder's SOCK_SEQPACKET socket, with
** the ring's memfd as SCM_RIGHTS (without it if no ring could be made). The
** recorder answers one byte; unless that is RECORD or PROBES, the VM never asks
** again. The path of the socket is in LUATRACE_SOCKET. */
#define LT_HELLO_MAGIC		0x314f4c4c4854554cull	/* "LUTHLLO1" */
struct lt_hello {
  uint64_t magic;
  uint32_t version;		/* LT_RING_VERSION */
  int32_t pid;			/* In the sender's namespace; see SCM_CREDENTIALS. */
};
enum {
  LT_HELLO_REFUSED = 0,		/* Do not record. */
  LT_HELLO_RECORD = 1,		/* Record into this ring. */
  LT_HELLO_PROBES = 2		/* Do not use the ring: the recorder has attached to the
				** probes of this process. Its children say hello again. */
};

/* Longest list of globs, in bytes; the VM ignores a longer one. */
#define LT_GLOBS_MAX		1023u

/* Environment variables that luatrace-record sets and the VM reads (once per
** process, ignored in setuid programs). */
#define LT_ENV_SOCKET		"LUATRACE_SOCKET"	/* Path of the socket. */
#define LT_ENV_INCLUDE		"LUATRACE_INCLUDE"	/* Globs, '\n' between them. */
#define LT_ENV_EXCLUDE		"LUATRACE_EXCLUDE"
#define LT_ENV_CFUNCS		"LUATRACE_CFUNCS"	/* none, user, default, all */
#define LT_ENV_RING		"LUATRACE_RING"		/* Bytes of all blocks. */
#define LT_ENV_BLOCK		"LUATRACE_BLOCK"	/* 1: LT_RING_BLOCK */
#define LT_ENV_TIMES		"LUATRACE_TIMES"	/* auto, segments, events */

/* What a user sets to observe a program without changing it (lj_ltenv.c). */
#define LT_ENV_USER		"LUATRACE"

/* -- 3. Attaching from outside --------------------------------------------- */

/*
** A recorder that attaches to a running process finds an ELF note of this
** library or program (name LT_NOTE_NAME, type LT_NOTE_TYPE, in an allocated
** section, so that it survives strip), through it the control structure, and
** writes its settings there; `ring` last. Each Lua VM notices that at its next
** poll, makes a ring, and keeps the memfd open (LTState.fd) until `taken` is
** set: the recorder walks the list of VMs and opens the memfd through
** /proc/PID/map_files or /proc/PID/fd.
**
** The owner of the control structure is the recorder whose random number is
** `owner`. It renews `alive` at least every second, here and in every ring; other
** recorders stay away while either is younger than LT_ORPHAN_SECONDS. A VM that
** finds its recorder gone sets `ring` back to 0.
*/
#define LUAJIT_USDT_MAGIC	0x3154445355544a4cull	/* "LJTUSDT1" */
#define LT_CONTROL_VERSION	3u

struct lt_control {
  /* A tracer may change these at any time. One word: see lj_ltctl_word. */
  uint16_t semaphore;		/* Number of tracers attached to the USDT probes of
				** single events. */
  uint8_t ring;			/* Nonzero: record event words into a ring. A new number
				** starts a new recording. */
  uint8_t stacks;		/* Increased by LUATRACE=mode=stuck, inside the process: each
				** Lua VM prints its stacks at its next poll. */
  uint16_t block;		/* Number of tracers attached to the probe that flushes
				** event words, a block at a time. */
  uint8_t segments;		/* Number of tracers of blocks that know segments; they do not
				** count in `block`. The kernel counts in 16 bits, of which `context`
				** is the upper half; there are 32 places for tracers. */
  uint8_t context;		/* 1: somebody reads the threads' contexts, see
				** docs/thread-context.md. Stays until it is set to 0. */
  /* Constant. */
  uint64_t magic;		/* LUAJIT_USDT_MAGIC */
  uint32_t version;		/* LT_CONTROL_VERSION */
  uint32_t size;		/* sizeof(struct lt_control) */
  /* Settings: written before `ring` is set. */
  uint32_t cfuncs;		/* LTC_*: which C functions have events, with LTC_FFI and
				** LTC_SEGMENTS or without. */
  uint32_t ring_block;		/* 1: wait when the ring is full. */
  uint64_t ring_size;		/* Bytes of all blocks of a ring. */
  uint32_t envdone;		/* Environment has been read. */
  uint32_t children;		/* 1: forked children are recorded, too. */
  char socket[108];		/* Path of the recorder's socket; "" when attached. */
  uint32_t clock;		/* LT_CLOCK_* that blocks flushed through a probe are to use; 0,
				** or one that the VM cannot read: lt_note.clock. */
  char include[1024];		/* Globs on chunk names, '\n' between them, or "". */
  char exclude[1024];
  uint64_t owner;		/* Random number of the recorder that attached. */
  uint64_t alive;		/* The owner's clock, renewed. */
  uint32_t tick_khz;		/* The owner's estimate of the clock rate, 0: unknown. */
  int32_t owner_pid;		/* In the owner's namespace, for messages. */
  uint32_t generation;		/* Recordings so far: `ring` is derived from it, so that
				** each recording has another number. */
  /* Written by the VM. */
  uint32_t untaken;		/* Rings of this recording that were closed before
				** the recorder had opened them. */
  uint64_t states;		/* Address of the first LTState, 0: none. */
  uint64_t opened;		/* Number of VMs created so far. */
};

#define LT_NOTE_NAME		"luatrace"
#define LT_NOTE_TYPE		1u
#define LT_NOTE_VERSION		1u

/* The note. "here" is the address of that member itself, so that no
** relocation is needed. Offsets are in bytes; -1: does not exist. */
struct lt_note {
  uint32_t version;		/* LT_NOTE_VERSION */
  uint32_t size;		/* sizeof(struct lt_note); larger if newer. */
  int64_t control;		/* luajit_usdt_control - here */
  int64_t poll;			/* Code for dispatch slots that makes the VM poll - here */
  int64_t vm_begin;		/* Code of the interpreter - here */
  uint32_t control_version, control_size;
  uint32_t flags;		/* LTN_* */
  uint32_t clock;		/* LT_CLOCK_* */
  /* Offsets of members of an LTState. */
  int32_t lt_next;		/* Address of the next one. */
  int32_t lt_on, lt_stop;	/* uint32_t; bit 31 of stop: LT_STOP_POLL. */
  int32_t lt_seen;		/* uint64_t: value of the control word acted upon. */
  int32_t lt_ring, lt_fd;	/* Address; int */
  int32_t lt_rec;		/* uint32_t: number of the recording. */
  int32_t lt_serial;		/* uint32_t: number of the VM in the process. */
  int32_t lt_token;		/* uint32_t: lt_control.ring when its ring was made. */
  /* Distances from an LTState to other structures of its VM. */
  int32_t g, dispatch, jit;	/* global_State, dispatch table, jit_State */
  uint32_t nslots;		/* Slots of the dispatch table for instructions. */
  uint32_t slot_size;
  /* For stack readers. Members of a global_State. */
  int32_t g_cur_L, g_jit_base, g_vmstate, g_hookmask, g_mainthref;
  /* Of a jit_State. */
  int32_t jit_state, jit_trace, jit_sizetrace;
  /* Of a lua_State. */
  int32_t L_glref, L_status, L_base, L_top, L_stack, L_maxstack, L_cframe, L_id;
  /* Of a GCfunc, a GCproto, a GCstr, a GCtrace. */
  int32_t fn_pc, fn_ffid, pt_size, pt_chunkname, pt_firstline, pt_numline;
  int32_t pt_lineinfo, pt_sizebc, pt_id, str_len, str_size;
  int32_t trace_mcode, trace_szmcode, trace_startpt;
  /* C stack of the VM. */
  int32_t cframe_size, cframe_size_jit, cframe_L, cframe_pc, cframe_prev, reserved;
  /* What follows is only in notes of LT_NOTE_STACKS bytes or more, which luatrace-record --stack
  ** needs. */
  int64_t bc_mode;		/* Operands of the instructions (lj_bc_mode) - here */
  /* Of a global_State, a lua_State (LT_WAIT_FREED: its memory has been freed), a jit_State. */
  int32_t g_gcroot, L_wait;
  /* More of a GCproto and a GCtrace. */
  int32_t pt_k, pt_sizept, pt_uvinfo, pt_varinfo;
  int32_t trace_nsnap, trace_nsnapmap, trace_snap, trace_snapmap, trace_ir, trace_nk;
  int32_t trace_startpc, trace_spadjust;
  /* Of a SnapShot. */
  int32_t snap_size, snap_mapofs, snap_mcofs, snap_nent;
  /* Numbers of instructions, and that of the metamethod for calls. */
  int32_t op_mov, op_knil, op_uget, op_usetv, op_fnew, op_gget, op_gset, op_tgets, op_tsets;
  int32_t op_iterc, op_funcf, mm_call;
};

/* Size of the notes without them. */
#define LT_NOTE_SIZE_1		248u
#define LT_NOTE_STACKS		((unsigned)sizeof(struct lt_note))
/* See lt_note.L_wait. */
#define LT_WAIT_FREED		(~(uint64_t)0)

#define LTN_JIT			0x01u	/* Built with the compiler. */
#define LTN_GC64		0x02u
#define LTN_FR2			0x04u	/* Two slots per frame. (0x08: older, five-byte nops.) */
#define LTN_REPORT		0x10u	/* Knows LT_STOP_REPORT. */
#define LTN_BLOCKS		0x20u	/* Has the probe luajit:block. */
#define LTN_CLOCK		0x40u	/* Knows lt_control.clock. */
#define LTN_FFI			0x80u	/* Knows LTC_FFI. */
#define LTN_SEGMENTS		0x100u	/* Knows LTC_SEGMENTS. */
#define LTN_CONTEXT		0x200u	/* Knows lt_control.context. */

/* In LTState.stop, set by a recorder: poll, then restore the dispatch table. Only
** recorders set bits of the topmost byte; the VM clears them. */
#define LT_STOP_POLL		0x80000000u
/* Likewise: a VM with probes on and no ring reports its stack again; one that
** flushes blocks describes its functions again, too. */
#define LT_STOP_REPORT		0x40000000u

/* -- Checks --------------------------------------------------------------- */

LT_CHECK_SIZE(lt_ring, 512);
LT_CHECK_SIZE(lt_func, 40);
LT_CHECK_SIZE(lt_segment, 40);
LT_CHECK_SIZE(lt_hello, 16);
LT_CHECK_SIZE(lt_control, 2256);
LT_CHECK_SIZE(lt_note, 376);

#endif
