/*
** Tracing of calls: creating, publishing and closing rings.
** SPDX-License-Identifier: MIT
**
** Invariants: a ring belongs to one Lua VM of one process. Our descriptors leave the
** program its low numbers and a reserve, are open only until the recorder has the ring,
** and are closed only if they are still ours. A ring is sent only to root or to our own
** user, and to nobody after a refusal. */

#define lj_ltopen_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
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

#define RINGMETA	(1u<<20)  /* Bytes for a ring's descriptions. */
#define MINBLOCKS	LT_RING_MIN_BLOCKS
#define MAXBLOCKS	LT_RING_MAX_BLOCKS
#define HELLO_MS	5000	/* How long to wait for the recorder's answer. */
#define TAKE_TRIES	400	/* Of 0.5 ms each: how long a ring waits to be mapped. */
#define NEW_TRIES	2000	/* The same for a new VM, or a forked child. */

/* -- Time ----------------------------------------------------------------- */

static int64_t now_ms(void)
{
  return (int64_t)(lj_ltctl_monotonic()/1000000);
}

/* -- Descriptors ---------------------------------------------------------- */

/* Close the descriptors that an attached recorder has taken, of all VMs: some may not
** run for long. Returns whether there are others that it may still take. */
static int close_taken(void)
{
  LTState *lt;
  int open = 0;
  lj_ltstate_lock();
  for (lt = lt_first(); lt; lt = lt->next) {
    if (lt->fd < 0 || !lt->ring) continue;
    if (ld_acq(&lt->ring->taken)) lj_ltctl_closefd(lt);
    else open = 1;
  }
  lj_ltstate_unlock();
  return open;
}

/* May another descriptor be opened? If few are left, wait (once in a recording) for the
** recorder to take rings of other VMs. */
static int fd_spare(uint32_t token)
{
  static uint32_t gave_up;  /* Token of the recording that let us wait in vain. */
  struct timespec ts = { 0, 500000 };
  int64_t end = now_ms() + TAKE_TRIES/2;
  while (!lj_ltctl_fdsleft()) {
    int open = close_taken();
    if (lj_ltctl_fdsleft()) return 1;
    if (!open || ld_acq(&gave_up) == token || now_ms() > end) {
      if (open) st_rel(&gave_up, token);
      return 0;
    }
    nanosleep(&ts, NULL);
  }
  return 1;
}

/* -- Open and close ------------------------------------------------------- */

/* Reserve size bytes at an address that is a multiple of the block size. */
char *lj_ltopen_aligned(size_t size, int prot)
{
  const size_t a = LT_RING_BLOCK_SIZE;
  char *p = (char *)mmap(NULL, size+a, prot, MAP_PRIVATE|MAP_ANONYMOUS|
			 MAP_NORESERVE, -1, 0), *q;
  if (p == (char *)MAP_FAILED) return NULL;
  q = (char *)(((uintptr_t)p + a-1) & ~(uintptr_t)(a-1));
  if (q > p) munmap(p, (size_t)(q-p));
  if (p+a > q) munmap(q+size, (size_t)(p+a-q));
  return q;
}

/* Retry if interrupted by a signal: else a program with a timer would not be recorded. */
#define uninterrupted(n, call) \
  do (n) = (call); while ((n) < 0 && errno == EINTR)

/* Wait for the recorder's byte, up to HELLO_MS. Returns it, or 0. */
static char receive_answer(int s)
{
  struct pollfd pfd = { s, POLLIN, 0 };
  int64_t end = now_ms() + HELLO_MS, left = HELLO_MS;
  char answer = 0;
  int n;
  do {
    n = poll(&pfd, 1, (int)left);
    left = end - now_ms();
  } while (n < 0 && errno == EINTR && left > 0);
  if (n != 1 || recv(s, &answer, 1, MSG_DONTWAIT) != 1) return 0;
  return answer;
}

