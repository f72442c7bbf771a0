/*
** Tracing of calls: the VM's side of luatrace.
** SPDX-License-Identifier: MIT
**
** lj_ltrace.c defines what an event is; events have two outputs: the USDT probes
** (lj_ltprobe.c) and the ring of event words (lj_ltring.c). Without -DLUAJIT_USE_SDT
** every macro below is empty. */

#ifndef _LJ_LTRACE_H
#define _LJ_LTRACE_H

#include "lj_obj.h"
#include "lj_bc.h"

#ifdef LUAJIT_USE_SDT

#include "luatrace_work.h"

/* Beside noinline, for functions that must exist exactly once. */
#ifdef __clang__  /* Makes no clones and does not know the attribute. */
#define LT_NOCLONE
#else
#define LT_NOCLONE	, noclone
#endif

/* -- Process-wide control ------------------------------------------------- */

/*
** Exported as luajit_usdt_control, in the data section ".probes"; see struct
** lt_control. Each Lua VM notices a change of its first word at its next poll
** (see lj_ltrace_poll) and switches itself. */
typedef struct lt_control LTControl;

LUA_API LTControl luajit_usdt_control;

/* The members that tracers change, in one load. */
#define lj_ltctl_word()	(*(volatile uint64_t *)&luajit_usdt_control)
/* Of such a word: the tracers of blocks. */
#define lt_word_block(word)	((uint16_t)((word) >> 32))
#define lt_word_segments(word)	((uint8_t)((word) >> 48))

/* -- The VM's tracing state ------------------------------------------------ */

/* What is on. */
#define LTON_RING	0x01	/* Event words into a ring that a recorder reads. */
#define LTON_PROBE	0x02	/* A probe for each event. */
#define LTON_BLOCK	0x04	/* Event words into private memory, a probe for each block;
				** never together with LTON_RING. */
#define LTON_HOOK	0x08	/* Functions that the program has hooked (lj_lthook.c). */
#define LTON_CONTEXT	0x10	/* No events: the thread's context is published (lj_ltcontext.c). */
#define LTON_EVENTS	(LTON_RING|LTON_PROBE|LTON_BLOCK|LTON_HOOK)
#define LTON_SINGLE	(LTON_PROBE|LTON_HOOK)  /* Each event is a call of a C function. */
#define LTON_WORDS	(LTON_RING|LTON_BLOCK)

/* GCproto.lt_rec: the recording that knows the prototype, and what it does there. */
#define LTREC_SHIFT	3
#define LTREC_EXCLUDED	1u	/* It has no events. */
#define LTREC_ENTRY	2u	/* Its entry is watched: its callers do not compile it. */
#define LTREC_LINE	4u	/* A line of it is watched: it is not compiled. */

/* Why traces must be left (LTState.stop). */
#define LTSTOP_RESYNC	0x01	/* Events were lost, or a fork: report the stack. */
#define LTSTOP_OFF	0x02	/* The recording must end. */
#define LTSTOP_LOOK	0x04	/* Look at the control word: it has changed, or a fork. */
#define LTSTOP_FLUSH	0x10	/* Discard the traces. */
#define LTSTOP_MUTE	0x08	/* A handler of VM events or a profiler's callback runs. */
#define LTSTOP_REPORT	LT_STOP_REPORT  /* From outside: report the stack again. */
#define LTSTOP_POLL	LT_STOP_POLL  /* From outside: poll; dispatch is patched. */

/* A reported call of a C function that has not ended. */
typedef struct LTCall {
  lua_State *L;
  ptrdiff_t ofs;	/* Slot offset of its base in the stack of L. */
  GCfunc *fn;		/* Valid until it ends. */
  uint32_t ctype;	/* Of the cdata object that fn calls, or 0: its result may replace it. */
  uint32_t run;		/* LTState.run when it was reported. */
  uint32_t id;
  int32_t line;		/* Of the call, if probes are on. */
} LTCall;

/* What a thread's context was before Lua code was entered. */
typedef struct LTOuter {
  lua_State *L;		/* LTState.context. */
  void *record;		/* If that was NULL: another VM's, or NULL. */
} LTOuter;

/* A resume that has not ended. */
typedef struct LTResume {
  lua_State *by;	/* Coroutine current before; NULL: not known, or collected. */
  uint32_t run;		/* LTState.run when it was reported. */
  uint32_t ncall;	/* LTState.ncall at that time. */
  LTOuter outer;
} LTResume;

typedef struct LTHooks LTHooks;
typedef struct LTWatch LTWatch;

/* The innermost step of the collector that has events. */
typedef struct LTGc {
  lua_State *L;		/* In which it is a call; NULL: there is no step. */
  ptrdiff_t ofs;	/* Slot offset of the base of what it interrupts. */
  uint32_t id;		/* Of the function that stands for the collector. */
  uint32_t run;		/* LTState.run when it was reported. */
  int full;
} LTGc;

/* Kept about a live function: every C function, and each prototype that has a name or
** no lines. */
typedef struct LTFunc {
  void *addr;		/* Prototype or C function. NULL: free. */
  void *code;		/* Called by FFI and declared: its address. */
  char *name;		/* Own copy, or NULL. The byte before it is LT_NAME_*: see
			** lj_ltfunc_defined(). */
  uint32_t id;
  uint32_t rec;		/* C functions: recording that has described it; Lua functions:
			** line for tracers. */
} LTFunc;

