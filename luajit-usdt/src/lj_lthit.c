/*
** Tracing of calls: a watched place is reached: the condition, and the values.
** SPDX-License-Identifier: MIT
**
** Invariants: the program's state is only read, raw; nothing is allocated, and no error is raised.
** What is printed goes to the VM's own buffer, not to the C stack, which may be small. */

#define lj_lthit_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lj_bc.h"
#include "lj_buf.h"
#include "lj_debug.h"
#include "lj_frame.h"
#include "lj_tab.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define TRACEBACK_MAX	20	/* Calls of a traceback. */
#define CHUNK_MAX	255	/* Bytes of a chunk's name. */

/* Where the program is. */
typedef struct Here {
  lua_State *L;
  GCfuncL *fn;
  GCproto *pt;
  BCPos pos;		/* 0: at the entry. */
  uint32_t nargs;	/* Values at the entry. */
  int back;		/* By a jump back. */
  int onward;		/* From an earlier instruction of the same line. */
} Here;

/* -- Variables --------------------------------------------------------------- */

/* Steps through the variables that are active at a position (see var_add in lj_parse.c). */
typedef struct Vars {
  const char *p;
  BCPos last, pos;
  uint32_t slot;	/* Of the next one. */
} Vars;

static void first_var(Vars *v, const Here *h)
{
  v->p = (const char *)proto_varinfo(h->pt);
  v->last = 0;
  v->pos = h->pos;
  v->slot = 0;
}

/* The name of the next variable, or NULL: there is none. Internal ones have an empty name. */
static const char *next_var(Vars *v)
{
  while (v->p) {
    const char *name = v->p;
    uint32_t kind = *(const uint8_t *)name;
    BCPos start, end;
    if (kind == VARNAME_END) break;
    v->p += kind < VARNAME__MAX ? 1 : strlen(name)+1;
    start = v->last = v->last + lj_buf_ruleb128(&v->p);
    if (start > v->pos) break;
    end = start + lj_buf_ruleb128(&v->p);
    if (v->pos >= end) continue;
    v->slot++;
    return kind < VARNAME__MAX ? "" : name;
  }
  v->p = NULL;
  return NULL;
}

static cTValue *slot_value(const Here *h, uint32_t slot)
{
  if (!h->pos && slot >= h->nargs) return niltv(h->L);
  return h->L->base + slot;
}

static cTValue *find_local(const Here *h, const char *name, size_t n)
{
  Vars v;
  const char *s;
  cTValue *found = NULL;
  for (first_var(&v, h); (s = next_var(&v)) != NULL; )
    if (strlen(s) == n && !memcmp(s, name, n)) found = slot_value(h, v.slot-1);
  return found;
}

static cTValue *find_upvalue(const Here *h, const char *name, size_t n)
{
  uint32_t i;
  for (i = 0; i < h->fn->nupvalues && proto_uvinfo(h->pt); i++) {
    const char *s = lj_debug_uvname(h->pt, i);
    if (strlen(s) == n && !memcmp(s, name, n)) return uvval(&gcref(h->fn->uvptr[i])->uv);
  }
  return NULL;
}

/* Looked for, not looked up: that would need the key as a string of the VM. */
static cTValue *find_field(const Here *h, GCtab *t, const char *name, size_t n)
{
  char *end;
  long key = strtol(name, &end, 10);
  uint32_t i;
  if (end == name+n && key >= 0 && key < 0x7fffffff) {
    cTValue *o = lj_tab_getint(t, (int32_t)key);
    return o ? o : niltv(h->L);
  }
  for (i = 0; i <= t->hmask; i++) {
    Node *node = &noderef(t->node)[i];
    if (tvisstr(&node->key) && strV(&node->key)->len == n &&
	!memcmp(strVdata(&node->key), name, n))
      return &node->val;
  }
  return niltv(h->L);
}