/* May that peer see what we do? Root may anyway, and so may our own user. The
** credentials are those of the listening process. */
static int trusted(int s)
{
  struct { int32_t pid; uint32_t uid, gid; } peer;  /* struct ucred */
  socklen_t n = sizeof(peer);
  return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	 (peer.uid == 0 || peer.uid == (uint32_t)geteuid());
}

/* A socket connected to the recorder; -1: nobody listens, or the listener is not trusted.
** Waits up to HELLO_MS. */
static int connect_recorder(void)
{
  struct timeval timeout = { HELLO_MS/1000, 0 };
  struct sockaddr_un sa;  /* sun_path is as large as LTControl.socket. */
  int n, s;
  memset(&sa, 0, sizeof(sa));
  sa.sun_family = AF_UNIX;
  memcpy(sa.sun_path, luajit_usdt_control.socket, sizeof(sa.sun_path));
  if (sa.sun_path[0] != '/') return -1;  /* Just cleared by another thread. */
  s = lj_ltctl_fdup(socket(AF_UNIX, SOCK_SEQPACKET|SOCK_CLOEXEC, 0));
  if (s < 0) return -1;
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  uninterrupted(n, connect(s, (struct sockaddr *)&sa, sizeof(sa)));
  if (n == 0 && trusted(s)) return s;
  close(s);
  return -1;
}

/* Send the ring to the recorder; fd < 0: a hello without one. Returns 0 on failure. */
static int send_hello(int s, int fd)
{
  struct lt_hello hello = { LT_HELLO_MAGIC, LT_RING_VERSION, 0 };
  union { struct cmsghdr h; char buf[CMSG_SPACE(sizeof(int))]; } ctl;
  struct iovec iov = { &hello, sizeof(hello) };
  struct msghdr msg;
  int n;
  hello.pid = (int32_t)getpid();
  memset(&msg, 0, sizeof(msg));
  msg.msg_iov = &iov; msg.msg_iovlen = 1;
  if (fd >= 0) {
    memset(&ctl, 0, sizeof(ctl));
    msg.msg_control = ctl.buf; msg.msg_controllen = sizeof(ctl.buf);
    ctl.h.cmsg_level = SOL_SOCKET; ctl.h.cmsg_type = SCM_RIGHTS;
    ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
  }
  uninterrupted(n, (int)sendmsg(s, &msg, MSG_NOSIGNAL));
  return n > 0;
}

/* Send the ring, or a hello without one (fd < 0), and wait for the recorder's answer:
** LT_HELLO_*. */
static char say_hello(int fd)
{
  char answer = LT_HELLO_REFUSED;
  int s = connect_recorder();
  if (s < 0) return answer;
  if (send_hello(s, fd)) answer = receive_answer(s);
  close(s);
  return answer;
}

static uint32_t was_refused;  /* By the recorder that started this process. */

/* The same for a ring. After a refusal the recorder's socket is cleared: no later VM and no
** child asks again. */
static char exchange_hello(int fd)
{
  char answer = say_hello(fd);
  if (answer != LT_HELLO_RECORD && answer != LT_HELLO_PROBES) {
    was_refused = 1;
    memset(luajit_usdt_control.socket, 0, sizeof(luajit_usdt_control.socket));
  }
  return answer;
}

/* There is no ring: send a hello without one to a recorder that runs the command, which
** could not know otherwise. Once in a process, which must stay alive until the message
** has been read. */
static void report_ringless(void)
{
  static int32_t reported;
  int32_t pid = (int32_t)getpid();
  if (luajit_usdt_control.socket[0] &&
      __atomic_exchange_n(&reported, pid, __ATOMIC_ACQ_REL) != pid)
    say_hello(-1);
}

/* Unmap the ring. Another thread that walks the list of VMs (a fork, exit()) must not read
** freed memory. */
void lj_ltopen_drop(LTState *lt)
{
  struct lt_ring *r = lt->ring;
  lj_ltstate_lock();
  lt->ring = NULL;
  lj_ltstate_unlock();
  if (r) munmap(r, lt->mapsize);
}

