/*
** Tracing of calls: segments, the events of compiled code at the cost of its loops.
** SPDX-License-Identifier: MIT
**
** Between the entry of a trace and an exit from it the sequence of events is fixed when the
** trace is compiled. So compiled code stores no events: the VM describes each trace (struct
** lt_segment), counts iterations, and stores one word where the path of traces is left: at an
** exit to the interpreter (lj_ltseg_exit), and at the end of a trace that links to another root
** trace or to the interpreter (asm_ltlink, lj_ltseg_link). Where a root trace follows that is described,
** too, the place waits in LTState.segpack until there are three for one word (asm_lttail,
** lj_ltseg_full), or something else is stored. A side trace begins where its parent was left, so
** the place at the end names the whole path, and side traces store nothing at their heads.
**
** Invariant: all counters are 0 when a root trace is entered from elsewhere than its own end. The
** events of a place are those before its snapshot (SnapShot.nev): exactly those that the interpreter
** does not make again when it continues there. LTState.segpack is empty whenever a trace runs that is
** not described, and whenever none runs. It is closed while LTState.seggo is not 0, so that compiled
** code need not look at that: a link that finds no space calls the VM anyway.
**
** A trace has a description or events of its own, never both; a side trace of one that has a
** description has one, too, or is not compiled.
**
** With LTC_AUTO that is decided when the trace is complete. Until then it has both: events are
** instructions of the intermediate code, for which no machine code is made if the trace is described. */

#define lj_ltseg_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_HASJIT

#include <errno.h>
#include <string.h>

#include "lj_ir.h"
#include "lj_jit.h"
#include "lj_ircall.h"
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#if LJ_LTSEGMENTS

#define J2LT(J)		(&J2GG(J)->lt)

/* A loop that is not left is reported after this many ticks (1 to 2 ms), or events. */
#if LJ_TARGET_ARM64
#define TICKS_IN_MS	(lj_ltctl_hz()/1000)
#else
#define TICKS_IN_MS	3000000u  /* At most, about. */
#endif
#define REPORT_TICKS	TICKS_IN_MS
#define REPORT_EVENTS	(1u << 20)
/* Iterations until compiled code calls lj_ltseg_slow: at first, and at most. */
#define STEP_FIRST	512u
#define STEP_MAX	4096u
/* What an event of compiled code takes, see lj_ltcost_code(). */
#define WEIGHT_EVENT	40u
/* Of so many words of links one has a time: fewer (up to TIMED_MOST) if these times are closer together
** than the first number of ticks, more if they are further apart than the second one. */
#define TIMED_MOST	64u
#define TIMED_NEAR	(TICKS_IN_MS/1000)
#define TIMED_FAR	(TICKS_IN_MS/500)

/* -- Counters -------------------------------------------------------------- */

/* Iterations on a level since the last word. */
static uint32_t counted(LTState *lt, uint32_t level)
{
  return lt->count[level].start - lt->count[level].left;
}

static void seg_reset(LTState *lt, uint32_t levels)
{
  uint32_t i;
  for (i = 0; i < levels; i++)
    lt->count[i].start = lt->count[i].left = STEP_FIRST;
  lt->segstep = STEP_FIRST;
}

/* -- Words ----------------------------------------------------------------- */

/* The number of events for which a word stands. */
static uint64_t count_events(LTState *lt, LTSegment *s, uint32_t nev)
{
  uint64_t n = s->path + nev - lt->segtold;
  for (;;) {
    if (s->counts) n += (uint64_t)counted(lt, s->level-1u)*s->nevents;
    if (!s->parent) return n;
    s = &lt->segment[s->parent];
  }
}

/* Let n words have space in the block: nothing comes between them and the events before. */
static void seg_need(LTState *lt, uint32_t n)
{
  uint32_t reports = lt->reports;
  lt->reports = 1;
  lj_ltring_need(lt, n);
  lt->reports = reports;
}

/* The bit above n items of lt->segpack. */
#define pack_top(n)	((uint64_t)LT_PACK_NONE << LT_PACKED_BITS*(n))

