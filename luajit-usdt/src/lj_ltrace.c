/*
** Tracing of calls: what is an event, and when.
** SPDX-License-Identifier: MIT
**
** Invariant: every call that was announced (ENTRY, or FRAME in a report of the
** stack) is ended by exactly one of RETURN, TAIL, UNWIND, or the death of its
** coroutine. To keep it, frames on a Lua stack are counted by the same rule
** everywhere (frame_id): a Lua function counts if its prototype was described
** in this recording and is not excluded, a C function if it was called by
** lj_ltrace_wrap in this recording.
*/

#define lj_ltrace_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lj_gc.h"
#include "lj_err.h"
#include "lj_str.h"
#include "lj_meta.h"
#include "lj_debug.h"
#include "lj_state.h"
#include "lj_frame.h"
#include "lj_bc.h"
#include "lj_ff.h"
#include "lj_lib.h"
#if LJ_HASJIT
#include "lj_jit.h"
#include "lj_ffrecord.h"
#endif
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"

#define lt_ringon(lt)	((lt)->on & LTON_RING)
#define lt_probeon(lt)	((lt)->on & LTON_PROBE)
/* No events inside of handlers for VM events. */
#define lt_mute(g)	((g)->hookmask & HOOK_VMEVENT)

#define PC_NOREPORT	((const BCIns *)(intptr_t)-1)

/* -- Functions: ids and descriptions --------------------------------------- */

/* Grow an array of the C heap. Returns 0 if there is no memory. */
static int growvec(void **vec, uint32_t *size, uint32_t need, size_t elem)
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