static void ring_unmap(LTState *lt)
{
  lj_ltopen_drop(lt);
  lj_ltctl_closefd(lt);
}

/* Writing beyond RLIMIT_FSIZE would end the program by SIGXFSZ. */
static int over_limit(size_t size)
{
  struct rlimit r;
  return !getrlimit(RLIMIT_FSIZE, &r) && r.rlim_cur != RLIM_INFINITY &&
	 r.rlim_cur < size;
}

/* Create a memfd of that size and seal it. It is emptied first: while it had the number
** of a closed standard stream, another thread may have written to it. */
static int ring_file(LTState *lt, size_t size)
{
  struct stat st;
  int fd = lj_ltctl_fdup((int)syscall(SYS_memfd_create, LT_RING_NAME,
				  MFD_CLOEXEC|MFD_ALLOW_SEALING));
  if (fd < 0) return -1;
  if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)size) < 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK|F_SEAL_GROW|F_SEAL_SEAL) < 0 ||
      fstat(fd, &st) < 0) {
    close(fd);
    return -1;
  }
  lt->dev = (uint64_t)st.st_dev;
  lt->ino = (uint64_t)st.st_ino;
  return fd;
}

/* Create and map the memfd. */
static struct lt_ring *ring_map(LTState *lt, uint32_t nblocks, int *fd)
{
  size_t data = (size_t)nblocks*LT_RING_BLOCK_SIZE;
  size_t size = LT_RING_BLOCK_SIZE + data + RINGMETA;
  char *p;
  if (over_limit(size) || !fd_spare(lt->token)) return NULL;
  *fd = ring_file(lt, size);
  if (*fd < 0) return NULL;
  p = lj_ltopen_aligned(size, PROT_NONE);
  if (p && mmap(p, size, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED,
		*fd, 0) == MAP_FAILED) {
    munmap(p, size);
    p = NULL;
  }
  if (!p) {
    close(*fd);
    return NULL;
  }
  lt->mapsize = size;
  lt->warm = nblocks < WARMBLOCKS ? nblocks : WARMBLOCKS;
  lj_ltring_warm(p, (1+lt->warm)*LT_RING_BLOCK_SIZE);
  lj_ltring_warm(p+LT_RING_BLOCK_SIZE+data, LT_RING_BLOCK_SIZE);
  return (struct lt_ring *)p;
}

/* Cost of one event in picoseconds, the best of five runs. Measured with the system's
** clock: the recorder needs the cost before it reports the rate of ours. */
static uint64_t measure(LTState *lt)
{
  uint64_t best = UINT64_MAX;
  int i, j;
  for (i = 0; i < 5; i++) {
    uint64_t t0 = lj_ltctl_monotonic(), t1;
    lt->wp = lt->scratch;
    for (j = 0; j < 1000; j++)
      lj_ltring_put(lt, lj_ltctl_clock(lt), 0, LT_ENTRY);
    t1 = lj_ltctl_monotonic() - t0;
    if (t1 < best) best = t1;
  }
  lj_ltring_scratch(lt);
  return best;  /* Nanoseconds per thousand events are picoseconds per event. */
}

static uint32_t stream_flags(global_State *g)
{
  uint32_t cfuncs = luajit_usdt_control.cfuncs;
  uint32_t f = (cfuncs & LTC_CLASS) << LTF_CFUNC_SHIFT;
#if LJ_HASJIT
  if (G2J(g)->flags & JIT_F_ON) f |= LTF_JIT;
#if LJ_LTINLINE
  if (lt_owncounter(G2LT(g))) f |= LTF_INLINE;
#endif
#endif
  if (LJ_GC64) f |= LTF_GC64;
  if (LJ_DUALNUM) f |= LTF_DUALNUM;
  if (LJ_52) f |= LTF_52COMPAT;
  if ((cfuncs & LTC_FFI)) f |= LTF_FFI;
  if (G2LT(g)->segments) f |= LTF_SEGMENTS;
  return f;
}