/* What the VM knows of a trace that stores no events of its own (lj_ltseg.c). By its number. */
typedef struct LTSegment {
  uint32_t id;		/* Of its first place; 0: it has events of its own. */
  uint32_t path;	/* Events on the way to its head, without those of iterations. */
  uint32_t nevents;	/* Of an iteration. */
  uint16_t nmarks;	/* Places before its exits. */
  uint16_t parent;	/* Trace; 0: root. */
  uint16_t depth;	/* Traces before it on the path. */
  uint8_t level;	/* Traces on the path, with itself, that count iterations. */
  uint8_t counts;	/* It does so itself. */
  uint8_t quiet;	/* There is nothing to store on its whole path. */
  uint8_t packs;	/* Its link may be in one word with others. */
  uint8_t loops;	/* It repeats and does not count that: how long it runs only times tell. */
  uint8_t opens;	/* It links to such a trace. */
} LTSegment;

/* Iterations of a level: compiled code decrements left, and calls the VM at 0. */
typedef struct LTCount {
  uint32_t left, start;	/* start - left have been counted. */
} LTCount;

#define LT_SEGMENT_MARKS	64u	/* Places of a trace before its exits. */
/* LTState.seggo */
#define LT_SEGGO_MARK	1u	/* A word inside of the path has been stored. */
#define LT_SEGGO_TIME	2u	/* A loop has run for long: the end of the path has a time. */
#define LT_SEGGO_LOST	4u	/* Words are being lost: their events are counted. */
/* LTState.segpack has this bit above its items: the third one makes the number negative. Two empty
** items: the next link calls the VM. */
#define LT_PACK_NONE	8u
#define LT_PACK_CLOSED	((uint64_t)LT_PACK_NONE << 2*LT_PACKED_BITS)
#define LT_SEGREC_REFUSED	2	/* LTState.segrec: the trace is to be given up. */

/* Full hash of a chunk's name, which the description cuts. */
typedef struct LTChunk {
  uint32_t sid, len;	/* Of the string: identify it at its address. */
  uint32_t hash;
} LTChunk;
#define LT_NCHUNK	8

/* Does the name come from the definition or from a table, not from a call? Probes pass only the name; a
** tracer that is hit by them can check, too. */
#define lj_ltfunc_defined(f)	((f)->name && (f)->name[-1] == LT_NAME_DEFINED)
/* A word that stands for a missing name. */
#define lj_ltfunc_noname(s)	((const char *)("\0" s) + 1)

