/*
** Tracing of calls: sections and labels of coroutines.
** SPDX-License-Identifier: MIT
**
** What the program has said of a coroutine is kept while nothing is recorded, too: whoever begins
** to record, or has lost events, gets it after the coroutine's stack. It is kept as the
** continuation words of its records (luatrace_format.h).
**
** Invariants: labels are shared by the coroutines that have inherited them, and never changed while
** a coroutine has them: a profiler may read them at any instruction (luatrace_abi.h).
** lua_State.lt_labels and lt_open are NULL if there are none. Without memory, labels stay as they
** were, and a section is not kept. */

#define lj_ltmark_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdlib.h>
#include <string.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace_abi.h"

#define MARK_WORDS	lt_text_words(LT_MARK_MAX)

/* Profilers read them. */
typedef struct lt_abi_label Label;
typedef struct lt_abi_labels Labels;
LJ_STATIC_ASSERT(LT_ABI_LABEL_WORDS ==
		 lt_text_words(LT_LABEL_KEY_MAX) + lt_text_words(LT_LABEL_VALUE_MAX));
LJ_STATIC_ASSERT(LT_ABI_LABELS == LT_MAXLABELS);

typedef struct Section {
  uint32_t n;
  uint64_t w[MARK_WORDS];
} Section;

/* The open sections of a coroutine, oldest first. */
typedef struct Open {
  uint32_t n;
  uint32_t more;	/* Begun while n was LT_MAXOPEN, not kept. */
  Section section[1];
} Open;

#define labels_of(L)	((Labels *)(L)->lt_labels)
#define open_of(L)	((Open *)(L)->lt_open)

/* Events are wanted, and may be made now. The first report of a forked child has all this. */
#define has_words(L)	(lt_ringon(L2LT(L)) && !L2LT(L)->forked && !lt_mute(G(L)))

/* Up to `max` bytes as words, without a part of a character of UTF-8 at the end. Returns the
** number of words. */
static uint32_t put_text(uint64_t *w, const char *s, size_t max)
{
  size_t n = strlen(s), i;
  uint32_t words;
  if (n > max)
    for (n = max; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; ) n--;
  words = (uint32_t)lt_text_words(n);
  memset(w, 0, words*sizeof(*w));
  for (i = 0; i < n; i++)
    w[i/LT_TEXT_BYTES] += ((uint64_t)(unsigned char)s[i] << 8*(i%LT_TEXT_BYTES + 1)) + 1;
  return words;
}

/* -- Labels ---------------------------------------------------------------- */

/* The set that L has, for as long as the caller wants it; NULL: there is none. */
void *lj_ltmark_hold(lua_State *L)
{
  if (L->lt_labels) labels_of(L)->refs++;
  return L->lt_labels;
}

void lj_ltmark_release(void *labels)
{
  Labels *set = (Labels *)labels;
  if (set && --set->refs == 0) free(set);
}

static void drop_labels(lua_State *L)
{
  lj_ltmark_release(L->lt_labels);
  L->lt_labels = NULL;
}

static void get_text(char *s, const uint64_t *w, uint32_t n)
{
  for (; n > 0; n--, w++) {
    uint32_t i, bytes = (uint32_t)(*w & 0xff);
    for (i = 1; i <= bytes; i++) *s++ = (char)(*w >> 8*i);
  }
  *s = '\0';
}

/* The i-th label of a set. Returns 0 if it has none. */
int lj_ltmark_get(void *labels, uint32_t i, char *key, char *value)
{
  const Labels *set = (const Labels *)labels;
  if (!set || i >= set->n) return 0;
  get_text(key, set->label[i].w, set->label[i].nkey);
  get_text(value, set->label[i].w + set->label[i].nkey, set->label[i].n - set->label[i].nkey);
  return 1;
}

static int same_key(const Label *a, const Label *b)
{
  return a->nkey == b->nkey && !memcmp(a->w, b->w, a->nkey*sizeof(a->w[0]));
}

static void emit_label(lua_State *L, const Label *l)
{
  LTState *lt = L2LT(L);
  lj_ltring_words(lt, LTX_LABEL, LTL_SET, lt_pack(lt_coid(lt, L), l->nkey), l->n, l->w);
}

