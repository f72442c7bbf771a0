/*
** Tracing of calls: the ring of event words in shared memory.
** SPDX-License-Identifier: MIT
**
** Invariant: while LTON_RING is set, lt->wp points into a block (of the ring,
** or the private scratch block while events are being lost) with room for at
** least one word, so that an event is one store and one test. Everything that
** is not one word goes through lj_ltring_ext, which never lets a record
** straddle two blocks. The layout is defined by luatrace_format.h.
*/

#define lj_ltring_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "luajit.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC		1U
#define MFD_ALLOW_SEALING	2U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS		1033
#define F_SEAL_SEAL		1
#define F_SEAL_SHRINK		2
#define F_SEAL_GROW		4
#endif

#define BLOCKWORDS	(LT_RING_BLOCK_SIZE/8)
#define METASIZE	(1u<<20)
#define MINBLOCKS	4
#define MAXBLOCKS	16384

#define ld_acq(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define st_rel(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* -- Process-wide control ------------------------------------------------- */

/* In ".probes": a writable, file-backed section, as the kernel wants it for
** the reference counter of a uprobe. */
__attribute__((visibility("default"), section(".probes"), aligned(16), used))
LTControl luajit_usdt_control = {
  .version = 1, .magic = LUAJIT_USDT_MAGIC, .size = sizeof(LTControl),
  .cfuncs = LTC_DEFAULT, .ring_size = 8u<<20
};

extern char *secure_getenv(const char *name);  /* Needs _GNU_SOURCE. */

#if LJ_LTVMFAST
/* The same under a name that needs no relocation. */
extern LTControl lj_ltcontrol
  __attribute__((alias("luajit_usdt_control"), visibility("hidden")));
#endif

static void env_string(const char *name, char *to, size_t size)
{
  const char *s = secure_getenv(name);
  if (s && strlen(s) < size) strcpy(to, s);
}

/* Take the recorder's settings from the environment, once per process. */
void lj_ltring_env(void)
{
  LTControl *c = &luajit_usdt_control;
  const char *s;
  if (__atomic_exchange_n(&c->envdone, 1, __ATOMIC_ACQ_REL)) return;
  env_string(LT_ENV_SOCKET, c->socket, sizeof(c->socket));
  env_string(LT_ENV_INCLUDE, c->include, sizeof(c->include));
  env_string(LT_ENV_EXCLUDE, c->exclude, sizeof(c->exclude));
  if ((s = secure_getenv(LT_ENV_CFUNCS))) {
    static const char *const names[] = { "none", "user", "default", "all" };
    uint32_t i;
    for (i = 0; i < 4; i++)
      if (!strcmp(s, names[i])) c->cfuncs = i;
  }
  if ((s = secure_getenv(LT_ENV_RING))) c->ring_size = strtoull(s, NULL, 0);
  if ((s = secure_getenv(LT_ENV_BLOCK))) c->ring_block = *s == '1';
  if (c->socket[0]) st_rel(&c->ring, 1);
}

static int match_list(const char *list, const char *chunk)
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

/* Is a chunk of this name wanted? Patterns see the name with and without its
** first character, and its last path component. */
int lj_ltring_match(const char *chunk)
{
  const LTControl *c = &luajit_usdt_control;
  if (c->include[0] && !match_list(c->include, chunk)) return 0;
  return !(c->exclude[0] && match_list(c->exclude, chunk));
}

/* -- Clock ----------------------------------------------------------------- */

#if !LJ_TARGET_X86ORX64
uint64_t lj_ltring_clock(void)
{
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec*1000000000u + (uint64_t)ts.tv_nsec;
}
#endif

/* Ticks per second; before the recorder has told, a guess on the high side. */
static uint64_t tick_hz(LTState *lt)
{
  uint32_t khz = lt->ring ? lt->ring->tick_khz : 0;
  if (LJ_LT_CLOCK == LT_CLOCK_MONOTONIC) return 1000000000u;
  return khz ? (uint64_t)khz*1000 : 4000000000u;
}

/* -- Blocks ---------------------------------------------------------------- */

