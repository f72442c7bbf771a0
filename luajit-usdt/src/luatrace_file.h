/*
** The contract between the recorders and the analyzer: the trace file, the last of the four
** layers of luatrace_format.h, which includes this file.
** SPDX-License-Identifier: MIT
*/

#ifndef _LUATRACE_FILE_H
#define _LUATRACE_FILE_H

#include <stdint.h>

/*
** struct lt_file_header, then blocks until the end of the file. Each block is
** struct lt_block followed by payload_size bytes, padded with 0 to 8 bytes.
** A reader that finds a bad block looks for the next LT_SYNC whose header
** checksum is right. A file that ends inside a block was cut: the
** blocks before it are good, and whole words of a cut EVENTS payload can be
** used although its checksum cannot be verified.
*/
#define LT_FILE_MAGIC		0x454341525441554cull	/* "LUATRACE" */
#define LT_FILE_VERSION		1u
#define LT_SYNC			0x4b4c42545ca5c35aull

struct lt_file_header {
  uint64_t magic;
  uint32_t version;		/* LT_FILE_VERSION: a reader refuses newer ones. */
  uint32_t header_size;		/* sizeof(struct lt_file_header); larger: skip. */
  uint64_t required;		/* Feature bits that a reader must know. */
  uint64_t optional;		/* Feature bits a reader may ignore. */
  uint32_t clock;		/* LT_CLOCK_* */
  uint32_t tick_shift;		/* ns = (ticks * tick_mult) >> tick_shift, */
  uint64_t tick_mult;		/* computed in 128 bits. */
  uint64_t start_tick;		/* Clock, CLOCK_MONOTONIC and CLOCK_REALTIME */
  uint64_t start_mono_ns;	/* at the same moment. */
  uint64_t start_real_ns;
  uint64_t trace_id;		/* Random. */
  uint8_t reserved[44];
  uint32_t crc;			/* CRC-32C of the bytes before it. */
};

#define LT_FEATURE_ZSTD		0x1ull	/* required: some payloads are compressed. */
#define LT_FEATURE_SEGMENTS	0x2ull	/* required: some words stand for several events. */

enum {
  LT_BLOCK_EVENTS = 1,		/* Words of one stream. */
  LT_BLOCK_FUNCS = 2,		/* struct lt_func records of one stream. */
  LT_BLOCK_STREAM = 3,		/* struct lt_stream_info: before a stream's first use. */
  LT_BLOCK_PROCESS = 4,		/* struct lt_process_info + strings. */
  LT_BLOCK_MAPS = 5,		/* struct lt_map records of one process. */
  LT_BLOCK_CLOCK = 6,		/* struct lt_clock_info: from time to time, and at the end. */
  LT_BLOCK_NOTE = 7,		/* Text "key=value\n"...: the recorder and its settings. */
  LT_BLOCK_END = 8,		/* struct lt_end_info: written at an orderly end. */
  LT_BLOCK_SAMPLES = 9,		/* struct lt_sample records of one stream. */
  LT_BLOCK_SEGMENTS = 10	/* struct lt_segment records of one stream. */
};

#define LT_BLOCK_F_ZSTD		0x1u	/* Payload is one zstd frame of up to LT_PACKED_MAX
					** bytes. EVENTS: the upper 40 bits of each word, of
					** any kind, are the difference from the word before
					** (mod 2^40; of the first: from base_tick). */
#define LT_BLOCK_F_GAP		0x2u	/* EVENTS: the recorder left out events before this
					** block (--max-depth, --max-size do not count). */

#define LT_DEPTH_UNKNOWN	0xffffffffu

struct lt_block {
  uint64_t sync;		/* LT_SYNC */
  uint16_t type;		/* LT_BLOCK_*; readers skip unknown types. */
  uint16_t flags;		/* LT_BLOCK_F_* */
  uint32_t stream;		/* EVENTS, FUNCS, SEGMENTS, SAMPLES, STREAM: stream number from 1;
				** PROCESS, MAPS: process number from 1; else 0. */
  uint32_t payload_size;	/* Bytes in the file, up to LT_PAYLOAD_MAX. */
  uint32_t raw_size;		/* Bytes after decompression. */
  uint32_t count;		/* EVENTS: number of events (records, not words); FUNCS,
				** SAMPLES, MAPS: number of records. */
  uint32_t seq;			/* EVENTS, SAMPLES: 0,1,2... in its stream: reveals a missing
				** block. */
  uint64_t base_tick;		/* EVENTS: full clock, up to 2^39 ticks before the first
				** word's time and not after it. SAMPLES: of the earliest. */
  uint64_t end_tick;		/* EVENTS: full clock of the last word, not before base.
				** SAMPLES: of the latest. */
  uint32_t coroutine;		/* EVENTS: current coroutine at the start, 0: unknown. */
  uint32_t depth;		/* EVENTS: number of open calls on that coroutine's stack,
				** or LT_DEPTH_UNKNOWN. */
  uint32_t payload_crc;		/* CRC-32C of the payload as stored in the file. */
  uint32_t header_crc;		/* CRC-32C of the bytes of this struct before it. */
};
#define LT_PAYLOAD_MAX		(16u<<20)
#define LT_PACKED_MAX		65536u	/* raw_size of a compressed payload. Small, so that
					** a hostile file cannot make a reader slow. */

struct lt_stream_info {		/* One Lua VM of one process; LTF_SAMPLED: the samples of a
				** process, of all its threads and Lua VMs. */
  uint32_t process;		/* Process number. */
  uint32_t flags;		/* LTF_* */
  uint64_t state_addr;
  uint32_t recording;
  int32_t tid;			/* Thread at the start, in the target's namespace. */
  uint64_t start_tick;
  uint64_t event_cost_ps;	/* See struct lt_ring. */
  char luajit[64];
};