/* New function id, or LT_ID_UNKNOWN without memory. */
static uint32_t newfunc(LTState *lt, const char *name, void *addr)
{
  LTFunc *f;
  if (!growvec((void **)&lt->func, &lt->sizefunc, lt->nfunc+1, sizeof(LTFunc)))
    return LT_ID_UNKNOWN;
  f = &lt->func[++lt->nfunc];
  f->name = name ? strdup(name) : NULL;
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
    pt->lt_id = newfunc(lt, callname(L, frame), NULL);
  pt->lt_rec = lt->rec << 1;
  if (lt_ringon(lt) && pt->lt_id) {
    const char *name = lt->func[pt->lt_id].name;
    lj_ltring_func(lt, LT_FUNC_LUA, name ? LT_FUNC_HINT : 0, pt->lt_id, pt, 0,
		   pt, chunk, name);
  }
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

/* "string_gsub" -> "string.gsub", "assert" stays. */
static const char *ffname(uint32_t ffid, char *buf, size_t size)
{
  static const char mods[] = " bit buffer coroutine debug ffi io jit math os"
			     " package string table thread ";
  const char *s, *u;
  if (ffid >= sizeof(ffnames)/sizeof(ffnames[0])) return NULL;
  s = ffnames[ffid];
  if (strlen(s)+3 > size) return NULL;
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

/* Id of a C function. */
uint32_t lj_ltrace_cfuncid(lua_State *L, GCfunc *fn, cTValue *frame)
{
  LTState *lt = L2LT(L);
  void *addr = (void *)(uintptr_t)fn->c.f;
  uint32_t id, *slot;
  LTFunc *f;
  if (2*(lt->chashn+1) > (lt->chash ? lt->chashmask+1 : 0) && !chash_grow(lt))
    return LT_ID_UNKNOWN;
  slot = chash_slot(lt, addr);
  id = *slot;
  if (!id) {
    char buf[64];
    const char *name = fn->c.ffid > FF_C ?
      ffname(fn->c.ffid, buf, sizeof(buf)) : callname(L, frame);
    id = newfunc(lt, name, addr);
    if (!id) return LT_ID_UNKNOWN;
    *slot = id;
    lt->chashn++;
  }
  f = &lt->func[id];
  if (f->rec != lt->rec) {
    int ff = fn->c.ffid > FF_C;
    f->rec = lt->rec;
    if (lt_ringon(lt))
      lj_ltring_func(lt, ff ? LT_FUNC_FF : LT_FUNC_C,
		     (!ff && f->name) ? LT_FUNC_HINT : 0, id, NULL,
		     fn->c.ffid, addr, NULL, f->name);
  }
  return id;
}

/* Does this C function have events? */
int lj_ltrace_wantc(global_State *g, GCfunc *fn)
{
  LTState *lt = G2LT(g);
  uint32_t ffid = fn->c.ffid;
  if (!lt->on || lt->cfuncs == LTC_NONE || lt_mute(g)) return 0;
  if (ffid == FF_C) return 1;
  if (lt->cfuncs == LTC_USER) return 0;
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

/* -- Frames ------------------------------------------------------------------ */

/* Lower frame of a vararg function. */
static LJ_AINLINE cTValue *frame_lower(cTValue *frame)
{
  return frame_isvarg(frame) ? (cTValue *)frame_prevd(frame) : frame;
}

#define stackofs(L, p)	((p) - tvref((L)->stack))

static LTCall *findcall(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  uint32_t i = lt->ncall;
  while (i-- > 0)
    if (lt->call[i].L == L && lt->call[i].ofs == ofs &&
	lt->call[i].rec == lt->rec)
      return &lt->call[i];
  return NULL;
}

/* Id of the announced call in a frame, or 0 if it has no events. */
static uint32_t frame_id(lua_State *L, cTValue *frame, int describe)
{
  LTState *lt = L2LT(L);
  GCfunc *fn = frame_func(frame);
  if (fn->c.gct != ~LJ_TFUNC || frame_isvarg(frame)) return 0;
  if (isluafunc(fn)) {
    GCproto *pt = funcproto(fn);
    if (pt->lt_rec == lt->rec << 1) return pt->lt_id;
    return describe ? lj_ltrace_protoid(L, pt, frame) : 0;
  }
  if (findcall(lt, L, stackofs(L, frame+1)))
    return lj_ltrace_cfuncid(L, fn, NULL);
  return 0;
}

#define frame_isbottom(L, frame)	((frame) <= tvref((L)->stack)+LJ_FR2)

/* -- Current coroutine and thread ----------------------------------------------- */

static uint32_t coid(LTState *lt, lua_State *L)
{
  if (!L->lt_id) L->lt_id = ++lt->nextco;
  return L->lt_id;
}

/* Fire the entry probe for a call that was already running. */
static void probe_running(lua_State *L, cTValue *frame, uint32_t id);

/* Report the stack of L, which becomes the current coroutine. */
static void report_stack(lua_State *L, int reason, int skiptop)
{
  LTState *lt = L2LT(L);
  cTValue *frame;
  uint32_t n = 0, size = 0, i;
  struct { uint32_t id; int32_t ofs; } *v = NULL;
  if (lt_ringon(lt)) lj_ltring_need(lt, 3);
  lt->L = L;
  L->lt_epoch = lt->epoch;
  for (frame = L->base-1; !frame_isbottom(L, frame); frame = frame_prev(frame)) {
    uint32_t id;
    if (skiptop) { skiptop = 0; continue; }
    id = frame_id(L, frame, 1);
    if (!id) continue;
    if (!growvec((void **)&v, &size, n+1, sizeof(*v))) break;
    v[n].id = id;
    v[n++].ofs = (int32_t)stackofs(L, frame);
  }
  if (lt_ringon(lt))
    lj_ltring_ext(lt, LTX_STACK, (uint32_t)reason, 2, coid(lt, L), n+1);
  for (i = n; i-- > 0; ) {
    if (lt_probeon(lt)) probe_running(L, tvref(L->stack)+v[i].ofs, v[i].id);
    if (!lt_ringon(lt)) continue;
    if (v[i].id < LT_PAYLOAD_BIG)
      lj_ltring_put(lt, lj_ltring_clock(), v[i].id, LT_FRAME)
    else
      lj_ltring_big(lt, LT_FRAME, v[i].id);
  }
  free(v);
}

/* L runs although it is not the current coroutine, or on another thread. */
static LJ_NOINLINE void change_current(lua_State *L, int skiptop)
{
  LTState *lt = L2LT(L);
  if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
  if (lt->L == L) return;
  if (L->lt_epoch != lt->epoch) {
    report_stack(L, LTR_RESUMED, skiptop);
  } else {
    if (lt_ringon(lt)) lj_ltring_need(lt, 2);
    lt->L = L;
    if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_SWITCH, 0, 1, coid(lt, L), 0);
  }
}

#define check_current(lt, L, skiptop) \
  if (LJ_UNLIKELY((lt)->L != (L) || (lt)->thread != lj_ltring_thread())) \
    change_current((L), (skiptop))

/* -- Events out of the VM ---------------------------------------------------------- */

static LJ_AINLINE void ring_event(LTState *lt, uint32_t id, uint32_t kind)
{
  uint64_t now = lj_ltring_clock();
  if (LJ_UNLIKELY(now >= lt->deadline)) {
    lj_ltring_tick(lt, now);
    now = lj_ltring_clock();
  }
  if (LJ_LIKELY(id < LT_PAYLOAD_BIG))
    lj_ltring_put(lt, now, id, kind)
  else
    lj_ltring_big(lt, kind, id);
}

/* Line of the call that made this frame, or -1. */
static int callline(lua_State *L, cTValue *frame)
{
  cTValue *pframe;
  GCfunc *fn;
  frame = frame_lower(frame);
  if (frame_isbottom(L, frame) || !frame_islua(frame)) return -1;
  pframe = frame_prevl(frame);
  fn = frame_func(pframe);
  if (!isluafunc(fn)) return -1;
  return (int)lj_debug_line(funcproto(fn),
			    proto_bcpos(funcproto(fn), frame_pc(frame))-1);
}

/* Fire the probe of a Lua function. frame is the lower one. */
static void probe_lua(lua_State *L, GCproto *pt, uint32_t ofs, uint32_t id,
		      uint32_t kind, int line)
{
  const char *chunk = strdata(proto_chunkname(pt));
  const char *name = L2LT(L)->func[id].name;
  if (!name) name = pt->firstline ? "?" : "main";
  if (kind == LT_RETURN)
    lj_ltprobe_return(chunk, name, (int)pt->firstline, L, id, ofs, line);
  else if (kind == LT_TAIL)
    lj_ltprobe_tailcall(chunk, name, (int)pt->firstline, L, id, ofs, line);
  else
    lj_ltprobe_entry(chunk, name, (int)pt->firstline, L, id, ofs, line);
}

static void probe_c(lua_State *L, GCfunc *fn, uint32_t ofs, uint32_t id,
		    uint32_t kind, int line)
{
  const char *name = L2LT(L)->func[id].name;
  void *addr = (void *)(uintptr_t)fn->c.f;
  if (!name) name = "?";
  if (kind == LT_ENTRY)
    lj_ltprobe_centry(name, addr, fn->c.ffid, L, id, ofs, line);
  else
    lj_ltprobe_creturn(name, addr, fn->c.ffid, L, id, ofs, line);
}

static void probe_running(lua_State *L, cTValue *frame, uint32_t id)
{
  GCfunc *fn = frame_func(frame);
  uint32_t ofs = (uint32_t)stackofs(L, frame_lower(frame)+1);
  if (isluafunc(fn))
    probe_lua(L, funcproto(fn), ofs, id, LT_ENTRY, callline(L, frame));
  else
    probe_c(L, fn, ofs, id, LT_ENTRY, -1);
}

/* A call of a Lua function begins or ends: all ways but inlined compiled code. */
static void lua_event(lua_State *L, GCproto *pt, uint32_t kind)
{
  LTState *lt = L2LT(L);
  cTValue *frame = L->base-1;
  uint32_t id;
  check_current(lt, L, kind == LT_ENTRY);
  id = lj_ltrace_protoid(L, pt, frame);
  if (!id) return;
  if (lt_probeon(lt)) {
    uint32_t ofs = (uint32_t)stackofs(L, frame_lower(frame)+1);
    probe_lua(L, pt, ofs, id, kind, callline(L, frame));
  }
  if (lt_ringon(lt)) ring_event(lt, id, kind);
}

#if LJ_HASJIT
/* An event of compiled code that is not inlined. ofs: slot offset of the
** (lower) frame. Must not look at frames, but for LT_LINE_LOOK. */
void lj_ltrace_jitout(lua_State *L, GCobj *what, uint32_t kind, uint32_t ofs,
		      int32_t line)
{
  LTState *lt = L2LT(L);
  uint32_t id;
  if (line == LT_LINE_LOOK) line = callline(L, tvref(L->stack)+ofs-1);
  if (what->gch.gct == ~LJ_TFUNC) {
    id = lj_ltrace_cfuncid(L, gco2func(what), NULL);
    if (lt_probeon(lt)) probe_c(L, gco2func(what), ofs, id, kind, line);
  } else {
    id = gco2pt(what)->lt_id;
    if (lt_probeon(lt)) probe_lua(L, gco2pt(what), ofs, id, kind, line);
  }
  if (lt_ringon(lt)) ring_event(lt, id, kind);
}
#endif

/* -- Events of the interpreter -------------------------------------------------------- */

/* A Lua function is about to run (its frame is there). pc is behind FUNC*. */
void lj_ltrace_entry(lua_State *L, GCproto *pt)
{
  global_State *g = G(L);
  if (lj_ltrace_pending(g)) {
    lj_ltrace_switch(L, proto_bc(pt));  /* Its frame is not to be reported. */
    if (!G2LT(g)->on) return;
  }
  if (!lt_mute(g)) lua_event(L, pt, LT_ENTRY);
}

/* The current Lua function returns. */
void lj_ltrace_return(lua_State *L)
{
  global_State *g = G(L);
  if (lj_ltrace_pending(g)) {
    lj_ltrace_switch(L, NULL);
    if (!G2LT(g)->on) return;
  }
  if (!lt_mute(g)) lua_event(L, funcproto(curr_func(L)), LT_RETURN);
}

/* Will CALLT to this value replace the frame (and not raise an error)? */
static int callable(lua_State *L, cTValue *o)
{
  return tvisfunc(o) || tvisfunc(lj_meta_lookup(L, o, MM_call));
}

/* RET* or CALLT/CALLMT at pc-1 is about to be executed. */
void lj_ltrace_end(lua_State *L, const BCIns *pc)
{
  BCIns ins = pc[-1];
  BCOp op = bc_op(ins);
  if (op == BC_RETM || op == BC_RET || op == BC_RET0 || op == BC_RET1) {
    lj_ltrace_return(L);
  } else if (op == BC_CALLT || op == BC_CALLMT) {
    global_State *g = G(L);
    if (lj_ltrace_pending(g)) {
      lj_ltrace_switch(L, NULL);
      if (!G2LT(g)->on) return;
    }
    if (!lt_mute(g) && callable(L, L->base + bc_a(ins)))
      lua_event(L, funcproto(curr_func(L)), LT_TAIL);
  }
}

#define lt_quiet(g)	(!((g)->hookmask & (LUA_MASKLINE|LUA_MASKCOUNT|\
					    LUA_MASKRET|HOOK_PROFILE)))