/* Count the records in n words. */
static uint64_t count_records(const uint64_t *w, size_t n)
{
  uint64_t k = 0;
  size_t i = 0;
  while (i < n && w[i]) {
    uint32_t p = lt_payload(w[i]), kind = lt_kind(w[i]);
    i++;
    if (kind == LT_EXT) {
      if (lt_ext_sub(p) == LTX_PAD || lt_ext_sub(p) == LTX_BLOCK) k--;
      i += lt_ext_nwords(p);
    } else if (p == LT_PAYLOAD_BIG && kind != LT_SUSPEND) {
      i++;
    }
    k++;
  }
  return k;
}

/* Is a block of the ring free? */
static int ring_free(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  return r && r->head - ld_acq(&r->tail) < r->nblocks;
}

/* Enter the block number head. */
static void block_enter(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  uint64_t now = lj_ltring_clock();
  uint32_t co = lt->L ? lt->L->lt_id : LT_ID_NONE;
  uint64_t *w = (uint64_t *)((char *)r + r->data_ofs +
			     (size_t)(r->head % r->nblocks)*LT_RING_BLOCK_SIZE);
  lt->block = w;
  /* The head word last: it makes the record visible. */
  w[1] = now;
  w[2] = co;
  w[3] = lt_pack(lt->tid, lt->rec);
  st_rel(&w[0], lt_word(now, lt_ext(LTX_BLOCK, 3, 0), LT_EXT));
  lt->wp = w+4;
}

static void scratch_enter(LTState *lt)
{
  lt->block = lt->wp = lt->scratch;
  memset(lt->scratch, 0, LT_RING_BLOCK_SIZE);
}

/* Count what went into the scratch block. */
static void scratch_count(LTState *lt)
{
  lt->lost += count_records(lt->scratch, (size_t)(lt->wp - lt->scratch));
  if (lt->ring) lt->ring->lost = lt->lost;
}

/* Does the recorder still look at the ring? Asks for the end if not. */
static void check_recorder(LTState *lt, uint64_t now)
{
  struct lt_ring *r = lt->ring;
  if (!r) return;
  if (ld_acq(&r->detach))
    lt->stop |= LTSTOP_OFF;
  if (now > ld_acq(&r->alive) &&
      now - r->alive > LT_ORPHAN_SECONDS*tick_hz(lt)) {
    r->stop_reason = LTE_ORPHAN;
    lt->stop |= LTSTOP_OFF;
  }
  if (!lj_ltrace_word())
    lt->stop |= LTSTOP_OFF;
}

/* LT_RING_BLOCK: wait for a free block. */
static void wait_free(LTState *lt)
{
  struct timespec ts = { 0, 50000 };
  while (!ring_free(lt) && !(lt->stop & LTSTOP_OFF)) {
    nanosleep(&ts, NULL);
    check_recorder(lt, lj_ltring_clock());
  }
}

/* lt->wp has reached the end of its block. Called from compiled code with all
** registers saved, so this must neither throw nor look at the Lua stack. */
void LJ_FASTCALL lj_ltring_full(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  uint64_t now = lj_ltring_clock();
  int losing = lt->block == lt->scratch;
  int err = errno;
  if (losing)
    scratch_count(lt);
  else
    st_rel(&r->head, r->head+1);
  check_recorder(lt, now);
  if (lt->thread != lj_ltring_thread()) lt->thread = 0;  /* To be noted. */
  if (!losing && r && (r->flags & LT_RING_BLOCK) && !ring_free(lt))
    wait_free(lt);
  if (!losing && ring_free(lt)) {
    block_enter(lt);
  } else {
    if (!losing) {
      lt->lost = 0;
      lt->lostsince = now;
      r->lost_since = now;
    }
    if (losing && (ring_free(lt) || !r))
      lt->stop |= LTSTOP_RESYNC;
    scratch_enter(lt);
  }
  errno = err;
}

