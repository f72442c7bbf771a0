/*
** Tracing of calls: event words flushed through a probe, a block at a time.
** SPDX-License-Identifier: MIT
**
** The words are those of a ring, in private memory of the same layout. A tracer of the
** probe luajit:block (or luajit:segments, LT_RING_SEGMENTS) copies them at each hit, so a block is
** free again as soon as it has been flushed.
**
** Invariant: the words between ring->flushed and lt->wp are written but not yet flushed;
** ring->flushed_events counts the events before them, and lt->extra the words among them
** that are not events. Descriptions are flushed before the words. */

#define lj_ltblock_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- Flushing ------------------------------------------------------------- */

/* A chunk of the stream: LT_CHUNK_*. */
void lj_ltblock_chunk(LTState *lt, const void *p, uint32_t size, int kind, uint64_t number,
		      uint32_t count)
{
  uint32_t rec = lt->ring->recording;
  if ((lt->ringflags & LT_RING_SEGMENTS))
    lj_ltprobe_segments(p, size, LT2G(lt), kind, number, count, rec);
  else
    lj_ltprobe_block(p, size, LT2G(lt), kind, number, count, rec);
}

/* Flush the descriptions, before the words that use them. */
void lj_ltblock_funcs(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  if (!lt->metahead) return;
  lj_ltblock_chunk(lt, lt->meta, (uint32_t)lt->metahead, LT_CHUNK_FUNCS, r->flushed_funcs,
		   (uint32_t)lt->metacount);
  r->flushed_funcs += lt->metacount;
  lt->metacount = r->meta_count = 0;
  lt->metahead = r->meta_head = 0;
}

/* Flush the words up to lt->wp. Returns 0 if there are none. */
int lj_ltblock_words(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  uint64_t *from = (uint64_t *)(uintptr_t)r->flushed;
  uint32_t n = (uint32_t)(lt->wp - from), events = n - lt->extra;
  lj_assertX(from <= lt->wp && n <= LT_RING_BLOCK_SIZE/8 && lt->extra <= n,
	     "bad chunk of a block");
  lj_ltblock_funcs(lt);
  if (!events) return 0;  /* Nothing but the head of a chunk. */
  lj_ltblock_chunk(lt, from, n*8, LT_CHUNK_EVENTS, r->flushed_events, events);
  st_rel(&r->flushed, (uint64_t)(uintptr_t)lt->wp);  /* First, so that nothing is read twice. */
  r->flushed_events += events;
  return 1;
}

/* A block begins at lt->wp. */
void lj_ltblock_begin(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  lt->extra = 0;
  st_rel(&r->flushed, (uint64_t)(uintptr_t)lt->wp);
}

/* Store the record that begins a block or a chunk. */
void lj_ltblock_head(LTState *lt)
{
  uint64_t *w = lt->wp;
  uint64_t now = lj_ltctl_clock(lt);
  /* The head word last: it makes the record visible. */
  w[1] = now;
  w[2] = lt->L ? lt->L->lt_id : LT_ID_NONE;
  w[3] = lt_pack(lt->tid, lt->rec);
  st_rel(&w[0], lt_word(now, lt_ext(LTX_BLOCK, 3, 0), LT_EXT));
  lt->wp = w+4;
  lt->extra += 4;
}

/* Flush everything. Unless the block is full, the next chunk gets a head of its own. */
void lj_ltblock_flush(LTState *lt)
{
  if (!lj_ltblock_words(lt) || !((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1))) return;
  lj_ltblock_begin(lt);
  if (LT_RING_BLOCK_SIZE - ((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1)) > 4*8)
    lj_ltblock_head(lt);
}

#endif
