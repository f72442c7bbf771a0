/*
** Tracing of calls: known functions, their ids and names, and which ones have events.
** SPDX-License-Identifier: MIT
**
** Invariant: an id belongs to one prototype, or to one C function, for the whole life
** of the VM, and is described to the recorder before its first event. When a prototype
** is freed, everything kept about it goes, but its id is not used again. */

#define lj_ltfunc_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <link.h>
#include <unistd.h>
#endif

#include "lj_bc.h"
#include "lj_buf.h"
#include "lj_debug.h"
#include "lj_ff.h"
#include "lj_frame.h"
#if LJ_HASJIT
#include "lj_jit.h"
#include "lj_ffrecord.h"
#endif
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* Grow a malloc()ed array. Returns 0 if there is no memory. */
int lj_ltfunc_grow(void **vec, uint32_t *size, uint32_t need, size_t elem)
{
  uint32_t n = *size ? *size : 64;
  void *p;
  if (need < *size) return 1;
  while (n <= need) n *= 2;
  p = realloc(*vec, n*elem);
  if (!p) return 0;
  memset((char *)p + *size*elem, 0, (n - *size)*elem);
  *vec = p;
  *size = n;
  return 1;
}

/* -- Known functions by address -------------------------------------------- */

/* The place of an address in the hash table, used or free. */
static LTFunc *func_place(LTState *lt, void *addr)
{
  uint64_t h = (uint64_t)(uintptr_t)addr*0x9e3779b97f4a7c15ull;
  uint32_t i = (uint32_t)(h >> 32) & lt->funcmask;
  while (lt->func[i].addr && lt->func[i].addr != addr)
    i = (i+1) & lt->funcmask;
  return &lt->func[i];
}

/* The entry of a prototype or C function, or NULL. */
LTFunc *lj_ltfunc_find(LTState *lt, void *addr)
{
  LTFunc *f = lt->func ? func_place(lt, addr) : NULL;
  return f && f->addr ? f : NULL;
}

/* Make sure that one more entry fits. Returns 0 if there is no memory. */
static int func_space(LTState *lt)
{
  LTFunc *old = lt->func;
  uint32_t n = old ? lt->funcmask+1 : 0, i;
  if (2*(lt->nfunc+1) <= n) return 1;
  lt->func = (LTFunc *)calloc(n ? 2*(size_t)n : 256, sizeof(LTFunc));
  if (!lt->func) {
    lt->func = old;
    return 0;
  }
  lt->funcmask = (n ? 2*n : 256) - 1;
  for (i = 0; i < n; i++)
    if (old[i].addr) *func_place(lt, old[i].addr) = old[i];
  free(old);
  return 1;
}

/* Copy a name. NULL without memory. */
static char *newname(const char *name, int how)
{
  size_t n = strlen(name)+1;
  char *p = (char *)malloc(1+n);
  if (!p) return NULL;
  *p = (char)how;
  return (char *)memcpy(p+1, name, n);
}

#define freename(f)	((f)->name ? free((f)->name - 1) : (void)0)

/* Change the name of an entry, unless there is no memory. Tracers may remember where a
** name is: an equal one stays there. */
static void setname(LTFunc *f, const char *name, int how)
{
  char *copy;
  if (f->name && !strcmp(f->name, name)) {
    f->name[-1] = (char)how;
    return;
  }
  if (!(copy = newname(name, how))) return;
  freename(f);
  f->name = copy;
}

/* Add an entry for a function that has this id. NULL without memory. how: LT_NAME_* */
static LTFunc *keepfunc(LTState *lt, void *addr, uint32_t id, const char *name,
			int how)
{
  LTFunc *f;
  if (!func_space(lt)) return NULL;
  f = func_place(lt, addr);
  f->addr = addr;
  f->name = name ? newname(name, how) : NULL;
  f->id = id;
  f->rec = 0;
  lt->nfunc++;
  return f;
}

/* The same for a function that has no id yet. */
LTFunc *lj_ltfunc_new(LTState *lt, void *addr, const char *name, int how)
{
  LTFunc *f = keepfunc(lt, addr, lt->lastfunc+1, name, how);
  if (f) lt->lastfunc++;
  return f;
}

