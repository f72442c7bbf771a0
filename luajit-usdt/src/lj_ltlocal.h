/*
** Tracing of calls: declarations shared by lj_lt*.c.
** SPDX-License-Identifier: MIT
**
** A file may call the files above it in this list, and none below it.
**
**   lj_ltprobe   the probe sites
**   lj_lttls     the variable that points to the context of a thread
**   lj_ltctl     control word, settings, descriptors, clock
**   lj_ltabi     what profilers that sample need to know
**   lj_ltblock   event words flushed through a probe
**   lj_ltring    event words and descriptions in a ring
**   lj_ltmark    sections and labels of coroutines
**   lj_lttext    text for people
**   lj_ltwatch   the places that a recording watches
**   lj_ltname    names of library functions, and those in package.loaded
**   lj_ltfunc    ids and names of functions
**   lj_ltffi     the same for C functions called by FFI
**   lj_ltcost    how long compiled instructions take
**   lj_ltseg     segments: compiled code that stores no events
**   lj_ltstate   the list of all VMs; forks
**   lj_ltopen    creates, publishes and closes rings
**   lj_ltcontext  the context of each thread, for profilers
**   lj_ltstream  starts and ends streams that are flushed through a probe
**   lj_lthook    trees of single calls, for the program
**   lj_ltstack   frames, the current coroutine, all outputs of events
**   lj_lthit     values at watched places
**   lj_ltprint   stacks and calls as text
**   lj_ltswitch  on and off
**   lj_ltgc      steps of the garbage collector
**   lj_ltjit     what the compiler does
**   lj_ltvm      the interpreter's fast path
**   lj_ltrace    what is an event
**   lj_ltcall    coroutines and C functions
**   lj_ltrec     events of compiled code
**   lj_ltspawn   starts our programs
**   lj_ltlink    the connection to a recorder that the process has started
**   lj_ltself    the recording that the process has started
**   lj_ltuser    what the program says about itself (luatrace.h)
**   lj_ltreport  reports and snapshots of it
**   lj_ltapi     starts and ends it (luatrace.h)
**   lj_ltenv     the environment variable LUATRACE
**
** Upstream's files call the functions declared in lj_ltrace.h, through the patches. Any
** file may pass the address of a function to the VM: lj_ltcall_wrap, and the targets in
** lj_ltvm. tests/dropin/layers.sh checks this order, and that a function's name begins
** with that of its file.
**
** Everything that an event needs is inline: a build that is not amalgamated would
** otherwise pay for a call per event. */

#ifndef _LJ_LTLOCAL_H
#define _LJ_LTLOCAL_H

#include "lj_frame.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "luatrace.h"
#include "luatrace_watch.h"

/* Are event words stored, in a ring or in private memory? */
#define lt_ringon(lt)	((lt)->on & LTON_WORDS)
#define lt_probeon(lt)	((lt)->on & LTON_PROBE)
#define lt_hookon(lt)	((lt)->on & LTON_HOOK)
/* No events inside handlers of VM events. */
#define lt_mute(g)	((g)->hookmask & HOOK_VMEVENT)
/* Do calls of C functions by FFI have events? */
#define lt_wantffi(g)	(lt_eventson(G2LT(g)) && G2LT(g)->ffi && !lt_mute(g))

#if LJ_HASJIT
#define lt_jitidle(g)	(G2J(g)->state == LJ_TRACE_IDLE)
/* Does the compiler compile? jit.on() and jit.off() are the program's: hooks leave them alone. */
#define lt_jiton(g)	((G2J(g)->flags & JIT_F_ON) && !lt_hookon(G2LT(g)))
#else
#define lt_jitidle(g)	1
#define lt_jiton(g)	0
#endif

#define LT2GG(lt)	((GG_State *)((char *)(lt) - offsetof(GG_State, lt)))
#define LT2G(lt)	(&LT2GG(lt)->g)

/* An upstream whose function has more arguments defines it (quirks). */
#ifndef lt_dispatch_update
#define lt_dispatch_update(g)	lj_dispatch_update((g))
#endif

/* Are event words in private memory, flushed through a probe? */
#define lt_private(lt)	((lt)->ring && ((lt)->ringflags & LT_RING_PROBE))

#define ld_acq(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define st_rel(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define WARMBLOCKS	4u  /* Blocks of a ring that are populated at a time. */
#define LT_NOTAIL	(~(uint64_t)0)

/* For lj_ltswitch_now: the caller reports the stack. */
#define PC_NOREPORT	((const BCIns *)(intptr_t)-1)