/* There are no links that are not stored yet. */
static void pack_empty(LTState *lt)
{
  lt->segpack = lt->seggo ? LT_PACK_CLOSED : LT_PACK_NONE;
}

/* Store the links that are not stored yet, in one word. They come before everything else that is
** stored while a trace runs or when it is left, so no event is lost before they are. */
static void pack_store(LTState *lt)
{
  uint64_t p = lt->segpack;
  uint32_t n = LT_PACKED_ITEMS;
  lj_assertX(!lt->seggo || p == LT_PACK_CLOSED, "links are packed that must call the VM");
  if (p <= LT_PACK_NONE) return;  /* 0: there has been no recording. */
  pack_empty(lt);
  if (p == LT_PACK_CLOSED) return;
  while (p < pack_top(n)) n--;
  if (lt->forked || !lt_ringon(lt)) return;  /* They are the parent's. */
  if (lt->segdue > 1) lt->segdue--;
  lj_ltring_packed(lt, lt_packed_word(p ^ pack_top(n)));
}

static uint32_t random_bits(LTState *lt)
{
  lt->segrandom = lt->segrandom*1664525u + 1013904223u;
  return lt->segrandom >> 16;
}

/* Is the next word of a link one that has a time? Until one has. */
static int link_due(LTState *lt)
{
  if (lt->segdue <= 1) return 1;
  lt->segdue--;
  return 0;
}

/* Reading the clock takes most of what a word costs, and tells least where words are close together. The
** distance varies, or in a program with a period always the same words might have a time. */
static uint64_t link_time(LTState *lt)
{
  uint64_t now = lj_ltctl_clock(lt), gap = now - lt->segtimed;
  lt->segtimed = now;
  if (gap < TIMED_NEAR && lt->segevery < TIMED_MOST)
    lt->segevery *= 2;
  else if (gap > TIMED_FAR && lt->segevery > 1)
    lt->segevery /= 2;
  lt->segdue = (lt->segevery+1)/2 + (random_bits(lt)*lt->segevery >> 16);
  lt->segsoon = (lt->segdue+1)/2;
  return now;
}

/* Store the word of a place of s, with nev events of the iteration before it. */
static void seg_store(LTState *lt, LTSegment *s, uint32_t id, uint32_t nev, int timed)
{
  uint64_t w[LT_SEGMENT_LEVELS], n;
  uint32_t i, levels = 0;
  pack_store(lt);
  n = count_events(lt, s, nev);
  for (i = 0; i < s->level; i++) {
    uint32_t k = counted(lt, i);
    w[i] = (uint64_t)k+1;
    if (k) levels = i+1;
  }
  seg_reset(lt, s->level);
  if (!n && (!(lt->seggo & ~LT_SEGGO_LOST) || lt->block == lt->scratch)) return;
  if (lt->forked || !lt_ringon(lt)) return;  /* They are the parent's. */
  seg_need(lt, levels ? levels+2 : 1);
  if (lt->block == lt->scratch) lj_ltring_lose(lt, n-1);
  timed |= (lt->seggo & LT_SEGGO_TIME) || link_due(lt);
  lj_ltring_segment(lt, id, levels, w, timed ? link_time(lt) : 0);
}

/* The path ends at a place of s. */
static void seg_leave(LTState *lt, LTSegment *s, uint32_t id, uint32_t nev, int timed)
{
  seg_store(lt, s, id, nev, timed);
  lt->segtold = 0;
  lt->seggo &= LT_SEGGO_LOST;
  pack_empty(lt);
}

/* What was before a place inside s is stored; s goes on. */
static void seg_mark(LTState *lt, LTSegment *s, uint32_t id, uint32_t nev)
{
  seg_store(lt, s, id, nev, 1);
  lt->segtold = s->path + nev;
  lt->seggo |= LT_SEGGO_MARK;
  pack_empty(lt);
}