/* The value of NAME.FIELD..., or NULL: what should have the field is no table. */
static cTValue *find_value(const Here *h, const char *name)
{
  size_t n = strcspn(name, ".");
  cTValue *o = find_local(h, name, n);
  if (!o) o = find_upvalue(h, name, n);
  if (!o) o = find_field(h, tabref(h->fn->env), name, n);
  for (name += n; o && *name == '.'; name += n) {
    n = strcspn(++name, ".");
    o = tvistab(o) ? find_field(h, tabV(o), name, n) : NULL;
  }
  return o;
}

/* -- Conditions -------------------------------------------------------------- */

typedef struct Cell {
  enum { C_OTHER, C_NIL, C_BOOL, C_NUMBER, C_STRING } type;
  double n;		/* Also of a bool. */
  const char *s;
  size_t len;
  uint64_t id;		/* Of another value: what tells it from all others; 0: there is no value. */
} Cell;

static Cell cell_of(cTValue *o)
{
  Cell c = { C_OTHER, 0, NULL, 0, o ? o->u64 : 0 };
  if (o && tvisstr(o)) c.type = C_STRING, c.s = strVdata(o), c.len = strV(o)->len;
  else if (o && tvisnumber(o)) c.type = C_NUMBER, c.n = numberVnum(o);
  else if (o && tvisbool(o)) c.type = C_BOOL, c.n = tvistrue(o);
  else if (o && tvisnil(o)) c.type = C_NIL;
  return c;
}

static Cell bool_cell(int v)
{
  Cell c = { C_BOOL, 0, NULL, 0, 0 };
  c.n = v;
  return c;
}

static Cell constant(const LTItem *t)
{
  Cell c = { C_NIL, 0, NULL, 0, 0 };
  if (t->kind == 'n') c.type = C_NUMBER, c.n = t->number;
  else if (t->kind == 's') c.type = C_STRING, c.s = t->text, c.len = strlen(t->text);
  else if (*t->text != 'n') return bool_cell(*t->text == 't');
  return c;
}

/* What there is no value of is not true. */
static int is_true(const Cell *c)
{
  if (c->type == C_OTHER) return c->id != 0;
  return c->type == C_BOOL ? c->n != 0 : c->type != C_NIL;
}

/* <0, 0, >0; types that cannot be compared, and NaN: 2. */
static int compare(const Cell *a, const Cell *b)
{
  if (a->type != b->type) return 2;
  if (a->type == C_OTHER) return a->id && a->id == b->id ? 0 : 2;
  if (a->type == C_STRING) {
    size_t n = a->len < b->len ? a->len : b->len;
    int d = memcmp(a->s, b->s, n);
    if (d) return d < 0 ? -1 : 1;
    return a->len < b->len ? -1 : a->len > b->len;
  }
  return a->n < b->n ? -1 : a->n > b->n ? 1 : a->n == b->n ? 0 : 2;
}

static Cell operate(char op, const Cell *a, const Cell *b)
{
  int order = compare(a, b);
  int ordered = order != 2 && (a->type == C_NUMBER || a->type == C_STRING);
  switch (op) {
  case '=': return bool_cell(order == 0);
  case '~': return bool_cell(order != 0);
  case '<': return bool_cell(ordered && order < 0);
  case '>': return bool_cell(ordered && order > 0);
  case '[': return bool_cell(ordered && order <= 0);
  case ']': return bool_cell(ordered && order >= 0);
  case '&': return is_true(a) ? *b : *a;
  default: return is_true(a) ? *a : *b;  /* | */
  }
}

/* Is the condition met? One that is not well-formed is not. */
static int is_met(const Here *h)
{
  LTWatch *w = L2LT(h->L)->watch;
  Cell stack[LT_WATCH_STACK_MAX];
  uint32_t n = 0, i;
  for (i = 0; i < w->ntests; i++) {
    const LTItem *t = &w->test[i];
    if (t->kind != 'o') {
      if (n == LT_WATCH_STACK_MAX) return 0;
      stack[n++] = t->kind == 'v' ? cell_of(find_value(h, t->text)) : constant(t);
    } else if (*t->text == '!') {
      if (n < 1) return 0;
      stack[n-1] = bool_cell(!is_true(&stack[n-1]));
    } else {
      if (n < 2) return 0;
      n--;
      stack[n-1] = operate(*t->text, &stack[n-1], &stack[n]);
    }
  }
  return w->ntests == 0 || (n == 1 && is_true(&stack[0]));
}