typedef struct LTState {
  uint64_t *wp;		/* Next event word. Always valid while LTON_WORDS. */
  lua_State *L;		/* Current coroutine, NULL if not known. */
  volatile uint32_t stop;  /* LTSTOP_*: makes compiled code exit. */
  uint32_t on;		/* LTON_* */
  uint64_t seen;	/* Value of lj_ltctl_word() this VM acted upon. */
  uint32_t rec;		/* Number of the recording: all functions have to be
			** described again when it increases. */
  uint32_t run;		/* Increases when tracing begins: older reports do not
			** count. */
  uint32_t epoch;	/* lua_State.lt_epoch of coroutines whose stack is known. */
  uint32_t wordepoch;	/* Lowest lt_epoch of coroutines whose stack the reader of event
			** words knows: only a new probe tracer gets all stacks again. */
  uint32_t nextco;	/* Last coroutine id assigned. */
  uint32_t lastco;	/* Last lt_serial: larger than any of a VM that was closed before this
			** one was created, and may have had its address. */
  uint32_t lastfunc;	/* Last function id assigned. */
  uint32_t ownid;	/* That of lj_ltring_own(), 0: none yet, ... */
  uint32_t ownrec;	/* ... and the recording that has described it. */
  uint32_t cfuncs;	/* LTC_* of this recording, ... */
  uint32_t ffi;		/* ... and LTC_FFI. */
  uint32_t refused;	/* Value of the control word's ring for which no ring could be
			** opened or the recording has ended: wait for another. */
  uint32_t rec2;	/* rec << LTREC_SHIFT: lt_rec of prototypes that have events. */
  ASMFunction target[BC__MAX-BC_FUNCF];  /* Static targets of FUNC*. */
  LTFunc *func;		/* Hash table by address, open addressing. */
  uint32_t funcmask, nfunc;  /* Places - 1; entries. */
  uint32_t searched, slots;  /* Recording that searched for names, and slots of tables that
			** it may still look at. */
  LTChunk chunk[LT_NCHUNK];
  char *cwd;		/* Working directory when recording began, or NULL. */
  LTCall *call;		/* Reported C calls, innermost last. */
  uint32_t ncall, sizecall;
  LTGc gc;
  int32_t gcfrom;	/* g->vmstate before the last step of the collector: the trace
			** that called it. For profilers (luatrace_abi.h). */
  uint32_t ownflush;	/* We are discarding the traces, not the program. */
  lua_State *lender;	/* Coroutine whose id the finalizers borrow, or NULL. */
  lua_State *left;	/* Coroutine current before L ran without a reported resume. */
  LTResume *resumer;	/* Resumes of the current coroutine, innermost last. */
  uint32_t nresumer, sizeresumer;
  lua_CFunction wrapf;	/* The user's g->wrapf while ours is in its place. */
  uint32_t coop;	/* Opcode of coroutine.resume, then that of wrap_aux. */
  lua_State *jitL;	/* L, parent and exitno of jit_State, saved while a handler of */
  uint32_t jitparent, jitexitno;  /* VM events runs: it may compile or leave code, too. */
  const BCIns *oldpc;	/* The interpreter's SAVE_PC when a call was reported, or
			** LT_NOPC: lj_vm_callhook clears it, line hooks need it. */
  ASMFunction onward;	/* Where to go after SAVE_PC has been restored. */
  GCRef pendfn;		/* Trace recorder: C function whose events wait for a guard, */
  uint32_t nguard;	/* Trace recorder: IR instructions of the guard. */
  uint32_t polled;	/* Trace recorder: the trace checks the control word already. */
  uint32_t pendff;	/* its id (0: none; or PEND_POLL), */
  int32_t pendofs;	/* and the offset of its frame. */
  uint32_t lostframes;	/* An error came before all frames on top existed. */
  uint32_t forked;	/* In a forked child without a ring of its own. */
  uint32_t serial;	/* Number of the VM in the process, from 1. */
  uint32_t created;	/* Value of the control word's ring when the VM was created. */
  uint32_t token;	/* Value of the control word's ring at the last opening. */
  uint32_t byprobe;	/* The recorder uses the probes instead. */
  uintptr_t stackthread;  /* Thread whose C stack the next two are about. */
  char *stacklow, *stacksafe;  /* End of that stack; where calls must stop. */
  /* Ring. Others can write to its memory: the address of a store depends on these
  ** members alone, and of the header only the recorder's part is read. */
  struct lt_ring *ring;
  size_t mapsize;
  uint64_t *data;	/* Its first block. */
  char *meta;		/* Its descriptions. */
  uint32_t nblocks, metasize;  /* Blocks; bytes, a power of two. */
  uint64_t head;	/* Blocks finished. */
  uint64_t metahead;	/* Bytes of descriptions stored in all. */
  uint64_t metafull;	/* Tail of the descriptions at which waiting for space was in
			** vain, LT_NOTAIL: none. */
  uint64_t metacount, metalost;  /* Descriptions stored; lost for lack of space. */
  uint32_t ringflags;	/* LT_RING_* */
  uint32_t endreason;	/* LTE_* of a recording that must end. */
  uint64_t start;	/* Clock when it began, ... */
  uint64_t startns;	/* ... and CLOCK_MONOTONIC. */
  uint32_t startflags;	/* LTF_* */
  uint32_t clock;	/* LT_CLOCK_*: constant while LTON_WORDS is set. */
  uint32_t warm;	/* Blocks that are populated with pages. */
  uint32_t reports;	/* A stack's frames, or a segment, are being stored: no event may come between. */
  int fd;		/* memfd, -1 if closed: see lj_ltctl_closefd. */
  uint64_t dev, ino;	/* The file to which fd must refer. */
  uint64_t *block;	/* Start of the current block. */
  uint64_t *scratch;	/* Private block for events that are lost. */
  uint64_t lost;	/* Events lost in the current gap. */
  uint32_t extra;	/* Words in the block since ring->flushed that are not events. */
  uint64_t lostsince;	/* Clock of the first lost event. */
  uint64_t deadline;	/* Clock at which lj_ltring_tick is due. */
  uintptr_t thread;	/* Thread pointer of the last thread reported. */
  int32_t tid;
  /* Segments (lj_ltseg.c). */
  LJ_ALIGN(8) LTCount count[LT_SEGMENT_LEVELS];
  ASMFunction slow;	/* lj_ltseg_slow */
  LTSegment *segment;	/* By number of the trace. */
  uint32_t sizesegment;
  uint32_t segments;	/* LTC_SEGMENTS, LTC_AUTO: are traces described? 0: none. */
  uint32_t segnext;	/* Next id. */
  uint64_t segpack;	/* Links that are not stored yet, as items of a word: LT_PACK_NONE; or
			** LT_PACK_CLOSED. */
  uint32_t segtold;	/* Events of the path that runs which have been stored already, ... */
  uint32_t seggo;	/* LT_SEGGO_*: a link must call the VM, or 0. */
  uint32_t segdue;	/* Words of links until one has a time, ... */
  uint32_t segevery;	/* ... as counted from the last one, ... */
  uint32_t segsoon;	/* ... or not more than so many before a trace that loops, ... */
  uint32_t segrandom;	/* ... which is not quite regular, ... */
  uint64_t segtimed;	/* ... and when the last one was stored. */
  uint32_t segstep;	/* Iterations until a loop calls the VM. */
  uint64_t segtime, segslow;  /* When a loop was reported, and when it called the VM. */
  int32_t segtrace;	/* Trace that runs, where LJ_LTSEGTRACE. */
  uint32_t segrec;	/* Of the trace that is being compiled: will it be described? */
  uint32_t segnev;	/* Its events so far, ... */
  uint32_t *segev, sizesegev;
  uint32_t segnmarks;	/* ... and places inside of it. */
  uint16_t segmarks[LT_SEGMENT_MARKS];
  lua_State *entered;	/* Entered by the innermost lua_pcall or lua_cpcall of C code that
			** did not run in it; NULL: none. */
  lua_State *context;	/* Coroutine whose context the thread has, NULL: none's. */
  LTHooks *hooks;	/* NULL: there never was one. */
  LTWatch *watch;	/* What this recording watches, or NULL. */
  struct LTState *next, *prev;  /* All VMs of the process. */
} LTState;

#define LT_NOPC		((const BCIns *)(intptr_t)-1)

#define G2LT(g)		(&G2GG(g)->lt)
#define L2LT(L)		(&L2GG(L)->lt)

