/*
** Tracing of calls: the trees of single calls of functions that the program has hooked.
** SPDX-License-Identifier: MIT
**
** The third output of events, beside probes and ring: while a call of a hooked function is open, the
** events of its coroutine, and of those that it resumes, are summed up in a tree of call paths
** (a watch). When the call has ended, by a return, a tail call or an error, the tree waits until
** the next instruction of Lua code, where it is safe to call the program (lj_lthook_deliver).
**
** Invariants: time passes in one node of a watch at a time, or in none while its coroutine is
** suspended or the program is called with a tree. A watch has up to MAXNODES nodes; what does not
** fit counts for the calls around it, and the tree is marked as cut. Nothing here throws, or uses the
** Lua stack, but for deliver. */

#define lj_lthook_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdlib.h>
#include <string.h>

#include "lj_state.h"
#include "lj_trace.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

#define MAXHOOKS	64u	/* Hooked functions of a VM. */
#define MAXOPEN		64u	/* Their calls that are open at a time. */
#define MAXDONE		1024u	/* Trees that wait. */
#define MAXWAIT		100000u	/* Nodes of the trees that wait. */
#define MAXNODES	10000u	/* Of a tree. */
#define MAXLEVELS	1000u
#define MAXSTRANDS	64u	/* Coroutines of a watch. */
#define MAXSOURCE	255u	/* Bytes of a name. */

typedef struct luatrace_node CallNode;

/* The calls of a coroutine in a watch. */
typedef struct Strand {
  lua_State *L;		/* NULL: collected. */
  uint32_t node, depth;	/* Innermost call; number of open calls. */
  uint32_t over;	/* Open calls without a node. */
  int32_t by;		/* Strand that resumed it. */
  ptrdiff_t low;	/* Slot offset of the outermost of them. */
} Strand;

typedef struct Watch {
  struct Watch *next;
  struct luatrace_tree tree;
  CallNode *node;
  void **addr;		/* Of each node: prototype or C function. */
  uint32_t size;	/* Nodes that there is memory for. */
  uint32_t *slot;	/* Hash table of nodes by parent and address, 0: free; 2*size. */
  Strand strand[MAXSTRANDS];
  uint32_t nstrand;
  int32_t cur;		/* Strand that runs, -1: none. */
  uint64_t last;	/* ns: when time was last added. */
  uint32_t hook;
} Watch;

typedef struct Hook {
  void *addr;
  luatrace_hook_function done;
  void *data;
  uint32_t number;
} Hook;

struct LTHooks {
  Hook hook[MAXHOOKS];
  uint32_t nhook, last;
  Watch *open[MAXOPEN];
  uint32_t nopen, ndone, skipped;
  uint32_t nwait;	/* Nodes of the trees that wait. */
  Watch *first, **end;	/* Those that have ended. */
  Watch *called;	/* What the program is being called with. */
  uint32_t busy;	/* The program is being called. */
};

/* -- Nodes ------------------------------------------------------------------ */

static void free_watch(Watch *w)
{
  uint32_t i;
  for (i = 0; i < w->tree.count; i++) free((void *)(uintptr_t)w->node[i].source);
  free(w->node);
  free(w->addr);
  free(w->slot);
  free(w);
}

static uint32_t *slot_of(Watch *w, uint32_t parent, void *addr)
{
  uint64_t h = ((uint64_t)(uintptr_t)addr ^ ((uint64_t)parent << 40)) * 0x9e3779b97f4a7c15u;
  uint32_t mask = 2*w->size - 1, i = (uint32_t)(h >> 32) & mask;
  for (;; i = (i+1) & mask) {
    uint32_t n = w->slot[i];
    if (!n || (w->addr[n] == addr && w->node[n].parent == parent)) return &w->slot[i];
  }
}

