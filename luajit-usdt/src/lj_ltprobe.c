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
/* Registers and constants only, which every parser of the notes understands. i386 has fewer
** registers than some probes have arguments. */
#if LJ_TARGET_X86
#define STAP_SDT_ARG_CONSTRAINT	nor
#else
#define STAP_SDT_ARG_CONSTRAINT	nr
#endif
#define _SDT_HAS_SEMAPHORES	1
#if defined(__has_include) && !defined(LUAJIT_OWN_SDT)
#if !__has_include(<sys/sdt.h>)
#define LUAJIT_OWN_SDT
#endif
#endif
#ifdef LUAJIT_OWN_SDT
#include "lj_ltsdt.h"
#else
#include <sys/sdt.h>
#endif

#if LJ_TARGET_X64
#undef _SDT_NOP
/* nopw %cs:0x0(%rax,%rax,1) */
#define _SDT_NOP	nop; .byte 0x66; .byte 0x2e; .byte 0x0f; .byte 0x1f; \
			.byte 0x84; .4byte 0; .byte 0
#endif

/* One semaphore for all probes of single events: the first member of
** luajit_usdt_control, which has this second name in lj_ltctl.c; and one for each of the probes
** that flush blocks, also members of it. */
extern unsigned short luajit_semaphore
  __attribute__((visibility("hidden"), section(".probes")));
extern unsigned short luajit_block_semaphore
  __attribute__((visibility("hidden"), section(".probes")));
extern unsigned short luajit_segments_semaphore
  __attribute__((visibility("hidden"), section(".probes")));
extern unsigned short luajit_auto_semaphore
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
#define luajit_mark__begin_semaphore		luajit_semaphore
#define luajit_mark__end_semaphore		luajit_semaphore
#define luajit_coroutine__label_semaphore	luajit_semaphore
#define luajit_gc__start_semaphore		luajit_semaphore
#define luajit_gc__done_semaphore		luajit_semaphore
#define luajit_trace__start_semaphore		luajit_semaphore
#define luajit_trace__stop_semaphore		luajit_semaphore
#define luajit_trace__abort_semaphore		luajit_semaphore
#define luajit_trace__flush_semaphore		luajit_semaphore
#define luajit_trace__exit_semaphore		luajit_semaphore
#define luajit_state__open_semaphore		luajit_semaphore
#define luajit_state__close_semaphore		luajit_semaphore
#define luajit_block__switch_semaphore		luajit_block_semaphore
#define luajit_segments__switch_semaphore	luajit_segments_semaphore
#define luajit_segments__auto_semaphore		luajit_auto_semaphore

#define PROBEFUNC	__attribute__((noinline LT_NOCLONE)) void

#define PROBEDEF(func, probe, n, params, ...) \
  PROBEFUNC lj_ltprobe_##func params { STAP_PROBE##n(luajit, probe, __VA_ARGS__); }
LT_PROBES(PROBEDEF)

/* Never called, and so never hit: tracers of `block` raise the semaphore here, and
** lower it here before they detach from `block`, so that what is then flushed still
** reaches them. The nops after the site are other such places: the kernel counts each
** place once, and when another one is attached, everything is reported again. */
#if LJ_TARGET_X64
#define MORE_PLACES()	__asm__ volatile(".skip 32, 0x90")
#else
#define MORE_PLACES()	((void)0)
#endif
__attribute__((used)) PROBEFUNC lj_ltprobe_blockswitch(void)
{
  STAP_PROBE(luajit, block__switch);
  MORE_PLACES();
}

/* The same for `segments`; and a place for those of its tracers that want LTC_AUTO. */
__attribute__((used)) PROBEFUNC lj_ltprobe_segmentsswitch(void)
{
  STAP_PROBE(luajit, segments__switch);
  MORE_PLACES();
}

__attribute__((used)) PROBEFUNC lj_ltprobe_segmentsauto(void)
{
  STAP_PROBE(luajit, segments__auto);
}

#endif