/* The VM's own copy of what it depends on. */
static void init_own(lua_State *L, char *p, uint32_t flags, uint32_t nblocks,
		     uint32_t metasize)
{
  LTState *lt = L2LT(L);
  lt->data = (uint64_t *)(p + LT_RING_BLOCK_SIZE);
  lt->meta = p + LT_RING_BLOCK_SIZE + (size_t)nblocks*LT_RING_BLOCK_SIZE;
  lt->nblocks = nblocks;
  lt->metasize = metasize;
  lt->head = lt->metahead = lt->metacount = lt->metalost = 0;
  lt->metafull = LT_NOTAIL;
  lt->ringflags = flags;
  lt->endreason = LTE_DETACH;
  lt->startflags = stream_flags(G(L));
  lt->tid = (int32_t)syscall(SYS_gettid);
  lt->startns = lj_ltctl_monotonic();
  lt->start = lj_ltctl_clock(lt);
}

/* Describe a ring, or private memory, that is all zeros, for its reader. A recorder that does not know
** LT_RING_SEGMENTS must not read what it cannot understand. */
void lj_ltopen_init(lua_State *L, struct lt_ring *r, uint32_t flags,
		    uint32_t nblocks, uint32_t metasize)
{
  LTState *lt = L2LT(L);
  init_own(L, (char *)r, flags, nblocks, metasize);
  r->version = LT_RING_VERSION;
  r->flags = (flags & LT_RING_SEGMENTS) ? LT_RING_SEGMENTS : flags;
  r->data_ofs = LT_RING_BLOCK_SIZE;
  r->block_size = LT_RING_BLOCK_SIZE;
  r->nblocks = nblocks;
  r->meta_size = metasize;
  r->meta_ofs = (uint64_t)(lt->meta - (char *)r);
  r->pid = (int32_t)getpid();
  r->tid = lt->tid;
  r->parent_pid = lt->forked ? (int32_t)getppid() : 0;
  r->stream_flags = lt->startflags;
  r->state_addr = (uint64_t)(uintptr_t)G(L);
  r->recording = lt->rec;
  r->clock = lt->clock;
  r->start_tick = r->alive = lt->start;
  if (lt->clock == LT_CLOCK_CNTVCT) {
    r->clock_hz = lj_ltctl_hz();
    r->start_ns = lt->startns;
  }
  r->tick_khz = luajit_usdt_control.tick_khz;
  strncpy(r->luajit, LUAJIT_VERSION, sizeof(r->luajit)-1);
  r->state = LT_RING_OPEN;
  st_rel(&r->magic, LT_RING_MAGIC);
}

/* Wait until an attached recorder has opened the memfd, up to *left times 0.5 ms: the
** events of a VM or a child that ends at once would otherwise be lost. */
static void wait_taken(LTState *lt, int *left)
{
  struct timespec ts = { 0, 500000 };
  for (; *left > 0 && lt->fd >= 0; --*left) {
    if (ld_acq(&lt->ring->taken)) {
      lj_ltctl_closefd(lt);
      break;
    }
    if (lj_ltring_orphaned(lt, luajit_usdt_control.alive)) break;
    if (ld_acq(&luajit_usdt_control.ring) != lt->token) break;
    nanosleep(&ts, NULL);
  }
}

/* Allocate a scratch block. Returns 0 without memory. */
int lj_ltopen_spare(LTState *lt)
{
  if (!lt->scratch)
    lt->scratch = (uint64_t *)lj_ltopen_aligned(LT_RING_BLOCK_SIZE,
						PROT_READ|PROT_WRITE);
  return lt->scratch != NULL;
}

/* Number of events of a forked child before it has memory of its own. */
uint64_t lj_ltopen_forked(LTState *lt)
{
  if (!lt->forked || !lt->wp) return 0;
  lj_ltring_count(lt);
  return lt->lost;
}

