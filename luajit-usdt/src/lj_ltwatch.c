/*
** Tracing of calls: the places that a recording watches (luatrace_watch.h): the request, and where
** the places are in the program.
** SPDX-License-Identifier: MIT
**
** A place is found when a function becomes known to the recording. From then on GCproto.lt_rec says
** that the function is watched: its calls leave the fast path, compiled code ends before it.
**
** Invariants: a point refers to a live prototype. Nothing is reported where a place is found: that
** may be in the middle of a stack's report, or of the trace recorder. What the compiler has given
** up in a watched function, and had not before, it may try again afterwards. */

#define lj_ltwatch_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_strscan.h"
#if LJ_HASJIT
#include "lj_jit.h"
#include "lj_trace.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define NOTED_SHIFT	8
#define INNER_MAX	32	/* Levels of nested definitions that are searched for lines. */

/* -- The request ------------------------------------------------------------- */

static LTPlace *new_place(LTWatch *w, const char *pattern)
{
  LTPlace *p = w->nplaces < LT_WATCH_PLACES_MAX ? &w->place[w->nplaces++] : NULL;
  if (p) p->pattern = pattern;
  return p;
}

static void line_place(LTWatch *w, const char *text)
{
  char *end;
  long line = strtol(text, &end, 10);
  if (line > 0 && line < LJ_MAX_LINE && *end == ' ') {
    LTPlace *p = new_place(w, end+1);
    if (p) p->line = (int32_t)line;
  }
}

/* As Lua reads it, whatever the program's locale has for a point. */
static double parse_number(const char *text)
{
  TValue o;
  StrScanFmt f = lj_strscan_scan((const uint8_t *)text, (MSize)strlen(text), &o, STRSCAN_OPT_TONUM);
  return f == STRSCAN_NUM ? o.n : 0;
}

static void new_item(LTItem *list, uint32_t *n, uint32_t max, char kind, const char *text)
{
  LTItem *item = *n < max ? &list[(*n)++] : NULL;
  if (!item) return;
  item->kind = kind;
  item->text = text;
  if (kind == 'n') item->number = parse_number(text);
}

static void request_line(LTWatch *w, char letter, const char *text)
{
  switch (letter) {
  case 'F': new_place(w, text); break;
  case 'L': line_place(w, text); break;
  case 'P': new_item(w->item, &w->nitems, LT_WATCH_ITEMS_MAX, *text, text); break;
  case 'V': new_item(w->item, &w->nitems, LT_WATCH_ITEMS_MAX, letter, text); break;
  case 'D': w->depth = (uint32_t)strtoul(text, NULL, 10); break;
  case 'N': w->count = (uint32_t)strtoul(text, NULL, 10); break;
  case 'v': case 'n': case 's': case 'k': case 'o':
    new_item(w->test, &w->ntests, LT_WATCH_TESTS_MAX, letter, text);
    break;
  default: break;
  }
}

/* The recording has begun. */
void lj_ltwatch_begin(LTState *lt)
{
  LTWatch *w;
  char *p;
  if (!lj_ltctl_watch[0] ||
      !(w = (LTWatch *)calloc(1, sizeof(LTWatch)))) return;
  memcpy(w->request, lj_ltctl_watch, LT_WATCH_REQUEST_MAX);
  for (p = w->request; *p; ) {
    char *end = p + strcspn(p, "\n");
    int last = !*end;
    *end = '\0';
    if (p[0] && p[1] == ' ') request_line(w, p[0], p+2);
    p = last ? end : end+1;
  }
  if (w->depth > LT_WATCH_DEPTH_MAX) w->depth = LT_WATCH_DEPTH_MAX;
  lt->watch = w;
}

/* -- Points ------------------------------------------------------------------ */

static uint64_t *filter_word(LTWatch *w, const BCIns *pc, uint64_t *bit)
{
  uint32_t h = (uint32_t)((uintptr_t)pc >> 2) * 0x9e3779b1u >> 22;
  *bit = (uint64_t)1 << (h & 63);
  return &w->filter[h >> 6];
}

static void set_filter(LTWatch *w)
{
  uint32_t i;
  uint64_t bit;
  memset(w->filter, 0, sizeof(w->filter));
  for (i = 0; i < w->npoints; i++) *filter_word(w, w->point[i].pc, &bit) |= bit;
}

/* Is there a point at this instruction? */
int lj_ltwatch_at(LTWatch *w, const BCIns *pc)
{
  uint64_t bit;
  return (*filter_word(w, pc, &bit) & bit) != 0;
}

