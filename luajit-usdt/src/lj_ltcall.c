/*
** Tracing of calls: coroutines, and calls of C functions.
** SPDX-License-Identifier: MIT
**
** While tracing is on, coroutine.resume and the functions made by coroutine.wrap run
** here, in C instead of assembler, and C functions are called through g->wrapf.
** Invariant: lt->call and lt->resumer hold what has been reported and has not ended; a
** reported call that yielded is in lua_State.lt_wait instead, until its coroutine is resumed. */

#define lj_ltcall_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lj_bc.h"
#include "lj_err.h"
#include "lj_ff.h"
#include "lj_frame.h"
#include "lj_lib.h"
#include "lj_state.h"
#include "lj_str.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- The C stack ---------------------------------------------------------- */

/* Needs _GNU_SOURCE. May be missing where the thread library is separate; elsewhere it is not
** weak, since linkers take nothing from an archive for a weak reference. */
#if __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
extern int pthread_getattr_np(pthread_t t, pthread_attr_t *a) __attribute__((weak));
#define have_getattr()	(pthread_getattr_np != NULL)
#else
extern int pthread_getattr_np(pthread_t t, pthread_attr_t *a);
#define have_getattr()	1
#endif

#define STACK_DEEP	64u	/* Nested calls below which the stack is not checked. */
#define STACK_SPARE	65536u	/* Largest reserve of stack; else a sixteenth. */

static void thread_stack(char **low, size_t *size)
{
  pthread_attr_t a;
  void *p;
  if (!have_getattr() || pthread_getattr_np(pthread_self(), &a)) return;
  if (!pthread_attr_getstack(&a, &p, size)) *low = (char *)p;
  pthread_attr_destroy(&a);
}

/* The first thread's stack grows up to its limit; above it is only the program's name. */
static void process_stack(char **low, size_t *size)
{
  struct rlimit r;
  char *top = (char *)(uintptr_t)getauxval(AT_EXECFN);
  if (!top || getrlimit(RLIMIT_STACK, &r) || r.rlim_cur > (uintptr_t)top) return;
  *size = (size_t)r.rlim_cur;
  *low = top - *size;
}

static LJ_NOINLINE void find_stack_bounds(LTState *lt)
{
  char *low = NULL;
  size_t size = 0;
  int err = errno;
  if (syscall(SYS_gettid) == getpid())
    process_stack(&low, &size);
  else
    thread_stack(&low, &size);
  lt->stackthread = lj_ltring_thread();
  lt->stacklow = low;
  lt->stacksafe = low + (low ? size/16 < STACK_SPARE ? size/16 : STACK_SPARE : 0);
  errno = err;
}

#define stack_between(lt, p)	((p) >= (lt)->stacklow && (p) < (lt)->stacksafe)

/* Is the C stack nearly used up? From STACK_DEEP nested calls on, what we add for each of
** them might overflow it. On a stack of the program's own, or without a limit: no. */
static LJ_NOINLINE int stack_checked(LTState *lt)
{
  char *p = (char *)__builtin_frame_address(0);
  if (LJ_LIKELY(lt->stackthread == lj_ltring_thread()) && !stack_between(lt, p))
    return 0;
  find_stack_bounds(lt);  /* Again, since limits change. */
  return stack_between(lt, p);
}

#define stack_low(lt, depth)	((depth) >= STACK_DEEP && stack_checked((lt)))

/* -- Coroutines ----------------------------------------------------------- */

/* L has made co. C code may use a coroutine for this that is not running: then the creator
** is the running one, if that is known. Returns it, or NULL if there is no event. */
static lua_State *create(lua_State *L, lua_State *co)
{
  LTState *lt = L2LT(L);
  if (lt->forked) lj_ltswitch_now(L, PC_NOREPORT);  /* In a server's child this may come first. */
  if (!lt_eventson(lt) || lt_mute(G(L))) return NULL;
  if (lt->L && obj2gco(lt->L) == gcref(G(L)->cur_L)) L = lt->L;
  co->lt_epoch = lt->epoch;
  lt_coid(lt, co);
  lt_check_current(lt, L, 0);
  if (lt_probeon(lt)) lj_ltprobe_create(L, co, co->lt_id);
  if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_CREATE, 0, 1, co->lt_id, 0);
  return L;
}