#if LJ_TARGET_X64 && LJ_GC64
/* The same, called from compiled code (lj_asm_lt.h) or from anywhere where r14
** is DISPATCH: saves all registers, needs no stack alignment. */
__asm__(
  ".text\n"
  ".hidden lj_ltrace_slow\n"
  ".globl lj_ltrace_slow\n"
  ".type lj_ltrace_slow, @function\n"
  "lj_ltrace_slow:\n"
  "  pushq %rbp\n  movq %rsp, %rbp\n"
  "  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n"
  "  pushq %rdi\n  pushq %r8\n  pushq %r9\n  pushq %r10\n"
  "  pushq %r11\n"
  "  andq $-16, %rsp\n"
  "  subq $256, %rsp\n"
  "  movaps %xmm0, (%rsp)\n  movaps %xmm1, 16(%rsp)\n"
  "  movaps %xmm2, 32(%rsp)\n  movaps %xmm3, 48(%rsp)\n"
  "  movaps %xmm4, 64(%rsp)\n  movaps %xmm5, 80(%rsp)\n"
  "  movaps %xmm6, 96(%rsp)\n  movaps %xmm7, 112(%rsp)\n"
  "  movaps %xmm8, 128(%rsp)\n  movaps %xmm9, 144(%rsp)\n"
  "  movaps %xmm10, 160(%rsp)\n  movaps %xmm11, 176(%rsp)\n"
  "  movaps %xmm12, 192(%rsp)\n  movaps %xmm13, 208(%rsp)\n"
  "  movaps %xmm14, 224(%rsp)\n  movaps %xmm15, 240(%rsp)\n"
  "  movq %r14, %rdi\n"
  "  call lj_ltring_slowc\n"
  "  movaps (%rsp), %xmm0\n  movaps 16(%rsp), %xmm1\n"
  "  movaps 32(%rsp), %xmm2\n  movaps 48(%rsp), %xmm3\n"
  "  movaps 64(%rsp), %xmm4\n  movaps 80(%rsp), %xmm5\n"
  "  movaps 96(%rsp), %xmm6\n  movaps 112(%rsp), %xmm7\n"
  "  movaps 128(%rsp), %xmm8\n  movaps 144(%rsp), %xmm9\n"
  "  movaps 160(%rsp), %xmm10\n  movaps 176(%rsp), %xmm11\n"
  "  movaps 192(%rsp), %xmm12\n  movaps 208(%rsp), %xmm13\n"
  "  movaps 224(%rsp), %xmm14\n  movaps 240(%rsp), %xmm15\n"
  "  leaq -72(%rbp), %rsp\n"
  "  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n"
  "  popq %rdi\n  popq %rsi\n  popq %rdx\n  popq %rcx\n"
  "  popq %rax\n  popq %rbp\n"
  "  ret\n"
  ".size lj_ltrace_slow, .-lj_ltrace_slow\n"
);

LJ_FUNCA void lj_ltring_slowc(ASMFunction *dispatch)
{
  GG_State *gg = (GG_State *)((char *)dispatch - GG_OFS(dispatch));
  lj_ltring_full(&gg->lt);
}
#endif

/* Leave the scratch block if there is room again. The caller reports the
** stack. Returns 0 if there is still no room. */
int lj_ltring_room(LTState *lt)
{
  uint64_t lost;
  if (lt->block != lt->scratch) return 1;
  if (!ring_free(lt)) {
    lt->stop &= ~(uint32_t)LTSTOP_RESYNC;
    return 0;
  }
  scratch_count(lt);
  lost = lt->lost;
  lt->lost = 0;
  lt->ring->lost = 0;
  lt->ring->lost_since = 0;
  block_enter(lt);
  if (lost)
    lj_ltring_ext(lt, LTX_LOSS, 0, 2, lost+1, lt->lostsince);
  lt->stop &= ~(uint32_t)LTSTOP_RESYNC;
  return 1;
}

/* Once in a while, from events that are not inlined. */
void lj_ltring_tick(LTState *lt, uint64_t now)
{
  lt->deadline = now + tick_hz(lt)/4;
  check_recorder(lt, now);
  if (lt->block == lt->scratch) {
    if (ring_free(lt)) lt->stop |= LTSTOP_RESYNC;
  } else {
    lj_ltring_ext(lt, LTX_TIME, 0, 1, now, 0);
  }
}

