/*
** Tracing of calls: the ring of event words in shared memory.
** SPDX-License-Identifier: MIT
**
** Invariant: while LTON_WORDS is set, lt->wp points into a block (of the ring, or the
** private scratch block while events are being lost) with space for at least one word,
** so that an event is one store and one test. Everything that is not one word goes
** through reserve(), which never lets a record straddle two blocks.
** luatrace_format.h defines the layout. If the memory is private (lt_private), a full
** block is flushed at once and is free again. The memory of a ring is shared, but
** nothing in it can redirect a store: the address of the next store follows from
** members of LTState alone. Of the header only the recorder's words are read, each
** once; whatever they hold costs events, or ends the recording. */

#define lj_ltring_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define BLOCKWORDS	(LT_RING_BLOCK_SIZE/8)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* Ticks per second; a guess on the high side until the recorder has reported it, and if
** the value is implausible. */
static uint64_t ring_hz(LTState *lt)
{
  uint32_t khz = ld_acq(lt->ring ? &lt->ring->tick_khz :
				   &luajit_usdt_control.tick_khz);
  if (lt->clock == LT_CLOCK_MONOTONIC) return 1000000000u;
  if (lt->clock == LT_CLOCK_CNTVCT) return lj_ltctl_hz();
  return khz >= 1000 && khz <= 20000000 ? (uint64_t)khz*1000 : 4000000000u;
}

/* -- Blocks --------------------------------------------------------------- */

/* Count the records in n words. */
static uint64_t count_records(const uint64_t *w, size_t n)
{
  uint64_t k = 0;
  size_t i = 0;
  while (i < n && w[i]) {
    uint32_t p = lt_payload(w[i]), kind = lt_kind(w[i]);
    i++;
    if (kind == LT_EXT) {
      if (lt_ext_sub(p) == LTX_PAD || lt_ext_sub(p) == LTX_BLOCK) k--;
      i += lt_ext_nwords(p);
    } else if (p == LT_PAYLOAD_BIG && kind != LT_SUSPEND) {
      i++;
    }
    k++;
  }
  return k;
}

/* Is a block of the ring free? */
static int ring_free(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  return r && (lt_private(lt) || lt->head - ld_acq(&r->tail) < lt->nblocks);
}

/* Populate a part of the ring with pages, so that storing an event never faults. All
** blocks at once would take 4 ms before the first event. */
void lj_ltring_warm(char *p, size_t size)
{
  size_t i;
  if (!madvise(p, size, MADV_POPULATE_WRITE) || errno != EINVAL) return;
  for (i = 0; i < size; i += 4096)  /* Kernels older than 5.14. */
    __atomic_fetch_or((uint32_t *)(p+i), 0, __ATOMIC_RELAXED);
}

/* In the first round through the ring, populate a few blocks ahead. Returns 0: nothing to do. */
static int warm_ahead(LTState *lt)
{
  uint32_t n = WARMBLOCKS;
  if (LJ_LIKELY(lt->warm >= lt->nblocks) || lt->head+2 < lt->warm) return 0;
  if (n > lt->nblocks - lt->warm) n = lt->nblocks - lt->warm;
  lj_ltring_warm((char *)(lt->data + (size_t)lt->warm*BLOCKWORDS),
		 (size_t)n*LT_RING_BLOCK_SIZE);
  lt->warm += n;
  return 1;
}

/* The same between two events, as a call of a function of our own: the time is not the program's.
** Both words are in the block that has just begun. Frames of a stack belong together, and a segment is
** of the block before as long as it is not stored. */
static void warm_between(LTState *lt)
{
  uint64_t now = lj_ltctl_clock(lt);
  uint32_t id;
  if (!warm_ahead(lt) || lt_private(lt) || !lt->L || lt->reports) return;
  id = lj_ltring_own(lt);
  lt_ring_store(lt, now, id, LT_ENTRY);
  lt_ring_store(lt, lj_ltctl_clock(lt), id, LT_RETURN);
}

