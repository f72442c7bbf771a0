/*
** Tracing of calls: the ABI note, and the links that it describes.
** SPDX-License-Identifier: MIT
**
** For profilers that sample: struct lt_abi (luatrace_abi.h), member by member, in an ELF
** note; and which coroutine has resumed which through lua_resume().
**
** Invariants: the note needs no relocation, since addresses are differences. A coroutine in
** lua_State.lt_resumer is in memory: whichever of the two is freed first ends the link. */

#define lj_ltabi_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include "lj_bc.h"
#if LJ_HASFFI
#include "lj_ccall.h"
#endif
#include "lj_dispatch.h"
#include "lj_ff.h"
#include "lj_frame.h"
#if LJ_HASJIT
#include "lj_ir.h"
#include "lj_jit.h"
#endif
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace_abi.h"

/* -- Links between coroutines ---------------------------------------------- */

/* L is resumed by C code, which the coroutine that runs now has called. */
void lj_ltabi_resume(lua_State *L)
{
  GCobj *o = gcref(G(L)->cur_L);
  lua_State *by = o ? gco2th(o) : NULL;
  lj_assertL(!L->lt_resumer, "resumed twice");
  if (!by || by == L || !by->cframe) return;  /* It does not run: the host resumes L. */
  L->lt_sibling = by->lt_resumed;
  by->lt_resumed = L;
  L->lt_resumer = by;  /* Visible before L is the current coroutine. */
}

static void unlink_resumer(lua_State *L)
{
  lua_State *by = L->lt_resumer, **p;
  if (!by) return;
  L->lt_resumer = NULL;
  for (p = &by->lt_resumed; *p; p = &(*p)->lt_sibling)
    if (*p == L) {
      *p = L->lt_sibling;
      break;
    }
  L->lt_sibling = NULL;
}

/* Its resume has returned: the resumer, if it was not freed meanwhile, runs again. At any
** instruction a walker finds it, as the current coroutine or by the link. */
void lj_ltabi_return(lua_State *L)
{
  global_State *g = G(L);
  lua_State *by = L->lt_resumer;
  if (by && gcref(g->cur_L) == obj2gco(L)) setgcref(g->cur_L, obj2gco(by));
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  unlink_resumer(L);
}

/* Has C code resumed L? When L stops, the assembler's coroutine.resume calls no function of ours.
** The return address is the last word of a C frame. */
int lj_ltabi_byc(lua_State *L)
{
#if LJ_HASFFI && (LJ_TARGET_X64 || LJ_TARGET_ARM64)
  uintptr_t begin = (uintptr_t)(void *)lj_vm_asm_begin, end = (uintptr_t)(void *)lj_vm_ffi_call, ret;
  void *cf = L->cframe;
  while (cf && cframe_prev(cframe_raw(cf))) cf = cframe_prev(cframe_raw(cf));
  if (!cf || !cframe_canyield(cf)) return 0;
  ret = *(uintptr_t *)((char *)cframe_raw(cf) + CFRAME_SIZE-8);
  return !(ret >= begin && ret < end);
#else
  UNUSED(L);
  return 0;  /* Not known. */
#endif
}

/* L is freed. Those that it has resumed may still run, on C stacks of their own. */
void lj_ltabi_free(lua_State *L)
{
  unlink_resumer(L);
  while (L->lt_resumed) {
    lua_State *co = L->lt_resumed;
    L->lt_resumed = co->lt_sibling;
    co->lt_resumer = co->lt_sibling = NULL;
  }
}

/* -- Constants of the processor --------------------------------------------- */

#if LJ_TARGET_X64 && !LJ_ABI_WIN  /* rdx, rbx, r14 */
#define R_BASE		1
#define R_PC		3
#define R_DISPATCH	14
#define R_G		(-1)
#define R_L		(-1)
#define R_DISPATCHJ	(LJ_GC64 ? 14 : -1)
#define R_GJ		(-1)
#define R_BASEJ		1
#elif LJ_TARGET_ARM64  /* x19, x21, x22, x23 */
#define R_BASE		19
#define R_PC		21
#define R_DISPATCH	(-1)
#define R_G		22
#define R_L		23
#define R_DISPATCHJ	(-1)
#define R_GJ		22
#define R_BASEJ		19
#else
#define R_BASE		(-1)
#define R_PC		(-1)
#define R_DISPATCH	(-1)
#define R_G		(-1)
#define R_L		(-1)
#define R_DISPATCHJ	(-1)
#define R_GJ		(-1)
#define R_BASEJ		(-1)
#endif

/* Both store the frame pointer and the return address last. */
#if LJ_TARGET_X64 || LJ_TARGET_ARM64
#define CF_FP		(CFRAME_SIZE-16)
#define CF_RET		(CFRAME_SIZE-8)
#else
#define CF_FP		(-1)
#define CF_RET		(-1)
#endif