/* -- Records of more than one word ------------------------------------------ */

/* Make room for n words in one block. */
static uint64_t *reserve(LTState *lt, uint32_t n, uint64_t now)
{
  for (;;) {
    size_t left = BLOCKWORDS - (size_t)(lt->wp - lt->block);
    if (left >= n) return lt->wp;
    while (left--)
      *lt->wp++ = lt_word(now, lt_ext(LTX_PAD, 0, 0), LT_EXT);
    lj_ltring_full(lt);
  }
}

/* Have room for a record of n words. Callers that change lt->L use it first:
** a block that begins before the record shall name the old coroutine, one that
** begins behind it the new one. */
void lj_ltring_need(LTState *lt, uint32_t n)
{
  reserve(lt, n, lj_ltring_clock());
}

/* Commit n words at w: words 1.. are there, the first one makes them visible. */
static void commit(LTState *lt, uint64_t *w, uint32_t n, uint64_t head)
{
  st_rel(&w[0], head);
  lt->wp = w+n;
  if (((uintptr_t)lt->wp & (LT_RING_BLOCK_SIZE-1)) == 0)
    lj_ltring_full(lt);
}

/* Store an LT_EXT record with n (0..2) continuation words, none of them 0. */
void lj_ltring_ext(LTState *lt, uint32_t sub, uint32_t arg, uint32_t n,
		   uint64_t a, uint64_t b)
{
  uint64_t *w = reserve(lt, n+1, lj_ltring_clock());
  uint64_t now = lj_ltring_clock();  /* Not before that of a new block. */
  if (n > 0) w[1] = a;
  if (n > 1) w[2] = b;
  commit(lt, w, n+1, lt_word(now, lt_ext(sub, n, arg), LT_EXT));
}

/* Store an event whose payload does not fit into one word. */
void lj_ltring_big(LTState *lt, uint32_t kind, uint32_t payload)
{
  uint64_t *w = reserve(lt, 2, lj_ltring_clock());
  uint64_t now = lj_ltring_clock();
  w[1] = payload;
  commit(lt, w, 2, lt_word(now, LT_PAYLOAD_BIG, kind));
}

/* The state runs on another thread than before. */
void lj_ltring_note(LTState *lt)
{
  lt->thread = lj_ltring_thread();
  lt->tid = (int32_t)syscall(SYS_gettid);
  lj_ltring_ext(lt, LTX_THREAD, 0, 1, (uint64_t)(uint32_t)lt->tid, 0);
}

/* -- Function descriptions --------------------------------------------------- */

static char *meta_at(struct lt_ring *r, uint64_t pos)
{
  return (char *)r + r->meta_ofs + (size_t)(pos & (r->meta_size-1));
}

/* Wait a moment for room in the meta area. */
static int meta_room(struct lt_ring *r, uint32_t need)
{
  int i;
  for (i = 0; i < 200; i++) {
    struct timespec ts = { 0, 100000 };
    if (r->meta_size - (r->meta_head - ld_acq(&r->meta_tail)) >= need) return 1;
    nanosleep(&ts, NULL);
  }
  r->meta_lost++;
  return 0;
}

static size_t cut(const char *s)
{
  size_t n = s ? strlen(s) : 0;
  return n < LT_FUNC_STR_MAX ? n : LT_FUNC_STR_MAX;
}