/* `name`: calls `target` with what lt_asmstate() wants. Saves all registers that compiled code or the
** interpreter may use and a C function may change, but on arm64 not lr, which both of them treat as
** changed by any call. Needs no stack alignment on x64, so that compiled code can call it anywhere. */
#if LJ_TARGET_ARM64
#define LT_ASM_ALL(op) \
  "  " op " x0, x1, [sp, #16]\n  " op " x2, x3, [sp, #32]\n" \
  "  " op " x4, x5, [sp, #48]\n  " op " x6, x7, [sp, #64]\n" \
  "  " op " x8, x9, [sp, #80]\n  " op " x10, x11, [sp, #96]\n" \
  "  " op " x12, x13, [sp, #112]\n  " op " x14, x15, [sp, #128]\n" \
  "  " op " x16, x17, [sp, #144]\n  " op " d0, d1, [sp, #160]\n" \
  "  " op " d2, d3, [sp, #176]\n  " op " d4, d5, [sp, #192]\n" \
  "  " op " d6, d7, [sp, #208]\n  " op " d16, d17, [sp, #224]\n" \
  "  " op " d18, d19, [sp, #240]\n  " op " d20, d21, [sp, #256]\n" \
  "  " op " d22, d23, [sp, #272]\n  " op " d24, d25, [sp, #288]\n" \
  "  " op " d26, d27, [sp, #304]\n  " op " d28, d29, [sp, #320]\n" \
  "  " op " d30, d31, [sp, #336]\n"
#define LT_ASM_SAVED(name, target) \
__asm__( \
  ".text\n" \
  ".balign 4\n" \
  ".hidden " #name "\n" \
  ".globl " #name "\n" \
  ".type " #name ", %function\n" \
  #name ":\n" \
  "  hint #34\n" /* bti c */ \
  "  stp x29, x30, [sp, #-352]!\n  mov x29, sp\n" \
  LT_ASM_ALL("stp") \
  "  mov x0, x22\n" \
  "  bl " #target "\n" \
  LT_ASM_ALL("ldp") \
  "  ldp x29, x30, [sp], #352\n" \
  "  ret\n" \
  ".size " #name ", .-" #name "\n" \
);
#define lt_asmstate(vm)		G2LT((global_State *)(vm))  /* x22 */
#else
#define LT_ASM_SAVED(name, target) \
__asm__( \
  ".text\n" \
  ".hidden " #name "\n" \
  ".globl " #name "\n" \
  ".type " #name ", @function\n" \
  #name ":\n" \
  "  pushq %rbp\n  movq %rsp, %rbp\n" \
  "  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n" \
  "  pushq %rdi\n  pushq %r8\n  pushq %r9\n  pushq %r10\n" \
  "  pushq %r11\n" \
  "  andq $-16, %rsp\n" \
  "  subq $256, %rsp\n" \
  "  .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movaps %xmm\\i, 16*\\i(%rsp)\n  .endr\n" \
  "  movq %r14, %rdi\n" \
  "  call " #target "\n" \
  "  .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movaps 16*\\i(%rsp), %xmm\\i\n  .endr\n" \
  "  leaq -72(%rbp), %rsp\n" \
  "  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n" \
  "  popq %rdi\n  popq %rsi\n  popq %rdx\n  popq %rcx\n" \
  "  popq %rax\n  popq %rbp\n" \
  "  ret\n" \
  ".size " #name ", .-" #name "\n" \
);
#define lt_asmstate(vm) \
  (&((GG_State *)((char *)(vm) - GG_OFS(dispatch)))->lt)  /* r14 */
#endif

/* -- Functions, in the order of the files --------------------------------- */

extern char lj_ltctl_watch[LT_WATCH_REQUEST_MAX+1] __attribute__((visibility("hidden")));
LJ_FUNC int lj_ltctl_fdsleft(void);
LJ_FUNC int lj_ltctl_samefile(int fd, uint64_t dev, uint64_t ino);
LJ_FUNC int lj_ltctl_fdup(int low);
LJ_FUNC void lj_ltctl_closefd(LTState *lt);
LJ_FUNC void lj_ltctl_env(void);
LJ_FUNC void lj_ltctl_defaults(void);
LJ_FUNC void lj_ltctl_set(const char *name, const char *value);
LJ_FUNC int lj_ltctl_match(const char *chunk);
LJ_FUNC int lj_ltctl_matchlist(const char *list, const char *chunk);
LJ_FUNC uint32_t lj_ltctl_blockclock(void);
LJ_FUNC int lj_ltctl_blocksegments(void);
LJ_FUNC uint32_t lj_ltctl_blocktimes(void);