/* Remove an entry, and move up those that it displaced. */
static void dropfunc(LTState *lt, LTFunc *f)
{
  LTFunc *next = f;
  freename(f);
  f->addr = NULL;
  lt->nfunc--;
  for (;;) {
    LTFunc moved;
    next = next == lt->func + lt->funcmask ? lt->func : next+1;
    if (!next->addr) return;
    moved = *next;
    next->addr = NULL;
    *func_place(lt, moved.addr) = moved;
  }
}

void lj_ltfunc_free(LTState *lt)
{
  uint32_t i;
  for (i = 0; lt->func && i <= lt->funcmask; i++)
    if (lt->func[i].addr) freename(&lt->func[i]);
  free(lt->func);
  lt->func = NULL;
  free(lt->cwd);
}

/* A prototype is freed. */
void lj_ltfunc_freeproto(global_State *g, GCproto *pt)
{
  LTState *lt = G2LT(g);
  LTFunc *f = lt->nfunc ? lj_ltfunc_find(lt, pt) : NULL;
  if (f) dropfunc(lt, f);
  if (lt->watch) lj_ltwatch_freeproto(lt, pt);
}

/* -- Lua functions without line numbers ------------------------------------ */

#define MAXSTR	256u  /* Bytes of a constant that enter the hash of code. */

#define HASH_START	0x811c9dc5u  /* FNV-1a */

static uint32_t hash_bytes(uint32_t h, const void *p, size_t n)
{
  const unsigned char *s = (const unsigned char *)p;
  while (n--) h = (h ^ *s++) * 0x01000193u;
  return h;
}

#define hash_num(h, n)	(num_ = (uint32_t)(n), hash_bytes((h), &num_, sizeof(num_)))

/* An instruction as it was compiled, whatever has replaced it since. */
static BCIns original_ins(global_State *g, BCIns ins)
{
  BCOp op = bc_op(ins);
#if LJ_HASJIT
  if (op == BC_JFORL || op == BC_JITERL || op == BC_JLOOP)
    op = bc_op(ins = traceref(G2J(g), bc_d(ins))->startins);
#else
  UNUSED(g);
#endif
  if (op == BC_JFORI || op == BC_IFORL || op == BC_IITERL || op == BC_ILOOP)
    setbc_op(&ins, (int)op-(int)BC_IFORL+(int)BC_FORL);
  else if (op == BC_ISNEXT)
    setbc_op(&ins, BC_JMP);
  else if (op == BC_ITERN)
    setbc_op(&ins, BC_ITERC);
  return ins;
}

static uint32_t hash_proto(global_State *g, uint32_t h, GCproto *pt, int depth);

/* depth: how many levels of nested function definitions are included. */
static uint32_t hash_constant(global_State *g, uint32_t h, GCobj *o, int depth)
{
  uint32_t num_;
  h = hash_num(h, o->gch.gct);
  if (o->gch.gct == ~LJ_TSTR) {
    GCstr *s = gco2str(o);
    h = hash_num(hash_bytes(h, strdata(s), s->len < MAXSTR ? s->len : MAXSTR),
		 s->len);
  } else if (o->gch.gct == ~LJ_TTAB) {
    h = hash_num(hash_num(h, gco2tab(o)->asize), gco2tab(o)->hmask);
  } else if (o->gch.gct == ~LJ_TPROTO) {
    h = hash_num(hash_num(h, gco2pt(o)->sizebc), gco2pt(o)->sizekgc);
    if (depth > 0) h = hash_proto(g, h, gco2pt(o), depth-1);
  }
  return h;
}