/* The coroutine that runs Lua code now, or else L, which C code uses. */
static lua_State *running(lua_State *L)
{
  GCobj *o = gcref(G(L)->cur_L);
  return o && gco2th(o)->cframe ? gco2th(o) : L;
}

/* For a reader the new coroutine has what the one that made it has. */
void lj_ltcall_create(lua_State *L, lua_State *co)
{
  lua_State *by;
  lj_ltmark_inherit(running(L), co);
  by = create(L, co);
  if (by && lt_exdata(co) != lt_exdata(by)) lj_ltstack_request(co);
  if (by && co->lt_labels != by->lt_labels) lj_ltmark_labels(co);
}

#ifdef HAVE_LUA_EXDATA2
/* A coroutine that was reset is created again, as far as a reader is concerned: by the call in
** which that happens. */
static void request_event(lua_State *L)
{
  LTState *lt = L2LT(L);
  int fresh = L->lt_id == 0 && L->status == LUA_OK && !L->cframe &&
	      L != mainthread(G(L)) && lt_frame_isbottom(L, L->base-1);
  lua_State *by = fresh && lt->L ? create(lt->L, L) : NULL;
  if (by && by->lt_labels != L->lt_labels) lj_ltmark_labels(L);
  lj_ltstack_request(L);
}

/* The host has set the request for which L works. */
void lj_ltcall_request(lua_State *L)
{
  if (lt_eventson(L2LT(L))) request_event(L);
  lj_ltcontext_changed(L);
}
#endif

/* co is freed (or reset for another use). */
void lj_ltcall_collect(global_State *g, lua_State *co)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = 0; i < lt->nresumer; i++) {
    if (lt->resumer[i].by == co) lt->resumer[i].by = NULL;
    if (lt->resumer[i].outer.L == co) lt->resumer[i].outer.L = NULL;
  }
  if (lt->entered == co) lt->entered = NULL;
  if (lt->L == co) lt->L = NULL;
  if (lt->left == co) lt->left = NULL;
  if (lt->gc.L == co) lt->gc.L = NULL;
  lj_ltabi_free(co);
  if (lt_eventson(lt) && co->lt_id) {
    if (lt_probeon(lt)) lj_ltprobe_end(NULL, co, co->lt_id, -1);
    if (lt_ringon(lt) && !lt->forked) lj_ltring_ext(lt, LTX_COLLECT, 0, 1, co->lt_id, 0);
  }
  lj_lthook_collect(lt, co);
  co->lt_id = 0;
  co->lt_serial = ++lt->lastco;
  co->lt_wait = 0;
  lj_ltcontext_free(co);
  lj_ltmark_free(co);
}

/* -- Calls of C functions, and those that yield ----------------------------- */

/* now: the time, if that of another event just before is this one's, too, else 0. Returns the time if
** the next event may have it, too, else 0. Reading the clock is most of what an event costs. */
static uint64_t c_event(lua_State *L, const LTCall *c, uint32_t kind, uint64_t now)
{
  LTState *lt = L2LT(L);
  uint32_t id = c->id;
  uint64_t *w;
  lt_check_current(lt, L, kind == LT_ENTRY);
  if (lt_probeon(lt))
    lj_ltstack_probec(L, c->fn, c->ctype, (uint32_t)c->ofs, id, kind, c->line);
  if (lt_hookon(lt)) lj_lthook_event(L, obj2gco(c->fn), kind);
  if (!lt_ringon(lt)) return 0;
  if (!now || lt_hookon(lt)) now = lt_ring_tick(lt);  /* A hook takes time. */
  w = lt->wp;
  lt_ring_store(lt, now, id, kind);
  return lt->wp == w+1 ? now : 0;  /* A new block has a later time. */
}