/* -- Cheap checks --------------------------------------------------------- */

/* Something has changed: a VM that may switch now calls lj_ltswitch_now. */
#define lj_ltrace_pending(g) \
  LJ_UNLIKELY(lj_ltctl_word() != G2LT(g)->seen || G2LT(g)->stop)
#define lj_ltrace_poll(L) \
  { if (lj_ltrace_pending(G(L))) lj_ltswitch_now((L), NULL); }
#define lj_ltrace_on(g)		(G2LT(g)->on)
#define lt_eventson(lt)		((lt)->on & LTON_EVENTS)

/* Is there machine code of ours for this processor? */
#if (LJ_TARGET_X64 && LJ_GC64) || (LJ_TARGET_ARM64 && LJ_LE)
#define LJ_LTMACHINE		1
#else
#define LJ_LTMACHINE		0
#endif

/* -- What upstream's files call ------------------------------------------- */

LJ_FUNC void lj_ltfunc_freeproto(global_State *g, GCproto *pt);

#ifdef vmthread
LJ_FUNC void lj_ltstack_lend(lua_State *L, lua_State *VL);
LJ_FUNC void lj_ltstack_back(lua_State *L, lua_State *VL);
#endif

LJ_FUNC int lj_ltswitch_now(lua_State *L, const BCIns *pc);
LJ_FUNC void lj_ltswitch_mute(global_State *g);
LJ_FUNC void lj_ltswitch_newstate(lua_State *L);
LJ_FUNC void lj_ltenv_newstate(lua_State *L);
LJ_FUNC void lj_ltswitch_closestate(lua_State *L);
LJ_FUNC void lj_ltswitch_freestate(global_State *g);

LJ_FUNC void lj_ltrace_dispatch(global_State *g, ASMFunction *disp, int all,
				int plain);
LJ_FUNC ASMFunction lj_ltrace_call(lua_State *L, const BCIns *pc);
LJ_FUNC BCOp lj_ltrace_target(global_State *g, GCfunc *fn, BCOp op);
LJ_FUNC int lj_ltrace_ins(lua_State *L, const BCIns *pc, const BCIns *oldpc);
LJ_FUNC void lj_ltrace_end(lua_State *L, const BCIns *pc);
LJ_FUNC int lj_ltrace_exit(lua_State *L, const BCIns *pc);
LJ_FUNC void lj_ltrace_unwind(lua_State *L, TValue *base);

/* Under other names: see LT_GCSTEP. */
LJ_FUNC int LJ_FASTCALL lj_gc_plainstep(lua_State *L);
LJ_FUNC void lj_gc_plainfull(lua_State *L);

LJ_FUNC int lj_ltcall_resume(lua_State *L, TValue *base);
LJ_FUNC int lj_ltcall_pcall(lua_State *L, TValue *base, int nres1, ptrdiff_t ef);
LJ_FUNC int lj_ltcall_cpcall(lua_State *L, lua_CFunction func, void *ud,
			     TValue *(*cp)(lua_State *L, lua_CFunction func, void *ud));
LJ_FUNC void lj_ltcall_create(lua_State *L, lua_State *co);
LJ_FUNC void lj_ltcall_collect(global_State *g, lua_State *co);
LJ_FUNC int lj_ltcall_wrap(lua_State *L, lua_CFunction f);
#ifdef HAVE_LUA_EXDATA2
LJ_FUNC void lj_ltcall_request(lua_State *L);
#endif

/* Describe compiled code by segments (lj_ltseg.c). */
#if LJ_HASJIT && LJ_LTMACHINE && !LJ_ABI_WIN
#define LJ_LTSEGMENTS		1
#else
#define LJ_LTSEGMENTS		0
#endif

/* Traces do not store their number in g->vmstate: they store it for us. */
#define LJ_LTSEGTRACE		(LJ_LTSEGMENTS && LJ_TARGET_ARM64)
#if LJ_LTSEGTRACE
#define lt_runningtrace(lt)	((lt)->segtrace)
#else
#define lt_runningtrace(lt)	(LT2G(lt)->vmstate)
#endif

/* Links from trace to trace share words (LT_PACKED). */
#if LJ_LTSEGMENTS && LJ_TARGET_X64
#define LJ_LTPACKS		1
#else
#define LJ_LTPACKS		0
#endif

#if LJ_HASJIT
/* Emit events inline in compiled code (lj_asm_lt.h). */
#define LJ_LTINLINE		LJ_LTMACHINE

struct jit_State;
#if LJ_LTSEGMENTS
LJ_ASMF void lj_ltseg_slow(void);
LJ_FUNC void lj_ltseg_exit(struct jit_State *J);
LJ_FUNCA void lj_ltseg_link(LTState *lt, uint32_t id, uint32_t nev);
LJ_FUNCA void lj_ltseg_full(LTState *lt);
LJ_FUNCA void lj_ltseg_flush(LTState *lt);
LJ_FUNC void lj_ltseg_mark(lua_State *L, int32_t id, int32_t nev);
LJ_FUNC int lj_ltseg_counts(struct jit_State *J);
LJ_FUNC int lj_ltseg_level(struct jit_State *J);
LJ_FUNC uint32_t lj_ltseg_endid(struct jit_State *J);
LJ_FUNC int lj_ltseg_linked(struct jit_State *J);
LJ_FUNC int lj_ltseg_packs(struct jit_State *J, uint32_t id);
LJ_FUNC int lj_ltseg_opens(struct jit_State *J);
LJ_FUNC uint32_t lj_ltseg_closes(struct jit_State *J);
#else
#define lj_ltseg_exit(J)	((void)0)
#endif
LJ_FUNC void lj_trace_plainins(struct jit_State *J, const BCIns *pc);
LJ_FUNC void lj_ltjit_start(struct jit_State *J);
LJ_FUNC void lj_ltjit_stop(struct jit_State *J);
LJ_FUNC void lj_ltjit_abort(struct jit_State *J, int e);
LJ_FUNC void lj_ltjit_off(struct jit_State *J);
LJ_FUNC void lj_ltjit_flush(struct jit_State *J);
LJ_FUNC void lj_ltrec_guard(struct jit_State *J);
LJ_FUNC void lj_ltrec_stop(struct jit_State *J, uint32_t linktype,
			       uint32_t lnk);