#ifndef CFRAME_SIZE_JIT
#define CFRAME_SIZE_JIT	CFRAME_SIZE
#endif

/* -- The note ---------------------------------------------------------------- */

#define A_OFS(type, member)	((int)offsetof(type, member))
#define A_GG(member)	(A_OFS(GG_State, member) - A_OFS(GG_State, g))
#define A_G(member)	A_OFS(global_State, member)
#define A_L(member)	A_OFS(lua_State, member)
#define A_PT(member)	A_OFS(GCproto, member)
#if LJ_HASJIT
#define A_JIT(x)	(x)
#else
#define A_JIT(x)	(-1)
#endif
#define A_J(member)	A_JIT(A_OFS(jit_State, member))
#define A_T(member)	A_JIT(A_OFS(GCtrace, member))
#define A_SNAP(member)	A_JIT(A_OFS(SnapShot, member))
#ifdef HAVE_LUA_EXDATA2
#define A_EXDATA	A_L(exdata)
#else
#define A_EXDATA	(-1)
#endif
#if LJ_GC64
#define A_TAGSHIFT	47
#else
#define A_TAGSHIFT	(-1)
#endif

#define A_FLAGS \
  ((LJ_HASJIT ? LTA_JIT : 0) | (LJ_GC64 ? LTA_GC64 : 0) | (LJ_FR2 ? LTA_FR2 : 0) | \
   (LJ_DUALNUM ? LTA_DUALNUM : 0) | (LJ_HASFFI ? LTA_FFI : 0) | \
   (LJ_52 ? LTA_52COMPAT : 0) | (A_EXDATA >= 0 ? LTA_EXDATA : 0))

/* The members from flags on, in their order. An asm statement has 30 operands at most. */
#define ABIDEF1(_) \
  _(a1, A_FLAGS) _(a2, 1+LJ_FR2) \
  _(b1, A_OFS(LTState, next)) _(b2, A_OFS(GG_State, g)-A_OFS(GG_State, lt)) \
  _(b3, A_OFS(LTState, gcfrom)) \
  _(c1, A_G(cur_L)) _(c2, A_G(mainthref)) _(c3, A_G(jit_base)) _(c4, A_G(vmstate)) \
  _(c5, A_GG(dispatch)) _(c6, A_JIT(A_GG(J))) _(c7, sizeof(global_State)) \
  _(d1, ~LJ_VMST_INTERP) _(d2, ~LJ_VMST_C) _(d3, ~LJ_VMST_GC) _(d4, ~LJ_VMST_EXIT) \
  _(d5, ~LJ_VMST_RECORD) _(d6, ~LJ_VMST_OPT) _(d7, ~LJ_VMST_ASM)
#define ABIDEF2(_) \
  _(a1, A_L(glref)) _(a2, A_L(status)) _(a3, A_L(base)) _(a4, A_L(top)) \
  _(a5, A_L(maxstack)) _(a6, A_L(stack)) _(a7, A_L(cframe)) _(a8, A_L(lt_resumer)) \
  _(a9, A_L(lt_id)) _(b1, A_EXDATA) _(b2, sizeof(lua_State)) \
  _(c1, A_J(trace)) _(c2, A_J(sizetrace)) _(c3, A_J(state)) _(c4, A_J(parent)) \
  _(c5, A_J(exitno))
#define ABIDEF3(_) \
  _(a1, A_T(nsnap)) _(a2, A_T(nsnapmap)) _(a3, A_T(snap)) _(a4, A_T(snapmap)) \
  _(a5, A_T(ir)) _(a6, A_T(nk)) _(a7, A_T(nins)) _(a8, A_T(startpt)) _(a9, A_T(startpc)) \
  _(b1, A_T(startins)) _(b2, A_T(mcode)) _(b3, A_T(szmcode)) _(b4, A_T(mcloop)) \
  _(b5, A_T(spadjust)) _(b6, A_T(traceno)) _(b7, A_T(link)) _(b8, A_T(root)) \
  _(b9, A_T(linktype))
#define ABIDEF4(_) \
  _(a1, A_JIT(sizeof(SnapShot))) _(a2, A_SNAP(mapofs)) _(a3, A_SNAP(ref)) \
  _(a4, A_SNAP(mcofs)) _(a5, A_SNAP(nslots)) _(a6, A_SNAP(topslot)) _(a7, A_SNAP(nent)) \
  _(b1, A_JIT(24)) _(b2, A_JIT(SNAP_FRAME)) _(b3, A_JIT(SNAP_CONT)) _(b4, A_JIT(0xffff)) \
  _(c1, A_JIT(sizeof(IRIns))) _(c2, A_JIT(A_OFS(IRIns, o))) _(c3, A_JIT(REF_BIAS)) \
  _(c4, A_JIT(IR_KGC)) _(c5, A_JIT(IR_KNUM)) _(c6, A_JIT(IR_KINT64)) _(c7, A_JIT(IR_RETF))