static uint32_t hash_proto(global_State *g, uint32_t h, GCproto *pt, int depth)
{
  uint32_t num_;
  MSize i;
  h = hash_num(h, (pt->numparams << 8) | (pt->flags & PROTO_VARARG));
  for (i = 1; i < pt->sizebc; i++)
    h = hash_num(h, original_ins(g, proto_bc(pt)[i]));
  for (i = 0; i < pt->sizekgc; i++)
    h = hash_constant(g, h, proto_kgc(pt, ~(ptrdiff_t)i), depth);
  return pt->sizekn ? hash_bytes(h, proto_knumtv(pt, 0),
				 pt->sizekn*sizeof(TValue)) : h;
}

/* Line of the definition for tracers: for a function without line information,
** LT_LINE_CODE and a hash of its code, which is the same in any process. */
static uint32_t tracerline(LTState *lt, GCproto *pt)
{
  if (pt->firstline || proto_lineinfo(pt)) return (uint32_t)pt->firstline;
  return LT_LINE_CODE | ((hash_proto(LT2G(lt), HASH_START, pt, 2) & 0x3fffffffu) + 1);
}

/* The same for a function that has an id. */
uint32_t lj_ltfunc_line(LTState *lt, GCproto *pt)
{
  LTFunc *f = lj_ltfunc_find(lt, pt);
  return f ? f->rec : tracerline(lt, pt);
}

/* -- Functions: ids and descriptions -------------------------------------- */

/* New id for a prototype, or LT_ID_UNKNOWN without memory. No entry is needed if it has
** no name but has a line. */
static uint32_t newid(LTState *lt, GCproto *pt, const char *name, int how)
{
  uint32_t line = tracerline(lt, pt);
  LTFunc *f;
  if (!name && !(line & LT_LINE_CODE)) return ++lt->lastfunc;
  if (!(f = lj_ltfunc_new(lt, pt, name, how))) return LT_ID_UNKNOWN;
  f->rec = line;
  return f->id;
}

/* Name of the function in a frame, from the call. NULL if not known. */
const char *lj_ltfunc_callname(lua_State *L, cTValue *frame)
{
  const char *name = NULL;
  cTValue *f = frame;
  if (!f || f <= tvref(L->stack)+LJ_FR2) return NULL;
  if (frame_isvarg(f)) f = frame_prevd(f);
  if (!(frame_islua(f) || (frame_iscont(f) && !frame_iscont_fficb(f))))
    return NULL;
  if (!isluafunc(frame_func(frame_prev(f)))) return NULL;
  return lj_debug_funcname(L, frame, &name) && *name ? name : NULL;
}

/* The variables that are live at a place of the code, by their slots. */
typedef struct LiveVars {
  const char *p;	/* The rest of the list (lj_debug.c). It is sorted by first places. */
  BCPos last;		/* First place of the one before. */
  uint32_t n;
  struct { const char *name; BCPos end; } var[LJ_MAX_LOCVAR];
} LiveVars;

/* Read on, to those that are live at pc, which is not before that of the last call. So the list of
** a chunk with thousands of functions is read once. */
static void read_vars(LiveVars *v, BCPos pc)
{
  uint32_t i, n = 0;
  for (i = 0; i < v->n; i++)
    if (pc < v->var[i].end) v->var[n++] = v->var[i];
  v->n = n;
  while (v->p && *(const uint8_t *)v->p != VARNAME_END) {
    const char *name = v->p, *p = name;
    int named = *(const uint8_t *)name >= VARNAME__MAX;
    BCPos start, end;
    p += named ? strlen(p)+1 : 1;
    start = v->last + lj_buf_ruleb128(&p);
    if (start > pc) return;
    end = start + lj_buf_ruleb128(&p);
    v->p = v->n < LJ_MAX_LOCVAR ? p : NULL;
    v->last = start;
    if (pc >= end || !v->p) continue;
    v->var[v->n].name = named ? name : NULL;  /* NULL: an internal variable of a loop. */
    v->var[v->n++].end = end;
  }
}