/* Describe a function to the recorder. Returns 0 if there was no room. */
int lj_ltring_func(LTState *lt, int type, uint32_t flags, uint32_t id,
		   GCproto *pt, uint32_t ffid, void *addr,
		   const char *chunk, const char *name)
{
  struct lt_ring *r = lt->ring;
  struct lt_func f;
  size_t nc = cut(chunk), nn = cut(name);
  uint32_t size = (uint32_t)(sizeof(f) + nc+1 + nn+1 + 7) & ~7u;
  uint64_t pos;
  uint32_t tail;
  char *p;
  if (!r || !meta_room(r, 2*size)) return 0;
  pos = r->meta_head;
  tail = (uint32_t)(r->meta_size - (pos & (r->meta_size-1)));
  if (tail < size) {  /* Does not fit before the end: skip to the start. */
    uint32_t wrap[2];
    wrap[0] = tail; wrap[1] = LT_META_WRAP;
    memcpy(meta_at(r, pos), wrap, 8);
    pos += tail;
  }
  memset(&f, 0, sizeof(f));
  f.size = size;
  f.type = (uint16_t)type;
  f.flags = (uint16_t)flags;
  f.id = id;
  f.ffid = ffid;
  f.addr = (uint64_t)(uintptr_t)addr;
  if (pt) {
    f.firstline = (uint32_t)pt->firstline;
    f.lastline = (uint32_t)(pt->firstline + pt->numline);
  }
  f.chunk_len = (uint16_t)nc;
  f.name_len = (uint16_t)nn;
  p = meta_at(r, pos);
  memset(p, 0, size);
  memcpy(p, &f, sizeof(f));
  if (nc) memcpy(p+sizeof(f), chunk, nc);
  if (nn) memcpy(p+sizeof(f)+nc+1, name, nn);
  st_rel(&r->meta_head, pos+size);
  return 1;
}

/* -- All states of the process with a ring (for fork) ------------------------- */

static LTState *lt_list;
static volatile char lt_lock;

static void list_lock(void)
{
  while (__atomic_test_and_set(&lt_lock, __ATOMIC_ACQUIRE)) usleep(10);
}

static void list_unlock(void)
{
  __atomic_clear(&lt_lock, __ATOMIC_RELEASE);
}

/* The child must not write into the parent's ring. */
static void fork_child(void)
{
  LTState *lt;
  for (lt = lt_list; lt; lt = lt->next) {
    int losing = lt->block == lt->scratch;
    if (!lt->ring) continue;
    munmap(lt->ring, lt->mapsize);
    lt->ring = NULL;
    if (lt->fd >= 0) close(lt->fd);
    lt->fd = -1;
    if (!losing) scratch_enter(lt);
    lt->lost = 0;
    lt->lostsince = lj_ltring_clock();
    lt->forked = 1;
    lt->stop |= LTSTOP_RESYNC;
  }
  list_unlock();
}

static void list_add(LTState *lt)
{
  static int registered;
  if (lt->next || lt->prev || lt_list == lt) return;  /* Already in. */
  list_lock();
  if (!registered) {
    registered = 1;
    pthread_atfork(list_lock, list_unlock, fork_child);
  }
  lt->next = lt_list;
  if (lt_list) lt_list->prev = lt;
  lt_list = lt;
  list_unlock();
}

static void list_remove(LTState *lt)
{
  list_lock();
  if (lt->prev) lt->prev->next = lt->next;
  else if (lt_list == lt) lt_list = lt->next;
  if (lt->next) lt->next->prev = lt->prev;
  lt->next = lt->prev = NULL;
  list_unlock();
}

/* -- Open and close ------------------------------------------------------------ */

/* Reserve size bytes at an address that is a multiple of the block size. */
static char *map_aligned(size_t size)
{
  const size_t a = LT_RING_BLOCK_SIZE;
  char *p = (char *)mmap(NULL, size+a, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS|
			 MAP_NORESERVE, -1, 0), *q;
  if (p == (char *)MAP_FAILED) return NULL;
  q = (char *)(((uintptr_t)p + a-1) & ~(uintptr_t)(a-1));
  if (q > p) munmap(p, (size_t)(q-p));
  if (p+a > q) munmap(q+size, (size_t)(p+a-q));
  return q;
}