#if LJ_HASJIT
#define lt_jitidle(g)	(G2J(g)->state == LJ_TRACE_IDLE)
#define lt_jiton(g)	(G2J(g)->flags & JIT_F_ON)
#else
#define lt_jitidle(g)	1
#define lt_jiton(g)	0
#endif

/* In front of lj_dispatch_ins: do all there is to do if nothing but tracing is
** on. Returns 0 if there is more. */
int lj_ltrace_ins(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  if (!lt_quiet(g) || !lt_jitidle(g)) return 0;
  setcframe_pc(cframe_raw(L->cframe), pc);
  lj_ltrace_end(L, pc);
  return 1;
}

/* In front of lj_dispatch_call: the event. Returns the target if nothing but
** tracing is on and the stack suffices, else NULL. */
ASMFunction lj_ltrace_call(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  GCfunc *fn = curr_func(L);
  BCOp op;
  if (isluafunc(fn)) lj_ltrace_entry(L, funcproto(fn));
  op = bc_op(pc[-1]);  /* Not before: switching unpatches JFUNCF. */
  if (isluafunc(fn)) {
    GCproto *pt = funcproto(fn);
    ptrdiff_t need = pt->framesize;
    if ((pt->flags & PROTO_VARARG)) need += 1+LJ_FR2 + (L->top - L->base);
    if (mref(L->maxstack, TValue) - L->top <= need) return NULL;
    if (!lt_jiton(g) && (op == BC_FUNCF || op == BC_FUNCV))
      op = (BCOp)((int)op+(int)BC_IFUNCF-(int)BC_FUNCF);
  } else if (lj_ltrace_wantw(g, fn)) {
    op = BC_FUNCCW;
  }
  if (!lt_jitidle(g) || (g->hookmask & (LUA_MASKCALL|HOOK_VMEVENT))) return NULL;
  return makeasmfunc(lj_bc_ofs[op]);
}