/* Name of the variable or field to which the code of pt stores the function that the
** FNEW at ins creates. NULL if it is not stored to one. */
static const char *defname(GCproto *pt, const BCIns *ins, LiveVars *v)
{
  const char *name = NULL;
  BCReg slot = bc_a(*ins);
  BCIns next = ins[1];
  read_vars(v, proto_bcpos(pt, ins+1));
  if (slot < v->n) return v->var[slot].name;
  if (bc_op(next) == BC_GSET && bc_a(next) == slot)
    name = strdata(gco2str(proto_kgc(pt, ~(ptrdiff_t)bc_d(next))));
  else if (bc_op(next) == BC_TSETS && bc_a(next) == slot)
    name = strdata(gco2str(proto_kgc(pt, ~(ptrdiff_t)bc_c(next))));
  else if (bc_op(next) == BC_USETV && bc_d(next) == slot)
    name = lj_debug_uvname(pt, bc_a(next));
  return name && *name ? name : NULL;
}

/* Hash of a chunk's full name, which may be megabytes of code. */
static uint32_t hash_chunk(LTState *lt, GCstr *s)
{
  LTChunk *c = &lt->chunk[s->sid & (LT_NCHUNK-1)];
  if (c->sid != s->sid || c->len != s->len) {
    c->hash = hash_bytes(HASH_START, strdata(s), s->len);
    c->sid = s->sid;
    c->len = s->len;
  }
  return c->hash;
}

/* Names that differ only after a NUL, or beyond what a description can hold, must not
** become equal: they end in a hash of the full name. */
static const char *chunk_text(LTState *lt, GCstr *s, char *buf)
{
  static const char hex[] = "0123456789abcdef";
  const char *p = strdata(s);
  size_t n = strlen(p);
  uint32_t h, i;
  if (n == s->len && n <= LT_FUNC_STR_MAX) return p;
  h = hash_chunk(lt, s);
  if (n > LT_FUNC_STR_MAX-12) n = LT_FUNC_STR_MAX-12;
  memcpy(buf, p, n);
  memcpy(buf+n, "...#", 4);
  for (i = 0; i < 8; i++, h <<= 4) buf[n+4+i] = hex[h >> 28];
  buf[n+12] = '\0';
  return buf;
}

static void describe_proto(LTState *lt, GCproto *pt)
{
  LTFunc *f = lj_ltfunc_find(lt, pt);
  struct lt_func what;
  char buf[LT_FUNC_STR_MAX+1];
  memset(&what, 0, sizeof(what));
  what.type = LT_FUNC_LUA;
  what.flags = f && f->name && !lj_ltfunc_defined(f) ? LT_FUNC_HINT : 0;
  what.id = pt->lt_id;
  what.firstline = lj_ltfunc_line(lt, pt);
  what.lastline = what.firstline + (uint32_t)pt->numline;
  what.addr = (uint64_t)(uintptr_t)pt;
  lj_ltring_func(lt, &what, chunk_text(lt, proto_chunkname(pt), buf),
		 f ? f->name : NULL);
}

/* Give the name of its definition to a prototype that got its id from a call: it
** ran before the function around its definition was seen, as after attaching. */
static void name_known(LTState *lt, GCproto *pt, const char *name)
{
  LTFunc *f = lj_ltfunc_find(lt, pt);
  if (f) {
    setname(f, name, LT_NAME_DEFINED);
  } else {
    if (!(f = keepfunc(lt, pt, pt->lt_id, name, LT_NAME_DEFINED))) return;
    f->rec = tracerline(lt, pt);
  }
  if (lt_ringon(lt) && lt_hasevents(lt, pt)) describe_proto(lt, pt);
  if (lt->watch && pt->lt_rec >> LTREC_SHIFT == lt->rec2 >> LTREC_SHIFT)
    lj_ltwatch_named(lt, pt, name);
}

/* Give their names, and ids, to the functions that are defined in pt and have a name
** there, whatever their callers call them. */
static void define_inner(LTState *lt, GCproto *pt)
{
  const BCIns *ins = proto_bc(pt), *end = ins + pt->sizebc;
  LiveVars v;
  if (!(pt->flags & PROTO_CHILD)) return;
  v.p = (const char *)proto_varinfo(pt);
  v.last = v.n = 0;
  for (ins++; ins+1 < end; ins++) {
    GCproto *inner;
    const char *name;
    LTFunc *f;
    if (bc_op(*ins) != BC_FNEW) continue;
    inner = gco2pt(proto_kgc(pt, ~(ptrdiff_t)bc_d(*ins)));
    f = inner->lt_id ? lj_ltfunc_find(lt, inner) : NULL;
    if ((f && lj_ltfunc_defined(f)) || !(name = defname(pt, ins, &v))) continue;
    if (inner->lt_id)
      name_known(lt, inner, name);
    else
      inner->lt_id = newid(lt, inner, name, LT_NAME_DEFINED);
  }
}