struct lt_process_info {
  int32_t pid;			/* In the recorder's namespace. */
  int32_t ns_pid;		/* In the target's namespace. */
  int32_t parent;		/* Process number of the traced parent, 0: none. */
  int32_t uid;
  uint64_t start_tick;
  uint32_t exe_len;		/* Bytes. Then: char exe[exe_len], cmdline[cmd_len] */
  uint32_t cmd_len;		/* (NUL between the arguments), both without a NUL
				** at the end. */
};

struct lt_map {			/* An executable mapping of a file. */
  uint32_t size;		/* Whole record, a multiple of 8. */
  uint16_t path_len;
  uint8_t build_id_len;		/* 0..32 */
  uint8_t reserved;
  uint64_t start, end;		/* Addresses in the process. */
  uint64_t offset;		/* In the file. */
  uint8_t build_id[32];
  /* char path[path_len], zero bytes up to size. */
};

/* A thread at one moment, in a stream with LTF_SAMPLED; all of them in the order of their
** times, with a tolerance of LT_SAMPLE_DISORDER_NS. Functions are described (FUNCS of the
** same stream) before the samples that use them. */
struct lt_sample {
  uint32_t size;		/* Whole record, a multiple of 8. */
  uint16_t nframes;
  uint8_t state;		/* LT_SAMPLE_*: what the thread did. */
  uint8_t flags;		/* LTS_* */
  uint64_t tick;
  uint64_t weight_ns;		/* Of CPU time; LTS_OFF_CPU: of the wait that ends at tick. */
  int32_t tid;			/* In the recorder's namespace. */
  uint32_t coroutine;		/* Number of the coroutine that runs, from its creation on; 0:
				** none, or not known. Not its id in events. */
  uint64_t state_addr;		/* Lua VM: address of its global_State, 0: not in Lua. */
  uint64_t request;		/* Address of the host's request + 1, 0: none. */
  /* uint64_t frames[nframes], the innermost first: kind:4 (lowest bits) | value:60.
  ** With LTS_CODE a struct lt_sample_code follows. Readers skip what they do not know of a record. */
};
#define LT_SAMPLE_FRAMES_MAX	1024u
#define LT_SAMPLE_DISORDER_NS	1000000000ull

/* lt_sample.state */
enum {
  LT_SAMPLE_NATIVE,		/* Not in Lua, or not known. */
  LT_SAMPLE_INTERPRETER, LT_SAMPLE_COMPILED,
  LT_SAMPLE_C,			/* A C function, or C code of the VM. */
  LT_SAMPLE_COLLECTOR, LT_SAMPLE_COMPILER
};

/* lt_sample.flags */
#define LTS_OFF_CPU		0x01u	/* The thread did not run; the stack is where it waited. */
#define LTS_TRUNCATED		0x02u	/* There are more frames than these. */
#define LTS_CODE		0x04u	/* The place in compiled code is known. */

/* In which trace, if it is compiled code that runs, or C code that it has called. */
struct lt_sample_code {
  uint32_t trace;		/* The VM's number of the trace, and the bytes of its machine code: */
  uint32_t bytes;		/* as in struct lt_segment. */
  uint32_t offset;		/* In it; of a call the last byte before it returns. */
  uint32_t reserved;
};

/* Kinds of frames. */
enum {
  LT_FRAME_UNKNOWN,		/* Frames that are not known, or none. value: 0. */
  LT_FRAME_FUNCTION,		/* id:32 | line << 32: a function of any type that FUNCS
				** describes, and the line that runs, 0: not known. */
  LT_FRAME_NATIVE,		/* Address in the process: MAPS say of which file. */
  LT_FRAME_RETURN,		/* The same; it is the address after a call. */
  LT_FRAME_COROUTINE,		/* Number of the coroutine, 0: not known: the frames before this
				** one, up to the next inner one of this kind, are its. */
  LT_FRAME_LABEL		/* No frame, but a label that the coroutine that runs has, before
				** all frames: id of a description of the type LABEL. */
};

struct lt_clock_info {		/* The three clocks at the same moment. */
  uint64_t tick, mono_ns, real_ns;
};

struct lt_end_info {
  uint64_t events;		/* Records in all EVENTS blocks. */
  uint64_t lost;		/* Events lost, all streams. */
  uint64_t blocks;		/* All blocks before this one. */
  uint32_t streams;
  uint32_t reason;		/* LTQ_* */
  int32_t exit_status;		/* wait() status of the command, -1: none. */
  uint32_t reserved;
};

/* Why the recording ended. */
enum {
  LTQ_EXIT = 0,		/* The program ended. */
  LTQ_SIGNAL = 1,
  LTQ_MAX_SIZE = 2,	/* --max-size was reached, or this output's disk was full. */
  LTQ_DURATION = 3,
  LTQ_ERROR = 4,
  LTQ_DISK = 5		/* The disk was nearly full. */
};

/* -- Checks --------------------------------------------------------------- */

#define LT_CHECK_SIZE(name, n)	typedef char lt_check_##name[(sizeof(struct name) == (n)) ? 1 : -1]
LT_CHECK_SIZE(lt_file_header, 128);
LT_CHECK_SIZE(lt_block, 64);
LT_CHECK_SIZE(lt_stream_info, 104);
LT_CHECK_SIZE(lt_process_info, 32);
LT_CHECK_SIZE(lt_map, 64);
LT_CHECK_SIZE(lt_sample, 48);
LT_CHECK_SIZE(lt_sample_code, 16);
LT_CHECK_SIZE(lt_clock_info, 24);
LT_CHECK_SIZE(lt_end_info, 40);

#endif