#define ABIDEF5(_) \
  _(a1, A_OFS(GChead, gct)) _(a2, ~LJ_TSTR) _(a3, ~LJ_TTHREAD) _(a4, ~LJ_TPROTO) \
  _(a5, ~LJ_TFUNC) _(a6, ~LJ_TTRACE) _(a7, A_TAGSHIFT) \
  _(b1, A_OFS(GCfuncC, ffid)) _(b2, A_OFS(GCfuncL, pc)) _(b3, A_OFS(GCfuncC, f)) \
  _(c1, sizeof(GCproto)) _(c2, A_PT(sizebc)) _(c3, A_PT(chunkname)) _(c4, A_PT(firstline)) \
  _(c5, A_PT(numline)) _(c6, A_PT(lineinfo)) _(c7, A_PT(lt_id)) \
  _(d1, A_OFS(GCstr, len)) _(d2, sizeof(GCstr)) \
  _(e1, sizeof(BCIns)) _(e2, 8) _(e3, BC_FUNCF) _(e4, BC_JFUNCV) _(e5, BC_CALL) _(e6, BC_CALLT) \
  _(e7, BC_JLOOP)
#define ABIDEF6(_) \
  _(a1, FRAME_TYPE) _(a2, FRAME_TYPEP) _(a3, FRAME_LUA) _(a4, FRAME_C) _(a5, FRAME_CONT) \
  _(a6, FRAME_VARG) _(a7, FRAME_CP) _(a8, FRAME_PCALL) \
  _(b1, LJ_FR2 ? -24 : -1) _(b2, LJ_FR2 ? -32 : -1) _(b3, LJ_CONT_FFI_CALLBACK) \
  _(c1, CFRAME_SIZE) _(c2, CFRAME_SIZE_JIT) _(c3, CFRAME_OFS_L) _(c4, CFRAME_OFS_PC) \
  _(c5, CFRAME_OFS_PREV) _(c6, CFRAME_OFS_NRES) _(c7, CFRAME_OFS_ERRF) \
  _(c8, CFRAME_OFS_MULTRES) _(c9, ~CFRAME_RAWMASK) _(d1, CFRAME_RESUME) \
  _(d2, CF_FP) _(d3, CF_RET)
#define ABIDEF7(_) \
  _(a1, R_BASE) _(a2, R_PC) _(a3, R_DISPATCH) _(a4, R_G) _(a5, R_L) \
  _(a6, R_DISPATCHJ) _(a7, R_GJ) _(a8, R_BASEJ)

#define ABIDEF8(_) \
  _(a1, FF__MAX) _(a2, A_OFS(LTState, serial)) \
  _(a3, A_L(lt_serial)) _(a4, A_L(lt_labels)) _(a5, A_OFS(GCstr, hash)) _(a6, 0)

#define A_TEXT(name, value)	"  .4byte %c[" #name "]\n"
#define A_ARG(name, value)	[name] "i" ((int)(value)),
#define A_PART(def, end) \
  __asm__ volatile("  .pushsection .note.luatrace_abi, \"a\", %%note\n" \
		   def(A_TEXT) end "  .popsection\n" : : def(A_ARG) [z] "i" (0))

/* Never called: the assembler can be given constants only inside a function. */
static __attribute__((used, noinline LT_NOCLONE)) void lj_ltabi_note(void)
{
  __asm__ volatile(
    "  .pushsection .note.luatrace_abi, \"a\", %%note\n"
    "  .balign 4\n"
    "  .4byte 72f-71f, 74f-73f, %c[type]\n"
    "71:\n  .asciz \"" LT_ABI_NAME "\"\n72:\n  .balign 4\n"
    "73:\n  .4byte %c[version], 74f-73b\n"
    LT_NOTE_DIST("lj_ltcontrol+%c[vms]")
    LT_NOTE_DIST("lj_vm_asm_begin")
#if LJ_HASFFI
    LT_NOTE_DIST("lj_vm_ffi_call")  /* It has a frame of its own. */
#else
    "  .8byte 0\n"
#endif
    "  .popsection\n"
    : : [type] "i" (LT_ABI_TYPE), [version] "i" (LT_ABI_VERSION),
	[vms] "i" ((int)offsetof(LTControl, states)));
  A_PART(ABIDEF1, "");
  A_PART(ABIDEF2, "");
  A_PART(ABIDEF3, "");
  A_PART(ABIDEF4, "");
  A_PART(ABIDEF5, "");
  A_PART(ABIDEF6, "");
#if LJ_TARGET_X64 && LJ_GC64
  A_PART(ABIDEF7, LT_NOTE_DIST("lj_vm_rules") LT_NOTE_DIST("lj_ltname_builtins"));
#else
  A_PART(ABIDEF7, "  .8byte 0\n" LT_NOTE_DIST("lj_ltname_builtins"));
#endif
  A_PART(ABIDEF8, "74:\n  .balign 4\n");
}

#endif
