/*
** Tracing of calls: the USDT probe sites.
** SPDX-License-Identifier: MIT
**
** Invariant: each probe has exactly one site, in a function of its own, so its
** arguments are in registers. A site is a one-byte nop, to which the note points,
** followed by a ten-byte nop, as in libbpf's usdt.h: newer kernels may replace them by
** a sequence that is cheaper than a breakpoint, respects the red zone and works in a
** forked child. A five-byte nop allows neither of the last two on Linux 6.18. This file
** is compiled with -mno-red-zone, so that nothing depends on that. */

#define lj_ltprobe_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include "lj_dispatch.h"
#include "lj_ltrace.h"

#define SDT_USE_VARIADIC
/* Registers and constants only, which every parser of the notes understands. */
#define STAP_SDT_ARG_CONSTRAINT	nr
#define _SDT_HAS_SEMAPHORES	1
#include <sys/sdt.h>

#if LJ_TARGET_X64
#undef _SDT_NOP
/* nopw %cs:0x0(%rax,%rax,1) */
#define _SDT_NOP	nop; .byte 0x66; .byte 0x2e; .byte 0x0f; .byte 0x1f; \
			.byte 0x84; .4byte 0; .byte 0
#endif

/* One semaphore for all probes of single events: the first member of
** luajit_usdt_control, which has this second name in lj_ltctl.c; and one for the probe
** that flushes blocks, also a member of it. */
extern unsigned short luajit_semaphore
  __attribute__((visibility("hidden"), section(".probes")));
extern unsigned short luajit_block_semaphore
  __attribute__((visibility("hidden"), section(".probes")));
#define luajit_function__entry_semaphore	luajit_semaphore
#define luajit_function__return_semaphore	luajit_semaphore
#define luajit_function__tailcall_semaphore	luajit_semaphore
#define luajit_function__unwind_semaphore	luajit_semaphore
#define luajit_cfunction__entry_semaphore	luajit_semaphore
#define luajit_cfunction__return_semaphore	luajit_semaphore
#define luajit_coroutine__create_semaphore	luajit_semaphore
#define luajit_coroutine__resume_semaphore	luajit_semaphore
#define luajit_coroutine__yield_semaphore	luajit_semaphore
#define luajit_coroutine__end_semaphore		luajit_semaphore
#define luajit_coroutine__stack_semaphore	luajit_semaphore
#define luajit_state__open_semaphore		luajit_semaphore
#define luajit_state__close_semaphore		luajit_semaphore
#define luajit_block__switch_semaphore		luajit_block_semaphore

#ifdef __clang__  /* Makes no clones and does not know the attribute. */
#define PROBEFUNC	__attribute__((noinline)) void
#else
#define PROBEFUNC	__attribute__((noinline, noclone)) void
#endif

PROBEFUNC lj_ltprobe_entry(const char *chunk, const char *name, int line,
			   void *L, uint32_t id, uint32_t frame, int callline)
{
  STAP_PROBE7(luajit, function__entry, chunk, name, line, L, id, frame,
	      callline);
}

PROBEFUNC lj_ltprobe_return(const char *chunk, const char *name, int line,
			    void *L, uint32_t id, uint32_t frame, int callline)
{
  STAP_PROBE7(luajit, function__return, chunk, name, line, L, id, frame,
	      callline);
}

PROBEFUNC lj_ltprobe_tailcall(const char *chunk, const char *name, int line,
			      void *L, uint32_t id, uint32_t frame,
			      int callline)
{
  STAP_PROBE7(luajit, function__tailcall, chunk, name, line, L, id, frame,
	      callline);
}

PROBEFUNC lj_ltprobe_centry(const char *name, void *addr, int ffid, void *L,
			    uint32_t id, uint32_t frame, int callline)
{
  STAP_PROBE7(luajit, cfunction__entry, name, addr, ffid, L, id, frame,
	      callline);
}

PROBEFUNC lj_ltprobe_creturn(const char *name, void *addr, int ffid, void *L,
			     uint32_t id, uint32_t frame, int callline)
{
  STAP_PROBE7(luajit, cfunction__return, name, addr, ffid, L, id, frame,
	      callline);
}

PROBEFUNC lj_ltprobe_unwind(void *L, uint32_t frame)
{
  STAP_PROBE2(luajit, function__unwind, L, frame);
}

PROBEFUNC lj_ltprobe_create(void *L, void *co, uint32_t id)
{
  STAP_PROBE3(luajit, coroutine__create, L, co, id);
}

PROBEFUNC lj_ltprobe_resume(void *L, void *co, uint32_t id)
{
  STAP_PROBE3(luajit, coroutine__resume, L, co, id);
}

PROBEFUNC lj_ltprobe_yield(void *L, void *co, uint32_t id)
{
  STAP_PROBE3(luajit, coroutine__yield, L, co, id);
}

PROBEFUNC lj_ltprobe_end(void *L, void *co, uint32_t id, int status)
{
  STAP_PROBE4(luajit, coroutine__end, L, co, id, status);
}

PROBEFUNC lj_ltprobe_stack(void *L, uint32_t id, uint32_t n, int reason,
			   void *g)
{
  STAP_PROBE5(luajit, coroutine__stack, L, id, n, reason, g);
}

PROBEFUNC lj_ltprobe_open(void *g, void *L)
{
  STAP_PROBE2(luajit, state__open, g, L);
}

PROBEFUNC lj_ltprobe_close(void *g, void *L)
{
  STAP_PROBE2(luajit, state__close, g, L);
}

/* Event words, a block at a time: see LT_CHUNK_* in luatrace_format.h. */
PROBEFUNC lj_ltprobe_block(const void *p, uint32_t size, void *g, int kind,
			   uint64_t number, uint32_t count, uint32_t rec)
{
  STAP_PROBE7(luajit, block, p, size, g, kind, number, count, rec);
}

/* Never called, and so never hit: tracers of `block` raise the semaphore here, and
** lower it here before they detach from `block`, so that what is then flushed still
** reaches them. The nops after the site are other such places: the kernel counts each
** place once, and when another one is attached, everything is reported again. */
__attribute__((used)) PROBEFUNC lj_ltprobe_blockswitch(void)
{
  STAP_PROBE(luajit, block__switch);
#if LJ_TARGET_X64
  __asm__ volatile(".skip 32, 0x90");
#endif
}

#endif
