/*
** Tracing of calls: the process-wide control word, the ELF note that locates it, the
** settings, the clock, and the file descriptors that we use in the process.
** SPDX-License-Identifier: MIT
**
** Invariant: luajit_usdt_control is at a fixed place of a file-backed page of the library.
** Apart from a ring, only a recorder that forces a poll writes anything else from outside
** (LT_STOP_POLL). */

#define lj_ltctl_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lj_bc.h"
#include "lj_dispatch.h"
#include "lj_frame.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

#define FD_FLOOR	56	/* Lowest number for our descriptors. A higher one would
				** make the kernel enlarge the descriptor table: 14 ms if
				** the program has threads. */
#define FD_SPARE	32	/* Descriptors reserved for the program. */

/* -- Process-wide control ------------------------------------------------- */

/* In ".probes", a writable, file-backed section, which the kernel requires for the
** reference counter of a uprobe. */
__attribute__((visibility("default"), section(".probes"), aligned(16), used))
LTControl luajit_usdt_control = {
  .version = LT_CONTROL_VERSION, .magic = LUAJIT_USDT_MAGIC,
  .size = sizeof(LTControl),
  .cfuncs = LTC_DEFAULT, .ring_size = 8u<<20
};

/* The request to watch places: see luatrace_watch.h. */
__attribute__((visibility("hidden"), section(".probes"), aligned(16), used))
char lj_ltctl_watch[LT_WATCH_REQUEST_MAX+1] = "";

LJ_STATIC_ASSERT(sizeof(luajit_usdt_control.include) == LT_GLOBS_MAX+1);
LJ_STATIC_ASSERT(sizeof(luajit_usdt_control.exclude) == LT_GLOBS_MAX+1);

extern char *secure_getenv(const char *name);  /* Needs _GNU_SOURCE. */

/* Tracers that want segments only where they pay (LTC_AUTO). Each is one of
** luajit_usdt_control.segments, too, which is what VMs look at. */
__attribute__((visibility("hidden"), section(".probes"), aligned(2), used))
uint16_t luajit_auto_semaphore = 0;

/* Members of luajit_usdt_control, for lj_ltprobe.c. Defined here,
** because not every assembler can make an alias for a symbol that is defined elsewhere. */
extern LTControl luajit_semaphore
  __attribute__((alias("luajit_usdt_control"), visibility("hidden")));
LJ_STATIC_ASSERT(offsetof(LTControl, block) == 4);
__asm__(".hidden luajit_block_semaphore\n"
	".globl luajit_block_semaphore\n"
	".set luajit_block_semaphore, luajit_usdt_control+4\n");
LJ_STATIC_ASSERT(offsetof(LTControl, segments) == 6);
__asm__(".hidden luajit_segments_semaphore\n"
	".globl luajit_segments_semaphore\n"
	".set luajit_segments_semaphore, luajit_usdt_control+6\n");

/* An alias that needs no relocation. */
extern LTControl lj_ltcontrol
  __attribute__((alias("luajit_usdt_control"), visibility("hidden"), used));

/* -- The note ------------------------------------------------------------- */

/* struct lt_note, member by member. It is in an allocated section of its own: strip
** keeps it, and it needs no relocation, since addresses are differences. */
#define N_OFS(type, member)	((int)offsetof(type, member))
#define N_GG(member) \
  ((int)offsetof(GG_State, member) - (int)offsetof(GG_State, lt))
#if LJ_HASJIT
#define N_JIT(x)	(x)
#else
#define N_JIT(x)	(-1)
#endif
#ifndef CFRAME_SIZE_JIT
#define CFRAME_SIZE_JIT	CFRAME_SIZE
#endif

/* The members from lt_next, in their order. */
#define NOTEDEF1(_) \
  _(a1, N_OFS(LTState, next)) \
  _(a2, N_OFS(LTState, on)) _(a3, N_OFS(LTState, stop)) \
  _(a4, N_OFS(LTState, seen)) \
  _(a5, N_OFS(LTState, ring)) _(a6, N_OFS(LTState, fd)) \
  _(a7, N_OFS(LTState, rec)) _(a8, N_OFS(LTState, serial)) \
  _(a9, N_OFS(LTState, token)) \
  _(b1, N_GG(g)) _(b2, N_GG(dispatch)) _(b3, N_JIT(N_GG(J))) \
  _(b4, GG_LEN_SDISP) _(b5, sizeof(ASMFunction)) \
  _(c1, N_OFS(global_State, cur_L)) _(c2, N_OFS(global_State, jit_base)) \
  _(c3, N_OFS(global_State, vmstate)) _(c4, N_OFS(global_State, hookmask)) \
  _(c5, N_OFS(global_State, mainthref)) \
  _(d1, N_JIT(N_OFS(jit_State, state))) _(d2, N_JIT(N_OFS(jit_State, trace))) \
  _(d3, N_JIT(N_OFS(jit_State, sizetrace)))
