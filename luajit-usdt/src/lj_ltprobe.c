/*
** Tracing of calls: the USDT probe sites.
** SPDX-License-Identifier: MIT
**
** Invariant: each probe has exactly one site, in a function of its own, so its
** arguments are in registers. This file must be compiled with -mno-red-zone:
** a site is a one-byte nop (where the note points, good for every tool)
** followed by a five-byte nop that newer kernels turn into a call, which
** overwrites what lies below the stack pointer.
*/

#define lj_ltprobe_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <string.h>
#include <sys/mman.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"

#define SDT_USE_VARIADIC
/* Registers and constants only: what every reader of the notes can parse. */
#define STAP_SDT_ARG_CONSTRAINT	nr
#define _SDT_HAS_SEMAPHORES	1
#include <sys/sdt.h>

#if LJ_TARGET_X64
#undef _SDT_NOP
#define _SDT_NOP	nop; .byte 0x0f; .byte 0x1f; .byte 0x44; .byte 0; .byte 0
#endif

/* One semaphore for all probes of single events: the first member of
** luajit_usdt_control, which has this second name in lj_ltctl.c; and one for the
** probe that hands over blocks, a member of it, too. */
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

#ifdef __clang__  /* Makes no clones and does not know the word. */
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

/* Event words, a block at a time: see LT_PIECE_* in luatrace_format.h. */
PROBEFUNC lj_ltprobe_block(const void *p, uint32_t size, void *g, int kind,
			   uint64_t number, uint32_t count, uint32_t rec)
{
  STAP_PROBE7(luajit, block, p, size, g, kind, number, count, rec);
}

/* Never called, and so never hit: a place for tracers of `block` to raise the
** semaphore at, and to lower it before they leave `block` itself: what is flushed
** then still reaches them. The nops behind the site are other such places: the
** kernel counts each place once, and when one more is taken, all is told anew. */
__attribute__((used)) PROBEFUNC lj_ltprobe_blockswitch(void)
{
  STAP_PROBE(luajit, block__switch);
#if LJ_TARGET_X64
  __asm__ volatile(".skip 32, 0x90");
#endif
}

/* -- Wide sites in a forked child ------------------------------------------ */

#if LJ_TARGET_X64 && !LJ_TARGET_OSX

/* A kernel that turns the five-byte nop of a site into a call (Linux 6.18) lets
** a forked child have the call, but not the page that is called: it would die at
** its first event. So the child gets such a page, full of return instructions.
** Without it nothing is changed. Runs in the child of fork() only: nothing but
** system calls, one thread. */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif
#define PAGE	4096u

/* Where the wide nop of a probe's function goes to, or NULL if it is a nop: the
** one-byte nop (or a breakpoint in its place), then a call. */
static char *called_by(void (*f)(void))
{
  const unsigned char *p = (const unsigned char *)(void *)f;
  int i;
  for (i = 0; i < 12; i++)
    if ((p[i] == 0x90 || p[i] == 0xcc) && p[i+1] == 0xe8) {
      int32_t ofs;
      memcpy(&ofs, p+i+2, sizeof(ofs));
      return (char *)(uintptr_t)p + i+6 + ofs;
    }
  return NULL;
}

static void map_returns(char *to)
{
  char *page = (char *)((uintptr_t)to & ~(uintptr_t)(PAGE-1));
  char *p = (char *)mmap(page, PAGE, PROT_READ|PROT_WRITE, MAP_PRIVATE|
			 MAP_ANONYMOUS|MAP_FIXED_NOREPLACE, -1, 0);
  if (p == (char *)MAP_FAILED) return;  /* It is there: a kernel that copies it. */
  if (p != page) {  /* A kernel that does not know the flag. */
    munmap(p, PAGE);
    return;
  }
  memset(p, 0xc3, PAGE);  /* ret */
  mprotect(p, PAGE, PROT_READ|PROT_EXEC);
}

#define SITE(name)	(void (*)(void))lj_ltprobe_##name

void lj_ltprobe_forked(void)
{
  static void (*const sites[])(void) = {
    SITE(entry), SITE(return), SITE(tailcall), SITE(centry), SITE(creturn),
    SITE(unwind), SITE(create), SITE(resume), SITE(yield), SITE(end),
    SITE(stack), SITE(open), SITE(close), SITE(block)
  };
  uint32_t i;
  for (i = 0; i < sizeof(sites)/sizeof(sites[0]); i++) {
    char *to = called_by(sites[i]);
    if (to) map_returns(to);
  }
}

#else

void lj_ltprobe_forked(void)
{
}

#endif

#endif