LJ_FUNC void lj_ltrec_entry(struct jit_State *J);
LJ_FUNC void lj_ltrec_tail(struct jit_State *J);
LJ_FUNC int32_t lj_ltrec_retofs(struct jit_State *J);
LJ_FUNC void lj_ltrec_ret(struct jit_State *J, GCproto *pt, int32_t ofs,
			      int32_t retdepth);
LJ_FUNC int lj_ltrec_jit(struct jit_State *J, uint32_t lnk);
LJ_FUNC int lj_ltrace_exitret(struct jit_State *J, lua_State *L, const BCIns *pc,
			      const BCIns *retpc);
LJ_FUNC int lj_ffrecord_has(GCfunc *fn);  /* In lj_ffrecord.c. */
LJ_FUNC void lj_ltrec_ff(struct jit_State *J, GCfunc *fn);
LJ_FUNC int lj_ltrec_next(struct jit_State *J);
LJ_FUNC int lj_ltrec_keepsnap(struct jit_State *J);
LJ_FUNC uint32_t lj_ltrec_fficall(struct jit_State *J, GCcdata *cd, uint32_t args);
LJ_FUNC void lj_ltrec_ffireturn(struct jit_State *J, GCcdata *cd);
LJ_FUNC void LJ_FASTCALL lj_ltrec_jitword(lua_State *L, int32_t word);
LJ_FUNC void lj_ltrec_jitevent(lua_State *L, GCobj *what, int32_t info,
				int32_t line);
#endif

#if LJ_LTMACHINE && !LJ_ABI_WIN
#define LJ_LTVMFAST		1
LJ_ASMF void lj_ltvm_func(void);
LJ_ASMF void lj_ltvm_hook(void);
LJ_ASMF void lj_ltvm_back(void);
LJ_ASMF void lj_ltvm_ret(void);
extern LTControl lj_ltcontrol __attribute__((visibility("hidden")));
#else
#define LJ_LTVMFAST		0
#endif

/* -- Clock, thread, event words ------------------------------------------- */

LJ_FUNC void LJ_FASTCALL lj_ltring_full(LTState *lt);

/* In the notes: how far it is from there to a symbol, 64 bits. */
#if LJ_64
#define LT_NOTE_DIST(symbol)	"  .8byte " symbol "-.\n"
#else
#define LT_NOTE_DIST(symbol)	"  .4byte " symbol "-., 0\n"
#endif

/* Clock of a ring: the TSC on x86 and x64 (a recorder refuses if it finds that it is not
** invariant), the virtual counter on arm64, else CLOCK_MONOTONIC. Blocks flushed through a probe may
** have the latter (lt_control.clock): then events are neither in the fast path of the interpreter
** nor inline in compiled code. */
#if LJ_TARGET_X86ORX64
#define LJ_LT_CLOCK	LT_CLOCK_TSC
#elif LJ_TARGET_ARM64
#define LJ_LT_CLOCK	LT_CLOCK_CNTVCT
#else
#define LJ_LT_CLOCK	LT_CLOCK_MONOTONIC
#endif
#if LJ_TARGET_ARM64
/* Its ticks in a second, which the firmware has set. */
static LJ_AINLINE uint64_t lj_ltctl_hz(void)
{
  uint64_t hz;
  __asm__("mrs %0, cntfrq_el0" : "=r" (hz));
  return hz;
}
#else
#define lj_ltctl_hz()		((uint64_t)1000000000u)
#endif
/* Do events have that clock? Then machine code of ours may store them. */
#define lt_owncounter(lt)	((lt)->clock == LJ_LT_CLOCK)

LJ_FUNC uint64_t lj_ltctl_monotonic(void);
static LJ_AINLINE uint64_t lj_ltctl_clock(LTState *lt)
{
#if LJ_TARGET_X86ORX64
  uint32_t lo, hi;
  if (LJ_UNLIKELY(!lt_owncounter(lt))) return lj_ltctl_monotonic();
  __asm__ volatile("rdtsc" : "=a" (lo), "=d" (hi));
  return lo | ((uint64_t)hi << 32);
#elif LJ_TARGET_ARM64
  uint64_t now;
  if (LJ_UNLIKELY(!lt_owncounter(lt))) return lj_ltctl_monotonic();
  __asm__ volatile("mrs %0, cntvct_el0" : "=r" (now));
  return now;
#else
  UNUSED(lt);
  return lj_ltctl_monotonic();
#endif
}