/* Give the name in package.loaded to a prototype whose definition was not seen. Main
** chunks have their chunk's. */
static void find_name(lua_State *L, GCproto *pt)
{
  LTFunc *f = lj_ltfunc_find(L2LT(L), pt);
  char name[LT_PATH_MAX+1];
  if (!pt->lt_id || (f && lj_ltfunc_defined(f))) return;
  if (!pt->firstline && proto_lineinfo(pt)) return;
  if (lj_ltname_find(L, pt, 1, name) == LT_PATH_ONE) name_known(L2LT(L), pt, name);
}

/* Its places that are watched, as LTREC_* bits. */
static uint32_t watched_places(LTState *lt, GCproto *pt)
{
  LTFunc *f = lt->watch ? lj_ltfunc_find(lt, pt) : NULL;
  return lt->watch ? lj_ltwatch_find(lt, pt, f ? f->name : NULL) : 0;
}

/* Make a prototype known to this recording. */
static LJ_NOINLINE uint32_t newproto(lua_State *L, GCproto *pt, cTValue *frame)
{
  LTState *lt = L2LT(L);
  uint32_t rec = lt->rec2;
  if (!lj_ltctl_match(strdata(proto_chunkname(pt)))) {
    rec |= LTREC_EXCLUDED;
    if (!lt->watch && !lt_hookon(lt)) {
      pt->lt_rec = rec;
      return 0;
    }
  }
  if (!pt->lt_id)
    pt->lt_id = newid(lt, pt, lj_ltfunc_callname(L, frame), LT_NAME_HINT);
  find_name(L, pt);
  pt->lt_rec = rec | watched_places(lt, pt);
  if (lt_ringon(lt) && pt->lt_id && !(rec & LTREC_EXCLUDED)) describe_proto(lt, pt);
  define_inner(lt, pt);
  return (rec & LTREC_EXCLUDED) ? 0 : pt->lt_id;
}

/* Is it one of our own functions, which have no events? */
int lj_ltfunc_ishidden(GCproto *pt)
{
  return !strcmp(strdata(proto_chunkname(pt)), LUATRACE_HIDDEN);
}

/* Id of a prototype, or 0 if it is excluded. frame belongs to a call of it, or is NULL. */
uint32_t lj_ltfunc_protoid(lua_State *L, GCproto *pt, cTValue *frame)
{
  LTState *lt = L2LT(L);
  uint32_t d = pt->lt_rec - lt->rec2;
  if (LJ_LIKELY(d == 0)) return pt->lt_id;
  if (d >> LTREC_SHIFT) return newproto(L, pt, frame);
  return (d & LTREC_EXCLUDED) ? 0 : pt->lt_id;
}

#if defined(__linux__)
/* Newer C libraries have it: no lock, no allocation. */
extern int lt_find_object(void *pc, void *result)
  __asm__("_dl_find_object") __attribute__((weak));

/* Recording begins: note the working directory, for relative paths. Now, since system
** calls are made now anyway; a sandbox might kill the program for a later one. */
void lj_ltfunc_begin(LTState *lt)
{
  char buf[LT_FUNC_STR_MAX+1];
  int olderr = errno;
  free(lt->cwd);
  lt->cwd = getcwd(buf, sizeof(buf)) && *buf == '/' ? strdup(buf) : NULL;
  errno = olderr;
}