/* The description of the trace that runs, or NULL. */
static LTSegment *seg_running(LTState *lt)
{
  int32_t no = lt_runningtrace(lt);
  if (no <= 0 || (uint32_t)no >= lt->sizesegment || !lt->segment[no].id) return NULL;
  return &lt->segment[no];
}

/* -- What is called while a trace runs -------------------------------------- */

/* A trace is left for the interpreter. */
void lj_ltseg_exit(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *s;
  lj_ltseg_flush(lt);
  if (J->parent >= lt->sizesegment) return;
  s = &lt->segment[J->parent];
  if (!s->id) return;
  if (lt_ringon(lt) && !lt->forked && lj_ltctl_clock(lt) >= lt->deadline)
    lj_ltring_tick(lt, lj_ltctl_clock(lt));
  seg_leave(lt, s, s->id + s->nmarks + J->exitno, traceref(J, J->parent)->snap[J->exitno].nev, 1);
}

/* What comes next is stored otherwise. */
void lj_ltseg_flush(LTState *lt)
{
  int err = errno;
  pack_store(lt);
  errno = err;
}

/* The items of a link of s with its iterations, or 0 if no word has space for them. */
static uint64_t pack_items(LTState *lt, LTSegment *s, uint32_t id, uint32_t *n)
{
  uint64_t items = 0;
  uint32_t i;
  *n = 1;
  for (i = 0; i < s->level; i++) {
    uint32_t k = counted(lt, i);
    if (!k) continue;
    if (i >= LT_PACKED_LEVELS || k >= LT_PACKED_COUNTS || ++*n > LT_PACKED_ITEMS) return 0;
    items = (items | i*LT_PACKED_COUNTS | k) << LT_PACKED_BITS;
  }
  return items | (LT_PACKED_PLACE+id);
}

/* A link joins others in a word, together with its iterations. False: it cannot. */
static int pack_counted(LTState *lt, LTSegment *s, uint32_t id)
{
  uint32_t i, n;
  uint64_t items;
  if (!s->packs || lt->seggo || !(items = pack_items(lt, s, id, &n))) return 0;
  if (lt->segpack >= pack_top(LT_PACKED_ITEMS+1-n)) {  /* They do not fit. */
    if (link_due(lt)) return 0;
    pack_store(lt);
    if (lt->seggo) return 0;
  }
  for (i = 0; i < s->level; i++) lt->count[i].start = lt->count[i].left;
  lt->segpack = lt->segpack << n*LT_PACKED_BITS | items;
  if (lt->segpack >= pack_top(LT_PACKED_ITEMS)) pack_store(lt);
  return 1;
}

/* A link that joins no others. */
static LJ_NOINLINE void link_leave(LTState *lt, LTSegment *s, uint32_t id, uint32_t nev)
{
  int err = errno;
  seg_leave(lt, s, id, nev, 0);
  errno = err;
}

/* A link to a trace that repeats without counting: it has a time if one is due soon, and then the next
** word, too. So both times are close to how long that trace ran, which nothing else tells. Not always the
** first such link after a word. */
static int link_open(LTState *lt, LTSegment *s, uint32_t id, uint32_t nev)
{
  int err = errno;
  if (!s->opens || lt->segdue > lt->segsoon) return 0;
  if (lt->segevery > 1 && (random_bits(lt) & 1)) return 0;
  seg_leave(lt, s, id, nev, 1);
  lt->seggo |= LT_SEGGO_TIME;
  pack_empty(lt);
  errno = err;
  return 1;
}

/* A trace ends: it links to another one, or to the interpreter. */
void lj_ltseg_link(LTState *lt, uint32_t id, uint32_t nev)
{
  LTSegment *s = seg_running(lt);
  lj_assertX(s != NULL, "link of a trace without description");
  if (!link_open(lt, s, id, nev) && !pack_counted(lt, s, id)) link_leave(lt, s, id, nev);
}

/* The number of events in an iteration of the trace that runs before its link. */
static uint32_t link_events(LTState *lt)
{
  GCtrace *T = traceref(G2J(LT2G(lt)), (TraceNo)lt_runningtrace(lt));
  return T->snap[T->nsnap-1].nev;
}