LJ_FUNC void lj_ltabi_resume(lua_State *L);
LJ_FUNC void lj_ltabi_return(lua_State *L);
LJ_FUNC int lj_ltabi_byc(lua_State *L);
LJ_FUNC void lj_ltabi_free(lua_State *L);

LJ_FUNC void lj_ltblock_chunk(LTState *lt, const void *p, uint32_t size, int kind,
			      uint64_t number, uint32_t count);
LJ_FUNC void lj_ltblock_begin(LTState *lt);
LJ_FUNC void lj_ltblock_head(LTState *lt);
LJ_FUNC void lj_ltblock_funcs(LTState *lt);
LJ_FUNC int lj_ltblock_words(LTState *lt);
LJ_FUNC void lj_ltblock_flush(LTState *lt);

LJ_FUNC void lj_ltring_warm(char *p, size_t size);
LJ_FUNC void lj_ltring_begin(LTState *lt, uint64_t lost);
LJ_FUNC void lj_ltring_scratch(LTState *lt);
LJ_FUNC void lj_ltring_count(LTState *lt);
LJ_FUNC void lj_ltring_tick(LTState *lt, uint64_t now);
LJ_FUNC void lj_ltring_note(LTState *lt);
LJ_FUNC int lj_ltring_space(LTState *lt);
LJ_FUNC void lj_ltring_need(LTState *lt, uint32_t n);
LJ_FUNC uint64_t lj_ltring_group(LTState *lt, uint32_t n);
LJ_FUNC void lj_ltring_extat(LTState *lt, uint64_t now, uint32_t sub, uint32_t arg, uint32_t n,
			     uint64_t a, uint64_t b);
LJ_FUNC void lj_ltring_ext(LTState *lt, uint32_t sub, uint32_t arg, uint32_t n,
			   uint64_t a, uint64_t b);
LJ_FUNC void lj_ltring_words(LTState *lt, uint32_t sub, uint32_t arg, uint64_t first,
			     uint32_t n, const uint64_t *more);
LJ_FUNC void lj_ltring_big(LTState *lt, uint32_t kind, uint32_t payload);
LJ_FUNC int lj_ltring_func(LTState *lt, const struct lt_func *what,
			   const char *chunk, const char *name);
LJ_FUNC uint32_t lj_ltring_own(LTState *lt);
LJ_FUNC char *lj_ltring_metarecord(LTState *lt, uint32_t size);
LJ_FUNC void lj_ltring_metadone(LTState *lt, uint32_t size);
LJ_FUNC int lj_ltring_metaspace(LTState *lt, uint32_t need);
LJ_FUNC void lj_ltring_segment(LTState *lt, uint32_t id, uint32_t n, const uint64_t *iterations,
			       uint64_t now);
LJ_FUNC void lj_ltring_packed(LTState *lt, uint64_t word);
LJ_FUNC void lj_ltring_lose(LTState *lt, uint64_t n);
LJ_FUNC int lj_ltring_orphaned(LTState *lt, uint64_t alive);
LJ_FUNC void lj_ltring_abandon(LTState *lt);

#define LT_MAXLABELS	8u	/* Of a coroutine. */
#define LT_MAXOPEN	64u	/* Sections of a coroutine that are reported as open. */
LJ_FUNC int lj_ltmark_label(lua_State *L, const char *key, const char *value);
LJ_FUNC void *lj_ltmark_hold(lua_State *L);
LJ_FUNC void lj_ltmark_release(void *labels);
LJ_FUNC int lj_ltmark_get(void *labels, uint32_t i, char *key, char *value);
LJ_FUNC void lj_ltmark_inherit(lua_State *L, lua_State *co);
LJ_FUNC int lj_ltmark_section(lua_State *L, const char *name, int begin);
LJ_FUNC void lj_ltmark_labels(lua_State *L);
LJ_FUNC void lj_ltmark_report(lua_State *L);
LJ_FUNC void lj_ltmark_free(lua_State *L);

/* Text of up to max bytes; s has two more. */
typedef struct LTText {
  char *s;
  size_t n, max;
} LTText;

LJ_FUNC void lj_lttext_add(LTText *t, const char *format, ...);
LJ_FUNC void lj_lttext_char(LTText *t, char c);
LJ_FUNC void lj_lttext_escaped(LTText *t, const char *s, size_t n, size_t max);
LJ_FUNC void lj_lttext_name(LTText *t, const char *s);
LJ_FUNC int lj_lttext_nextcall(lua_State *L, int *level, lua_Debug *call);
LJ_FUNC void lj_lttext_call(LTText *t, const lua_Debug *call);
LJ_FUNC void lj_lttext_value(LTText *t, cTValue *o, uint32_t depth);