static int grow_watch(Watch *w)
{
  uint32_t size = w->size ? 2*w->size : 32, i;
  CallNode *node = (CallNode *)realloc(w->node, size*sizeof(*node));
  void **addr = node ? (void **)realloc(w->addr, size*sizeof(*addr)) : NULL;
  uint32_t *slot = addr ? (uint32_t *)calloc(2*size, sizeof(*slot)) : NULL;
  if (node) w->node = node;
  if (addr) w->addr = addr;
  if (!slot) return 0;
  free(w->slot);
  w->slot = slot;
  w->size = size;
  for (i = 1; i < w->tree.count; i++) *slot_of(w, w->node[i].parent, w->addr[i]) = i;
  return 1;
}

/* The strings of a node, in one piece of memory. */
static int name_node(CallNode *n, const char *source, const char *name)
{
  size_t ns = strlen(source), nn = strlen(name);
  char *p;
  if (ns > MAXSOURCE) ns = MAXSOURCE;
  if (nn > MAXSOURCE) nn = MAXSOURCE;
  p = (char *)calloc(1, ns+nn+2);
  if (!p) return 0;
  memcpy(p, source, ns);
  memcpy(p+ns+1, name, nn);
  n->source = p;
  n->name = p+ns+1;
  return 1;
}

static int describe_node(lua_State *L, CallNode *n, GCobj *what, void *addr)
{
  LTState *lt = L2LT(L);
  LTFunc *f = lj_ltfunc_find(lt, addr);
  const char *name = f && f->name ? f->name : "?";
  n->is_c = what->gch.gct != ~LJ_TPROTO;
  n->line = -1;
  if (n->is_c) return name_node(n, "=[C]", name);
  n->line = (int)gco2pt(what)->firstline;
  if (!(f && f->name) && !n->line) name = "main";
  return name_node(n, strdata(proto_chunkname(gco2pt(what))), name);
}

/* A new node; 0 if there is no space. The first one is number 0, too. */
static uint32_t new_node(lua_State *L, Watch *w, uint32_t parent, GCobj *what, void *addr)
{
  uint32_t n = w->tree.count;
  if (n == MAXNODES || (n == w->size && !grow_watch(w))) return 0;
  memset(&w->node[n], 0, sizeof(CallNode));
  if (!describe_node(L, &w->node[n], what, addr)) return 0;
  w->node[n].parent = parent;
  w->addr[n] = addr;
  w->tree.count = n+1;
  w->tree.node = w->node;
  if (n) *slot_of(w, parent, addr) = n;
  return n;
}

/* -- Watches ---------------------------------------------------------------- */

static void pass_time(Watch *w, uint64_t now)
{
  uint64_t ns = now - w->last;
  w->last = now;
  if (w->cur >= 0) w->node[w->strand[w->cur].node].self_ns += ns;
  else w->tree.suspended_ns += ns;
}

static void begin_watch(lua_State *L, LTHooks *h, const Hook *hook, GCobj *what)
{
  Watch *w = h->nopen < MAXOPEN ? (Watch *)calloc(1, sizeof(Watch)) : NULL;
  if (w && (new_node(L, w, 0, what, hook->addr), w->tree.count == 0)) {
    free_watch(w);
    w = NULL;
  }
  if (!w) {
    h->skipped++;
    return;
  }
  w->hook = hook->number;
  w->node[0].calls = 1;
  w->strand[0].L = L;
  w->strand[0].depth = 1;
  w->strand[0].by = -1;
  w->strand[0].low = lt_stackofs(L, L->base);
  w->nstrand = 1;
  w->last = lj_ltctl_monotonic();
  h->open[h->nopen++] = w;
}

static void end_watch(global_State *g, LTHooks *h, uint32_t i, int error)
{
  Watch *w = h->open[i];
  h->open[i] = h->open[--h->nopen];
  if (h->ndone == MAXDONE || h->nwait + w->tree.count > MAXWAIT) {
    h->skipped++;
    free_watch(w);
    return;
  }
  w->tree.error = error;
  w->tree.skipped = h->skipped;
  h->skipped = 0;
  w->next = NULL;
  *h->end = w;
  h->end = &w->next;
  h->ndone++;
  h->nwait += w->tree.count;
  lj_ltstate_poll(G2LT(g));
}