/* Path of the library that has a C function, and the function's address in that file
** (as in ELF). A process that runs briefly ends before anybody else can read its mappings.
** NULL if not known, or if it is the program itself. */
static const char *library_of(LTState *lt, void *addr, char *buf, size_t size,
			      uint32_t *ofs)
{
  struct { uint64_t flags; void *start, *end; struct link_map *map; void *more[16]; } o;
  const char *name;
  size_t n = 0;
  uint64_t d;
  if (!lt_find_object || lt_find_object(addr, &o) != 0 || !o.map ||
      !(name = o.map->l_name) || !*name)
    return NULL;
  d = (uint64_t)((char *)addr - (char *)(uintptr_t)o.map->l_addr);
  if (d > 0xffffffffu) return NULL;
  if (*name != '/' && lt->cwd) {
    while (name[0] == '.' && name[1] == '/') name += 2;
    n = strlen(lt->cwd);
    if (n + 1 >= size) return NULL;
    memcpy(buf, lt->cwd, n);
    buf[n++] = '/';
  }
  if (n + strlen(name) >= size) return NULL;
  strcpy(buf+n, name);
  *ofs = (uint32_t)d;
  return buf;
}
#else
#define library_of(lt, addr, buf, size, ofs)	((void)(buf), NULL)
void lj_ltfunc_begin(LTState *lt)
{
  UNUSED(lt);
}
#endif

/* What a host's own coroutine.wrap returns is in no table: a closure with a coroutine and
** nothing else. It has the name of what LuaJIT's returns. */
static int is_wrap(GCfunc *fn)
{
  return fn->c.nupvalues == 1 && tvisthread(&fn->c.upvalue[0]);
}

/* Give a C function its name in package.loaded. If another function now shares its
** address, what was found earlier is a hint. */
static void find_cname(lua_State *L, GCfunc *fn, LTFunc *f)
{
  char name[LT_PATH_MAX+1];
  int how = lj_ltname_find(L, f->addr, 0, name);
  if (how == LT_PATH_ONE)
    setname(f, name, LT_NAME_DEFINED);
  else if (how == LT_PATH_NONE && is_wrap(fn))
    setname(f, "coroutine.wrap_aux", LT_NAME_DEFINED);
  else if (how == LT_PATH_SEVERAL && f->name)
    f->name[-1] = LT_NAME_HINT;
}

/* Make a C function known to this recording. code: its address, or NULL. */
void lj_ltfunc_describe(LTState *lt, LTFunc *f, void *code, uint8_t ffid)
{
  int ff = ffid > FF_C;
  struct lt_func what;
  char buf[LT_FUNC_STR_MAX+1];
  f->rec = lt->rec;
  if (!lt_ringon(lt)) return;
  memset(&what, 0, sizeof(what));
  what.type = ff ? LT_FUNC_FF : LT_FUNC_C;
  what.flags = !ff && f->name && !lj_ltfunc_defined(f) ? LT_FUNC_HINT : 0;
  what.id = f->id;
  what.ffid = ffid;
  what.addr = (uint64_t)(uintptr_t)code;
  lj_ltring_func(lt, &what, ff || !code ? NULL :
		 library_of(lt, code, buf, sizeof(buf), &what.fileofs), f->name);
}

/* Id of a C function. frame belongs to a call of it, or is NULL. */
uint32_t lj_ltfunc_cfuncid(lua_State *L, GCfunc *fn, cTValue *frame)
{
  LTState *lt = L2LT(L);
  void *addr = (void *)(uintptr_t)fn->c.f;
  LTFunc *f = lj_ltfunc_find(lt, addr);
  if (!f) {
    char buf[64];
    const char *name = fn->c.ffid > FF_C ?
      lj_ltname_builtin(fn->c.ffid, buf, sizeof(buf)) : lj_ltfunc_callname(L, frame);
    if (!(f = lj_ltfunc_new(lt, addr, name, LT_NAME_HINT))) return LT_ID_UNKNOWN;
  }
  if (f->rec != lt->rec) {
    if (fn->c.ffid == FF_C) find_cname(L, fn, f);
    lj_ltfunc_describe(lt, f, addr, fn->c.ffid);
  }
  return f->id;
}