/* An event of fn, in which L is suspended. *now: as for c_event, and what that returns. Returns 0 if
** there is no memory for it. */
static int wait_event(lua_State *L, GCfunc *fn, uint32_t kind, uint64_t *now)
{
  LTCall call;
  call.id = lj_ltfunc_cfuncid(L, fn, L->base-1);
  if (call.id == LT_ID_UNKNOWN) return 0;
  call.ofs = lt_stackofs(L, L->base);
  call.fn = fn;
  call.ctype = 0;
  call.line = lt_probeon(L2LT(L)) ? lj_ltstack_callline(L, L->base-1) : -1;
  *now = c_event(L, &call, kind, *now);
  return 1;
}

/* L has yielded: in a C function, or in coroutine.yield, whose call has no event yet. Returns the time
** of that event, as c_event does. */
static uint64_t wait_begins(LTState *lt, lua_State *L)
{
  GCfunc *fn = lj_ltstack_waiting(L);
  uint64_t now = 0;
  if (fn && fn->c.ffid == FF_coroutine_yield && lj_ltfunc_wantwait(G(L), fn) &&
      wait_event(L, fn, LT_ENTRY, &now))
    L->lt_wait = lt_waitmark(lt, L, L->base);
  return now;
}

/* L is resumed and its stack will be reported: the call in which it is suspended counts,
** although its entry was not reported. */
static void adopt_wait(LTState *lt, lua_State *L)
{
  GCfunc *fn = lj_ltstack_waiting(L);
  if (fn && lj_ltfunc_wantwait(G(L), fn))
    L->lt_wait = lt_waitmark(lt, L, L->base);
}

/* L has been resumed: the call in which it was suspended returns. now: as for c_event. */
static void wait_ends(LTState *lt, lua_State *L, uint64_t now)
{
  GCfunc *fn = lj_ltstack_waiting(L);
  if (fn && L->lt_wait == lt_waitmark(lt, L, L->base)) wait_event(L, fn, LT_RETURN, &now);
}

/* -- Resumes ---------------------------------------------------------------- */

static void event_resume(LTState *lt, lua_State *co)
{
  int fresh = co->lt_id == 0 && co->status == LUA_OK;  /* It has no frames. */
  uint32_t id = lt_coid(lt, co);
  uint64_t now = 0, *w = NULL;
  if (lt_probeon(lt)) lj_ltprobe_resume(lt->L, co, id);
  if (lt_hookon(lt)) lj_lthook_resume(lt, lt->L, co);
  if (lt_ringon(lt)) {  /* A block that begins before it names the old coroutine. */
    now = lj_ltring_group(lt, 4);
    w = lt->wp;
  }
  lt->L = co;
  if (lt_ringon(lt)) lt_ring_store(lt, now, id, LT_RESUME);
  if (fresh) {
    co->lt_epoch = lt->epoch;
    lj_ltstack_attributes(co);
  }
  if (!lt_known(lt, co)) adopt_wait(lt, co);
  if (co->lt_epoch != lt->epoch) lj_ltstack_report(co, LTR_RESUMED, 0);
  wait_ends(lt, co, w && lt->wp == w+1 ? now : 0);
}

static void event_suspend(LTState *lt, lua_State *co, lua_State *resumer,
			  int status, uint64_t now)
{
  if (lt_probeon(lt)) {
    if (status == LUA_YIELD)
      lj_ltprobe_yield(lt->L, co, co->lt_id);
    else
      lj_ltprobe_end(lt->L, co, co->lt_id, status);
  }
  if (lt_hookon(lt)) lj_lthook_suspend(lt, co, status);
  lt->L = resumer;
  if (lt_ringon(lt)) {
    if (!now || lt_hookon(lt)) now = lj_ltctl_clock(lt);
    lj_ltring_put(lt, now, status == LUA_YIELD ? LTS_YIELD :
		  status == LUA_OK ? LTS_DONE : LTS_ERROR, LT_SUSPEND);
  }
}