/* Enter the block with number head. */
static void enter_block(LTState *lt)
{
  lt->block = lt->data + (size_t)(lt->head % lt->nblocks)*BLOCKWORDS;
  lt->wp = lt->block;
  lt->seggo &= ~LT_SEGGO_LOST;
  if (lt_private(lt)) lj_ltblock_begin(lt);
  lj_ltblock_head(lt);
}

void lj_ltring_scratch(LTState *lt)
{
  lt->block = lt->wp = lt->scratch;
  lt->seggo |= LT_SEGGO_LOST;
  lt->segpack = LT_PACK_CLOSED;  /* It has no items: they are stored before anything else. */
  memset(lt->scratch, 0, LT_RING_BLOCK_SIZE);
}

/* Count the events in the scratch block. */
void lj_ltring_count(LTState *lt)
{
  uint64_t n = count_records(lt->scratch, (size_t)(lt->wp - lt->scratch));
  lt->lost += n;
  if (lt->ring) lt->ring->lost += n;
}

/* A word in the scratch block stands for n more events than one. */
void lj_ltring_lose(LTState *lt, uint64_t n)
{
  lt->lost += n;
  if (lt->ring) lt->ring->lost += n;
}

/* Is this last sign of life of the recorder too old? */
int lj_ltring_orphaned(LTState *lt, uint64_t alive)
{
  uint64_t now = lj_ltctl_clock(lt);
  return alive && now > alive && now - alive > LT_ORPHAN_SECONDS*ring_hz(lt);
}