/* Open a ring for the VM of L. Returns 0 if there is no recording. */
int lj_ltopen_ring(lua_State *L)
{
  LTState *lt = L2LT(L);
  LTControl *c = &luajit_usdt_control;
  uint64_t n = c->ring_size/LT_RING_BLOCK_SIZE;
  uint32_t nblocks = n < MINBLOCKS ? MINBLOCKS : n > MAXBLOCKS ? MAXBLOCKS :
		     (uint32_t)n;
  uint64_t lost, cost;
  struct lt_ring *r;
  int fd, young;
  lt->token = ld_acq(&c->ring);
  if (was_refused && !c->socket[0] && !c->owner) return 0;
  if (!c->socket[0] && lj_ltring_orphaned(lt, c->alive)) {
    lj_ltring_abandon(lt);
    return 0;
  }
  if (!lj_ltopen_spare(lt)) return 0;
  lost = lj_ltopen_forked(lt);
  lj_ltring_scratch(lt);
  lt->segments = lt_segtimes(lt, c->cfuncs);
  cost = measure(lt);
  r = ring_map(lt, nblocks, &fd);
  if (!r) {
    report_ringless();
    return 0;
  }
  /* The recorder reads it as soon as it maps the ring. Of a segment it says nothing. */
  r->event_cost_ps = lt->segments ? 0 : cost;
  lj_ltopen_init(L, r, c->ring_block ? LT_RING_BLOCK : 0, nblocks, RINGMETA);
  young = lt->forked || lt->created == lt->token;  /* Created during this recording. */
  lt->forked = 0;
  lt->ring = r;
  lt->fd = fd;
  lt->thread = lj_ltring_thread();
  if (c->socket[0]) {
    char answer = exchange_hello(fd);
    if (answer != LT_HELLO_RECORD) {
      lt->byprobe = answer == LT_HELLO_PROBES;
      ring_unmap(lt);
      return 0;
    }
    lj_ltctl_closefd(lt);
  } else if (young) {
    int left = NEW_TRIES;
    wait_taken(lt, &left);
  }
  lj_ltseg_begin(lt);
  lj_ltring_begin(lt, lost);
  return 1;
}

/* exit() without lua_close(): a recorder that has just attached may need a moment to
** map the rings. Another thread may still run Lua. */
static __attribute__((destructor)) void wait_all_taken(void)
{
  uintptr_t self = lj_ltring_thread();
  int left = TAKE_TRIES;  /* For all rings together. */
  LTState *lt;
  if (!luajit_usdt_control.ring) return;
  lj_ltstate_lock();
  for (lt = lt_first(); lt; lt = lt->next)
    if (lt->thread == self && lt->ring && !lt_private(lt)) wait_taken(lt, &left);
  lj_ltstate_unlock();
}

/* End the recording: store the reason, leave the ring to the recorder. */
void lj_ltopen_close(global_State *g, int reason)
{
  LTState *lt = G2LT(g);
  struct lt_ring *r = lt->ring;
  int left = TAKE_TRIES;
  if (r) {
    if (lt->endreason) reason = (int)lt->endreason;
    if (lt->block == lt->scratch) {
      lj_ltring_count(lt);
      lj_ltring_space(lt);
    }
    if (lt->block != lt->scratch)
      lj_ltring_ext(lt, LTX_STOP, (uint32_t)reason, 0, 0, 0);
    r->stop_reason = (uint32_t)reason;
    st_rel(&r->state, LT_RING_CLOSED);
    if (reason == LTE_ORPHAN) lj_ltring_abandon(lt);
    wait_taken(lt, &left);
    if (lt->fd >= 0 && reason != LTE_ORPHAN &&
	ld_acq(&luajit_usdt_control.ring) == lt->token)
      __atomic_fetch_add(&luajit_usdt_control.untaken, 1, __ATOMIC_RELAXED);
  }
  ring_unmap(lt);
  if (lt->scratch) munmap(lt->scratch, LT_RING_BLOCK_SIZE);
  lt->scratch = lt->block = lt->wp = NULL;
}

#endif