/* L is about to be resumed although it is current: C code pushed onto its stack and a
** finalizer ran there. Its resumer becomes current first, as it is the one that runs. */
static void make_resumer_current(LTState *lt, lua_State *L)
{
  lua_State *by = lt->left && lt->left->cframe ? lt->left : mainthread(G(L));
  if (by != L) lj_ltstack_change(by, 0);
}

/* A resume of L has returned. known: this recording reported that resume, which has
** index idx. Otherwise the end is reported if the recording knows L, but not which
** coroutine continues. */
static void resume_ended(LTState *lt, lua_State *L, uint32_t idx, int known,
			 int status)
{
  lua_State *by;
  uint64_t now;
  if (!known && !lt_known(lt, L)) {
    lt->L = NULL;
    return;
  }
  lt_check_current(lt, L, 0);
  by = known ? lt->resumer[idx].by : NULL;
  if (by && by->lt_epoch != lt->epoch) by = NULL;  /* Its stack must be reported first. */
  now = wait_begins(lt, L);
  event_suspend(lt, L, by, status, now);
  if (status != LUA_YIELD) lj_ltstack_dropcalls(lt, L, 0);
}

/* A hook suspended L before an instruction, which is executed next without going
** through the dispatch table again. Its event is made here. */
static void event_after_hook(lua_State *L)
{
  cTValue *frame = L->base-1;
  if (L->status == LUA_YIELD && frame_iscont(frame) &&
      frame_contf(frame) == lj_cont_hook) {
    ptrdiff_t base = savestack(L, L->base);
    const BCIns *pc = frame_contpc(frame)+1;
    L->base = frame_prevd(frame)+1;
    lj_ltrace_end(L, pc);
    L->base = restorestack(L, base);
  }
}

/* L is about to be resumed. run: of a recording that reports it, else another number. */
static void note_resume(LTState *lt, lua_State *L, lua_State *by, uint32_t run)
{
  LTResume *r = &lt->resumer[lt->nresumer++];
  r->by = by;
  r->run = run;
  r->ncall = lt->ncall;
  r->outer.L = NULL;
  r->outer.record = NULL;
  if ((lt->on & LTON_CONTEXT)) lj_ltcontext_enter(L, &r->outer);
}

/* While something is on: the resume of L is noted, and if there are events, reported. */
static LJ_NOINLINE void resume_noted(lua_State *L, lua_State *by)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int events = lt_eventson(lt) && !lt_mute(g);
  if (!(events || (lt->on & LTON_CONTEXT)) ||
      !lj_ltfunc_grow((void **)&lt->resumer, &lt->sizeresumer, lt->nresumer+1, sizeof(LTResume)))
    return;
  if (!events) {
    note_resume(lt, L, NULL, lt->run-1);
    return;
  }
  if (by) {  /* It may be back from a resume that was not reported. */
    if (lt->L != by || lt->thread != lj_ltring_thread()) lj_ltstack_change(by, 0);
  } else {
    if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
    if (lt->L == L) make_resumer_current(lt, L);
  }
  note_resume(lt, L, lt->L, lt->run);
  event_resume(lt, L);
  event_after_hook(L);
}

/* L is about to be resumed from base, by the coroutine that is current then, or by C
** code for which no coroutine is known (NULL). Returns base, which may have moved. */
static LJ_NOINLINE TValue *resume_begins(lua_State *L, TValue *base, lua_State *by)
{
  if (lj_ltrace_pending(G(L))) {
    ptrdiff_t ofs = savestack(L, base);
    lj_ltswitch_now(L, PC_NOREPORT);
    base = restorestack(L, ofs);
  }
  if (LJ_UNLIKELY(L2LT(L)->on)) resume_noted(L, by);
  L->lt_wait = 0;
  lj_ltabi_resume(L);
  return base;
}