/* A place in a request, and what is known of it in this VM. */
typedef struct LTPlace {
  const char *pattern;	/* Glob on names of functions, or of chunks. */
  int32_t line;		/* 0: functions. */
  int32_t below, above;	/* No code on the line: the nearest lines with code, or 0. */
  uint32_t notes;	/* 1 << LTW_*: to be reported; above NOTED_SHIFT: reported. */
} LTPlace;

/* Something to be printed; or a step of a condition. */
typedef struct LTItem {
  char kind;		/* a, l, u, t: the first letter of what; V; or v, n, s, k, o. */
  const char *text;	/* The name, or the constant. */
  double number;
} LTItem;

/* An instruction at which a place is reached: a function's header, or the first of a line. */
typedef struct LTPoint {
  const BCIns *pc;
  GCproto *pt;
  uint32_t place;
  uint32_t wasoff;	/* The compiler had given up parts of the function before. */
  uint32_t loop;	/* Reached only by the jump back to the beginning of a loop. */
} LTPoint;

#define LTWATCH_POINTS	256u

/* An instruction of a call. */
typedef struct LTStep {
  const BCIns *pc;
  lua_State *L;
  ptrdiff_t base;	/* Of the call, in slots of L's stack. */
} LTStep;

struct LTWatch {
  uint32_t npoints, nlines;  /* All; in the middle of functions. */
  uint64_t filter[16];	/* Bits of the addresses of instructions that have points. */
  LTPoint point[LTWATCH_POINTS];
  LTPlace place[LT_WATCH_PLACES_MAX];
  LTItem item[LT_WATCH_ITEMS_MAX], test[LT_WATCH_TESTS_MAX];
  uint32_t nplaces, nitems, ntests, depth, count;
  uint32_t notes;	/* Something is to be reported. */
  uint32_t full;	/* There was no place for a point. */
  uint32_t flush;	/* A function was found that may have been compiled. */
  uint32_t done;	/* The requested number of hits was reached. */
  LTStep last[2];	/* The instruction before, while lines are watched; in a hook. */
  char request[LT_WATCH_REQUEST_MAX+1];  /* Cut into lines. */
  char text[LT_WATCH_MAX+2];
};

/* Are lines watched? */
#define lt_watchlines(lt)	((lt)->watch && (lt)->watch->nlines)

LJ_FUNC void lj_ltwatch_begin(LTState *lt);
LJ_FUNC void lj_ltwatch_again(LTState *lt);
LJ_FUNC void lj_ltwatch_end(LTState *lt);
LJ_FUNC uint32_t lj_ltwatch_find(LTState *lt, GCproto *pt, const char *name);
LJ_FUNC void lj_ltwatch_named(LTState *lt, GCproto *pt, const char *name);
LJ_FUNC void lj_ltwatch_freeproto(LTState *lt, GCproto *pt);
LJ_FUNC void lj_ltwatch_notes(lua_State *L);
LJ_FUNC int lj_ltwatch_at(LTWatch *w, const BCIns *pc);
LJ_FUNC uint32_t lj_ltwatch_count(LTState *lt);
LJ_FUNC void lj_ltwatch_put(lua_State *L, uint32_t kind, uint32_t place, const LTText *t);

LJ_FUNC void lj_lthit_entry(lua_State *L, GCproto *pt);
LJ_FUNC int lj_lthit_line(lua_State *L, const BCIns *pc);

/* Longest name that lj_ltname_find makes, in bytes, and its results. */
#define LT_PATH_MAX	255u
enum { LT_PATH_NONE, LT_PATH_ONE, LT_PATH_SEVERAL };

extern __attribute__((visibility("hidden"))) const char lj_ltname_builtins[];
LJ_FUNC const char *lj_ltname_builtin(uint32_t ffid, char *buf, size_t size);
LJ_FUNC int lj_ltname_find(lua_State *L, void *addr, int lua, char *name);

LJ_FUNC int lj_ltfunc_grow(void **vec, uint32_t *size, uint32_t need,
			   size_t elem);