/* lj_ltseg_full, where it is more than a word. */
static LJ_NOINLINE void pack_full(LTState *lt)
{
  uint64_t p = lt->segpack ^ pack_top(LT_PACKED_ITEMS), *w = lt->wp;
  uint32_t place = ((uint32_t)p & (LT_PACKED-1)) - LT_PACKED_PLACE;
  uint32_t before = (uint32_t)(p >> LT_PACKED_BITS) & (LT_PACKED-1);
  pack_empty(lt);
  if (lt->seggo) {  /* It was closed. */
    lj_ltseg_link(lt, place, link_events(lt));
  } else if (lt->segdue <= 1 && before && before < LT_PACKED_PLACE) {  /* Iterations of this link. */
    lt->segpack = p >> 2*LT_PACKED_BITS | pack_top(1);
    lt->count[before / LT_PACKED_COUNTS].start += before % LT_PACKED_COUNTS;
    seg_leave(lt, seg_running(lt), place, link_events(lt), 1);
  } else if (link_due(lt) && ((uintptr_t)(w+1) & (LT_RING_BLOCK_SIZE-1))) {
    if (before) lj_ltring_packed(lt, lt_packed_word(p >> LT_PACKED_BITS));
    lj_ltring_segment(lt, place, 0, NULL, link_time(lt));
  } else {
    lj_ltring_packed(lt, lt_packed_word(p));
  }
}

/* A link is the last one for which lt->segpack has space. */
void lj_ltseg_full(LTState *lt)
{
  uint64_t *w = lt->wp;
  if (LJ_UNLIKELY(lt->segdue <= 1 || lt->seggo || !((uintptr_t)(w+1) & (LT_RING_BLOCK_SIZE-1)))) {
    pack_full(lt);
    return;
  }
  lt->segdue--;
  st_rel(w, lt_packed_word(lt->segpack));  /* But for the bit above its items. */
  lt->wp = w+1;
  lt->segpack = LT_PACK_NONE;
}

/* Something is stored while a trace runs that is not on the path: a step of the collector, which
** is at the beginning of an iteration. */
void lj_ltseg_here(LTState *lt)
{
  LTSegment *s;
  if (!tvref(LT2G(lt)->jit_base)) return;
  lj_ltseg_flush(lt);
  s = seg_running(lt);
  if (s && count_events(lt, s, 0)) seg_mark(lt, s, s->id, 0);
}

/* Compiled code reaches a place whose time is of interest. */
void lj_ltseg_mark(lua_State *L, int32_t id, int32_t nev)
{
  LTState *lt = L2LT(L);
  LTSegment *s = seg_running(lt);
  lj_assertL(s != NULL, "mark in a trace without description");
  seg_mark(lt, s, (uint32_t)id, (uint32_t)nev);
}

/* A counter has reached 0: the iteration that begins now is the start-th. Called with all
** registers saved. */
LJ_FUNCA void lj_ltseg_slowc(void *vm)
{
  LTState *lt = lt_asmstate(vm);
  LTSegment *s = seg_running(lt);
  LTCount *c;
  uint64_t now = lj_ltctl_clock(lt);
  int err = errno;
  lj_assertX(s != NULL && s->level > 0, "iterations of a trace without description");
  pack_store(lt);
  c = &lt->count[s->level-1];
  if (now - lt->segslow > REPORT_TICKS/4)
    lt->segstep = lt->segstep > STEP_FIRST ? lt->segstep/2 : STEP_FIRST;
  else if (lt->segstep < STEP_MAX)
    lt->segstep *= 2;
  while ((uint64_t)lt->segstep*s->nevents > REPORT_EVENTS) lt->segstep /= 2;
  lt->segslow = now;
  lt->seggo |= LT_SEGGO_TIME;
  pack_empty(lt);
  if (now >= lt->deadline) lj_ltring_tick(lt, now);
  if (now - lt->segtime > REPORT_TICKS || (uint64_t)c->start*s->nevents > REPORT_EVENTS) {
    uint32_t step = lt->segstep;
    seg_mark(lt, s, s->id, 0);
    lt->segtime = now;
    lt->segstep = c->start = c->left = step;
  } else {
    c->left = lt->segstep;
    c->start += lt->segstep;
  }
  errno = err;
}