#if LJ_LTVMFAST
/* The plain case: only event words are wanted (see lj_ltvm.c). */
static void dispatch_fast(global_State *g, ASMFunction *disp)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = BC_FUNCF; i < BC__MAX; i++)
    lt->target[i-BC_FUNCF] = makeasmfunc(lj_bc_ofs[i]);
  if (!lt_jiton(g))
    lt->target[0] = makeasmfunc(lj_bc_ofs[BC_IFUNCF]);
  disp[BC_FUNCF] = disp[BC_IFUNCF] = disp[BC_JFUNCF] = lj_ltrace_vmfunc;
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] =
    lj_ltrace_vmret;
}
#endif

/* Override slots of the dispatch table. all: calls are overridden already.
** plain: nobody else wants calls, returns or instructions. */
void lj_ltrace_dispatch(global_State *g, ASMFunction *disp, int all, int plain)
{
  uint32_t i;
  disp[BC_RETM] = disp[BC_RET] = disp[BC_RET0] = disp[BC_RET1] = lj_vm_record;
  disp[BC_CALLT] = disp[BC_CALLMT] = lj_vm_record;
  if (all) return;
  for (i = BC_FUNCF; i < GG_LEN_DDISP; i++)
    disp[i] = i < BC__MAX ? lj_vm_callhook : makeasmfunc(lj_bc_ofs[i]);
  /* The assembler versions of resume cannot tell. */
  i = G2LT(g)->coop;
  if (i) disp[i] = disp[i+1] = lj_vm_callhook;
#if LJ_LTVMFAST
  if (plain && G2LT(g)->on == LTON_RING) dispatch_fast(g, disp);
#else
  UNUSED(plain);
#endif
}