LJ_FUNC LTFunc *lj_ltfunc_find(LTState *lt, void *addr);
LJ_FUNC LTFunc *lj_ltfunc_new(LTState *lt, void *addr, const char *name, int how);
LJ_FUNC const char *lj_ltfunc_callname(lua_State *L, cTValue *frame);
LJ_FUNC void lj_ltfunc_describe(LTState *lt, LTFunc *f, void *code, uint8_t ffid);
LJ_FUNC uint32_t lj_ltfunc_line(LTState *lt, GCproto *pt);
LJ_FUNC void lj_ltfunc_begin(LTState *lt);
LJ_FUNC void lj_ltfunc_free(LTState *lt);
LJ_FUNC uint32_t lj_ltfunc_protoid(lua_State *L, GCproto *pt, cTValue *frame);
LJ_FUNC uint32_t lj_ltfunc_cfuncid(lua_State *L, GCfunc *fn, cTValue *frame);
LJ_FUNC int lj_ltfunc_ishidden(GCproto *pt);
LJ_FUNC uint32_t lj_ltfunc_pseudo(LTState *lt, uintptr_t key, uint32_t ffid,
				  const char *name);
LJ_FUNC void lj_ltfunc_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins);
LJ_FUNC int lj_ltfunc_wantc(global_State *g, GCfunc *fn);
LJ_FUNC int lj_ltfunc_wantw(global_State *g, GCfunc *fn);
LJ_FUNC int lj_ltfunc_wantwait(global_State *g, GCfunc *fn);
LJ_FUNC int lj_ltfunc_iscoro(GCfunc *fn);

#if LJ_HASFFI
LJ_FUNC LTFunc *lj_ltffi_find(LTState *lt, uint32_t ctype);
LJ_FUNC uint32_t lj_ltffi_id(lua_State *L, GCcdata *cd, cTValue *frame);
LJ_FUNC uint32_t lj_ltffi_callid(LTState *lt, uint32_t ctype);
LJ_FUNC uint32_t lj_ltffi_type(lua_State *L, GCfunc *fn, cTValue *o);
LJ_FUNC void lj_ltffi_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins);
#else
#define lj_ltffi_find(lt, ctype)	NULL
#define lj_ltffi_id(L, cd, frame)	LT_ID_UNKNOWN
#define lj_ltffi_callid(lt, ctype)	LT_ID_UNKNOWN
#define lj_ltffi_type(L, fn, o)		0
#define lj_ltffi_tailcall(L, fn, ins)	UNUSED(fn)
#endif

/* How a recording that wants this (LTC_*) records compiled code: LTC_SEGMENTS, LTC_AUTO, or 0. */
#define lt_segtimes(lt, cfuncs) \
  (LJ_LTSEGMENTS && ((cfuncs) & LTC_SEGMENTS) && lt_owncounter(lt) ? \
   (cfuncs) & (LTC_SEGMENTS|LTC_AUTO) : 0u)

#if LJ_LTSEGMENTS
/* May a trace have events although others are described? */
#define lt_segauto(lt)		((lt)->segments & LTC_AUTO)
LJ_FUNC uint32_t lj_ltcost_code(jit_State *J);
LJ_FUNC uint32_t lj_ltcost_extra(jit_State *J, IRRef from, IRRef to);
LJ_FUNC void lj_ltseg_begin(LTState *lt);
LJ_FUNC void lj_ltseg_start(jit_State *J);
LJ_FUNC void lj_ltseg_check(jit_State *J);
LJ_FUNC void lj_ltseg_event(jit_State *J, uint32_t id, uint32_t kind);
LJ_FUNC uint32_t lj_ltseg_newmark(jit_State *J);
LJ_FUNC void lj_ltseg_reserve(jit_State *J, TraceNo link);
LJ_FUNC void lj_ltseg_stop(jit_State *J);
LJ_FUNC void lj_ltseg_here(LTState *lt);
#else
#define lt_segauto(lt)		0
#define lj_ltseg_begin(lt)	UNUSED(lt)
#define lj_ltseg_start(J)	UNUSED(J)
#define lj_ltseg_check(J)	UNUSED(J)
#define lj_ltseg_event(J, id, kind)	UNUSED(J)
#define lj_ltseg_reserve(J, link)	(UNUSED(J), UNUSED(link))
#define lj_ltseg_stop(J)	UNUSED(J)
#define lj_ltseg_here(lt)	UNUSED(lt)
#endif

LJ_FUNC void lj_ltstate_lock(void);
LJ_FUNC int lj_ltstate_trylock(void);
LJ_FUNC void lj_ltstate_unlock(void);
LJ_FUNC void lj_ltstate_add(LTState *lt);
LJ_FUNC void lj_ltstate_remove(LTState *lt);
LJ_FUNC void lj_ltstate_free(LTState *lt);
LJ_FUNC void lj_ltstate_poll(LTState *lt);
LJ_FUNC void lj_ltstate_pollall(void);

LJ_FUNC char *lj_ltopen_aligned(size_t size, int prot);
LJ_FUNC void lj_ltopen_init(lua_State *L, struct lt_ring *r, uint32_t flags,
			    uint32_t nblocks, uint32_t metasize);
