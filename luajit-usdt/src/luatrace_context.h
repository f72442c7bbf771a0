/*
** The context of a thread, for profilers: OTEP 4947 and, for the names, OTEP 4719.
** SPDX-License-Identifier: MIT
**
** What is published, by lj_ltcontext.c, while somebody has asked for it (lt_control.context).
** docs/thread-context.md explains it. Plain C99 with <stdint.h> only. */

#ifndef _LUATRACE_CONTEXT_H
#define _LUATRACE_CONTEXT_H

#include <stdint.h>

/* To such a record points the thread-local variable LTC_SYMBOL, or it is NULL. It is read only
** while the thread is stopped or interrupted. */
#define LT_CONTEXT_SYMBOL	"otel_thread_ctx_v1"
#define LT_CONTEXT_MAX		640u
#define LT_CONTEXT_HEAD		28u

struct lt_context {
  uint8_t trace_id[16];		/* In the order of their text; zero: none. */
  uint8_t span_id[8];
  uint8_t valid;		/* 1, or it must be ignored. */
  uint8_t trace_flags;
  uint16_t attrs_size;		/* Bytes of attrs that are used. */
  uint8_t attrs[LT_CONTEXT_MAX-LT_CONTEXT_HEAD];  /* Each: index of the key, length, text. */
};

/* The process context: an anonymous mapping that begins with this. */
#define LT_PROCESS_NAME		"OTEL_CTX"  /* Of the mapping, and the signature. */
#define LT_PROCESS_VERSION	2u
#define LT_CONTEXT_SCHEMA	"tlsdesc_v1_dev"
#define LT_CONTEXT_KEYS		256u

struct lt_process_context {
  char signature[8];
  uint32_t version;
  uint32_t size;		/* Of the payload. */
  uint64_t published;		/* CLOCK_BOOTTIME; 0: being changed. */
  uint64_t payload;		/* Its address: a message of protobuf. */
};

typedef char lt_context_sizes[sizeof(struct lt_context) == LT_CONTEXT_MAX &&
			      sizeof(struct lt_process_context) == 32 ? 1 : -1];

#endif