/* -- Coroutines ------------------------------------------------------------------------ */

/* coroutine.resume or a function made by coroutine.wrap? */
int lj_ltrace_iscoro(GCfunc *fn)
{
  return fn->c.ffid == FF_coroutine_resume ||
	 fn->c.ffid == FF_coroutine_wrap_aux;
}

void lj_ltrace_create(lua_State *L, lua_State *co)
{
  LTState *lt = L2LT(L);
  if (!lt->on || lt_mute(G(L))) return;
  co->lt_epoch = lt->epoch;
  coid(lt, co);
  if (lt_probeon(lt)) lj_ltprobe_create(L, co, co->lt_id);
  if (lt_ringon(lt)) {
    check_current(lt, L, 0);
    lj_ltring_ext(lt, LTX_CREATE, 0, 1, co->lt_id, 0);
  }
}

/* co is freed (or reset for another use). */
void lj_ltrace_collect(global_State *g, lua_State *co)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = 0; i < lt->nresumer; i++)
    if (lt->resumer[i] == co) lt->resumer[i] = NULL;
  if (lt->L == co) lt->L = NULL;
  if (lt->on && co->lt_id) {
    if (lt_probeon(lt)) lj_ltprobe_end(NULL, co, co->lt_id, -1);
    if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_COLLECT, 0, 1, co->lt_id, 0);
  }
  co->lt_id = 0;
}

static void event_resume(LTState *lt, lua_State *co)
{
  int fresh = co->lt_id == 0 && co->status == LUA_OK;  /* It has no frames. */
  uint32_t id = coid(lt, co);
  if (lt_probeon(lt)) lj_ltprobe_resume(lt->L, co, id);
  if (lt_ringon(lt)) lj_ltring_need(lt, 4);
  lt->L = co;
  if (lt_ringon(lt)) ring_event(lt, id, LT_RESUME);
  if (fresh) co->lt_epoch = lt->epoch;
  if (co->lt_epoch != lt->epoch) report_stack(co, LTR_RESUMED, 0);
}

static void event_suspend(LTState *lt, lua_State *co, lua_State *resumer,
			  int status)
{
  if (lt_probeon(lt)) {
    if (status == LUA_YIELD)
      lj_ltprobe_yield(lt->L, co, co->lt_id);
    else
      lj_ltprobe_end(lt->L, co, co->lt_id, status);
  }
  lt->L = resumer;
  if (lt_ringon(lt)) {
    uint64_t now = lj_ltring_clock();
    lj_ltring_put(lt, now, status == LUA_YIELD ? LTS_YIELD :
		  status == LUA_OK ? LTS_DONE : LTS_ERROR, LT_SUSPEND);
  }
}

/* Forget C calls of L at or above a slot offset. */
static void dropcalls(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  while (lt->ncall > 0 && lt->call[lt->ncall-1].L == L &&
	 lt->call[lt->ncall-1].ofs >= ofs)
    lt->ncall--;
}

