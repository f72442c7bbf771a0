/*
** Tracing of calls: coroutines, and calls of C functions.
** SPDX-License-Identifier: MIT
**
** Both are run from here while tracing is on: coroutine.resume and what
** coroutine.wrap made in C instead of assembler, C functions through g->wrapf.
** Invariant: lt->call and lt->resumer hold what has been announced and not ended.
*/

#define lj_ltcall_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

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

/* -- Coroutines ----------------------------------------------------------- */

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
  lt_coid(lt, co);
  lt_check_current(lt, L, 0);  /* C code may use a coroutine that never ran. */
  if (lt_probeon(lt)) lj_ltprobe_create(L, co, co->lt_id);
  if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_CREATE, 0, 1, co->lt_id, 0);
}

/* co is freed (or reset for another use). */
void lj_ltrace_collect(global_State *g, lua_State *co)
{
  LTState *lt = G2LT(g);
  uint32_t i;
  for (i = 0; i < lt->nresumer; i++)
    if (lt->resumer[i] == co) lt->resumer[i] = NULL;
  if (lt->L == co) lt->L = NULL;
  if (lt->left == co) lt->left = NULL;
  if (lt->on && co->lt_id) {
    if (lt_probeon(lt)) lj_ltprobe_end(NULL, co, co->lt_id, -1);
    if (lt_ringon(lt)) lj_ltring_ext(lt, LTX_COLLECT, 0, 1, co->lt_id, 0);
  }
  co->lt_id = 0;
}

static void event_resume(LTState *lt, lua_State *co)
{
  int fresh = co->lt_id == 0 && co->status == LUA_OK;  /* It has no frames. */
  uint32_t id = lt_coid(lt, co);
  if (lt_probeon(lt)) lj_ltprobe_resume(lt->L, co, id);
  if (lt_ringon(lt)) {  /* What begins before it names the old coroutine. */
    lt_ring_tick(lt);
    lj_ltring_need(lt, 4);
  }
  lt->L = co;
  if (lt_ringon(lt)) lt_ring_store(lt, lj_ltring_clock(), id, LT_RESUME);
  if (fresh) co->lt_epoch = lt->epoch;
  if (co->lt_epoch != lt->epoch) lj_ltrace_report(co, LTR_RESUMED, 0);
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

/* L is to be resumed and yet is current: C code put something on its stack, and
** a finalizer ran there. The one that resumes it goes on first. */
static void back_from(LTState *lt, lua_State *L)
{
  lua_State *by = lt->left ? lt->left : mainthread(G(L));
  if (by != L) lj_ltrace_change(by, 0);
}

/* L is back from a resume. known: this recording was told of the resume, which
** is number idx. Else the end is told all the same if the recording has seen
** L, but not who goes on. */
static void resume_ended(LTState *lt, lua_State *L, uint32_t idx, int known,
			 int status)
{
  lua_State *by;
  if (!known && L->lt_epoch != lt->epoch &&
      !(lt_ringon(lt) && lt_wordsknow(lt, L))) {
    lt->L = NULL;
    return;
  }
  lt_check_current(lt, L, 0);
  by = known ? lt->resumer[idx] : NULL;
  if (by && by->lt_epoch != lt->epoch) by = NULL;  /* Has to report first. */
  event_suspend(lt, L, by, status);
  if (status != LUA_YIELD) lj_ltcall_drop(lt, L, 0);
}

/* A hook suspended L in front of an instruction: that is executed next, without
** another look at the dispatch table. Its event comes here. */
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

/* lua_resume: run L from base, with events around it. */
int lj_ltrace_resume(lua_State *L, TValue *base)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  uint32_t idx = lt->nresumer, run, ncall;
  int status, told;
  if (lj_ltrace_pending(g)) {
    ptrdiff_t ofs = savestack(L, base);
    lj_ltrace_switch(L, PC_NOREPORT);
    base = restorestack(L, ofs);
  }
  run = lt->run;
  ncall = lt->ncall;
  told = lt->on && !lt_mute(g) &&
	 lj_ltfunc_grow((void **)&lt->resumer, &lt->sizeresumer, idx+1,
			sizeof(lua_State *));
  if (told) {
    if (lt->thread != lj_ltring_thread() && lt_ringon(lt)) lj_ltring_note(lt);
    if (lt->L == L) back_from(lt, L);
    lt->resumer[lt->nresumer++] = lt->L;
    event_resume(lt, L);
    event_after_hook(L);
  }
  status = lj_vm_resume(L, base, 0, 0);
  lt->nresumer = idx;
  if (LJ_LIKELY(!lt->on)) return status;
  if (lt_mute(g)) {  /* Its stack has changed unseen. */
    L->lt_epoch = 0;
    if (lt->L == L) lt->L = NULL;
    return status;
  }
  if (told && lt->ncall > ncall) lt->ncall = ncall;
  resume_ended(lt, L, idx, told && lt->run == run, status);
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
  setcframe_pc(cframe_raw(L->cframe), frame_pc(L->base-1));
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

/* -- C functions ---------------------------------------------------------- */

/* The announced call of a C function at a slot offset, or NULL. */
LTCall *lj_ltcall_find(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  uint32_t i = lt->ncall;
  while (i-- > 0)
    if (lt->call[i].L == L && lt->call[i].ofs == ofs &&
	lt->call[i].run == lt->run)
      return &lt->call[i];
  return NULL;
}

/* Forget C calls of L at or above a slot offset. */
void lj_ltcall_drop(LTState *lt, lua_State *L, ptrdiff_t ofs)
{
  while (lt->ncall > 0 && lt->call[lt->ncall-1].L == L &&
	 lt->call[lt->ncall-1].ofs >= ofs)
    lt->ncall--;
}

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
  lt_check_current(lt, L, kind == LT_ENTRY);
  if (lt_probeon(lt)) lj_ltrace_probec(L, fn, (uint32_t)ofs, id, kind, line);
  if (lt_ringon(lt)) lt_ring_event(lt, id, kind);
}