static void enter(lua_State *L, Watch *w, GCobj *what, void *addr)
{
  Strand *s = &w->strand[w->cur];
  uint32_t n = 0;
  pass_time(w, lj_ltctl_monotonic());
  if (!s->over && !s->depth) s->low = lt_stackofs(L, L->base);
  if (!s->over && s->depth < MAXLEVELS) {
    n = *slot_of(w, s->node, addr);
    if (!n) n = new_node(L, w, s->node, what, addr);
  }
  if (!n) {
    s->over++;
    w->tree.cut = 1;
    return;
  }
  w->node[n].calls++;
  s->node = n;
  s->depth++;
}

/* Returns 1 if the hooked call itself has ended. */
static int leave(Watch *w, void *addr)
{
  Strand *s = &w->strand[w->cur];
  if (addr && !s->over && w->addr[s->node] != addr) return 0;  /* Began before. */
  if (!s->over && !s->depth) return 0;
  pass_time(w, lj_ltctl_monotonic());
  if (s->over) {
    s->over--;
    return 0;
  }
  s->node = w->node[s->node].parent;
  return --s->depth == 0 && w->cur == 0;
}

/* Does the watch follow L now? */
static int follows(const Watch *w, const lua_State *L)
{
  return w->cur >= 0 && w->strand[w->cur].L == L;
}

/* The events of this VM that hooks want, if any. */
static LTHooks *hooks_of(LTState *lt)
{
  return lt->hooks && !lt->hooks->busy ? lt->hooks : NULL;
}

/* A call begins or ends. what: prototype or C function. */
void lj_lthook_event(lua_State *L, GCobj *what, uint32_t kind)
{
  LTHooks *h = hooks_of(L2LT(L));
  void *addr = what->gch.gct == ~LJ_TPROTO ? (void *)what : (void *)(uintptr_t)gco2func(what)->c.f;
  uint32_t i, k, known;
  if (!h) return;
  for (i = h->nopen; i-- > 0; ) {
    Watch *w = h->open[i];
    if (!follows(w, L)) continue;
    if (kind == LT_ENTRY) enter(L, w, what, addr);
    else if (leave(w, addr)) end_watch(G(L), h, i, 0);
  }
  if (kind != LT_ENTRY) return;
  for (k = 0; k < h->nhook; k++) {
    if (h->hook[k].addr != addr) continue;
    for (known = 0, i = 0; i < h->nopen; i++)  /* A recursion is part of the outermost call. */
      known |= h->open[i]->hook == h->hook[k].number && follows(h->open[i], L);
    if (!known) begin_watch(L, h, &h->hook[k], what);
  }
}

/* Calls of a strand that remain if an error removes the frames above newbase. */
static uint32_t remaining(lua_State *L, const Strand *s, TValue *newbase, LTCountCalls count)
{
  uint32_t n;
  if (s->low > lt_stackofs(L, newbase)) return 0;
  n = count(L, newbase-1, tvref(L->stack) + s->low-2);
  return n ? n : 1;
}

/* An error ends n calls of L. newbase, unless NULL: there are more of them, whose frames are gone
** already; those above newbase end. */
void lj_lthook_unwind(lua_State *L, uint32_t n, TValue *newbase, LTCountCalls count)
{
  LTHooks *h = hooks_of(L2LT(L));
  uint32_t i, k;
  for (i = h ? h->nopen : 0; i-- > 0; ) {
    Watch *w = h->open[i];
    if (!follows(w, L)) continue;
    if (newbase) {
      uint32_t open = w->strand[w->cur].depth + w->strand[w->cur].over;
      uint32_t left = open ? remaining(L, &w->strand[w->cur], newbase, count) : 0;
      n = open > left ? open - left : 0;
    }
    for (k = 0; k < n && follows(w, L); k++)
      if (leave(w, NULL)) {
	end_watch(G(L), h, i, 1);
	break;
      }
  }
}