/* The resume of L that began with lt->nresumer at idx has returned. Returns status. */
static LJ_NOINLINE int resume_ends(lua_State *L, uint32_t idx, int status)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int reported = lt->nresumer > idx;
  lj_ltabi_return(L);
  lt->nresumer = idx;
  if (LJ_LIKELY(!lt->on)) return status;
  if ((lt->on & LTON_CONTEXT)) {
    if (reported) lj_ltcontext_leave(L, &lt->resumer[idx].outer);
    else lj_ltcontext_here(L);
  }
  if (!lt_eventson(lt)) return status;
  if (lt_mute(g)) {  /* Its stack has changed unnoticed. */
    L->lt_epoch = 0;
    if (lt->L == L) lt->L = NULL;
    return status;
  }
  if (reported && lt->ncall > lt->resumer[idx].ncall)
    lt->ncall = lt->resumer[idx].ncall;
  resume_ended(lt, L, idx, reported && lt->run == lt->resumer[idx].run, status);
  return status;
}

/* lua_resume: run L from base, with events around it. Its local variables are on the C
** stack once per nested resume, so there are only two registers (see coresume). */
int lj_ltcall_resume(lua_State *L, TValue *base)
{
  uint32_t idx = L2LT(L)->nresumer;
  base = resume_begins(L, base, NULL);
  return resume_ends(L, idx, lj_vm_resume(L, base, 0, 0));
}

/* -- Entries by C code ------------------------------------------------------- */

/* C code that does not run in L calls it. */
static lua_State *entry_begins(lua_State *L, LTOuter *outer)
{
  LTState *lt = L2LT(L);
  lua_State *before = lt->entered;
  outer->L = NULL;
  outer->record = NULL;
  if ((lt->on & LTON_CONTEXT)) lj_ltcontext_enter(L, outer);
  lt->entered = L;
  return before;
}

static void entry_ends(lua_State *L, lua_State *before, const LTOuter *outer)
{
  LTState *lt = L2LT(L);
  lt->entered = before;
  if ((lt->on & LTON_CONTEXT)) lj_ltcontext_leave(L, outer);
}

int lj_ltcall_pcall(lua_State *L, TValue *base, int nres1, ptrdiff_t ef)
{
  LTOuter outer;
  lua_State *before = entry_begins(L, &outer);
  int status = lj_vm_pcall(L, base, nres1, ef);
  entry_ends(L, before, &outer);
  return status;
}

int lj_ltcall_cpcall(lua_State *L, lua_CFunction func, void *ud, lua_CPFunction cp)
{
  LTOuter outer;
  lua_State *before = entry_begins(L, &outer);
  int status = lj_vm_cpcall(L, func, ud, cp);
  entry_ends(L, before, &outer);
  return status;
}

/* -- coroutine.resume and coroutine.wrap -------------------------------------- */

LJ_FUNCA_NORET void LJ_FASTCALL lj_ffh_coroutine_wrap_err(lua_State *L,
							  lua_State *co);

static TValue *cpgrow(lua_State *co, lua_CFunction dummy, void *ud)
{
  UNUSED(dummy);
  lj_state_growstack(co, *(MSize *)ud);
  return NULL;
}

/* Grow the stack by n slots, without throwing into the wrong coroutine. */
static int growco(lua_State *co, MSize n)
{
  return mref(co->maxstack, TValue) - co->top > (ptrdiff_t)n ? LUA_OK :
	 lj_vm_cpcall(co, NULL, &n, cpgrow);
}