static void note(LTWatch *w, LTPlace *p, uint32_t kind)
{
  uint32_t bit = 1u << kind;
  if (((p->notes | p->notes >> NOTED_SHIFT) & bit)) return;
  p->notes |= bit;
  w->notes = 1;
}

static int has_point(LTWatch *w, const BCIns *pc, uint32_t place)
{
  uint32_t i;
  for (i = 0; i < w->npoints; i++)
    if (w->point[i].pc == pc && w->point[i].place == place) return 1;
  return 0;
}

/* Returns 0 if there are too many. */
static int add_point(LTWatch *w, GCproto *pt, const BCIns *pc, uint32_t place, int loop)
{
  LTPoint *p;
  uint64_t bit;
  if (has_point(w, pc, place)) return 1;
  if (w->npoints == LTWATCH_POINTS) {
    w->full = 1;
    note(w, &w->place[place], LTW_FULL);
    return 0;
  }
  p = &w->point[w->npoints++];
  p->pc = pc;
  p->pt = pt;
  p->place = place;
  p->loop = (uint32_t)loop;
  p->wasoff = pt->flags & PROTO_ILOOP;
  if (pc != proto_bc(pt)) w->nlines++;
  *filter_word(w, pc, &bit) |= bit;
  note(w, &w->place[place], LTW_FOUND);
  return 1;
}

/* What the compiler could not compile because it was watched. */
static void give_back(LTPoint *p)
{
#if LJ_HASJIT
  if (!p->wasoff && (p->pt->flags & (PROTO_ILOOP|PROTO_NOJIT)) == PROTO_ILOOP)
    lj_trace_reenableproto(p->pt);
#else
  UNUSED(p);
#endif
}

static void drop_points(LTWatch *w)
{
  uint32_t i;
  for (i = 0; i < w->npoints; i++) give_back(&w->point[i]);
  w->npoints = w->nlines = 0;
  set_filter(w);
}

/* A prototype is freed. */
void lj_ltwatch_freeproto(LTState *lt, GCproto *pt)
{
  LTWatch *w = lt->watch;
  uint32_t i, n = w->npoints;
  if (!(pt->lt_rec & (LTREC_ENTRY|LTREC_LINE))) return;
  for (i = 0; i < w->npoints; ) {
    if (w->point[i].pt != pt) {
      i++;
      continue;
    }
    if (w->point[i].pc != proto_bc(pt) && w->nlines) w->nlines--;
    w->point[i] = w->point[--w->npoints];
  }
  if (w->npoints != n) set_filter(w);
}

/* All functions will become known again: a new recording, or a forked child's. */
void lj_ltwatch_again(LTState *lt)
{
  LTWatch *w = lt->watch;
  uint32_t i;
  if (!w) return;
  drop_points(w);
  for (i = 0; i < w->nplaces; i++) w->place[i].notes = 0;
  w->notes = w->full = w->done = 0;
}

void lj_ltwatch_end(LTState *lt)
{
  if (!lt->watch) return;
  drop_points(lt->watch);
  free(lt->watch);
  lt->watch = NULL;
}

/* -- Finding places ---------------------------------------------------------- */

/* Does a chunk have that name? A path may be the end of the chunk's. */
static int match_chunk(const char *pattern, const char *chunk)
{
  size_t n = strlen(pattern), len = strlen(chunk);
  if (lj_ltctl_matchlist(pattern, chunk)) return 1;
  return n < len && chunk[len-n-1] == '/' && !strcmp(chunk+len-n, pattern);
}

/* Where an instruction jumps back to, or NULL. Compiled loops have their number in its place. */
static const BCIns *jumps_back_to(LTState *lt, const BCIns *pc)
{
  BCIns ins = *pc;
#if LJ_HASJIT
  if (bc_op(ins) == BC_JFORL || bc_op(ins) == BC_JITERL)
    ins = traceref(G2J(LT2G(lt)), bc_d(ins))->startins;
#else
  UNUSED(lt);
#endif
  switch (bc_op(ins)) {
  case BC_FORL: case BC_IFORL: case BC_ITERL: case BC_IITERL: case BC_JMP: case BC_UCLO:
    return bc_j(ins) < 0 ? pc+1+bc_j(ins) : NULL;
  default:
    return NULL;
  }
}

/* Points at the beginnings of loops on a line: a jump back reaches it again, as for a line hook. */
static uint32_t add_loops(LTState *lt, GCproto *pt, uint32_t place)
{
  const BCIns *bc = proto_bc(pt);
  BCPos i;
  uint32_t n = 0;
  for (i = 1; i < pt->sizebc; i++) {
    const BCIns *to = jumps_back_to(lt, bc+i);
    if (to && lj_debug_line(pt, (BCPos)(to-bc)) == lt->watch->place[place].line &&
	add_point(lt->watch, pt, to, place, 1)) n++;
  }
  return n;
}