/* lua_resume: run L from base, with events around it. */
int lj_ltrace_resume(lua_State *L, TValue *base)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  uint32_t idx, rec, ncall;
  int status;
  if (lj_ltrace_pending(g)) {
    ptrdiff_t ofs = savestack(L, base);
    lj_ltrace_switch(L, PC_NOREPORT);
    base = restorestack(L, ofs);
  }
  if (!lt->on || lt_mute(g) ||
      !growvec((void **)&lt->resumer, &lt->sizeresumer, lt->nresumer+1,
	       sizeof(lua_State *)))
    return lj_vm_resume(L, base, 0, 0);
  if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
  idx = lt->nresumer++;
  lt->resumer[idx] = lt->L;
  rec = lt->rec;
  ncall = lt->ncall;
  event_resume(lt, L);
  status = lj_vm_resume(L, base, 0, 0);
  lt->nresumer = idx;
  if (lt->ncall > ncall) lt->ncall = ncall;
  if (lt->on && lt->rec == rec) {
    check_current(lt, L, 0);
    event_suspend(lt, L, lt->resumer[idx], status);
    if (status != LUA_YIELD) dropcalls(lt, L, 0);
  }
  return status;
}

LJ_FUNCA_NORET void LJ_FASTCALL lj_ffh_coroutine_wrap_err(lua_State *L,
							  lua_State *co);

static TValue *cpgrow(lua_State *co, lua_CFunction dummy, void *ud)
{
  UNUSED(dummy);
  lj_state_growstack(co, *(MSize *)ud);
  return NULL;
}

/* Make room for n slots, without throwing into the wrong coroutine. */
static int growco(lua_State *co, MSize n)
{
  return mref(co->maxstack, TValue) - co->top > (ptrdiff_t)n ? LUA_OK :
	 lj_vm_cpcall(co, NULL, &n, cpgrow);
}

/* coroutine.resume and coroutine.wrap in C, to the letter like the assembler
** versions (vm_x64.dasc, coroutine_resume_wrap, and ffh_resume in lib_base.c). */
static int coresume(lua_State *L, int wrap)
{
  lua_State *co;
  TValue *args = L->base + !wrap;
  ptrdiff_t nargs, nres, i;
  int status;
  if (!wrap && !(L->top > L->base && tvisthread(L->base)))
    lj_err_arg(L, 1, LJ_ERR_NOCORO);
  co = wrap ? threadV(lj_lib_upvalue(L, 1)) : threadV(L->base);
  if (co->cframe != NULL || co->status > LUA_YIELD ||
      (co->status == LUA_OK && co->top == co->base)) {
    ErrMsg em = co->cframe ? LJ_ERR_CORUN : LJ_ERR_CODEAD;
    if (wrap) lj_err_caller(L, em);
    setboolV(L->base, 0);
    setstrV(L, L->base+1, lj_err_str(L, em));
    L->top = L->base+2;
    return 2;
  }
  nargs = L->top - args;
  if (growco(co, (MSize)nargs+1) != LUA_OK) {
    cTValue *msg = --co->top;
    lj_err_callermsg(L, strVdata(msg));
  }
  for (i = 0; i < nargs; i++) copyTV(co, co->top+i, args+i);
  co->top += nargs;
  L->top = args;  /* Keep the resumed thread in the stack for the GC. */
  status = lua_resume(co, (int)nargs);
  setgcref(G(L)->cur_L, obj2gco(L));
  if (status > LUA_YIELD) {
    if (wrap) lj_ffh_coroutine_wrap_err(L, co);
    co->top--;
    setboolV(L->top, 0);
    copyTV(L, L->top+1, co->top);
    L->top += 2;
    return 2;
  }
  nres = co->top - co->base;
  lj_state_checkstack(L, (MSize)nres+1);
  if (!wrap) { setboolV(L->top, 1); L->top++; }
  for (i = 0; i < nres; i++) copyTV(L, L->top+i, co->base+i);
  L->top += nres;
  co->top = co->base;  /* Clear coroutine stack. */
  return (int)nres + !wrap;
}

/* -- C functions -------------------------------------------------------------------------- */

typedef int (*LTWrapFunc)(lua_State *L, lua_CFunction f);

/* Call the function as it would be called without tracing. */
static int forward(lua_State *L, GCfunc *fn, lua_CFunction f)
{
  LTState *lt = L2LT(L);
  if (bc_op(*mref(fn->c.pc, BCIns)) == BC_FUNCCW && lt->wrapf)
    return ((LTWrapFunc)(void *)lt->wrapf)(L, f);
  return f(L);
}

static void c_event(lua_State *L, GCfunc *fn, uint32_t id, ptrdiff_t ofs,
		    uint32_t kind, int line)
{
  LTState *lt = L2LT(L);
  check_current(lt, L, kind == LT_ENTRY);
  if (lt_probeon(lt)) probe_c(L, fn, (uint32_t)ofs, id, kind, line);
  if (lt_ringon(lt)) ring_event(lt, id, kind);
}