#define NOTEDEF2(_) \
  _(e1, N_OFS(lua_State, glref)) _(e2, N_OFS(lua_State, status)) \
  _(e3, N_OFS(lua_State, base)) _(e4, N_OFS(lua_State, top)) \
  _(e5, N_OFS(lua_State, stack)) _(e6, N_OFS(lua_State, maxstack)) \
  _(e7, N_OFS(lua_State, cframe)) _(e8, N_OFS(lua_State, lt_id)) \
  _(f1, N_OFS(GCfuncL, pc)) _(f2, N_OFS(GCfuncL, ffid)) \
  _(f3, sizeof(GCproto)) _(f4, N_OFS(GCproto, chunkname)) \
  _(f5, N_OFS(GCproto, firstline)) _(f6, N_OFS(GCproto, numline)) \
  _(f7, N_OFS(GCproto, lineinfo)) _(f8, N_OFS(GCproto, sizebc)) \
  _(f9, N_OFS(GCproto, lt_id)) \
  _(g1, N_OFS(GCstr, len)) _(g2, sizeof(GCstr))
#define NOTEDEF3(_) \
  _(h1, N_JIT(N_OFS(GCtrace, mcode))) _(h2, N_JIT(N_OFS(GCtrace, szmcode))) \
  _(h3, N_JIT(N_OFS(GCtrace, startpt))) \
  _(i1, CFRAME_SIZE) _(i2, CFRAME_SIZE_JIT) _(i3, CFRAME_OFS_L) \
  _(i4, CFRAME_OFS_PC) _(i5, CFRAME_OFS_PREV)
#define NOTEDEF4(_) \
  _(j1, N_OFS(global_State, gc.root)) _(j2, N_OFS(lua_State, lt_wait)) \
  _(j3, N_OFS(GCproto, k)) _(j4, N_OFS(GCproto, sizept)) \
  _(j5, N_OFS(GCproto, uvinfo)) _(j6, N_OFS(GCproto, varinfo)) \
  _(k1, N_JIT(N_OFS(GCtrace, nsnap))) _(k2, N_JIT(N_OFS(GCtrace, nsnapmap))) \
  _(k3, N_JIT(N_OFS(GCtrace, snap))) _(k4, N_JIT(N_OFS(GCtrace, snapmap))) \
  _(k5, N_JIT(N_OFS(GCtrace, ir))) _(k6, N_JIT(N_OFS(GCtrace, nk))) \
  _(k7, N_JIT(N_OFS(GCtrace, startpc))) _(k8, N_JIT(N_OFS(GCtrace, spadjust))) \
  _(l1, N_JIT(sizeof(SnapShot))) _(l2, N_JIT(N_OFS(SnapShot, mapofs))) \
  _(l3, N_JIT(N_OFS(SnapShot, mcofs))) _(l4, N_JIT(N_OFS(SnapShot, nent)))
#define NOTEDEF5(_) \
  _(m1, BC_MOV) _(m2, BC_KNIL) _(m3, BC_UGET) _(m4, BC_USETV) _(m5, BC_FNEW) \
  _(m6, BC_GGET) _(m7, BC_GSET) _(m8, BC_TGETS) _(m9, BC_TSETS) \
  _(n1, BC_ITERC) _(n2, BC_FUNCF) _(n3, MM_call)
#define N_TEXT(name, value)	"  .4byte %c[" #name "]\n"
#define N_ARG(name, value)	[name] "i" ((int)(value)),
#define N_PART(def, end) \
  __asm__ volatile("  .pushsection .note.luatrace, \"a\", %%note\n" \
		   def(N_TEXT) end "  .popsection\n" : : def(N_ARG) [z] "i" (0))

