/*
** Tracing of calls: the functions that are known, their ids, names and choice.
** SPDX-License-Identifier: MIT
**
** Invariant: an id belongs to one prototype, or to one C function, for the whole
** life of the state; it is described to the recorder before its first event.
*/

#define lj_ltfunc_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdlib.h>
#include <string.h>

#include "lj_bc.h"
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

/* -- Functions: ids and descriptions -------------------------------------- */

/* Grow an array of the C heap. Returns 0 if there is no memory. */
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

/* Own copy of a name. NULL without memory. */
static char *newname(const char *name, int how)
{
  size_t n = strlen(name)+1;
  char *p = (char *)malloc(1+n);
  if (!p) return NULL;
  *p = (char)how;
  return (char *)memcpy(p+1, name, n);
}

/* New function id, or LT_ID_UNKNOWN without memory. how: LT_NAME_* */
static uint32_t newfunc(LTState *lt, const char *name, int how, void *addr)
{
  LTFunc *f;
  if (!lj_ltfunc_grow((void **)&lt->func, &lt->sizefunc, lt->nfunc+1,
		      sizeof(LTFunc)))
    return LT_ID_UNKNOWN;
  f = &lt->func[++lt->nfunc];
  f->name = name ? newname(name, how) : NULL;
  f->addr = addr;
  return lt->nfunc;
}

/* Name of the function in a frame, from the call. NULL if not known. */
static const char *callname(lua_State *L, cTValue *frame)
{
  const char *name = NULL;
  cTValue *f = frame;
  if (!f || f <= tvref(L->stack)+LJ_FR2) return NULL;
  if (frame_isvarg(f)) f = frame_prevd(f);
  if (!(frame_islua(f) || (frame_iscont(f) && !frame_iscont_fficb(f))))
    return NULL;
  if (!isluafunc(frame_func(frame_prev(f)))) return NULL;
  return lj_debug_funcname(L, frame, &name) ? name : NULL;
}

/* Name of the variable or field to which the code of pt stores the function that
** the FNEW at ins makes. NULL if it goes elsewhere. */
static const char *defname(GCproto *pt, const BCIns *ins)
{
  const char *name = NULL;
  BCReg slot = bc_a(*ins);
  BCIns next = ins[1];
  lj_debug_slotname(pt, ins+1, slot, &name);
  if (name)
    return *name == '(' ? NULL : name;  /* Of a loop's own variables. */
  if (bc_op(next) == BC_GSET && bc_a(next) == slot)
    name = strdata(gco2str(proto_kgc(pt, ~(ptrdiff_t)bc_d(next))));
  else if (bc_op(next) == BC_TSETS && bc_a(next) == slot)
    name = strdata(gco2str(proto_kgc(pt, ~(ptrdiff_t)bc_c(next))));
  else if (bc_op(next) == BC_USETV && bc_d(next) == slot)
    name = lj_debug_uvname(pt, bc_a(next));
  return name && *name ? name : NULL;
}

/* Give their ids to the functions that are defined in pt and have a name there,
** before any of them is called: a caller may call them otherwise. */
static void define_inner(LTState *lt, GCproto *pt)
{
  const BCIns *ins = proto_bc(pt), *end = ins + pt->sizebc;
  if (!(pt->flags & PROTO_CHILD)) return;
  for (ins++; ins+1 < end; ins++) {
    GCproto *inner;
    const char *name;
    if (bc_op(*ins) != BC_FNEW) continue;
    inner = gco2pt(proto_kgc(pt, ~(ptrdiff_t)bc_d(*ins)));
    if (inner->lt_id || !(name = defname(pt, ins))) continue;
    inner->lt_id = newfunc(lt, name, LT_NAME_DEFINED, NULL);
  }
}