/* g->wrapf while tracing: all C functions that are sent to BC_FUNCCW. */
int lj_ltrace_wrap(lua_State *L, lua_CFunction f)
{
  global_State *g = G(L);
  LTState *lt = G2LT(g);
  GCfunc *fn = curr_func(L);
  ptrdiff_t ofs = lt_stackofs(L, L->base);
  uint32_t id, idx, run;
  int n, line = -1;
  if (lj_ltrace_iscoro(fn))
    return coresume(L, fn->c.ffid == FF_coroutine_wrap_aux);
  if (lj_ltrace_pending(g)) lj_ltrace_switch(L, mref(fn->c.pc, BCIns));
  if (!lj_ltrace_wantc(g, fn) ||
      !lj_ltfunc_grow((void **)&lt->call, &lt->sizecall, lt->ncall+1, sizeof(LTCall)))
    return forward(L, fn, f);
  id = lj_ltrace_cfuncid(L, fn, L->base-1);
  if (id == LT_ID_UNKNOWN) return forward(L, fn, f);  /* No memory. */
  if (lt_probeon(lt)) line = lj_ltrace_callline(L, L->base-1);
  c_event(L, fn, id, ofs, LT_ENTRY, line);
  run = lt->run;
  idx = lt->ncall++;
  lt->call[idx].L = L;
  lt->call[idx].ofs = ofs;
  lt->call[idx].run = run;
  /* Never returns, so no frame of ours: each C frame between error and pcall
  ** costs the unwinder more than the event. */
  if (fn->c.ffid == FF_error) return forward(L, fn, f);
  n = forward(L, fn, f);
  lt->ncall = idx;
  if (lj_ltrace_pending(g)) {
    lt->ncall = idx+1;
    lj_ltrace_switch(L, NULL);
    lt->ncall = idx;
  }
  if (lt->on && lt->run == run)
    c_event(L, fn, id, ofs,
	    lt_stackofs(L, L->base) != ofs ? LT_TAIL : LT_RETURN, line);
  return n;
}

#endif