/* -- Coroutines ------------------------------------------------------------- */

static int32_t strand_of(const Watch *w, const lua_State *L)
{
  uint32_t i;
  for (i = 0; i < w->nstrand; i++)
    if (w->strand[i].L == L) return (int32_t)i;
  return -1;
}

/* by (or NULL) resumes co. */
void lj_lthook_resume(LTState *lt, lua_State *by, lua_State *co)
{
  LTHooks *h = hooks_of(lt);
  uint32_t i;
  for (i = 0; h && i < h->nopen; i++) {
    Watch *w = h->open[i];
    int32_t k = strand_of(w, co);
    if (!(by && follows(w, by)) && !(w->cur < 0 && k == 0)) continue;
    pass_time(w, lj_ltctl_monotonic());
    if (k < 0) {
      if (w->nstrand == MAXSTRANDS) {
	w->tree.cut = 1;
	continue;
      }
      k = (int32_t)w->nstrand++;
      w->strand[k].L = co;
      w->strand[k].node = w->strand[w->cur].node;
    }
    if (k != 0) w->strand[k].by = w->cur;
    w->cur = k;
  }
}

/* co is suspended or has ended. */
void lj_lthook_suspend(LTState *lt, lua_State *co, int status)
{
  LTHooks *h = hooks_of(lt);
  uint32_t i;
  if (!h) return;
  for (i = h->nopen; i-- > 0; ) {
    Watch *w = h->open[i];
    if (!follows(w, co)) continue;
    pass_time(w, lj_ltctl_monotonic());
    if (status != LUA_YIELD && w->cur == 0) {
      end_watch(LT2G(lt), h, i, status != LUA_OK);
      continue;
    }
    if (status != LUA_YIELD) w->strand[w->cur].L = NULL;
    w->cur = w->strand[w->cur].by;
  }
}

/* co is freed: a call that it was suspended in never ends. */
void lj_lthook_collect(LTState *lt, lua_State *co)
{
  LTHooks *h = lt->hooks;
  uint32_t i;
  if (!h) return;
  for (i = h->nopen; i-- > 0; ) {
    int32_t k = strand_of(h->open[i], co);
    if (k > 0) h->open[i]->strand[k].L = NULL;
    if (k != 0) continue;
    free_watch(h->open[i]);
    h->open[i] = h->open[--h->nopen];
  }
}

/* -- Calling the program ---------------------------------------------------- */

/* The next tree that waits, or NULL. */
static Watch *take_done(LTHooks *h)
{
  Watch *w = h->first;
  if (!w) return NULL;
  h->first = w->next;
  if (!h->first) h->end = &h->first;
  h->ndone--;
  h->nwait -= w->tree.count;
  return w;
}

/* Between inclusive times and those of callees; parents come before their children. */
static void sum_up(Watch *w)
{
  uint32_t i;
  for (i = w->tree.count; i-- > 0; ) {
    CallNode *n = &w->node[i], *by = &w->node[n->parent];
    n->full_ns += n->self_ns;
    if (i == 0) break;
    by->full_ns += n->full_ns;
    if (n->is_c) by->native_ns += n->full_ns;
  }
}

static void call_program(lua_State *L, LTHooks *h, Watch *w)
{
  uint32_t k;
  sum_up(w);
  h->called = w;
  for (k = 0; k < h->nhook; k++)
    if (h->hook[k].number == w->hook) {
      Hook hook = h->hook[k];  /* It may be removed meanwhile. */
      hook.done(L, &w->tree, hook.data);
      break;
    }
  h->called = NULL;
  free_watch(w);
}

/* Time passes in the calls that are open; counted: 0: what has passed is that of the program's
** functions that were called with trees. */
static void pass_all(LTHooks *h, int counted)
{
  uint64_t now = lj_ltctl_monotonic();
  uint32_t i;
  for (i = 0; i < h->nopen; i++) {
    if (counted) pass_time(h->open[i], now);
    else h->open[i]->last = now;
  }
}