LT_ASM_SAVED(lj_ltseg_slow, lj_ltseg_slowc)

/* -- Description of the trace that is being compiled -------------------------- */

/* No more descriptions in this recording: traces have events of their own from now on. */
static void seg_give_up(LTState *lt)
{
  lt->segments = 0;
  lt->stop |= LTSTOP_FLUSH;
}

/* A recording begins: LTState.segments says how. */
void lj_ltseg_begin(LTState *lt)
{
  lt->slow = lj_ltseg_slow;
  lt->segnext = 1;
  lt->segtold = lt->seggo = lt->segrec = 0;
  lt->segpack = LT_PACK_NONE;
  lt->segdue = lt->segevery = lt->segsoon = 1;
  seg_reset(lt, LT_SEGMENT_LEVELS);
}

/* A trace begins to be compiled. */
void lj_ltseg_start(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *parent = J->parent && J->parent < lt->sizesegment ?
		      &lt->segment[J->parent] : NULL;
  lt->segnev = 0;
  lt->segnmarks = 1;
  lt->segmarks[0] = 0;
  lt->segrec = lt->segments && (lt->on & LTON_WORDS) && !(lt->on & LTON_SINGLE);
  if (lt->segrec && LT_SEGMENT_IDS - lt->segnext < J->param[JIT_P_maxsnap] + 2u*LT_SEGMENT_MARKS)
    seg_give_up(lt), lt->segrec = 0;
  if (lt->segrec && !lj_ltfunc_grow((void **)&lt->segment, &lt->sizesegment, J->cur.traceno,
				    sizeof(LTSegment)))
    seg_give_up(lt), lt->segrec = 0;
  if (J->cur.traceno < lt->sizesegment) lt->segment[J->cur.traceno].id = 0;
  if (parent && parent->id && (!lt->segrec || parent->level >= LT_SEGMENT_LEVELS ||
			       parent->depth+1u >= LT_SEGMENT_PATH_MAX))
    lt->segrec = LT_SEGREC_REFUSED;
}

/* Is this trace to be given up? Called where that can be done. */
void lj_ltseg_check(jit_State *J)
{
  if (J2LT(J)->segrec == LT_SEGREC_REFUSED) lj_trace_err(J, LJ_TRERR_TRACEOV);
}

/* An event of the trace. */
void lj_ltseg_event(jit_State *J, uint32_t id, uint32_t kind)
{
  LTState *lt = J2LT(J);
  if (id >= LT_PAYLOAD_BIG || lt->segnev >= LT_SEGMENT_EVENTS_MAX ||
      !lj_ltfunc_grow((void **)&lt->segev, &lt->sizesegev, lt->segnev, sizeof(uint32_t))) {
    seg_give_up(lt);
    lj_trace_err(J, LJ_TRERR_TRACEOV);
  }
  lt->segev[lt->segnev++] = id << LT_KIND_BITS | kind;
}

/* A new place after the events so far. Returns its id. */
uint32_t lj_ltseg_newmark(jit_State *J)
{
  LTState *lt = J2LT(J);
  if (lt->segnmarks >= LT_SEGMENT_MARKS) lj_trace_err(J, LJ_TRERR_TRACEOV);
  lt->segmarks[lt->segnmarks] = (uint16_t)lt->segnev;
  return lt->segnext + lt->segnmarks++;
}

/* Of n places, events and costs. */
static uint32_t record_size(uint32_t n)
{
  return ((uint32_t)sizeof(struct lt_segment) + 4*n + 7) & ~7u;
}