/* Send the ring to the recorder and wait for its word. */
static int say_hello(const char *path, int fd)
{
  struct sockaddr_un sa;  /* sun_path is as large as LTControl.socket. */
  struct lt_hello hello = { LT_HELLO_MAGIC, LT_RING_VERSION, 0 };
  union { struct cmsghdr h; char buf[CMSG_SPACE(sizeof(int))]; } ctl;
  struct iovec iov = { &hello, sizeof(hello) };
  struct msghdr msg;
  struct pollfd pfd;
  char answer = 0;
  int s = socket(AF_UNIX, SOCK_SEQPACKET|SOCK_CLOEXEC, 0);
  if (s < 0) return 0;
  hello.pid = (int32_t)getpid();
  memset(&sa, 0, sizeof(sa));
  sa.sun_family = AF_UNIX;
  memcpy(sa.sun_path, path, sizeof(luajit_usdt_control.socket));
  memset(&msg, 0, sizeof(msg));
  memset(&ctl, 0, sizeof(ctl));
  msg.msg_iov = &iov; msg.msg_iovlen = 1;
  msg.msg_control = ctl.buf; msg.msg_controllen = sizeof(ctl.buf);
  ctl.h.cmsg_level = SOL_SOCKET; ctl.h.cmsg_type = SCM_RIGHTS;
  ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
  pfd.fd = s; pfd.events = POLLIN; pfd.revents = 0;
  if (connect(s, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
      sendmsg(s, &msg, MSG_NOSIGNAL) < 0 || poll(&pfd, 1, 2000) != 1 ||
      recv(s, &answer, 1, MSG_DONTWAIT) != 1)
    answer = 0;
  close(s);
  return answer == 1;
}

static void ring_unmap(LTState *lt)
{
  if (lt->ring) munmap(lt->ring, lt->mapsize);
  if (lt->fd >= 0) close(lt->fd);
  lt->ring = NULL;
  lt->fd = -1;
}

/* Make and map the memfd. */
static struct lt_ring *ring_map(LTState *lt, uint32_t nblocks, int *fd)
{
  size_t data = (size_t)nblocks*LT_RING_BLOCK_SIZE;
  size_t size = LT_RING_BLOCK_SIZE + data + METASIZE;
  char *p;
  *fd = (int)syscall(SYS_memfd_create, LT_RING_NAME,
		     MFD_CLOEXEC|MFD_ALLOW_SEALING);
  if (*fd < 0) return NULL;
  if (ftruncate(*fd, (off_t)size) < 0 ||
      fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK|F_SEAL_GROW|F_SEAL_SEAL) < 0 ||
      !(p = map_aligned(size))) {
    close(*fd);
    return NULL;
  }
  if (mmap(p, size, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED|MAP_POPULATE,
	   *fd, 0) == MAP_FAILED) {
    munmap(p, size);
    close(*fd);
    return NULL;
  }
  lt->mapsize = size;
  return (struct lt_ring *)p;
}

/* Mean cost of one event, in picoseconds if the clock rate is known. */
static uint64_t measure(LTState *lt)
{
  uint64_t best = ~(uint64_t)0, hz = tick_hz(lt);
  int i, j;
  for (i = 0; i < 5; i++) {
    uint64_t t0 = lj_ltring_clock(), t1;
    lt->wp = lt->scratch;
    for (j = 0; j < 1000; j++)
      lj_ltring_put(lt, lj_ltring_clock(), 0, LT_ENTRY);
    t1 = lj_ltring_clock() - t0;
    if (t1 < best) best = t1;
  }
  if (LJ_LT_CLOCK == LT_CLOCK_TSC && !lt->ring->tick_khz) return 0;
  return (uint64_t)((double)best*1e9/(double)hz);
}

static uint32_t stream_flags(global_State *g)
{
  uint32_t f = luajit_usdt_control.cfuncs << LTF_CFUNC_SHIFT;
#if LJ_HASJIT
  if (G2J(g)->flags & JIT_F_ON) f |= LTF_JIT;
#if LJ_TARGET_X64 && LJ_GC64
  f |= LTF_INLINE;
#endif
#endif
  if (LJ_GC64) f |= LTF_GC64;
  if (LJ_DUALNUM) f |= LTF_DUALNUM;
  if (LJ_52) f |= LTF_52COMPAT;
  return f;
}