LJ_FUNC int lj_ltopen_spare(LTState *lt);
LJ_FUNC uint64_t lj_ltopen_forked(LTState *lt);
LJ_FUNC void lj_ltopen_drop(LTState *lt);
LJ_FUNC int lj_ltopen_ring(lua_State *L);
LJ_FUNC void lj_ltopen_close(global_State *g, int reason);

LJ_FUNC int lj_ltcontext_wanted(void);
LJ_FUNC void lj_ltcontext_here(lua_State *L);
LJ_FUNC void lj_ltcontext_hide(LTState *lt);
LJ_FUNC void lj_ltcontext_enter(lua_State *L, LTOuter *outer);
LJ_FUNC void lj_ltcontext_leave(lua_State *L, const LTOuter *outer);
LJ_FUNC void lj_ltcontext_changed(lua_State *L);
LJ_FUNC void lj_ltcontext_free(lua_State *L);

LJ_FUNC int lj_ltstream_open(lua_State *L);
LJ_FUNC int lj_ltstream_outdated(LTState *lt);
LJ_FUNC void lj_ltstream_again(LTState *lt);
LJ_FUNC void lj_ltstream_close(LTState *lt, int reason);

LJ_FUNC void lj_lthook_event(lua_State *L, GCobj *what, uint32_t kind);
/* Calls of a coroutine from one frame down to another: lj_ltstack_countcalls(). */
typedef uint32_t (*LTCountCalls)(lua_State *L, cTValue *frame, cTValue *stop);
LJ_FUNC void lj_lthook_unwind(lua_State *L, uint32_t n, TValue *newbase, LTCountCalls count);
LJ_FUNC void lj_lthook_resume(LTState *lt, lua_State *by, lua_State *co);
LJ_FUNC void lj_lthook_suspend(LTState *lt, lua_State *co, int status);
LJ_FUNC void lj_lthook_collect(LTState *lt, lua_State *co);
LJ_FUNC void lj_lthook_deliver(lua_State *L);
LJ_FUNC int lj_lthook_wanted(LTState *lt);
LJ_FUNC uint32_t lj_lthook_add(global_State *g, void *addr, luatrace_hook_function done,
			       void *data);
LJ_FUNC void lj_lthook_remove(global_State *g, uint32_t number);
LJ_FUNC void lj_lthook_free(LTState *lt);

LJ_FUNC void lj_ltstack_dropcalls(LTState *lt, lua_State *L, ptrdiff_t ofs);
LJ_FUNC GCfunc *lj_ltstack_waiting(lua_State *L);
LJ_FUNC uint32_t lj_ltstack_frameid(lua_State *L, cTValue *frame, int describe);
LJ_FUNC uint32_t lj_ltstack_countcalls(lua_State *L, cTValue *frame, cTValue *stop);
LJ_FUNC uint32_t lj_ltstack_counthooked(lua_State *L, cTValue *frame, cTValue *stop);
LJ_FUNC int lj_ltstack_callline(lua_State *L, cTValue *frame);
LJ_FUNC void lj_ltstack_request(lua_State *L);
LJ_FUNC void lj_ltstack_attributes(lua_State *L);
LJ_FUNC void lj_ltstack_report(lua_State *L, int reason, int skiptop);
LJ_FUNC void lj_ltstack_change(lua_State *L, int skiptop);
LJ_FUNC void lj_ltstack_probec(lua_State *L, GCfunc *fn, uint32_t ctype, uint32_t ofs,
			       uint32_t id, uint32_t kind, int line);
LJ_FUNC void lj_ltstack_event(lua_State *L, GCproto *pt, uint32_t kind);
#if LJ_HASJIT
/* Line given to lj_ltrec_jitevent: the frame is in memory, look the line up. */
#define LT_LINE_LOOK	(-2)
/* Minus the type of the object that is called by FFI: there is no line. The object itself would
** be kept alive by the trace. */
#define LT_LINE_FFI	(-16)

LJ_FUNC void lj_ltstack_jitevent(lua_State *L, GCobj *what, uint32_t kind,
				 uint32_t ofs, int32_t line);
#endif

LJ_FUNC int lj_ltprint_open(const char *path);
LJ_FUNC void lj_ltprint_stacks(lua_State *L);
LJ_FUNC void lj_ltprint_tag(lua_State *L, int begins, int n);
LJ_FUNC void lj_ltprint_call(lua_State *L, lua_Debug *call, const char *include, int args);

LJ_FUNC void lj_ltswitch_restore(global_State *g);