/* Points at the first instructions of a line. before: the line that the function begins with.
** Returns how many there are. */
static uint32_t add_line(LTWatch *w, GCproto *pt, uint32_t place, BCLine before)
{
  const BCIns *bc = proto_bc(pt);
  BCLine line = w->place[place].line;
  BCPos i;
  uint32_t n = 0;
  for (i = 1; i < pt->sizebc; i++) {
    BCLine at = lj_debug_line(pt, i);
    if (at == line && at != before && add_point(w, pt, bc+i, place, 0)) n++;
    before = at;
  }
  return n;
}

/* The nearest lines of pt, and of the functions defined in it, that can be watched. Returns
** whether `line` is one. */
static int search_lines(GCproto *pt, LTPlace *p, int level)
{
  BCPos i;
  if (level == INNER_MAX) return 1;  /* Not known: nothing is said. */
  for (i = 0; i < pt->sizebc; i++) {
    BCLine at = i ? lj_debug_line(pt, i) : pt->firstline;
    if (at == p->line) return 1;
    if (at > 0 && at < p->line && at > p->below) p->below = at;
    if (at > p->line && (!p->above || at < p->above)) p->above = at;
  }
  if (!(pt->flags & PROTO_CHILD)) return 0;
  for (i = 0; i < pt->sizekgc; i++) {
    GCobj *o = proto_kgc(pt, ~(ptrdiff_t)i);
    if (o->gch.gct == ~LJ_TPROTO && search_lines(gco2pt(o), p, level+1)) return 1;
  }
  return 0;
}

/* Would a function be where the line is? */
static int spans(GCproto *pt, BCLine line)
{
  if (!pt->firstline) return 1;  /* A main chunk. */
  return line >= pt->firstline && line <= pt->firstline + pt->numline;
}

static uint32_t find_line(LTState *lt, GCproto *pt, uint32_t place)
{
  LTWatch *w = lt->watch;
  LTPlace *p = &w->place[place];
  uint32_t bits = 0;
  if (!match_chunk(p->pattern, strdata(proto_chunkname(pt)))) return 0;
  if (pt->firstline == p->line && add_point(w, pt, proto_bc(pt), place, 0)) bits = LTREC_ENTRY;
  if (proto_lineinfo(pt) && add_line(w, pt, place, pt->firstline) + add_loops(lt, pt, place))
    bits |= LTREC_LINE;
  if (bits) return bits;
  if (!w->full && spans(pt, p->line)) {
    p->below = p->above = 0;
    if (!search_lines(pt, p, 0)) note(w, p, LTW_NOLINE);
  }
  return 0;
}

/* Instructions are executed one by one from now on. */
static void watch_lines(LTState *lt)
{
  ASMFunction *disp = LT2GG(lt)->dispatch;
  uint32_t i;
  for (i = 0; i < GG_LEN_SDISP; i++) disp[i] = lj_vm_record;
}

/* A name without "." and ":" is also the last part of one: an attached process knows the functions
** of its modules by the modules, too. */
static int match_name(const char *pattern, const char *name)
{
  const char *last = name + strlen(name);
  if (!fnmatch(pattern, name, 0)) return 1;
  while (last > name && last[-1] != '.' && last[-1] != ':') last--;
  return last > name && !strpbrk(pattern, ".:") && !fnmatch(pattern, last, 0);
}

/* Places that are functions of this name. Returns LTREC_* bits. */
static uint32_t find_name_places(LTState *lt, GCproto *pt, const char *name)
{
  LTWatch *w = lt->watch;
  uint32_t i, bits = 0;
  for (i = 0; name && i < w->nplaces; i++)
    if (!w->place[i].line && match_name(w->place[i].pattern, name) &&
	add_point(w, pt, proto_bc(pt), i, 0))
      bits |= LTREC_ENTRY;
  return bits;
}

/* The name of a known function becomes known. It may have been compiled into other functions. */
void lj_ltwatch_named(LTState *lt, GCproto *pt, const char *name)
{
  uint32_t bits = lt->watch->done ? 0 : find_name_places(lt, pt, name);
  if (!(bits & ~pt->lt_rec)) return;
  pt->lt_rec |= bits;
  lt->watch->flush = 1;
  lt->stop |= LTSTOP_LOOK;
}