/* The coroutine that the function on top of L resumes. */
#define coroutine_of(L, wrap) \
  ((wrap) ? threadV(lj_lib_upvalue((L), 1)) : threadV((L)->base))

/* Error number if it cannot be resumed, else 0. */
static int cannot_resume(lua_State *L, lua_State *co)
{
  if (co->cframe) return LJ_ERR_CORUN;
  if (co->status > LUA_YIELD || (co->status == LUA_OK && co->top == co->base))
    return LJ_ERR_CODEAD;
  return stack_low(L2LT(L), L2LT(L)->nresumer) ? LJ_ERR_STKOV : 0;
}

/* First half of coresume: everything before the coroutine runs. Returns its base, or
** NULL if it cannot be resumed and the two results for that are on the stack. */
static LJ_NOINLINE TValue *coresume_begins(lua_State *L, int wrap)
{
  lua_State *co;
  TValue *args = L->base + !wrap, *base;
  ptrdiff_t nargs, i;
  int why;
  setcframe_pc(cframe_raw(L->cframe), frame_pc(L->base-1));
  if (!wrap && !(L->top > L->base && tvisthread(L->base)))
    lj_err_arg(L, 1, LJ_ERR_NOCORO);
  co = coroutine_of(L, wrap);
  if ((why = cannot_resume(L, co))) {
    if (wrap) lj_err_caller(L, (ErrMsg)why);
    setboolV(L->base, 0);
    setstrV(L, L->base+1, lj_err_str(L, (ErrMsg)why));
    L->top = L->base+2;
    return NULL;
  }
  nargs = L->top - args;
  if (growco(co, (MSize)nargs+1+LJ_FR2) != LUA_OK) {
    cTValue *msg = --co->top;
    lj_err_callermsg(L, strVdata(msg));
  }
  base = co->top;
  if (LJ_FR2 && co->status == LUA_OK) setnilV(base++);  /* Above the function. */
  for (i = 0; i < nargs; i++) copyTV(co, base+i, args+i);
  co->top = base + nargs;
  L->top = args;  /* Keep the resumed coroutine in the stack for the GC. */
  return resume_begins(co, base, L);
}