/* g->wrapf while tracing: all C functions that are sent to BC_FUNCCW. */
int lj_ltrace_wrap(lua_State *L, lua_CFunction f)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  GCfunc *fn = curr_func(L);
  ptrdiff_t ofs = stackofs(L, L->base);
  uint32_t id, idx, rec;
  int n, line = -1;
  if (lj_ltrace_iscoro(fn))
    return coresume(L, fn->c.ffid == FF_coroutine_wrap_aux);
  if (lj_ltrace_pending(g)) lj_ltrace_switch(L, mref(fn->c.pc, BCIns));
  if (!lj_ltrace_wantc(g, fn) ||
      !growvec((void **)&lt->call, &lt->sizecall, lt->ncall+1, sizeof(LTCall)))
    return forward(L, fn, f);
  id = lj_ltrace_cfuncid(L, fn, L->base-1);
  if (lt_probeon(lt)) line = callline(L, L->base-1);
  c_event(L, fn, id, ofs, LT_ENTRY, line);
  rec = lt->rec;
  idx = lt->ncall++;
  lt->call[idx].L = L;
  lt->call[idx].ofs = ofs;
  lt->call[idx].rec = rec;
  n = forward(L, fn, f);
  lt->ncall = idx;
  if (lj_ltrace_pending(g)) {
    lt->ncall = idx+1;
    lj_ltrace_switch(L, NULL);
    lt->ncall = idx;
  }
  if (lt->on && lt->rec == rec)
    c_event(L, fn, id, ofs,
	    stackofs(L, L->base) != ofs ? LT_TAIL : LT_RETURN, line);
  return n;
}

/* -- Errors --------------------------------------------------------------------------------- */

/* Number of announced calls of L from a frame downwards. */
static uint32_t count_calls(lua_State *L, cTValue *frame, cTValue *stop)
{
  uint32_t n = 0;
  for (; frame > stop && !frame_isbottom(L, frame); frame = frame_prev(frame))
    if (frame_id(L, frame, 0)) n++;
  return n;
}

/* The frames of L above newbase are removed by an error. */
void lj_ltrace_unwind(lua_State *L, TValue *newbase)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  cTValue *frame = newbase-1;
  uint32_t n, id = 0;
  if ((L->base <= newbase && !lt->lostframes) || lt_mute(g)) return;
  check_current(lt, L, 0);
  n = count_calls(L, L->base-1, frame);
  for (; !id && !frame_isbottom(L, frame); frame = frame_prev(frame))
    id = frame_id(L, frame, 0);
  if (!id) id = LT_ID_NONE;
  dropcalls(lt, L, stackofs(L, newbase)+1);
  if (!n && !lt->lostframes) return;
  if (lt_probeon(lt)) lj_ltprobe_unwind(L, (uint32_t)stackofs(L, newbase));
  if (!lt_ringon(lt)) return;
  if (lt->lostframes) {
    n = count_calls(L, newbase-1, tvref(L->stack));
    lj_ltring_ext(lt, LTX_UNWIND, 1, 1, lt_pack(n+1, id), 0);
    lt->lostframes = 0;
  } else {
    lj_ltring_ext(lt, LTX_UNWIND, 0, 1, lt_pack(n, id), 0);
  }
}

/* -- Switching -------------------------------------------------------------------------------- */

static uint32_t wanted(LTState *lt)
{
  uint32_t on = 0, ring = luajit_usdt_control.ring;
  if (luajit_usdt_control.semaphore) on |= LTON_PROBE;
  if (!ring) lt->refused = 0;
  if (ring && lt->refused != ring && !(lt->stop & LTSTOP_OFF)) on |= LTON_RING;
  return on;
}

static void set_on(lua_State *L, uint32_t on)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  if (lt->on && !on) {
    g->wrapf = lt->wrapf;
  } else if (on && !lt->on) {
    lt->wrapf = g->wrapf;
    g->wrapf = (lua_CFunction)(void *)lj_ltrace_wrap;
    lt->ncall = 0;
  }
  lt->on = on;
#if LJ_HASJIT
  lj_trace_flushall(L);
#endif
  g->dispatchmode |= 0x80;  /* A bit nobody has: forces the update. */
  lj_dispatch_update(g);
}