/* The recorder is gone: no other VM is to start a recording for it. */
void lj_ltring_abandon(LTState *lt)
{
  uint8_t token = (uint8_t)lt->token;
  __atomic_compare_exchange_n(&luajit_usdt_control.ring, &token, 0, 0,
			      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Request the end if the recorder no longer reads the ring, or has ended the recording. */
static void check_recorder(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  if (!r) return;
  if (lt_private(lt)) {  /* Compiled code checks lt->stop only. */
    if (lj_ltctl_word() != lt->seen) lt->stop |= LTSTOP_LOOK;
    return;
  }
  if (ld_acq(&r->detach))
    lt->stop |= LTSTOP_OFF;
  /* A ring that waits to be taken has no sign of life of its own: there may be many. */
  if (lj_ltring_orphaned(lt, ld_acq(lt->fd >= 0 ? &luajit_usdt_control.alive :
						  &r->alive))) {
    lt->endreason = LTE_ORPHAN;
    lt->stop |= LTSTOP_OFF;
  }
  if (lt->fd >= 0 && ld_acq(&r->taken)) lj_ltctl_closefd(lt);
  if (luajit_usdt_control.ring != lt->token)
    lt->stop |= LTSTOP_OFF;
}

/* LT_RING_BLOCK: wait for a free block, unless the recorder claims to have read blocks
** that did not exist: it would never free one. */
static void wait_free(LTState *lt)
{
  struct timespec ts = { 0, 50000 };
  while (!ring_free(lt) && !(lt->stop & LTSTOP_OFF)) {
    if (lt->head - ld_acq(&lt->ring->tail) > lt->nblocks) {
      lt->stop |= LTSTOP_OFF;
      break;
    }
    nanosleep(&ts, NULL);
    check_recorder(lt);
  }
}

/* lt->wp has reached the end of its block. Called from compiled code with all registers
** saved, so this must neither throw nor use the Lua stack. */
void LJ_FASTCALL lj_ltring_full(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  uint64_t now = lj_ltctl_clock(lt);
  int losing = lt->block == lt->scratch;
  int err = errno;
  lj_assertX(lt->wp == lt->block + BLOCKWORDS, "not at the end of a block");
  if (losing) {
    lj_ltring_count(lt);
  } else {
    if (lt_private(lt)) lj_ltblock_flush(lt);
    st_rel(&r->head, ++lt->head);
  }
  check_recorder(lt);
  if (lt->thread != lj_ltring_thread()) lt->thread = 0;  /* Report it. */
  if (!losing && r && (lt->ringflags & LT_RING_BLOCK) && !ring_free(lt))
    wait_free(lt);
  if (!losing && ring_free(lt)) {
    enter_block(lt);
    warm_between(lt);
  } else {
    if (!losing) {
      lt->lost = 0;
      lt->lostsince = now;
      r->lost_since = now;
    }
    if (losing && (ring_free(lt) || !r))
      lt->stop |= LTSTOP_RESYNC;
    lj_ltring_scratch(lt);
  }
  errno = err;
}

#if LJ_LTMACHINE
LT_ASM_SAVED(lj_ltring_slow, lj_ltring_slowc)

LJ_FUNCA void lj_ltring_slowc(void *vm)
{
  lj_ltring_full(lt_asmstate(vm));
}
#endif

/* Leave the scratch block if a block is free again. The caller reports the stack.
** Returns 0 if none is free. */
int lj_ltring_space(LTState *lt)
{
  uint64_t lost;
  if (lt->block != lt->scratch) return 1;
  if (!ring_free(lt)) return 0;
  lj_ltring_count(lt);
  lost = lt->lost;
  lt->lost = 0;
  lt->ring->lost_since = 0;
  warm_ahead(lt);
  enter_block(lt);
  if (lost)
    lj_ltring_ext(lt, LTX_LOSS, 0, 2, lost+1, lt->lostsince);
  return 1;
}

/* When the next tick is due: words are flushed more often than a ring is checked, but
** check soon if the recorder may have taken the ring, to close our descriptor. */
static void set_deadline(LTState *lt, uint64_t now)
{
  lt->deadline = now + ring_hz(lt)/(lt_private(lt) || lt->fd >= 0 ? 100 : 4);
}

/* Store the first words in lt->ring. lost: events that a forked child has lost so far. */
void lj_ltring_begin(LTState *lt, uint64_t lost)
{
  lt->lost = 0;
  lt->stop &= ~(uint32_t)LTSTOP_RESYNC;  /* After a fork everything is reported again. */
  enter_block(lt);
  set_deadline(lt, lj_ltctl_clock(lt));
  lj_ltring_ext(lt, LTX_START, 0, 2, lt->start, lt_pack(lt->rec, lt->startflags));
  if (lost) {
    lt->ring->lost += lost;
    lj_ltring_ext(lt, LTX_LOSS, 1, 2, lost+1, lt->lostsince);
  }
}

/* Periodic work, called by events that are not inlined. */
void lj_ltring_tick(LTState *lt, uint64_t now)
{
  set_deadline(lt, now);
  check_recorder(lt);
  if (lt_private(lt)) {
    if (lt->block != lt->scratch) lj_ltblock_flush(lt);
    return;
  }
  if (lt->block == lt->scratch) {
    if (ring_free(lt)) lt->stop |= LTSTOP_RESYNC;
  } else {
    lj_ltring_ext(lt, LTX_TIME, 0, 1, 0, 0);
  }
}

/* -- Records of more than one word ---------------------------------------- */

/* Reserve n words in one block. */
static uint64_t *reserve(LTState *lt, uint32_t n)
{
  for (;;) {
    size_t left = BLOCKWORDS - (size_t)(lt->wp - lt->block);
    uint64_t now;
    lj_assertX(left > 0 && left <= BLOCKWORDS, "event words outside of their block");
    if (left >= n) return lt->wp;
    now = lj_ltctl_clock(lt);
    lt->extra += (uint32_t)left;
    while (left--)
      *lt->wp++ = lt_word(now, lt_ext(LTX_PAD, 0, 0), LT_EXT);
    lj_ltring_full(lt);
  }
}

/* Make sure that a record of n words fits into the block. Callers that change lt->L
** call it first: a block that begins before the record must name the old coroutine, one
** that begins after it the new one. */
void lj_ltring_need(LTState *lt, uint32_t n)
{
  reserve(lt, n);
}

/* Commit n words at w: words 1.. are stored, the first one makes them visible. */
static void commit(LTState *lt, uint64_t *w, uint32_t n, uint64_t head)
{
  st_rel(&w[0], head);
  lt->wp = w+n;
  lt->extra += n-1;
  if (((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1)) == 0)
    lj_ltring_full(lt);
}

/* The time of events that are stored as n words in one block: read once, not before the block begins. */
uint64_t lj_ltring_group(LTState *lt, uint32_t n)
{
  uint64_t now = lt_ring_tick(lt), *w = lt->wp;
  return reserve(lt, n) == w ? now : lj_ltctl_clock(lt);
}

/* Store an LT_EXT record with n (0..2) continuation words, none of them 0, of the time now. There is
** space for it in the block. */
void lj_ltring_extat(LTState *lt, uint64_t now, uint32_t sub, uint32_t arg, uint32_t n,
		     uint64_t a, uint64_t b)
{
  uint64_t *w = lt->wp;
  if (n > 0) w[1] = a ? a : now;  /* LTX_TIME: the time of the word itself. */
  if (n > 1) w[2] = b;
  commit(lt, w, n+1, lt_word(now, lt_ext(sub, n, arg), LT_EXT));
}

/* The same, of the current time, wherever there is space. */
void lj_ltring_ext(LTState *lt, uint32_t sub, uint32_t arg, uint32_t n,
		   uint64_t a, uint64_t b)
{
  reserve(lt, n+1);
  lj_ltring_extat(lt, lj_ltctl_clock(lt), sub, arg, n, a, b);
}

/* Store an LT_EXT record with 1+n (1..15) continuation words, none of them 0. */
void lj_ltring_words(LTState *lt, uint32_t sub, uint32_t arg, uint64_t first, uint32_t n,
		     const uint64_t *more)
{
  uint64_t *w = reserve(lt, n+2);
  uint64_t now = lj_ltctl_clock(lt);
  w[1] = first;
  if (n) memcpy(w+2, more, n*sizeof(*w));
  commit(lt, w, n+2, lt_word(now, lt_ext(sub, n+1, arg), LT_EXT));
}

/* Store an event whose payload does not fit into one word. */
void lj_ltring_big(LTState *lt, uint32_t kind, uint32_t payload)
{
  uint64_t *w = reserve(lt, 2);
  uint64_t now = lj_ltctl_clock(lt);
  w[1] = payload;
  commit(lt, w, 2, lt_word(now, LT_PAYLOAD_BIG, kind));
}

/* Store a segment: a word, or with the iterations of n levels + 1. now: 0: without a time. */
void lj_ltring_segment(LTState *lt, uint32_t id, uint32_t n, const uint64_t *iterations,
		       uint64_t now)
{
  uint64_t *w;
  if (!n) {
    lj_ltring_put(lt, now, LT_SEGMENT_FIRST+id, LT_SUSPEND)
    return;
  }
  w = reserve(lt, n+2);
  w[1] = (uint64_t)id+1;
  memcpy(w+2, iterations, n*sizeof(*w));
  commit(lt, w, n+2, lt_word(now, lt_ext(LTX_SEGMENT, n+1, 0), LT_EXT));
}

/* Store a word of several segments. */
void lj_ltring_packed(LTState *lt, uint64_t word)
{
  commit(lt, lt->wp, 1, word);
}

/* The VM runs on another thread than before. */
void lj_ltring_note(LTState *lt)
{
  lt->thread = lj_ltring_thread();
  lt->tid = (int32_t)syscall(SYS_gettid);
  lj_ltring_ext(lt, LTX_THREAD, 0, 1, (uint64_t)(uint32_t)lt->tid, 0);
}

/* -- Function descriptions ------------------------------------------------ */

static char *meta_at(LTState *lt, uint64_t pos)
{
  return lt->meta + (size_t)(pos & (lt->metasize-1));
}

/* Wait a moment for space in the meta area, but not repeatedly for a recorder that
** reads nothing. */
static int meta_space(LTState *lt, uint32_t need)
{
  struct lt_ring *r = lt->ring;
  int i;
  if (lt_private(lt)) {
    if (lt->metasize - lt->metahead < need) lj_ltblock_funcs(lt);
    return 1;
  }
  for (i = 0; i < 200; i++) {
    struct timespec ts = { 0, 100000 };
    uint64_t tail = ld_acq(&r->meta_tail), used = lt->metahead - tail;
    if (used <= lt->metasize && lt->metasize - used >= need) return 1;
    if (tail == lt->metafull) break;
    if (i == 199) lt->metafull = tail;
    nanosleep(&ts, NULL);
  }
  st_rel(&r->meta_lost, ++lt->metalost);
  return 0;
}

static size_t cut(const char *s)
{
  size_t n = s ? strlen(s) : 0;
  return n < LT_FUNC_STR_MAX ? n : LT_FUNC_STR_MAX;
}

/* Append a record of the meta area: its size, then, once it is filled in, lj_ltring_metadone. NULL
** if there was no space. */
char *lj_ltring_metarecord(LTState *lt, uint32_t size)
{
  uint64_t pos;
  uint32_t tail;
  char *p;
  if (!lt->ring || !meta_space(lt, 2*size)) return NULL;
  pos = lt->metahead;
  tail = (uint32_t)(lt->metasize - (pos & (lt->metasize-1)));
  if (tail < size) {  /* Does not fit before the end: skip to the start. */
    uint32_t wrap[2];
    wrap[0] = tail; wrap[1] = LT_META_WRAP;
    memcpy(meta_at(lt, pos), wrap, 8);
    lt->metahead = pos + tail;
  }
  p = meta_at(lt, lt->metahead);
  memset(p, 0, size);
  return p;
}

void lj_ltring_metadone(LTState *lt, uint32_t size)
{
  lt->metahead += size;
  st_rel(&lt->ring->meta_head, lt->metahead);
  lt->ring->meta_count = ++lt->metacount;
}

/* Is there that much space? */
int lj_ltring_metaspace(LTState *lt, uint32_t need)
{
  return lt->ring && meta_space(lt, need);
}

/* Describe a function to the recorder: `what` without its sizes, and the strings (or
** NULL). Returns 0 if there was no space. */
int lj_ltring_func(LTState *lt, const struct lt_func *what, const char *chunk,
		   const char *name)
{
  struct lt_func f = *what;
  size_t nc = cut(chunk), nn = cut(name);
  uint32_t size = (uint32_t)(sizeof(f) + nc+1 + nn+1 + 7) & ~7u;
  char *p = lj_ltring_metarecord(lt, size);
  if (!p) return 0;
  f.size = size;
  f.chunk_len = (uint16_t)nc;
  f.name_len = (uint16_t)nn;
  memcpy(p, &f, sizeof(f));
  if (nc) memcpy(p+sizeof(f), chunk, nc);
  if (nn) memcpy(p+sizeof(f)+nc+1, name, nn);
  lj_ltring_metadone(lt, size);
  return 1;
}

/* Id of what stands for work of ours between the program's. It needs no memory: wherever an event is
** stored it may be called. */
uint32_t lj_ltring_own(LTState *lt)
{
  struct lt_func what = { 0 };
  if (!lt->ownid) lt->ownid = ++lt->lastfunc;
  if (lt->ownrec == lt->rec) return lt->ownid;
  what.type = LT_FUNC_FF;
  what.id = lt->ownid;
  what.ffid = LT_FF_OWN;
  lj_ltring_func(lt, &what, NULL, "[luatrace]");
  lt->ownrec = lt->rec;
  return lt->ownid;
}

#endif