/* Identifies the current thread, without a system call. */
#if defined(__GNUC__) && (LJ_TARGET_X64 || LJ_TARGET_ARM64)
#define lj_ltring_thread()	((uintptr_t)__builtin_thread_pointer())
#else
#include <pthread.h>
#define lj_ltring_thread()	((uintptr_t)pthread_self())
#endif

/* Store one single-word event. id must be < LT_PAYLOAD_BIG. With release: a reader that
** sees the word must see the description of its function, too. */
#define lj_ltring_put(lt, now, payload, kind) \
  { \
    uint64_t *wp_ = (lt)->wp; \
    __atomic_store_n(wp_, lt_word((now), (payload), (kind)), __ATOMIC_RELEASE); \
    (lt)->wp = ++wp_; \
    if (LJ_UNLIKELY(((uintptr_t)wp_ & (LT_RING_BLOCK_SIZE-1)) == 0)) \
      lj_ltring_full(lt); \
  }

/* -- The probe sites (lj_ltprobe.c) --------------------------------------- */

/* The function that has the probe's site, the probe, the types and the names of its arguments.
** block, segments: event words, a block at a time, see LT_CHUNK_* in luatrace_format.h. */
#define LT_PROBES(_) \
  _(entry, function__entry, 7, (const char *chunk, const char *name, int line, void *L, \
    uint32_t id, uint32_t frame, int callline), chunk, name, line, L, id, frame, callline) \
  _(return, function__return, 7, (const char *chunk, const char *name, int line, void *L, \
    uint32_t id, uint32_t frame, int callline), chunk, name, line, L, id, frame, callline) \
  _(tailcall, function__tailcall, 7, (const char *chunk, const char *name, int line, void *L, \
    uint32_t id, uint32_t frame, int callline), chunk, name, line, L, id, frame, callline) \
  _(centry, cfunction__entry, 7, (const char *name, void *addr, int ffid, void *L, \
    uint32_t id, uint32_t frame, int callline), name, addr, ffid, L, id, frame, callline) \
  _(creturn, cfunction__return, 7, (const char *name, void *addr, int ffid, void *L, \
    uint32_t id, uint32_t frame, int callline), name, addr, ffid, L, id, frame, callline) \
  _(unwind, function__unwind, 2, (void *L, uint32_t frame), L, frame) \
  _(create, coroutine__create, 3, (void *L, void *co, uint32_t id), L, co, id) \
  _(resume, coroutine__resume, 3, (void *L, void *co, uint32_t id), L, co, id) \
  _(yield, coroutine__yield, 3, (void *L, void *co, uint32_t id), L, co, id) \
  _(end, coroutine__end, 4, (void *L, void *co, uint32_t id, int status), L, co, id, status) \
  _(stack, coroutine__stack, 5, (void *L, uint32_t id, uint32_t n, int reason, void *g), \
    L, id, n, reason, g) \
  _(markbegin, mark__begin, 3, (const char *name, void *L, uint32_t id), name, L, id) \
  _(markend, mark__end, 3, (const char *name, void *L, uint32_t id), name, L, id) \
  _(label, coroutine__label, 4, (const char *key, const char *value, void *L, uint32_t id), \
    key, value, L, id) \
  _(gcstart, gc__start, 5, (void *L, void *g, int state, uint64_t bytes, int full), \
    L, g, state, bytes, full) \
  _(gcdone, gc__done, 5, (void *L, void *g, int state, uint64_t bytes, int full), \
    L, g, state, bytes, full) \
  _(tracestart, trace__start, 6, (const char *chunk, int line, void *L, uint32_t number, \
    uint32_t parent, uint32_t exitno), chunk, line, L, number, parent, exitno) \
  _(tracestop, trace__stop, 5, (void *L, uint32_t number, int linktype, uint32_t link, \
    uint32_t bytes), L, number, linktype, link, bytes) \
  _(traceabort, trace__abort, 6, (const char *chunk, int line, void *L, uint32_t number, \
    const char *reason, int blacklisted), chunk, line, L, number, reason, blacklisted) \
  _(traceflush, trace__flush, 3, (void *L, uint32_t traces, int own), L, traces, own) \
  _(traceexit, trace__exit, 3, (void *L, uint32_t number, uint32_t exitno), \
    L, number, exitno) \
  _(open, state__open, 2, (void *g, void *L), g, L) \
  _(close, state__close, 2, (void *g, void *L), g, L) \
  _(block, block, 7, (const void *p, uint32_t size, void *g, int kind, uint64_t number, \
    uint32_t count, uint32_t rec), p, size, g, kind, number, count, rec) \
  _(segments, segments, 7, (const void *p, uint32_t size, void *g, int kind, uint64_t number, \
    uint32_t count, uint32_t rec), p, size, g, kind, number, count, rec)

/* Not LJ_FUNC: they are in a file of their own even in an amalgamated build. */
#define LT_PROBEDECL(func, probe, n, params, ...) \
  extern __attribute__((visibility("hidden"))) void lj_ltprobe_##func params;
LT_PROBES(LT_PROBEDECL)
#undef LT_PROBEDECL
extern __attribute__((visibility("hidden"))) void lj_ltprobe_blockswitch(void);
extern __attribute__((visibility("hidden"))) void lj_ltprobe_segmentsswitch(void);
extern __attribute__((visibility("hidden"))) void lj_ltprobe_segmentsauto(void);
extern __attribute__((visibility("hidden"))) void **lj_lttls_context(void);

/* -- What the patches put into upstream's files ---------------------------- */