LJ_FUNC void lj_ltgc_unwind(lua_State *L, TValue *newbase);
LJ_FUNC int lj_ltgc_covers(lua_State *L, cTValue *frame);

#if LJ_HASJIT
LJ_FUNC void lj_ltjit_exit(jit_State *J);
#else
#define lj_ltjit_exit(J)	((void)0)
#endif

/* A program to be started. */
#define LTSPAWN_FDS	4
typedef struct LTSpawn {
  const char *path;
  char **argv;
  int fd[LTSPAWN_FDS];	/* What it has as 0, 1, 2 (-1: /dev/null) and 3 (-1: nothing); all
			** of other numbers. */
  int wait;		/* For its end; else it leaves our session. */
  int status;		/* Of waitpid(). */
  int error;		/* Why it does not run: errno. */
  int pid;		/* Of the program. */
  char *stack;		/* Internal. */
} LTSpawn;

LJ_FUNC int lj_ltspawn_find(char *path, size_t size, const char *name);
LJ_FUNC int lj_ltspawn_run(LTSpawn *s);
LJ_FUNC int lj_ltspawn_copy(int fd);
LJ_FUNC const char *lj_ltspawn_folder(void);
LJ_FUNC int lj_ltspawn_temporary(void);

/* -- The recorder that the process has started ------------------------------ */

/* One of our descriptors; the program may close it, and use its number again. */
typedef struct LTFile {
  int fd;
  uint64_t dev, ino;
} LTFile;

#define LTLINK_ANSWER	4200	/* Longest answer, or line that the recorder prints. */

LJ_FUNC void lj_ltlink_own(LTFile *f, int fd);
LJ_FUNC int lj_ltlink_isours(const LTFile *f);
LJ_FUNC void lj_ltlink_close(LTFile *f);
LJ_FUNC char *lj_ltlink_messages(void);
LJ_FUNC void lj_ltlink_connect(int fd, int pid);
LJ_FUNC void lj_ltlink_disconnect(void);
LJ_FUNC int lj_ltlink_isopen(void);
LJ_FUNC int lj_ltlink_ended(void);
LJ_FUNC int lj_ltlink_receive(char *answer, int ms);
LJ_FUNC int lj_ltlink_request(char what, int fd);
LJ_FUNC const char *lj_ltlink_answer(char what, char *answer, int ms, int *ended);

/* -- Recording from inside --------------------------------------------------- */

/* What functions of luatrace.h return. */
#define LT_NO_STATE	"the Lua state is NULL"
#define LT_NOT_RUNNING	"no recording is running"
#define LT_PARENTS	"the parent process has started the recording"
#define LT_BUSY		"another thread is starting or ending a recording"

/* A reason of the recorder's end. */
#define LTSELF_ENDED	"luatrace-record has ended unexpectedly"

#define LTSELF_WAIT_MS	30000	/* Until the recorder has written everything. */
#define LTSELF_MESSAGE	1024	/* Bytes of a reason. */
#define LTSELF_ARGS	256	/* Of a program. */

typedef struct LTSelf {
  int32_t busy;		/* Process of a thread that is in a function of luatrace.h, or 0. */
  int cancel;		/* Whether that thread could be cancelled. */
  int32_t pid;		/* Process that has started the recorder, perhaps our parent; 0: none. */
  char **args;		/* Of the last start. */
  char *file;
} LTSelf;

extern LTSelf lj_ltself __attribute__((visibility("hidden")));

LJ_FUNC const char *lj_ltself_fail(const char *what, const char *why);
LJ_FUNC const char *lj_ltself_reason(const char *ours);
LJ_FUNC int lj_ltself_enter(void);
LJ_FUNC const char *lj_ltself_leave(const char *why);
LJ_FUNC int lj_ltself_isopen(void);
LJ_FUNC int lj_ltself_isparents(void);
LJ_FUNC const char *lj_ltself_another(void);
LJ_FUNC const char *lj_ltself_ask(char what, int fd);
LJ_FUNC char **lj_ltself_options(const char *const *options);
LJ_FUNC int lj_ltself_arguments(char **argv, const char *const *first, char **options);
LJ_FUNC void lj_ltreport_begin(int fd, int flight);
LJ_FUNC const char *lj_ltreport_notemporary(void);
LJ_FUNC const char *lj_ltreport_last(void);
LJ_FUNC const char *lj_ltreport_outdated(const char *why);

LJ_FUNC const char *lj_ltapi_start(lua_State *L, const char *file, const char *const *options);

/* -- All VMs of the process, between lj_ltstate_lock and _unlock ------------ */

#define lt_first()	((LTState *)(uintptr_t)luajit_usdt_control.states)

/* -- Frames --------------------------------------------------------------- */