/* Make a prototype known to this recording. */
static LJ_NOINLINE uint32_t newproto(lua_State *L, GCproto *pt, cTValue *frame)
{
  LTState *lt = L2LT(L);
  const char *chunk = strdata(proto_chunkname(pt));
  if (!lj_ltring_match(chunk)) {
    pt->lt_rec = (lt->rec << 1) | 1;
    return 0;
  }
  if (!pt->lt_id)
    pt->lt_id = newfunc(lt, callname(L, frame), LT_NAME_HINT, NULL);
  pt->lt_rec = lt->rec << 1;
  if (lt_ringon(lt) && pt->lt_id) {
    LTFunc *f = &lt->func[pt->lt_id];
    lj_ltring_func(lt, LT_FUNC_LUA, f->name && !lj_ltfunc_defined(f) ? LT_FUNC_HINT : 0,
		   pt->lt_id, pt, 0, pt, chunk, f->name);
  }
  define_inner(lt, pt);
  return pt->lt_id;
}

/* Id of a prototype, or 0 if it is excluded. frame is that of a call of it,
** or NULL. */
uint32_t lj_ltrace_protoid(lua_State *L, GCproto *pt, cTValue *frame)
{
  LTState *lt = L2LT(L);
  uint32_t d = pt->lt_rec - (lt->rec << 1);
  if (LJ_LIKELY(d == 0)) return pt->lt_id;
  return d == 1 ? 0 : newproto(L, pt, frame);
}

/* Names of library functions. */
static const char *const ffnames[] = {
  "", "",
#define FFDEF(name)	#name,
#include "lj_ffdef.h"
#undef FFDEF
};

/* "string_gsub" -> "string.gsub", "io_method_read" -> "file:read" (as in LuaJIT's
** manual), "assert" stays. */
static const char *ffname(uint32_t ffid, char *buf, size_t size)
{
  static const char mods[] = " bit buffer coroutine debug ffi io jit math os"
			     " package string table thread ";
  const char *s, *u;
  if (ffid >= sizeof(ffnames)/sizeof(ffnames[0])) return NULL;
  s = ffnames[ffid];
  if (strlen(s)+3 > size) return NULL;
  if (!strncmp(s, "io_method_", 10) || !strncmp(s, "buffer_method_", 14)) {
    strcpy(buf, *s == 'i' ? "file:" : "buf:");
    return strcat(buf, strstr(s, "method_")+7);
  }
  if (!strncmp(s, "ffi_meta_", 9) || !strncmp(s, "ffi_clib_", 9)) {
    strcpy(buf, s);
    buf[3] = buf[8] = '.';
    return buf;
  }
  strcpy(buf, s);
  u = strchr(s, '_');
  if (u && u > s) {
    char mod[32];
    size_t n = (size_t)(u-s);
    if (n < sizeof(mod)-3) {
      mod[0] = ' ';
      memcpy(mod+1, s, n);
      mod[n+1] = ' '; mod[n+2] = '\0';
      if (strstr(mods, mod)) buf[n] = '.';
    }
  }
  return buf;
}

static uint32_t *chash_slot(LTState *lt, void *addr)
{
  uint64_t h = (uint64_t)(uintptr_t)addr*0x9e3779b97f4a7c15ull;
  uint32_t i = (uint32_t)(h >> 40) & lt->chashmask;
  while (lt->chash[i] && lt->func[lt->chash[i]].addr != addr)
    i = (i+1) & lt->chashmask;
  return &lt->chash[i];
}

static int chash_grow(LTState *lt)
{
  uint32_t n = lt->chash ? 2*(lt->chashmask+1) : 256, i;
  uint32_t *p = (uint32_t *)calloc(n, sizeof(uint32_t));
  if (!p) return 0;
  free(lt->chash);
  lt->chash = p;
  lt->chashmask = n-1;
  for (i = 1; i <= lt->nfunc; i++)
    if (lt->func[i].addr) *chash_slot(lt, lt->func[i].addr) = i;
  return 1;
}

/* Where the id of a C function is or is to be put. NULL without memory. */
static uint32_t *cfunc_slot(LTState *lt, void *addr)
{
  if (2*(lt->chashn+1) > (lt->chash ? lt->chashmask+1 : 0) && !chash_grow(lt))
    return NULL;
  return chash_slot(lt, addr);
}