static TValue *cpdeliver(lua_State *L, lua_CFunction dummy, void *ud)
{
  LTHooks *h = (LTHooks *)ud;
  UNUSED(dummy);
  lj_state_checkstack(L, LUA_MINSTACK);
  while (h->first) call_program(L, h, take_done(h));
  return NULL;
}

/* Call the program while its debug hook does not run, and does not count instructions. It may set
** another hook meanwhile. */
static void call_unhooked(lua_State *L, LTHooks *h)
{
  global_State *g = G(L);
  uint8_t mask = g->hookmask & HOOK_EVENTMASK;
  lua_Hook hookf = g->hookf;
  int32_t count = g->hookcount;
  g->hookmask &= ~HOOK_EVENTMASK;
  lj_vm_cpcall(L, NULL, h, cpdeliver);
  if (!mask || (g->hookmask & HOOK_EVENTMASK) || g->hookf != hookf) return;
  g->hookmask |= mask;
  g->hookcount = count;
  lt_dispatch_update(g);
}

/* Pass on the trees that wait, if the program may be called here. As a debug hook is called: L->top
** is above all that is in use. An error (no memory, no stack) costs a tree. */
void lj_lthook_deliver(lua_State *L)
{
  global_State *g = G(L);
  LTHooks *h = hooks_of(G2LT(g));
  ptrdiff_t top = savestack(L, L->top);
  if (!h || !h->first) return;
  if ((g->hookmask & (HOOK_ACTIVE|HOOK_GC|HOOK_VMEVENT))) {
    lj_ltstate_poll(G2LT(g));
    return;
  }
  lj_trace_abort(g);
  pass_all(h, 1);
  h->busy = 1;
  call_unhooked(L, h);
  h->busy = 0;
  pass_all(h, 0);
  if (h->called) free_watch(h->called);
  h->called = NULL;
  if (h->first) lj_ltstate_poll(G2LT(g));
  setgcref(g->cur_L, obj2gco(L));
  L->top = restorestack(L, top);
}

/* -- Hooks ------------------------------------------------------------------ */

int lj_lthook_wanted(LTState *lt)
{
  return lt->hooks && lt->hooks->nhook;
}

/* Returns the number of the hook, 0 if there is no space. */
uint32_t lj_lthook_add(global_State *g, void *addr, luatrace_hook_function done, void *data)
{
  LTState *lt = G2LT(g);
  LTHooks *h = lt->hooks;
  Hook *hook;
  if (!h) {
    h = lt->hooks = (LTHooks *)calloc(1, sizeof(LTHooks));
    if (!h) return 0;
    h->end = &h->first;
  }
  if (h->nhook == MAXHOOKS) return 0;
  hook = &h->hook[h->nhook++];
  hook->addr = addr;
  hook->done = done;
  hook->data = data;
  hook->number = ++h->last;
  return hook->number;
}

/* Calls that are open are forgotten. */
void lj_lthook_remove(global_State *g, uint32_t number)
{
  LTHooks *h = G2LT(g)->hooks;
  uint32_t i;
  for (i = h ? h->nopen : 0; i-- > 0; )
    if (h->open[i]->hook == number) {
      free_watch(h->open[i]);
      h->open[i] = h->open[--h->nopen];
    }
  for (i = 0; h && i < h->nhook; i++)
    if (h->hook[i].number == number) {
      h->hook[i] = h->hook[--h->nhook];
      return;
    }
}

void lj_lthook_free(LTState *lt)
{
  LTHooks *h = lt->hooks;
  Watch *w;
  if (!h) return;
  while (h->nopen) free_watch(h->open[--h->nopen]);
  while ((w = take_done(h)) != NULL) free_watch(w);
  free(h);
  lt->hooks = NULL;
}

#endif