/* A function becomes known: its places. name: or NULL. Returns LTREC_* bits. */
uint32_t lj_ltwatch_find(LTState *lt, GCproto *pt, const char *name)
{
  LTWatch *w = lt->watch;
  uint32_t i, bits = 0, lines = w->nlines;
  if (w->done || !strcmp(strdata(proto_chunkname(pt)), LUATRACE_HIDDEN)) return 0;
  for (i = 0; i < w->nplaces; i++)
    if (w->place[i].line) bits |= find_line(lt, pt, i);
  bits |= find_name_places(lt, pt, name);
  if (!lines && w->nlines) watch_lines(lt);
  return bits;
}

/* -- Reports ----------------------------------------------------------------- */

/* Pieces of a text, each a record. The current coroutine is L. */
void lj_ltwatch_put(lua_State *L, uint32_t kind, uint32_t place, const LTText *t)
{
  LTState *lt = L2LT(L);
  const size_t most = LT_WATCH_WORDS*LT_TEXT_BYTES;
  size_t at = 0;
  do {
    uint64_t words[LT_WATCH_WORDS];
    size_t n = t->n-at < most ? t->n-at : most, i;
    memset(words, 0, sizeof(words));
    for (i = 0; i < n; i++)
      words[i/LT_TEXT_BYTES] += ((uint64_t)(unsigned char)t->s[at+i] << 8*(i%LT_TEXT_BYTES + 1)) + 1;
    at += n;
    lj_ltring_words(lt, LTX_WATCH, kind | (at < t->n ? LTW_MORE : 0),
		    lt_pack(lt_coid(lt, L), place), (uint32_t)lt_text_words(n), words);
  } while (at < t->n);
}

static void add_place(LTText *t, const LTPlace *p)
{
  lj_lttext_name(t, p->pattern);
  if (p->line) lj_lttext_add(t, ":%d", (int)p->line);
}

static void add_nearest(LTText *t, const LTPlace *p)
{
  lj_lttext_add(t, ": no code on this line");
  if (p->below || p->above) lj_lttext_add(t, "; the nearest with code: ");
  if (p->below) lj_lttext_add(t, "%d", (int)p->below);
  if (p->above) lj_lttext_add(t, "%s%d", p->below ? " and " : "", (int)p->above);
}

static void put_note(lua_State *L, uint32_t place, uint32_t kind)
{
  LTWatch *w = L2LT(L)->watch;
  const LTPlace *p = &w->place[place];
  LTText t;
  t.s = w->text;
  t.n = 0;
  t.max = LT_WATCH_MAX;
  add_place(&t, p);
  if (kind == LTW_FOUND) lj_lttext_add(&t, ": found");
  else if (kind == LTW_NOLINE) add_nearest(&t, p);
  else lj_lttext_add(&t, ": more than %u instructions to watch; not all of them are", LTWATCH_POINTS);
  lj_ltwatch_put(L, kind, place, &t);
}

/* Report what has been found. The stack of L is known. */
void lj_ltwatch_notes(lua_State *L)
{
  LTState *lt = L2LT(L);
  LTWatch *w = lt->watch;
  uint32_t i, kind;
  if (!w->notes || lt->L != L || lt_mute(G(L))) return;
  w->notes = 0;
  for (i = 0; i < w->nplaces; i++) {
    uint32_t *notes = &w->place[i].notes;  /* Another function may have code on the line. */
    if (((*notes | *notes >> NOTED_SHIFT) & 1u << LTW_FOUND)) *notes &= ~(1u << LTW_NOLINE);
    for (kind = LTW_FOUND; kind <= LTW_FULL; kind++) {
      uint32_t bit = 1u << kind;
      if (!(*notes & bit)) continue;
      *notes ^= bit | bit << NOTED_SHIFT;
      put_note(L, i, kind);
    }
  }
}

/* Hits in this process, whichever VM has them: of the recording that is in the upper half. */
static uint64_t hits;

/* Counts a hit. Returns how many there may be, with this one. */
uint32_t lj_ltwatch_count(LTState *lt)
{
  uint64_t key = (uint64_t)(((uint32_t)getpid() << 8) ^ lt->token) << 32;
  uint64_t old = __atomic_load_n(&hits, __ATOMIC_RELAXED), now;
  uint32_t n;
  do {
    n = old >> 32 == key >> 32 ? (uint32_t)old : 0;
    if (n >= lt->watch->count) return 0;
    now = key | (n+1);
  } while (!__atomic_compare_exchange_n(&hits, &old, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return lt->watch->count - n;
}

#endif