/* Id of what is described like a function and is none: ffid is one of LT_FF_*. key: no
** address of a function, and different for each. */
uint32_t lj_ltfunc_pseudo(LTState *lt, uintptr_t key, uint32_t ffid, const char *name)
{
  LTFunc *f = lj_ltfunc_find(lt, (void *)key);
  if (!f && !(f = lj_ltfunc_new(lt, (void *)key, name, LT_NAME_DEFINED)))
    return LT_ID_UNKNOWN;
  if (f->rec != lt->rec && lt_ringon(lt)) {
    struct lt_func what;
    memset(&what, 0, sizeof(what));
    what.type = LT_FUNC_FF;
    what.id = f->id;
    what.ffid = ffid;
    lj_ltring_func(lt, &what, NULL, name);
    f->rec = lt->rec;
  }
  return f->id;
}

/* -- Which functions have events ------------------------------------------- */

/* The current function is about to give its frame to a call of fn, by the CALLT at ins.
** If this is the first call of fn, it gets its name now: its frame will hold the return
** address of its caller's call. */
void lj_ltfunc_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins)
{
  LTState *lt = L2LT(L);
  GCproto *pt = funcproto(curr_func(L));
  const char *name = NULL;
  if (isluafunc(fn)) {
    if (LJ_LIKELY(funcproto(fn)->lt_id)) return;
    lj_debug_slotname(pt, ins, bc_a(*ins), &name);
    funcproto(fn)->lt_id = newid(lt, funcproto(fn), name, LT_NAME_HINT);
  } else if (fn->c.ffid == FF_C) {
    void *addr = (void *)(uintptr_t)fn->c.f;
    if (lj_ltfunc_find(lt, addr)) return;
    lj_debug_slotname(pt, ins, bc_a(*ins), &name);
    lj_ltfunc_new(lt, addr, name, LT_NAME_HINT);
  }
}

#if LJ_HASFFI
/* Operators of cdata and accesses to C libraries are not calls: compiled code may do
** without them, or call the metamethod directly. */
#define isoperator(ffid) \
  ((ffid) >= FF_ffi_meta___index && (ffid) <= FF_ffi_clib___newindex)
#else
#define isoperator(ffid)	0
#endif

/* Does this C function have events? */
int lj_ltfunc_wantc(global_State *g, GCfunc *fn)
{
  LTState *lt = G2LT(g);
  uint32_t ffid = fn->c.ffid;
  if (!lt_eventson(lt) || lt->cfuncs == LTC_NONE || lt_mute(g)) return 0;
  if (ffid == FF_C) return !lt_ishidden(g, fn);
  if (lt->cfuncs == LTC_USER || isoperator(ffid)) return 0;
  if (bc_op(*mref(fn->c.pc, BCIns)) >= BC__MAX) return 0;  /* Assembler. */
#if LJ_HASJIT
  if (lt->cfuncs == LTC_DEFAULT) return !lj_ffrecord_has(fn);
#endif
  return 1;
}

/* Does a call of this C function have events if it yields? That of coroutine.yield is made
** by assembler: its entry is reported at the yield, which is all that it does. */
int lj_ltfunc_wantwait(global_State *g, GCfunc *fn)
{
  if (fn->c.ffid == FF_coroutine_yield)
    return lt_eventson(G2LT(g)) && G2LT(g)->cfuncs >= LTC_DEFAULT && !lt_mute(g);
  return lj_ltfunc_wantc(g, fn);
}

/* coroutine.resume or a function made by coroutine.wrap? */
int lj_ltfunc_iscoro(GCfunc *fn)
{
  return fn->c.ffid == FF_coroutine_resume ||
	 fn->c.ffid == FF_coroutine_wrap_aux;
}

/* Must this function be called through lj_ltcall_wrap? */
int lj_ltfunc_wantw(global_State *g, GCfunc *fn)
{
  if (isluafunc(fn)) return 0;
  if (lt_iscdatacall(fn)) return lt_wantffi(g);
  return lj_ltfunc_iscoro(fn) || lj_ltfunc_wantc(g, fn);
}

#endif