/* Never called: the assembler can be given constants only inside a function. */
static __attribute__((used, noinline LT_NOCLONE)) void lj_ltctl_note(void)
{
  __asm__ volatile(
    "  .pushsection .note.luatrace, \"a\", %%note\n"
    "  .balign 4\n"
    "  .4byte 62f-61f, 64f-63f, %c[type]\n"
    "61:\n  .asciz \"" LT_NOTE_NAME "\"\n62:\n  .balign 4\n"
    "63:\n  .4byte %c[version], 64f-63b\n"
    LT_NOTE_DIST("lj_ltcontrol")
    LT_NOTE_DIST("lj_vm_record")
    LT_NOTE_DIST("lj_vm_asm_begin")
    "  .4byte %c[cversion], %c[csize], %c[flags], %c[clock]\n"
    "  .popsection\n"
    : : [type] "i" (LT_NOTE_TYPE), [version] "i" (LT_NOTE_VERSION),
	[cversion] "i" (LT_CONTROL_VERSION), [csize] "i" ((int)sizeof(LTControl)),
	[flags] "i" ((LJ_HASJIT ? LTN_JIT : 0) | (LJ_GC64 ? LTN_GC64 : 0) |
		     (LJ_FR2 ? LTN_FR2 : 0) | LTN_REPORT | LTN_BLOCKS |
		     LTN_CLOCK|LTN_FFI|LTN_CONTEXT|(LJ_LTSEGMENTS ? LTN_SEGMENTS : 0)),
	[clock] "i" (LJ_LT_CLOCK));
  N_PART(NOTEDEF1, "");
  N_PART(NOTEDEF2, "");
  N_PART(NOTEDEF3, "  .4byte lj_ltctl_watch-lj_ltcontrol\n" LT_NOTE_DIST("lj_bc_mode"));
  N_PART(NOTEDEF4, "");
  N_PART(NOTEDEF5, "64:\n  .balign 4\n");
}

/* -- Settings -------------------------------------------------------------- */

static const char *const settings[] = {
  LT_ENV_SOCKET, LT_ENV_INCLUDE, LT_ENV_EXCLUDE, LT_ENV_CFUNCS, LT_ENV_RING, LT_ENV_BLOCK,
  LT_ENV_WATCH, LT_ENV_TIMES
};

static void set_string(char *to, size_t size, const char *value)
{
  if (strlen(value) < size) strcpy(to, value);
}

static uint32_t cfuncs_class(const char *value)
{
  static const char *const names[] = { "none", "user", "default", "all" };
  uint32_t i;
  for (i = 0; i < 4; i++)
    if (!strcmp(value, names[i])) return i;
  return !strcmp(value, "ffi") ? LTC_DEFAULT|LTC_FFI : luajit_usdt_control.cfuncs;
}

/* One of the recorder's settings, by the name of its environment variable. */
void lj_ltctl_set(const char *name, const char *value)
{
  LTControl *c = &luajit_usdt_control;
  if (!strcmp(name, LT_ENV_SOCKET)) set_string(c->socket, sizeof(c->socket), value);
  if (!strcmp(name, LT_ENV_INCLUDE)) set_string(c->include, sizeof(c->include), value);
  if (!strcmp(name, LT_ENV_EXCLUDE)) set_string(c->exclude, sizeof(c->exclude), value);
  if (!strcmp(name, LT_ENV_WATCH)) set_string(lj_ltctl_watch, sizeof(lj_ltctl_watch), value);
  if (!strcmp(name, LT_ENV_CFUNCS)) c->cfuncs = cfuncs_class(value) | (c->cfuncs & (LTC_SEGMENTS|LTC_AUTO));
  if (!strcmp(name, LT_ENV_TIMES)) {
    c->cfuncs &= ~(LTC_SEGMENTS|LTC_AUTO);
    if (!strcmp(value, "segments")) c->cfuncs |= LTC_SEGMENTS;
    if (!strcmp(value, "auto")) c->cfuncs |= LTC_SEGMENTS|LTC_AUTO;
  }
  if (!strcmp(name, LT_ENV_RING)) c->ring_size = strtoull(value, NULL, 0);
  if (!strcmp(name, LT_ENV_BLOCK)) c->ring_block = *value == '1';
}

/* Read the recorder's settings from the environment, once per process. */
void lj_ltctl_env(void)
{
  LTControl *c = &luajit_usdt_control;
  size_t i;
  if (__atomic_exchange_n(&c->envdone, 1, __ATOMIC_ACQ_REL)) return;
  for (i = 0; i < sizeof(settings)/sizeof(*settings); i++) {
    const char *value = secure_getenv(settings[i]);
    if (value) lj_ltctl_set(settings[i], value);
  }
  if (c->socket[0]) st_rel(&c->ring, 1);
}

/* While nothing is recorded: forget the settings of an earlier recorder. */
void lj_ltctl_defaults(void)
{
  LTControl *c = &luajit_usdt_control;
  c->socket[0] = c->include[0] = c->exclude[0] = '\0';
  lj_ltctl_watch[0] = '\0';
  c->cfuncs = LTC_DEFAULT;
  c->ring_size = 8u<<20;
  c->ring_block = c->children = 0;
  c->owner = 0;
}