/* Does pc point to the header of the function on top, which has not begun? */
static int before_entry(const BCIns *pc)
{
  return pc != NULL && pc != PC_NOREPORT && bc_op(*pc) >= BC_FUNCF;
}

/* Go from one set of ways out (lt->on) to another. */
static void switch_mode(lua_State *L, uint32_t on, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  uint32_t was = lt->on;
  if ((was & ~on & LTON_RING)) {
    if ((lt->stop & LTSTOP_OFF)) lt->refused = luajit_usdt_control.ring;
    lj_ltring_close(g, LTE_DETACH);
    lt->stop = 0;
  }
  if ((on & ~was)) {
    lt->rec++;
    lt->rec2 = lt->rec << 1;
    lt->epoch++;
    lt->cfuncs = luajit_usdt_control.cfuncs;
    lt->L = NULL;
    if ((on & ~was & LTON_RING) && !lj_ltring_open(L)) {
      lt->refused = luajit_usdt_control.ring;
      on &= ~(uint32_t)LTON_RING;
    }
  }
  if (on == was) return;
  set_on(L, on);
  if ((on & ~was) && pc != PC_NOREPORT)
    report_stack(L, LTR_ACTIVATE, before_entry(pc));
}

/* After a loss, or in a forked child: tell the stack anew. */
static void resync(lua_State *L, const BCIns *pc)
{
  LTState *lt = L2LT(L);
  int reason = LTR_LOSS;
  if (!lt->ring) {
    reason = LTR_FORK;
    lt->rec++;  /* All functions have to be described again. */
    lt->rec2 = lt->rec << 1;
    lt->stop &= ~(uint32_t)LTSTOP_RESYNC;
    lt->refused = 0;
    lt->L = NULL;
    if (!lj_ltring_open(L)) {
      lt->stop = LTSTOP_OFF;
      switch_mode(L, wanted(lt), pc);
      return;
    }
#if LJ_HASJIT
    lj_trace_flushall(L);
#endif
  } else if (!lj_ltring_room(lt)) {
    return;
  }
  lt->epoch++;
  lt->L = NULL;
  if (pc != PC_NOREPORT) report_stack(L, reason, before_entry(pc));
}

/* Something has changed. Act upon it if this is a place where that is safe:
** not on a trace, not while recording one, not inside of a finalizer or a
** handler of VM events. pc: where the interpreter continues, if that may be at
** a function header, else NULL. Returns 1 if something was done. */
int lj_ltrace_switch(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int olderr = errno;
  uint32_t word, on;
  if (tvref(g->jit_base) || (g->hookmask & (HOOK_GC|HOOK_VMEVENT)) ||
      !lt_jitidle(g))
    return 0;
  if (!lt_ringon(lt)) lt->stop = 0;
  word = lj_ltrace_word();
  on = wanted(lt);
  if (on != lt->on || (lt->stop & LTSTOP_OFF))
    switch_mode(L, on, pc);
  else if (lt->stop & LTSTOP_RESYNC)
    resync(L, pc);
  lt->seen = word;
  errno = olderr;
  return 1;
}

/* A trace was left and the stack restored. Returns 1 if the exit was ours. */
int lj_ltrace_exit(lua_State *L, const BCIns *pc)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  if (lj_ltrace_pending(g)) {
    lj_ltrace_switch(L, pc);
    return 1;
  }
  if (lt->on && lt->L != L && !lt_mute(g)) {
    change_current(L, before_entry(pc));
    return 1;
  }
  return 0;
}

/* -- States -------------------------------------------------------------------------------------- */

void lj_ltrace_newstate(lua_State *L)
{
  LTState *lt = L2LT(L);
  lt->fd = -1;
  lt->epoch = 1;
  coid(lt, L);
  lj_ltring_env();
  if (luajit_usdt_control.semaphore) lj_ltprobe_open(G(L), L);
}

/* Before anything of the state is freed. */
void lj_ltrace_closestate(lua_State *L)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  if (luajit_usdt_control.semaphore) lj_ltprobe_close(g, L);
  if (lt_ringon(lt) && (lt->ring || lt->scratch)) lj_ltring_close(g, LTE_CLOSE);
  lt->on = 0;
  lt->nresumer = lt->ncall = 0;
}

void lj_ltrace_freestate(global_State *g)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = 1; i <= lt->nfunc; i++) free(lt->func[i].name);
  free(lt->func);
  free(lt->chash);
  free(lt->call);
  free(lt->resumer);
}

#endif
