/*
** Tracing of calls: event words handed over by a probe, a block at a time.
** SPDX-License-Identifier: MIT
**
** The words are those of a ring, in private memory of the same layout. A tracer of
** the probe luajit:block copies them while it is hit, so a block is free again as
** soon as it was handed over.
**
** Invariant: what lies between ring->told and lt->wp was written and not yet
** handed over; ring->told_events counts the events before it, and lt->extra the
** words in it that are no events. Descriptions are handed over before the words.
*/

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

#define NBLOCKS		2u	/* While one is written, the other can still be read. */
#define METASIZE	65536u
#define MAPSIZE		((size_t)(1+NBLOCKS)*LT_RING_BLOCK_SIZE + METASIZE)

/* -- Handing over --------------------------------------------------------- */

/* The descriptions. They go first. */
void lj_ltblock_funcs(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  if (!lt->metahead) return;
  lj_ltprobe_block(lt->meta, (uint32_t)lt->metahead, LT2G(lt),
		   LT_PIECE_FUNCS, r->told_funcs, (uint32_t)lt->metacount,
		   r->recording);
  r->told_funcs += lt->metacount;
  lt->metacount = r->meta_count = 0;
  lt->metahead = r->meta_head = 0;
}

/* The words up to lt->wp. Returns 0 if there are none. */
static int hand_words(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  uint64_t *from = (uint64_t *)(uintptr_t)r->told;
  uint32_t n = (uint32_t)(lt->wp - from), events = n - lt->extra;
  lj_ltblock_funcs(lt);
  if (!events) return 0;  /* Nothing but the head of a piece. */
  lj_ltprobe_block(from, n*8, LT2G(lt), LT_PIECE_EVENTS, r->told_events,
		   events, r->recording);
  st_rel(&r->told, (uint64_t)(uintptr_t)lt->wp);  /* First: nothing is read twice. */
  r->told_events += events;
  return 1;
}

/* A block begins at lt->wp. */
void lj_ltblock_begin(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  lt->extra = 0;
  st_rel(&r->told, (uint64_t)(uintptr_t)lt->wp);
}

/* Hand over what there is. Unless the block is full, the next piece begins with
** a head of its own. */
void lj_ltblock_hand(LTState *lt)
{
  if (!hand_words(lt) || !((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1))) return;
  lj_ltblock_begin(lt);
  if (LT_RING_BLOCK_SIZE - ((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1)) > 4*8)
    lj_ltring_head(lt);
}

/* -- Open and close ------------------------------------------------------- */

static void hand_start(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  lj_ltprobe_block(r, (uint32_t)sizeof(*r), LT2G(lt), LT_PIECE_START,
		   r->told_events, 0, r->recording);
}

/* Get memory for the state of L and say that a stream begins. Returns 0 without
** memory. */
int lj_ltblock_open(lua_State *L)
{
  LTState *lt = L2LT(L);
  struct lt_ring *r;
  uint64_t lost;
  if (!lj_ltring_spare(lt)) return 0;
  lost = lj_ltring_forked(lt);
  lj_ltring_scratch(lt);
  r = (struct lt_ring *)lj_ltring_aligned(MAPSIZE, PROT_READ|PROT_WRITE);
  if (!r) return 0;
  lj_ltring_init(L, r, LT_RING_PROBE, NBLOCKS, METASIZE);
  r->wp = (uint64_t)(uintptr_t)&lt->wp;
  lt->forked = 0;
  lt->ring = r;
  lt->mapsize = MAPSIZE;
  lt->warm = NBLOCKS;
  lt->thread = lj_ltring_thread();
  hand_start(lt);
  lj_ltring_begin(lt, lost);
  return 1;
}

/* A tracer has come later, or has missed something: it is told of the stream
** anew. The caller sees to it that functions are described again, and reports the
** stack. */
void lj_ltblock_again(LTState *lt)
{
  if (lt->block == lt->scratch) return;
  lj_ltblock_hand(lt);
  lt->ring->recording = lt->rec;
  hand_start(lt);
}

/* Say that the stream ends. */
static void hand_end(LTState *lt, int reason)
{
  struct lt_ring *r = lt->ring;
  lj_ltprobe_block((void *)(uintptr_t)lj_ltring_clock(), 0, LT2G(lt),
		   LT_PIECE_END, r->told_events, (uint32_t)reason,
		   r->recording);
}

/* The stream ends: LTE_*. */
void lj_ltblock_close(LTState *lt, int reason)
{
  struct lt_ring *r = lt->ring;
  if (r) {
    if (lt->block != lt->scratch) hand_words(lt);
    hand_end(lt, reason);
  }
  lj_ltring_drop(lt);
  if (lt->scratch) munmap(lt->scratch, LT_RING_BLOCK_SIZE);
  lt->scratch = lt->block = lt->wp = NULL;
}

/* exit() without lua_close(): what there is. Another thread may run Lua still. */
static __attribute__((destructor)) void hand_rest(void)
{
  uintptr_t self = lj_ltring_thread();
  LTState *lt;
  if (!luajit_usdt_control.block) return;
  lj_ltring_list(1);
  for (lt = (LTState *)(uintptr_t)luajit_usdt_control.states; lt; lt = lt->next)
    if (lt->thread == self && lt_private(lt) && lt->block != lt->scratch) {
      lj_ltblock_hand(lt);
      hand_end(lt, LT_PIECE_EXIT);
    }
  lj_ltring_list(0);
}

#endif