/* Give L a label, or take it away (value NULL or ""). Returns 0 if L has too many; -1 without
** memory. */
int lj_ltmark_label(lua_State *L, const char *key, const char *value)
{
  Labels *old = labels_of(L), *set;
  uint32_t n = old ? old->n : 0, i, kept = 0;
  Label l;
  l.n = l.nkey = put_text(l.w, key, LT_LABEL_KEY_MAX);
  if (value) l.n += put_text(l.w+l.nkey, value, LT_LABEL_VALUE_MAX);
  set = (Labels *)malloc(sizeof(Labels) + n*sizeof(Label));
  if (!set) return -1;
  for (i = 0; i < n; i++)
    if (!same_key(&old->label[i], &l)) set->label[kept++] = old->label[i];
  if (l.n > l.nkey) set->label[kept++] = l;
  if (kept == 0 || kept > LT_MAXLABELS) {
    free(set);
    if (kept) return 0;
    set = NULL;
  } else {
    set->refs = 1;
    set->n = kept;
  }
  drop_labels(L);
  L->lt_labels = set;
  if (has_words(L)) emit_label(L, &l);
  if (lt_probeon(L2LT(L)) && !lt_mute(G(L)))
    lj_ltprobe_label(key, value ? value : "", L, lt_coid(L2LT(L), L));
  return 1;
}

/* co, which L makes, has the labels of L. */
void lj_ltmark_inherit(lua_State *L, lua_State *co)
{
  if (!L->lt_labels) return;
  labels_of(L)->refs++;
  co->lt_labels = L->lt_labels;
}

static void emit_labels(lua_State *L)
{
  uint32_t i;
  for (i = 0; L->lt_labels && i < labels_of(L)->n; i++) emit_label(L, &labels_of(L)->label[i]);
}

/* All labels of L, for readers who believe that it has others. */
void lj_ltmark_labels(lua_State *L)
{
  LTState *lt = L2LT(L);
  if (!has_words(L)) return;
  lj_ltring_words(lt, LTX_LABEL, LTL_CLEAR, lt_pack(lt_coid(lt, L), 0), 0, NULL);
  emit_labels(L);
}

/* -- Sections --------------------------------------------------------------- */

static void emit_section(lua_State *L, const Section *s, uint32_t kind)
{
  LTState *lt = L2LT(L);
  lj_ltring_words(lt, LTX_MARK, kind, lt_coid(lt, L), s->n, s->w);
}

static void open_section(lua_State *L, const Section *s)
{
  Open *open = open_of(L), *more;
  uint32_t n = open ? open->n : 0;
  if (n == LT_MAXOPEN) {
    open->more++;
    return;
  }
  more = (Open *)realloc(open, sizeof(Open) + n*sizeof(Section));
  if (!more) return;
  if (!open) more->more = 0;
  more->n = n+1;
  more->section[n] = *s;
  L->lt_open = more;
}

/* The innermost one of that name. Returns 0 if there is none. */
static int close_section(lua_State *L, const Section *s)
{
  Open *open = open_of(L);
  uint32_t i = open ? open->n : 0;
  while (i-- > 0) {
    if (open->section[i].n != s->n || memcmp(open->section[i].w, s->w, s->n*sizeof(s->w[0])))
      continue;
    open->n--;
    memmove(&open->section[i], &open->section[i+1], (open->n-i)*sizeof(Section));
    if (!open->n && !open->more) {
      free(open);
      L->lt_open = NULL;
    }
    return 1;
  }
  if (!open || !open->more) return 0;
  open->more--;
  return 1;
}

/* A section of L begins or ends. Returns 0 if it has not begun. */
int lj_ltmark_section(lua_State *L, const char *name, int begin)
{
  Section s;
  s.n = put_text(s.w, name, LT_MARK_MAX);
  if (begin) open_section(L, &s);
  else if (!close_section(L, &s)) return 0;
  if (lt_ringon(L2LT(L)) && !lt_mute(G(L))) emit_section(L, &s, begin ? LTM_BEGIN : LTM_END);
  if (lt_probeon(L2LT(L)) && !lt_mute(G(L))) {
    if (begin) lj_ltprobe_markbegin(name, L, lt_coid(L2LT(L), L));
    else lj_ltprobe_markend(name, L, lt_coid(L2LT(L), L));
  }
  return 1;
}

/* -- Both ------------------------------------------------------------------- */

/* For a reader who does not know L. */
void lj_ltmark_report(lua_State *L)
{
  uint32_t i;
  if (!has_words(L)) return;
  emit_labels(L);
  for (i = 0; L->lt_open && i < open_of(L)->n; i++)
    emit_section(L, &open_of(L)->section[i], LTM_OPEN);
}

/* L is freed, or reset for another use. */
void lj_ltmark_free(lua_State *L)
{
  drop_labels(L);
  free(L->lt_open);
  L->lt_open = NULL;
}

#endif