/* Does one of the globs in a list match? Patterns see the name with and without its first
** character, and its last path component. */
int lj_ltctl_matchlist(const char *list, const char *chunk)
{
  const char *base = strrchr(chunk, '/');
  while (*list) {
    char pat[1024];
    size_t n = strcspn(list, "\n");
    memcpy(pat, list, n);
    pat[n] = '\0';
    if (n && (!fnmatch(pat, chunk, 0) ||
	      (*chunk && !fnmatch(pat, chunk+1, 0)) ||
	      (base && !fnmatch(pat, base+1, 0))))
      return 1;
    list += n + (list[n] == '\n');
  }
  return 0;
}

/* Is a chunk of this name to be recorded? */
int lj_ltctl_match(const char *chunk)
{
  const LTControl *c = &luajit_usdt_control;
  if (!strcmp(chunk, LUATRACE_HIDDEN)) return 0;
  if (c->include[0] && !lj_ltctl_matchlist(c->include, chunk)) return 0;
  return !(c->exclude[0] && lj_ltctl_matchlist(c->exclude, chunk));
}

/* -- Descriptors ---------------------------------------------------------- */

static int fd_limit(void)
{
  struct rlimit r;
  if (getrlimit(RLIMIT_NOFILE, &r)) return 1024;  /* Forbidden: assume the usual limit. */
  return r.rlim_cur < (1<<20) ? (int)r.rlim_cur : 1<<20;
}

/* Lowest number for us: never that of a standard stream. */
static int fd_floor(int limit)
{
  return limit < 6 ? 3 : limit/2 < FD_FLOOR ? limit/2 : FD_FLOOR;
}

/* Does the program keep its reserve if we take some? Searched from above, where numbers
** are nearly always free. */
int lj_ltctl_fdsleft(void)
{
  int limit = fd_limit(), floor = fd_floor(limit), i;
  int ours = 2, n = 3;  /* The memfd, a socket, and one to move them. */
  n += limit/4 < FD_SPARE ? limit/4 : FD_SPARE;
  for (i = limit-1; n > 0 && i >= 0 && i >= limit-4096; i--) {
    if (i < floor && ours > 0) return 0;
    if (fcntl(i, F_GETFD) < 0) n--, ours--;
  }
  return n == 0;
}

/* Does the descriptor refer to that file? */
int lj_ltctl_samefile(int fd, uint64_t dev, uint64_t ino)
{
  struct stat st;
  return fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_dev == dev &&
	 (uint64_t)st.st_ino == ino;
}

/* Move a new descriptor away from the numbers that the program may rely on: those of
** closed standard streams, or the lowest free one. -1: impossible. */
int lj_ltctl_fdup(int low)
{
  struct stat st;
  int floor = fd_floor(fd_limit()), fd;
  if (low < 0 || low >= floor) return low;
  fd = fcntl(low, F_DUPFD_CLOEXEC, floor);
  if (fd < 0)
    close(low);
  else if (!fstat(fd, &st) && lj_ltctl_samefile(low, st.st_dev, st.st_ino))
    close(low);
  return fd;
}

/* The recorder has the ring, or will not take it. The program may have closed the
** descriptor and re-used its number for a file of its own. */
void lj_ltctl_closefd(LTState *lt)
{
  int err = errno, fd = __atomic_exchange_n(&lt->fd, -1, __ATOMIC_ACQ_REL);
  if (lj_ltctl_samefile(fd, lt->dev, lt->ino)) close(fd);
  errno = err;
}

/* -- Clock ---------------------------------------------------------------- */

uint64_t lj_ltctl_monotonic(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec*1000000000u + (uint64_t)ts.tv_nsec;
}

/* Do all tracers of blocks know segments? Then these are flushed through luajit:segments. */
int lj_ltctl_blocksegments(void)
{
  uint64_t word = lj_ltctl_word();
  return !lt_word_block(word) && lt_word_segments(word);
}

/* LTC_SEGMENTS, LTC_AUTO, or 0: what they want of compiled code. */
uint32_t lj_ltctl_blocktimes(void)
{
  if (!lj_ltctl_blocksegments()) return 0;
  return ld_acq(&luajit_auto_semaphore) ? LTC_SEGMENTS|LTC_AUTO : LTC_SEGMENTS;
}

/* The clock of blocks flushed through a probe. */
uint32_t lj_ltctl_blockclock(void)
{
  uint32_t clock = luajit_usdt_control.clock;
  return clock == LT_CLOCK_MONOTONIC ? clock : LJ_LT_CLOCK;
}

#endif