static void ring_init(lua_State *L, struct lt_ring *r, uint32_t nblocks,
		      int parent)
{
  LTState *lt = L2LT(L);
  r->version = LT_RING_VERSION;
  r->flags = luajit_usdt_control.ring_block ? LT_RING_BLOCK : 0;
  r->data_ofs = LT_RING_BLOCK_SIZE;
  r->block_size = LT_RING_BLOCK_SIZE;
  r->nblocks = nblocks;
  r->meta_size = METASIZE;
  r->meta_ofs = LT_RING_BLOCK_SIZE + (uint64_t)nblocks*LT_RING_BLOCK_SIZE;
  r->pid = (int32_t)getpid();
  r->tid = lt->tid = (int32_t)syscall(SYS_gettid);
  r->parent_pid = parent;
  r->stream_flags = stream_flags(G(L));
  r->state_addr = (uint64_t)(uintptr_t)G(L);
  r->recording = lt->rec;
  r->clock = LJ_LT_CLOCK;
  r->start_tick = r->alive = lj_ltring_clock();
  strncpy(r->luajit, LUAJIT_VERSION, sizeof(r->luajit)-1);
  r->state = LT_RING_OPEN;
  st_rel(&r->magic, LT_RING_MAGIC);
}

/* Open a ring for the state of L. Returns 0 if there is no recording. */
int lj_ltring_open(lua_State *L)
{
  LTState *lt = L2LT(L);
  const LTControl *c = &luajit_usdt_control;
  uint64_t n = c->ring_size/LT_RING_BLOCK_SIZE;
  uint32_t nblocks = n < MINBLOCKS ? MINBLOCKS : n > MAXBLOCKS ? MAXBLOCKS :
		     (uint32_t)n;
  uint64_t lost = 0;
  struct lt_ring *r;
  int fd;
  if (!lt->scratch) {
    char *p = map_aligned(LT_RING_BLOCK_SIZE);
    if (!p) return 0;
    if (mprotect(p, LT_RING_BLOCK_SIZE, PROT_READ|PROT_WRITE) < 0) return 0;
    lt->scratch = (uint64_t *)p;
  }
  if (lt->forked && lt->wp) {  /* What the child did before it got here. */
    scratch_count(lt);
    lost = lt->lost;
  }
  scratch_enter(lt);
  r = ring_map(lt, nblocks, &fd);
  if (!r) return 0;
  ring_init(L, r, nblocks, lt->forked ? (int)getppid() : 0);
  lt->forked = 0;
  lt->ring = r;
  lt->fd = fd;
  lt->thread = lj_ltring_thread();
  if (c->socket[0]) {
    if (!say_hello(c->socket, fd)) {
      ring_unmap(lt);
      return 0;
    }
    close(fd);
    lt->fd = -1;
  }
  r->event_cost_ps = measure(lt);
  lt->lost = 0;
  block_enter(lt);
  lt->deadline = lj_ltring_clock() + tick_hz(lt)/4;
  lj_ltring_ext(lt, LTX_START, 0, 2, r->start_tick,
		lt_pack(lt->rec, r->stream_flags));
  if (lost)
    lj_ltring_ext(lt, LTX_LOSS, 1, 2, lost+1, lt->lostsince);
  list_add(lt);
  return 1;
}

/* End the recording: say why, leave the ring to the recorder. */
void lj_ltring_close(global_State *g, int reason)
{
  LTState *lt = G2LT(g);
  struct lt_ring *r = lt->ring;
  if (r) {
    if (r->stop_reason) reason = (int)r->stop_reason;
    if (lt->block == lt->scratch) {
      scratch_count(lt);
      lj_ltring_room(lt);
    }
    if (lt->block != lt->scratch)
      lj_ltring_ext(lt, LTX_STOP, (uint32_t)reason, 0, 0, 0);
    r->stop_reason = (uint32_t)reason;
    st_rel(&r->state, LT_RING_CLOSED);
  }
  list_remove(lt);
  ring_unmap(lt);
  if (lt->scratch) munmap(lt->scratch, LT_RING_BLOCK_SIZE);
  lt->scratch = lt->block = lt->wp = NULL;
}

#endif