/* -- Values ------------------------------------------------------------------ */

static void add_named(const Here *h, LTText *t, const char *name, cTValue *o)
{
  lj_lttext_char(t, ' ');
  lj_lttext_name(t, name);
  lj_lttext_char(t, '=');
  if (o) lj_lttext_value(t, o, L2LT(h->L)->watch->depth);
  else lj_lttext_char(t, '?');
}

/* What a vararg function has beyond its parameters. */
static void add_varargs(const Here *h, LTText *t)
{
  cTValue *o, *end, *frame = h->L->base-1;
  if (!(h->pt->flags & PROTO_VARARG)) return;
  if (!h->pos) {
    o = h->L->base + h->pt->numparams;
    end = h->L->base + h->nargs;
  } else if (frame_isvarg(frame)) {
    o = frame_prevd(frame) + 1 + h->pt->numparams;
    end = frame - LJ_FR2;
  } else {
    return;
  }
  for (; o < end; o++) add_named(h, t, "...", o);
}

static void add_locals(const Here *h, LTText *t, uint32_t from, uint32_t to)
{
  Vars v;
  const char *name;
  for (first_var(&v, h); (name = next_var(&v)) != NULL; )
    if (*name && v.slot > from && v.slot <= to) add_named(h, t, name, slot_value(h, v.slot-1));
}

/* Stripped code has no names of parameters. */
static void add_args(const Here *h, LTText *t)
{
  uint32_t i;
  if (proto_varinfo(h->pt))
    add_locals(h, t, 0, h->pt->numparams);
  else
    for (i = 0; i < h->pt->numparams; i++) add_named(h, t, "?", slot_value(h, i));
  add_varargs(h, t);
}

static void add_upvalues(const Here *h, LTText *t)
{
  uint32_t i;
  for (i = 0; i < h->fn->nupvalues; i++)
    add_named(h, t, proto_uvinfo(h->pt) ? lj_debug_uvname(h->pt, i) : "?",
	      uvval(&gcref(h->fn->uvptr[i])->uv));
}

/* One line for each call, the innermost first. */
static void add_traceback(const Here *h, LTText *t)
{
  lua_Debug call;
  int level = 0, n = 0;
  for (; lj_lttext_nextcall(h->L, &level, &call); n++) {
    lj_lttext_add(t, "\n    ");
    if (n == TRACEBACK_MAX || t->n >= t->max) {
      lj_lttext_add(t, "...");
      return;
    }
    if (call.currentline < 0) call.currentline = call.linedefined;
    lj_lttext_call(t, &call);
  }
}

static int wants(const LTWatch *w, char kind)
{
  uint32_t i;
  for (i = 0; i < w->nitems; i++)
    if (w->item[i].kind == kind) return 1;
  return 0;
}

static void add_item(const Here *h, LTText *t, const LTItem *item)
{
  LTWatch *w = L2LT(h->L)->watch;
  switch (item->kind) {
  case 'a': add_args(h, t); break;
  case 'l': add_locals(h, t, wants(w, 'a') ? h->pt->numparams : 0, LJ_MAX_SLOTS); break;
  case 'u': add_upvalues(h, t); break;
  case 'V': add_named(h, t, item->text, find_value(h, item->text)); break;
  default: break;
  }
}

/* FILE:LINE FUNCTION: */
static void add_where(const Here *h, LTText *t)
{
  const char *chunk = strdata(proto_chunkname(h->pt));
  LTFunc *f = lj_ltfunc_find(L2LT(h->L), h->pt);
  const char *name = f && f->name ? f->name : lj_ltfunc_callname(h->L, h->L->base-1);
  int line = h->pos ? (int)lj_debug_line(h->pt, h->pos) : (int)h->pt->firstline;
  if (*chunk == '@' || *chunk == '=') chunk++;
  lj_lttext_escaped(t, chunk, strlen(chunk), CHUNK_MAX);
  lj_lttext_add(t, ":%d ", line);
  lj_lttext_name(t, name ? name : h->pt->firstline ? "?" : "main chunk");
  lj_lttext_char(t, ':');
}