/* Is the complete trace to be described? What has a place inside of it must be; and what repeats without
** events, or its time would be that of its neighbours. */
static int seg_wanted(jit_State *J, int repeats)
{
  LTState *lt = J2LT(J);
  if (!lt_segauto(lt) || lt->segnmarks > 1 || (J->parent && lt->segment[J->parent].id)) return 1;
  if (repeats && !lt->segnev) return 1;
  return lj_ltcost_code(J) < lt->segnev*WEIGHT_EVENT;
}

/* The trace is complete but for its machine code, which may double its snapshots. Is it to be
** described, and is there space for that? link: the number of the trace that follows, or 0. */
void lj_ltseg_reserve(jit_State *J, TraceNo link)
{
  LTState *lt = J2LT(J);
  uint32_t size, part = lt_private(lt) ? 2 : 8;  /* A chunk of its own, if need be. */
  if (lt->segrec && !seg_wanted(J, link == J->cur.traceno)) lt->segrec = 0;
  if (!lt->segrec) return;
  size = record_size(lt->segnmarks + 4u*(J->cur.nsnap+2u) + lt->segnev);
  if (2u*(J->cur.nsnap+2u) > LT_SEGMENT_PLACES_MAX || size > lt->metasize/part ||
      !lj_ltring_metaspace(lt, 2*size)) {
    seg_give_up(lt);
    lj_trace_err(J, LJ_TRERR_TRACEOV);
  }
}

/* Does the trace repeat? */
static int seg_loops(jit_State *J)
{
  return J->loopref || J->cur.link == J->cur.traceno;
}

/* Does it count its iterations? Not if nothing would be stored. */
int lj_ltseg_counts(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *parent = lt->segrec && J->parent ? &lt->segment[J->parent] : NULL;
  return seg_loops(J) && (lt->segnev || (parent && parent->id));
}

/* The level of the trace with its own counter, and whether it has one. */
int lj_ltseg_level(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *parent = lt->segrec && J->parent ? &lt->segment[J->parent] : NULL;
  return (parent && parent->id ? parent->level : 0) + lj_ltseg_counts(J);
}

static uint32_t end_id(jit_State *J)
{
  return J2LT(J)->segnext + J2LT(J)->segnmarks + J->cur.nsnap-1u;
}

/* Where it ends: the id of its last exit, or 0 if it has nothing to tell. */
uint32_t lj_ltseg_endid(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *parent = J->parent ? &lt->segment[J->parent] : NULL;
  uint32_t path = parent && parent->id ? parent->path + traceref(J, J->parent)->snap[J->exitno].nev : 0;
  int quiet = !path && !lt->segnev && lt->segnmarks == 1 && !lj_ltseg_level(J) &&
	      (!parent || !parent->id || parent->quiet);
  return quiet ? 0 : end_id(J);
}

/* Does it link to another trace that is described? */
int lj_ltseg_linked(jit_State *J)
{
  LTState *lt = J2LT(J);
  TraceNo link = J->cur.link;
  return link && link != J->cur.traceno && link < lt->sizesegment && lt->segment[link].id;
}

/* A path without a word leaves a loop for another trace that is described: the id of its end, which is
** stored if link_open has asked for a time, or 0. */
uint32_t lj_ltseg_closes(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *root = J->cur.root && J->cur.root < lt->sizesegment ? &lt->segment[J->cur.root] : NULL;
  if (!root || !root->id || !root->loops || J->cur.link == J->cur.root) return 0;
  return lj_ltseg_linked(J) && !lj_ltseg_endid(J) ? end_id(J) : 0;
}

/* Does it link to one that repeats without counting? */
int lj_ltseg_opens(jit_State *J)
{
  return lj_ltseg_linked(J) && J2LT(J)->segment[J->cur.link].loops;
}

/* May its link be in one word with others? id: where it ends. */
int lj_ltseg_packs(jit_State *J, uint32_t id)
{
  return LJ_LTPACKS && lj_ltseg_linked(J) && id < LT_PACKED - LT_PACKED_PLACE;
}

/* Number of the snapshot with which the loop's own code begins, or 0. */
static uint32_t loop_snapshot(jit_State *J)
{
  uint32_t i;
  if (!J->loopref) return 0;
  for (i = 0; i < J->cur.nsnap; i++)
    if (J->cur.snap[i].ref >= J->loopref) return i;
  return J->cur.nsnap;
}

