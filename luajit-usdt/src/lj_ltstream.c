/*
** Tracing of calls: streams of blocks, from their start to their end.
** SPDX-License-Identifier: MIT
**
** The memory in which event words are collected for the probe luajit:block is mapped
** and unmapped here; in between lj_ltblock.c uses it.
**
** Invariant: the start of a stream is flushed before its first word, and its end after
** the last one, also if the program exits without lua_close(). All of it is flushed through
** one probe: a tracer that does not know segments never sees a part of a stream that has some. */

#define lj_ltstream_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <sys/mman.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define NBLOCKS		2u	/* While one is written, the other can still be read. */
#define METASIZE	65536u
#define MAPSIZE		((size_t)(1+NBLOCKS)*LT_RING_BLOCK_SIZE + METASIZE)

/* -- Open and close ------------------------------------------------------- */

static void flush_start(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  lj_ltblock_chunk(lt, r, (uint32_t)sizeof(*r), LT_CHUNK_START, r->flushed_events, 0);
}

/* Allocate memory for the VM of L and report the start of a stream. Returns 0 without
** memory. */
int lj_ltstream_open(lua_State *L)
{
  LTState *lt = L2LT(L);
  uint32_t times = lj_ltctl_blocktimes();
  struct lt_ring *r;
  uint64_t lost;
  if (!lj_ltopen_spare(lt)) return 0;
  lost = lj_ltopen_forked(lt);
  lj_ltring_scratch(lt);
  r = (struct lt_ring *)lj_ltopen_aligned(MAPSIZE, PROT_READ|PROT_WRITE);
  if (!r) return 0;
  /* A forked child keeps its parent's, to which the dispatch table corresponds. */
  if (!(lt->on & LTON_BLOCK)) lt->clock = lj_ltctl_blockclock();
  lt->segments = lt_segtimes(lt, times);
  lj_ltopen_init(L, r, times ? LT_RING_PROBE|LT_RING_SEGMENTS : LT_RING_PROBE, NBLOCKS,
		 METASIZE);
  r->wp = (uint64_t)(uintptr_t)&lt->wp;
  lt->forked = 0;
  lt->ring = r;
  lt->mapsize = MAPSIZE;
  lt->warm = NBLOCKS;
  lt->thread = lj_ltring_thread();
  flush_start(lt);
  lj_ltseg_begin(lt);
  lj_ltring_begin(lt, lost);
  return 1;
}

/* Do the tracers of blocks want another clock or another probe? Then the stream must end, and
** another one may begin. */
int lj_ltstream_outdated(LTState *lt)
{
  int segments = (lt->ringflags & LT_RING_SEGMENTS) != 0;
  return lt->clock != lj_ltctl_blockclock() ||
	 (lt_private(lt) && segments != lj_ltctl_blocksegments());
}

/* A tracer has attached later, or has missed something: report the start of the stream to
** it. The caller lets functions be described again, and reports the stack. */
void lj_ltstream_again(LTState *lt)
{
  if (lt->block == lt->scratch) return;
  lj_ltblock_flush(lt);
  if ((lt->startflags & LTF_SEGMENTS)) lt->segments = lj_ltctl_blocktimes();
  lt->ring->recording = lt->rec;
  flush_start(lt);
}

/* Report the end of the stream. */
static void flush_end(LTState *lt, int reason)
{
  struct lt_ring *r = lt->ring;
  lj_ltblock_chunk(lt, (void *)(uintptr_t)lj_ltctl_clock(lt), 0, LT_CHUNK_END,
		   r->flushed_events, (uint32_t)reason);
}

/* The stream ends: LTE_*. */
void lj_ltstream_close(LTState *lt, int reason)
{
  struct lt_ring *r = lt->ring;
  if (r) {
    if (lt->block != lt->scratch) lj_ltblock_words(lt);
    flush_end(lt, reason);
  }
  lt->clock = LJ_LT_CLOCK;
  lj_ltopen_drop(lt);
  if (lt->scratch) munmap(lt->scratch, LT_RING_BLOCK_SIZE);
  lt->scratch = lt->block = lt->wp = NULL;
}

/* exit() without lua_close(): flush the rest. Another thread may still run Lua. */
static __attribute__((destructor)) void flush_rest(void)
{
  uintptr_t self = lj_ltring_thread();
  LTState *lt;
  if (!luajit_usdt_control.block && !luajit_usdt_control.segments) return;
  lj_ltstate_lock();
  for (lt = lt_first(); lt; lt = lt->next)
    if (lt->thread == self && lt_private(lt) && lt->block != lt->scratch) {
      lj_ltblock_flush(lt);
      flush_end(lt, LT_CHUNK_EXIT);
    }
  lj_ltstate_unlock();
}

#endif