/* Second half: everything after the coroutine has stopped. Returns the number of
** results. */
static LJ_NOINLINE int coresume_ends(lua_State *L, int wrap, int status)
{
  lua_State *co = coroutine_of(L, wrap);
  ptrdiff_t nres, i;
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

/* coroutine.resume and the functions of coroutine.wrap in C, exactly like the assembler
** versions (vm_x64.dasc, coroutine_resume_wrap, and ffh_resume in lib_base.c). Those take
** 80 bytes of C stack per nested resume; this one takes 112, since it keeps only two
** registers and leaves the rest to calls before and after. */
static LJ_NOINLINE int coresume(lua_State *L, int wrap)
{
  uint32_t idx = L2LT(L)->nresumer*2 + (uint32_t)wrap;
  TValue *base = coresume_begins(L, wrap);
  int status;
  if (!base) return 2;
  status = lj_vm_resume(coroutine_of(L, wrap), base, 0, 0);
  wrap = (int)(idx & 1);
  resume_ends(coroutine_of(L, wrap), idx >> 1, status);
  return coresume_ends(L, wrap, status);
}

/* -- C functions ---------------------------------------------------------- */

typedef int (*LTWrapFunc)(lua_State *L, lua_CFunction f);

/* Call the function as without tracing. */
static int forward(lua_State *L, GCfunc *fn, lua_CFunction f)
{
  LTState *lt = L2LT(L);
  if (bc_op(*mref(fn->c.pc, BCIns)) == BC_FUNCCW && lt->wrapf)
    return ((LTWrapFunc)(void *)lt->wrapf)(L, f);
  return f(L);
}

#define NOCALL		(~(uint32_t)0)

/* Does the call of fn, on top of L, have events? ctype: see LTCall. */
static int wants_call(lua_State *L, GCfunc *fn, uint32_t ctype)
{
  if (lt_iscdatacall(fn)) return ctype && lt_wantffi(G(L));
  return lj_ltfunc_wantc(G(L), fn);
}

/* Space for one more entry of lt->call. Returns 0 if there is no memory. */
#define call_space(lt) \
  (LJ_LIKELY((lt)->ncall+1 < (lt)->sizecall) || \
   lj_ltfunc_grow((void **)&(lt)->call, &(lt)->sizecall, (lt)->ncall+1, sizeof(LTCall)))

/* The C function on top of L is about to be called: report it. Returns its index in
** lt->call, or NOCALL if it has no events. */
static LJ_NOINLINE uint32_t c_begins(lua_State *L)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  GCfunc *fn = curr_func(L);
  LTCall call, *open;
  if (lj_ltrace_pending(g)) lj_ltswitch_now(L, mref(fn->c.pc, BCIns));
  call.ctype = lj_ltffi_type(L, fn, L->base);
  if (!wants_call(L, fn, call.ctype) || !call_space(lt)) return NOCALL;
  call.id = call.ctype ? lj_ltffi_id(L, cdataV(L->base), L->base-1) :
			 lj_ltfunc_cfuncid(L, fn, L->base-1);
  if (call.id == LT_ID_UNKNOWN) return NOCALL;  /* No memory. */
  if (stack_low(lt, lt->ncall)) lj_err_msg(L, LJ_ERR_STKOV);
  call.ofs = lt_stackofs(L, L->base);
  call.fn = fn;
  call.line = lt_probeon(lt) ? lj_ltstack_callline(L, L->base-1) : -1;
  c_event(L, &call, LT_ENTRY, 0);
  open = &lt->call[lt->ncall];
  open->L = L;  /* One by one: a copy of all would wait for what has just been stored. */
  open->ofs = call.ofs;
  open->fn = fn;
  open->ctype = call.ctype;
  open->run = lt->run;
  open->id = call.id;
  open->line = call.line;
  return lt->ncall++;
}

/* It returned n. If it yielded, it ends when L is resumed. After lj_meta_tailcall its
** frame is no longer a call's, and the callee's does not exist yet: the stack cannot be
** reported there. */
static LJ_NOINLINE int c_ends(lua_State *L, uint32_t idx, uint32_t run, int n)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  int tail;
  lt->ncall = idx;
  if (!lt_eventson(lt) || lt->run != run) return n;
  if (lj_ltstack_waiting(L)) {
    L->lt_wait = lt_waitmark(lt, L, L->base);
    return n;
  }
  tail = lt_stackofs(L, L->base) != lt->call[idx].ofs;
  if (tail) {
    if (!lt_known(lt, L)) return n;
  } else if (lj_ltrace_pending(g)) {
    lt->ncall = idx+1;
    lj_ltswitch_now(L, NULL);
    lt->ncall = idx;
    if (!lt_eventson(lt) || lt->run != run) return n;
  }
  c_event(L, &lt->call[idx], tail ? LT_TAIL : LT_RETURN, 0);
  return n;
}

/* g->wrapf while tracing: for all C functions that are called by BC_FUNCCW. Its local
** variables are on the C stack once per nested call of C functions: three registers. */
int lj_ltcall_wrap(lua_State *L, lua_CFunction f)
{
  GCfunc *fn = curr_func(L);
  uint32_t idx, run;
  if (lj_ltfunc_iscoro(fn))
    return coresume(L, fn->c.ffid == FF_coroutine_wrap_aux);
  idx = c_begins(L);
  /* error never returns, so it gets no frame of ours: each C frame between error and
  ** pcall costs the unwinder more than the event. */
  if (idx == NOCALL || fn->c.ffid == FF_error) return forward(L, fn, f);
  run = L2LT(L)->run;
  return c_ends(L, idx, run, forward(L, fn, f));
}

#endif