/* A macro stands for a call whose arguments do not all exist without the switch, or
** where a statement of ours is among declarations. */
#define LJ_HASLT		1
#define LT_FR2			LJ_FR2

/* lj_parse.c, lj_bcread.c, lj_state.c: a new prototype, of which nothing is known. */
#define LT_NEWPROTO(pt)		(pt)->lt_id = (pt)->lt_rec = 0;
#define LT_NEWTHREAD(L, co) \
  (co)->lt_id = (co)->lt_epoch = 0; (co)->lt_wait = 0; \
  (co)->lt_labels = (co)->lt_open = (co)->lt_context = NULL; \
  (co)->lt_resumer = (co)->lt_resumed = (co)->lt_sibling = NULL; \
  (co)->lt_serial = ++L2LT(L)->lastco;
/* lj_state.c: a new VM is complete. */
#define LT_NEWSTATE(L)	lj_ltswitch_newstate((L)); lj_ltenv_newstate((L));
/* lj_state.c: a coroutine is about to be freed. Readers from outside that find its memory must not
** take it for a live one. */
#define LT_FREETHREAD(g, L)	lj_ltcall_collect((g), (L)); (L)->lt_wait = LT_WAIT_FREED;
/* lib_base.c: opcodes of the two assembler functions that resume coroutines. */
#define LT_LIBCORO(L, init)	L2LT(L)->coop = BC__MAX + (init)[1]+1;
/* lj_api.c, lua_resume(): with events around it. */
#define LT_RESUME(L, base, z1, z2)	lj_ltcall_resume((L), (base))
/* lj_api.c, lua_pcall() and lua_cpcall(): L is entered, unless it runs already. */
#define lt_runs(L)	((L)->cframe && gcref(G(L)->cur_L) == obj2gco(L))
#define LT_PCALL(L, base, nres1, ef) \
  (LJ_LIKELY(lt_runs(L)) ? lj_vm_pcall((L), (base), (nres1), (ef)) : \
			   lj_ltcall_pcall((L), (base), (nres1), (ef)))
#define LT_CPCALL(L, func, ud, cp) \
  (LJ_LIKELY(lt_runs(L)) ? lj_vm_cpcall((L), (func), (ud), (cp)) : \
			   lj_ltcall_cpcall((L), (func), (ud), (cp)))
/* lj_api.c, lib_base.c: the host has set the request for which L works. */
#define LT_REQUEST(L)	if (lj_ltrace_on(G(L))) lj_ltcall_request((L));
/* lj_dispatch.c: the event of a call. pc is odd for a hot call, which has had its event. */
#define LT_CALL(L, g, pc) \
  if (lj_ltrace_on(g) && !((uintptr_t)(pc) & 1)) { \
    ASMFunction target_ = lj_ltrace_call((L), (pc)); \
    if (target_) return target_; \
  }
/* lj_dispatch.c: the mode of the table. Nothing is compiled while there are hooks. */
#define lj_ltrace_mode(g, mode) \
  (uint8_t)(((mode)|DISPMODE_LT) & ~((G2LT(g)->on & LTON_HOOK) ? DISPMODE_JIT : 0))
/* lj_dispatch.c: the user's wrapper of C functions, kept elsewhere while tracing. */
#define LT_WRAPF(g)	(*(lj_ltrace_on(g) ? &G2LT(g)->wrapf : &(g)->wrapf))
/* lj_err.c: the frames above newbase are removed. */
#define LT_UNWIND(L, newbase) \
  if (lt_eventson(L2LT(L))) lj_ltrace_unwind((L), (newbase));
/* lj_state.c, lj_trace.c: an error comes before the stack is complete. */
#define LT_LOSTFRAMES(L)	L2LT(L)->lostframes = 1;
/* lj_gc.c, lj_trace.c: names of functions around which ours have the upstream's names. */
#define LT_GCSTEP		lj_gc_plainstep
#define LT_FULLGC		lj_gc_plainfull
#define LT_TRACEINS		lj_trace_plainins
/* lj_gc.c, where VM events and finalizers run in a coroutine VL of their own. */
#define LT_FINALIZER(L, VL) \
  if (lt_eventson(L2LT(L))) lj_ltstack_lend((L), (VL));
#define LT_FINALIZED(L, VL)	lj_ltstack_back((L), (VL));
/* lj_ccallback.c: in the frame of an FFI callback, a bit next to the result's type says
** that it has not begun or has ended. What happens then (a step of the collector, a
** finalizer, a conversion error) happens outside it. */
#define LT_CBIDLE	0x10000u
#if LJ_FR2
#define lt_callback(base)	((base)-3)->u64
#else
#define lt_callback(base)	((base)-2)->u32.hi
#endif
#define LT_CALLBACK_IDLE(L)	lt_callback((L)->base) |= LT_CBIDLE;
#define LT_CALLBACK_BEGINS(L)	lt_callback((L)->base) ^= LT_CBIDLE;
#if LJ_TARGET_X86  /* vm_x86.dasc takes these bits for the size of the arguments. */
#define LT_CALLBACK_ENDS(L)	lt_callback((L)->base) ^= LT_CBIDLE;
#else
#define LT_CALLBACK_ENDS(L)
#endif
/* lj_vmevent.c, lj_profile.c: HOOK_VMEVENT was set or cleared. */
#define LT_MUTE(g)	lj_ltswitch_mute((g));
/* lj_record.c: IR instructions of the guard at the head of a root trace. */
#define LT_NGUARD(J)	(J2GG(J)->lt.nguard)
/* lj_snap.c, lj_opt_loop.c: events of the trace before a snapshot. */
#define LT_SNAP(J, snap)	(snap)->nev = (uint16_t)J2GG(J)->lt.segnev;
#define LT_SNAPCOPY(snap, osnap)	(snap)->nev = (osnap)->nev;
#define LT_SNAPLOOP(snap)	(snap)->nev = 0;
/* lj_opt_loop.c: the copy of the last snapshot stays, also if no guard was emitted since. */
#define LT_SNAPKEEP(J)	lj_ltrec_keepsnap((J))
/* lj_trace.c: a trace is left for the interpreter, at J->exitno of J->parent. */
#define LT_EXIT(J) \
  if (LJ_UNLIKELY(J2GG(J)->lt.sizesegment != 0)) lj_ltseg_exit((J));