/* Offset of a stack slot, in slots. */
#define lt_stackofs(L, p)	((p) - tvref((L)->stack))
#define lt_frame_isbottom(L, frame)	((frame) <= tvref((L)->stack)+LJ_FR2)

/* What lua_State.lt_wait is while a call of a C function that has yielded is open in L: the
** slot offset of its base, and LTState.run when that was reported. Else it is 0, or of an
** older run. */
#define lt_waitmark(lt, L, base) \
  lt_pack((uint32_t)lt_stackofs((L), (base)), (lt)->run)

/* Lower frame of a vararg function. */
static LJ_AINLINE cTValue *lt_frame_lower(cTValue *frame)
{
  return frame_isvarg(frame) ? (cTValue *)frame_prevd(frame) : frame;
}

/* Does pc point to the header of the function on top, which has not begun yet? */
static LJ_AINLINE int lt_before_entry(const BCIns *pc)
{
  return pc != NULL && pc != PC_NOREPORT && bc_op(*pc) >= BC_FUNCF;
}

/* Is it the function that is called for calls of cdata objects? (Include lj_ff.h.) */
#if LJ_HASFFI
#define lt_iscdatacall(fn)	((fn)->c.ffid == FF_ffi_meta___call)
#else
#define lt_iscdatacall(fn)	0
#endif

/* Is it a function of a host that records itself (luatrace.h)? It has no events. */
#define lt_ishidden(g, fn) \
  ((fn)->c.nupvalues && tvislightud(&(fn)->c.upvalue[0]) && \
   lightudV((g), &(fn)->c.upvalue[0]) == (void *)&luajit_usdt_control)

/* -- Current coroutine ---------------------------------------------------- */

/* Id of a coroutine, assigned on first use and never re-used. */
static LJ_AINLINE uint32_t lt_coid(LTState *lt, lua_State *L)
{
  if (!L->lt_id) L->lt_id = ++lt->nextco;
  return L->lt_id;
}

/* The request that the host has set for a coroutine, or 0 (OpenResty's lua_setexdata). */
#ifdef HAVE_LUA_EXDATA2
#define lt_exdata(L)	((uint64_t)(uintptr_t)(L)->exdata)
#else
#define lt_exdata(L)	((uint64_t)0)
#endif

/* Does the reader of event words know the stack of L? */
#define lt_wordsknow(lt, L)	((L)->lt_epoch >= (lt)->wordepoch)

/* Does this recording have events of a prototype? */
#define lt_hasevents(lt, pt) \
  (!(((pt)->lt_rec - (lt)->rec2) & ~(LTREC_ENTRY|LTREC_LINE)))

/* Has a filter of this recording left it out? */
#define lt_isexcluded(lt, pt) \
  (((pt)->lt_rec & LTREC_EXCLUDED) && \
   !(((pt)->lt_rec - (lt)->rec2) & ~(LTREC_ENTRY|LTREC_LINE|LTREC_EXCLUDED)))

/* Does every reader know the stack of L? */
#define lt_known(lt, L) \
  ((L)->lt_epoch == (lt)->epoch || (lt_ringon(lt) && lt_wordsknow((lt), (L))))

/* From here on no stack is known; with `words`, not even to the reader of event words. */
static LJ_AINLINE void lt_newepoch(LTState *lt, int words)
{
  lt->epoch++;
  if (words) lt->wordepoch = lt->epoch;
}

#define lt_check_current(lt, L, skiptop) \
  if (LJ_UNLIKELY((lt)->L != (L) || (lt)->thread != lj_ltring_thread())) \
    lj_ltstack_change((L), (skiptop))

/* -- Events --------------------------------------------------------------- */

/* Periodic work before an event. */
static LJ_AINLINE uint64_t lt_ring_tick(LTState *lt)
{
  uint64_t now = lj_ltctl_clock(lt);
  if (LJ_UNLIKELY(now >= lt->deadline)) {
    lj_ltring_tick(lt, now);
    now = lj_ltctl_clock(lt);
  }
  return now;
}

/* Store one event of a function or a coroutine. */
static LJ_AINLINE void lt_ring_store(LTState *lt, uint64_t now, uint32_t id,
				     uint32_t kind)
{
  if (LJ_LIKELY(id < LT_PAYLOAD_BIG))
    lj_ltring_put(lt, now, id, kind)
  else
    lj_ltring_big(lt, kind, id);
}

static LJ_AINLINE void lt_ring_event(LTState *lt, uint32_t id, uint32_t kind)
{
  lt_ring_store(lt, lt_ring_tick(lt), id, kind);
}

#endif