/* New id for a C function. */
static uint32_t newcfunc(LTState *lt, uint32_t *slot, const char *name,
			 void *addr)
{
  uint32_t id = newfunc(lt, name, LT_NAME_HINT, addr);
  if (id) {
    *slot = id;
    lt->chashn++;
  }
  return id;
}

/* Make a C function known to this recording. */
static void describe_cfunc(LTState *lt, GCfunc *fn, uint32_t id)
{
  LTFunc *f = &lt->func[id];
  int ff = fn->c.ffid > FF_C;
  f->rec = lt->rec;
  if (lt_ringon(lt))
    lj_ltring_func(lt, ff ? LT_FUNC_FF : LT_FUNC_C,
		   (!ff && f->name) ? LT_FUNC_HINT : 0, id, NULL,
		   fn->c.ffid, f->addr, NULL, f->name);
}

/* Id of a C function. frame is that of a call of it, or NULL. */
uint32_t lj_ltrace_cfuncid(lua_State *L, GCfunc *fn, cTValue *frame)
{
  LTState *lt = L2LT(L);
  void *addr = (void *)(uintptr_t)fn->c.f;
  uint32_t id, *slot = cfunc_slot(lt, addr);
  if (!slot) return LT_ID_UNKNOWN;
  id = *slot;
  if (!id) {
    char buf[64];
    id = newcfunc(lt, slot, fn->c.ffid > FF_C ?
		  ffname(fn->c.ffid, buf, sizeof(buf)) : callname(L, frame),
		  addr);
    if (!id) return LT_ID_UNKNOWN;
  }
  if (lt->func[id].rec != lt->rec) describe_cfunc(lt, fn, id);
  return id;
}

/* The current function is about to give its frame to a call of fn, by the
** CALLT at ins. If that is the first call of fn that is seen, it gets its name
** now: in its frame will be the return address of its caller's call. */
void lj_ltfunc_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins)
{
  LTState *lt = L2LT(L);
  GCproto *pt = funcproto(curr_func(L));
  const char *name = NULL;
  if (isluafunc(fn)) {
    if (LJ_LIKELY(funcproto(fn)->lt_id)) return;
    lj_debug_slotname(pt, ins, bc_a(*ins), &name);
    funcproto(fn)->lt_id = newfunc(lt, name, LT_NAME_HINT, NULL);
  } else if (fn->c.ffid == FF_C) {
    void *addr = (void *)(uintptr_t)fn->c.f;
    uint32_t *slot = cfunc_slot(lt, addr);
    if (!slot || *slot) return;
    lj_debug_slotname(pt, ins, bc_a(*ins), &name);
    newcfunc(lt, slot, name, addr);
  }
}

#if LJ_HASFFI
/* Operators of cdata and accesses to C libraries are no calls: compiled code may make
** none of them, or go to the metamethod at once. */
#define isoperator(ffid) \
  ((ffid) >= FF_ffi_meta___index && (ffid) <= FF_ffi_clib___newindex)
#else
#define isoperator(ffid)	0
#endif

/* Does this C function have events? */
int lj_ltrace_wantc(global_State *g, GCfunc *fn)
{
  LTState *lt = G2LT(g);
  uint32_t ffid = fn->c.ffid;
  if (!lt->on || lt->cfuncs == LTC_NONE || lt_mute(g)) return 0;
  if (ffid == FF_C) return 1;
  if (lt->cfuncs == LTC_USER || isoperator(ffid)) return 0;
  if (bc_op(*mref(fn->c.pc, BCIns)) >= BC__MAX) return 0;  /* Assembler. */
#if LJ_HASJIT
  if (lt->cfuncs == LTC_DEFAULT) return !lj_ffrecord_has(fn);
#endif
  return 1;
}

/* Must this function be called through lj_ltrace_wrap? */
int lj_ltrace_wantw(global_State *g, GCfunc *fn)
{
  return !isluafunc(fn) && !lt_mute(g) &&
	 (lj_ltrace_iscoro(fn) || lj_ltrace_wantc(g, fn));
}

#endif