/* The costs of the code between exits, by rising ends. Returns their number. */
static uint32_t seg_costs(jit_State *J, uint32_t *out)
{
  GCtrace *T = &J->cur;
  uint32_t i, n = 0, cost = 0, before = 0;
  for (i = 0; i < T->nsnap; i++) {
    int last = i+1u == T->nsnap;
    uint32_t end = last ? (uint32_t)T->szmcode : T->snap[i+1].mcofs;
    cost += lj_ltcost_extra(J, i ? T->snap[i].ref : REF_FIRST, last ? T->nins : T->snap[i+1].ref);
    if (!cost || end <= before || end > 0xffff) continue;
    out[n++] = end | (cost < 0xffff ? cost : 0xffffu) << 16;
    before = end;
    cost = 0;
  }
  return n;
}

/* Store the description. There is space for it. */
static void seg_describe(jit_State *J, LTSegment *s, uint32_t parent)
{
  LTState *lt = J2LT(J);
  GCtrace *T = &J->cur;
  uint32_t size = record_size(s->nmarks + 2u*T->nsnap + s->nevents), ncosts, i, *p;
  struct lt_segment *d = (struct lt_segment *)lj_ltring_metarecord(lt, size);
  if (!d) return;  /* The reader will miss it. */
  d->type = LT_META_SEGMENT;
  d->flags = s->counts ? LT_SEGMENT_COUNTS : s->loops ? LT_SEGMENT_LOOPS : 0;
  d->id = s->id;
  d->parent = parent;
  d->trace = T->traceno;
  d->bytes = (uint32_t)T->szmcode;
  d->nevents = s->nevents;
  d->nmarks = s->nmarks;
  d->nexits = T->nsnap;
  d->loop = (uint16_t)loop_snapshot(J);
  d->level = s->level;
  p = (uint32_t *)(d+1);
  for (i = 0; i < s->nmarks; i++) *p++ = lt->segmarks[i];
  for (i = 0; i < T->nsnap; i++) *p++ = T->snap[i].nev | (uint32_t)T->snap[i].mcofs << 16;
  if (s->nevents) memcpy(p, lt->segev, s->nevents*sizeof(*p));
  d->ncosts = ncosts = seg_costs(J, p + s->nevents);
  d->size = size = record_size(s->nmarks + T->nsnap + s->nevents + ncosts);
  lj_ltring_metadone(lt, size);
}

/* The trace is complete. */
void lj_ltseg_stop(jit_State *J)
{
  LTState *lt = J2LT(J);
  LTSegment *s, *parent = J->parent && lt->segrec ? &lt->segment[J->parent] : NULL;
  uint32_t from = 0;
  if (!lt->segrec) return;
  s = &lt->segment[J->cur.traceno];
  if (parent && !parent->id) parent = NULL;
  s->counts = (uint8_t)lj_ltseg_counts(J);
  s->loops = seg_loops(J) && !s->counts;
  s->opens = (uint8_t)lj_ltseg_opens(J);
  s->level = (uint8_t)((parent ? parent->level : 0) + s->counts);
  s->nmarks = (uint16_t)lt->segnmarks;
  s->nevents = lt->segnev;
  s->parent = parent ? J->parent : 0;
  s->depth = parent ? parent->depth+1 : 0;
  s->path = 0;
  if (parent) {
    s->path = parent->path + traceref(J, J->parent)->snap[J->exitno].nev;
    from = parent->id + parent->nmarks + J->exitno;
  }
  s->quiet = !s->path && !s->nevents && s->nmarks == 1 && !s->level &&
	     (!parent || parent->quiet);
  s->packs = (uint8_t)lj_ltseg_packs(J, end_id(J));
  s->id = lt->segnext;
  lt->segnext += s->nmarks + (uint32_t)J->cur.nsnap;
  seg_describe(J, s, from);
  lt->segrec = 0;
}

#endif

#endif