static void print_hit(const Here *h, uint32_t place)
{
  LTWatch *w = L2LT(h->L)->watch;
  LTText t;
  uint32_t i;
  t.s = w->text;
  t.n = 0;
  t.max = LT_WATCH_MAX;
  add_where(h, &t);
  for (i = 0; i < w->nitems; i++) add_item(h, &t, &w->item[i]);
  if (wants(w, 't')) add_traceback(h, &t);
  lj_ltwatch_put(h->L, LTW_HIT, place, &t);
}

/* -- Hits -------------------------------------------------------------------- */

static void stop_watching(lua_State *L)
{
  LTWatch *w = L2LT(L)->watch;
  w->done = 1;
  w->nlines = 0;  /* Points are kept: their functions get back what the compiler gave up. */
}

/* Does the requested number of hits allow another one? */
static int take_hit(lua_State *L)
{
  uint32_t left;
  if (!L2LT(L)->watch->count) return 1;
  left = lj_ltwatch_count(L2LT(L));
  if (left < 2) stop_watching(L);
  return left > 0;
}

static void put_done(lua_State *L, uint32_t place)
{
  LTWatch *w = L2LT(L)->watch;
  LTText t = { w->text, 0, LT_WATCH_MAX };
  lj_lttext_add(&t, "%u hits", w->count);
  lj_ltwatch_put(L, LTW_DONE, place, &t);
}

static void hit(const Here *h, const BCIns *pc)
{
  lua_State *L = h->L;
  LTState *lt = L2LT(L);
  LTWatch *w = lt->watch;
  int olderr = errno;
  uint32_t i;
  for (i = 0; i < w->npoints && !w->done; i++) {
    const LTPoint *p = &w->point[i];
    if (p->pc != pc || (p->loop ? !h->back : h->onward) || !is_met(h) || !take_hit(L)) continue;
    lt_check_current(lt, L, 0);
    print_hit(h, p->place);
    if (w->done) put_done(L, p->place);
  }
  errno = olderr;
}

static void set_here(Here *h, lua_State *L, BCPos pos)
{
  h->L = L;
  h->fn = &curr_func(L)->l;
  h->pt = funcproto(curr_func(L));
  h->pos = pos;
  h->nargs = pos ? 0 : (uint32_t)(L->top - L->base);
  h->back = h->onward = 0;
}

/* How the program came from the instruction `last` of the same call to the one here. */
static void set_way(Here *h, const BCIns *last)
{
  const BCIns *bc = proto_bc(h->pt);
  if (last < bc || last >= bc + h->pt->sizebc) return;
  h->back = last >= bc + h->pos;
  h->onward = !h->back && lj_debug_line(h->pt, (BCPos)(last-bc)) == lj_debug_line(h->pt, h->pos);
}

/* A watched function begins. */
void lj_lthit_entry(lua_State *L, GCproto *pt)
{
  Here h;
  if (L2LT(L)->watch->done || lt_mute(G(L))) return;
  set_here(&h, L, 0);
  hit(&h, proto_bc(pt));
}

/* The instruction before pc is about to be executed. Returns 1 if no line is watched any more. */
int lj_lthit_line(lua_State *L, const BCIns *pc)
{
  LTWatch *w = L2LT(L)->watch;
  LTStep *step = &w->last[hook_active(G(L)) != 0], last = *step;
  Here h;
  if (w->done) return 1;
  step->pc = pc-1;
  step->L = L;
  step->base = L->base - tvref(L->stack);
  if (!lj_ltwatch_at(w, pc-1) || lt_mute(G(L))) return 0;
  set_here(&h, L, proto_bcpos(funcproto(curr_func(L)), pc) - 1);
  if (last.L == L && last.base == step->base) set_way(&h, last.pc);
  hit(&h, pc-1);
  return !w->nlines;
}

#endif