/* lj_record.c: the next bytecode. */
#define lj_ltrec_pend(J)	{ if (lj_ltrec_next((J))) return; }
/* lj_record.c: RET*, with its event. */
#define LT_RECRET(J, call) { \
    GCproto *pt_ = (J)->pt; \
    int32_t ofs_ = lj_ltrec_retofs((J)), retdepth_ = (J)->retdepth; \
    call; \
    lj_ltrec_ret((J), pt_, ofs_, retdepth_); \
  }
/* lj_ircall.h: what compiled code calls. */
#define IRCALLCOND_SDT(x)	x
#if LJ_LTSEGMENTS
#define IRCALLDEF_SEGMENTS(_) \
  _(SDT,	lj_ltseg_mark,		3,   S, NIL, CCI_L)
#else
#define IRCALLDEF_SEGMENTS(_)
#endif
#define IRCALLDEF_SDT(_) \
  _(SDT,	lj_ltrec_jitword,	2,  FS, NIL, CCI_L) \
  _(SDT,	lj_ltrec_jitevent,	4,   S, NIL, CCI_L) \
  IRCALLDEF_SEGMENTS(_)

#else

#define LJ_HASLT		0
#define LJ_LTINLINE		0
#define LT_FR2			0
#define lj_ltrace_pending(g)	0
#define lj_ltrace_poll(L)	{}
#define lj_ltrace_on(g)		0
#define LT_NEWSTATE(L)
#define lj_ltswitch_closestate(L)	((void)0)
#define lj_ltswitch_freestate(g)	((void)0)
#define lj_ltfunc_freeproto(g, pt)	((void)0)
#define lj_ltcall_create(L, co)	((void)0)
#define lj_ltcall_collect(g, co)	((void)0)
#define lj_ltrace_dispatch(g, disp, all, plain)	((void)0)
#define lj_ltrace_ins(L, pc, oldpc)	0
#define lj_ltrace_end(L, pc)	((void)0)
#define lj_ltrace_target(g, fn, op)	(op)
#define lj_ltrace_exit(L, pc)	0
#define lj_ltrace_exitret(J, L, pc, retpc)	0
#define lj_ltrec_stop(J, linktype, lnk)	((void)0)
#define lj_ltjit_start(J)	((void)0)
#define lj_ltjit_stop(J)	((void)0)
#define lj_ltjit_abort(J, e)	((void)0)
#define lj_ltjit_off(J)		((void)0)
#define lj_ltjit_flush(J)	((void)0)
#define LT_GCSTEP		lj_gc_step
#define LT_FULLGC		lj_gc_fullgc
#define LT_TRACEINS		lj_trace_ins
#define lj_ltrec_entry(J)	((void)0)
#define lj_ltrec_tail(J)	((void)0)
#define lj_ltrec_jit(J, lnk)	0
#define lj_ltrec_guard(J)	((void)0)
#define lj_ltrec_ff(J, fn)	((void)0)
#define lj_ltrec_fficall(J, cd, args)	(args)
#define lj_ltrec_ffireturn(J, cd)	((void)0)
#define lj_ltrec_pend(J)	((void)0)
#define LT_NEWPROTO(pt)
#define LT_NEWTHREAD(L, co)
#define LT_FREETHREAD(g, L)
#define LT_LIBCORO(L, init)
#define LT_RESUME(L, base, z1, z2)	lj_vm_resume((L), (base), (z1), (z2))
#define LT_PCALL(L, base, nres1, ef)	lj_vm_pcall((L), (base), (nres1), (ef))
#define LT_CPCALL(L, func, ud, cp)	lj_vm_cpcall((L), (func), (ud), (cp))
#define LT_REQUEST(L)
#define LT_CALL(L, g, pc)
#define LT_WRAPF(g)		((g)->wrapf)
#define lj_ltrace_mode(g, mode)	(mode)
#define LT_UNWIND(L, newbase)
#define LT_LOSTFRAMES(L)	{}
#define LT_FINALIZER(L, VL)
#define LT_FINALIZED(L, VL)
#define LT_CALLBACK_IDLE(L)
#define LT_CALLBACK_BEGINS(L)
#define LT_CALLBACK_ENDS(L)
#define LT_MUTE(g)
#define LT_NGUARD(J)		0
#define LT_SNAP(J, snap)
#define LT_SNAPCOPY(snap, osnap)
#define LT_SNAPLOOP(snap)
#define LT_SNAPKEEP(J)		0
#define LT_EXIT(J)
#define LT_RECRET(J, call)	call;
#define IRCALLDEF_SDT(_)

#endif

#endif
