/*
** Tracing of calls: all VMs of the process, and forks.
** SPDX-License-Identifier: MIT
**
** An attached recorder finds the VMs here; so does the child of a fork(), whose VMs do
** not have memory yet that its recorder can read.
**
** Invariant: a child never writes into its parent's ring: it counts what it loses until
** it has its own. The holder of the list's lock makes no call into Lua. */

#define lj_ltstate_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_trace.h"
#include "lj_dispatch.h"
#include "lj_vm.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- All VMs of the process (for fork, and for recorders that attach) --- */

static volatile char lt_lock;

void lj_ltstate_lock(void)
{
  while (__atomic_test_and_set(&lt_lock, __ATOMIC_ACQUIRE)) usleep(10);
}

/* For signal handlers. Returns 0 if somebody has it. */
int lj_ltstate_trylock(void)
{
  return !__atomic_test_and_set(&lt_lock, __ATOMIC_ACQUIRE);
}

void lj_ltstate_unlock(void)
{
  __atomic_clear(&lt_lock, __ATOMIC_RELEASE);
}

/* The probes of a child: a tracer that is attached to the file sees the child, too, and
** knows nothing of its stack. A recorder that answered LT_HELLO_PROBES attaches to each
** process: it is asked again. */
static void fork_probes(LTState *lt)
{
  if (lt->byprobe) {
    lt->refused = lt->byprobe = 0;
    lt->stop |= LTSTOP_LOOK;
  }
  if ((lt->on & LTON_PROBE)) {
    lt->epoch++;
    lt->L = NULL;
    lt->stop |= LTSTOP_RESYNC;
    lj_trace_abort(LT2G(lt));
  }
}

/* The child must not write into the parent's ring. It has no process context of its own yet. */
static void fork_child(void)
{
  LTControl *c = &luajit_usdt_control;
  LTState *lt;
  if (!c->socket[0] && !c->children) c->ring = 0;
  c->untaken = 0;  /* The parent's. */
  for (lt = lt_first(); lt; lt = lt->next) {
    int losing = lt->block == lt->scratch;
    if ((lt->on & LTON_CONTEXT)) lt->stop |= LTSTOP_LOOK;
    if (!lt->ring || lt_private(lt)) fork_probes(lt);
    if (!lt->ring) continue;
    lt->stop |= LTSTOP_RESYNC;  /* First: without it, a recorder would take the VM
				** for one that cannot make a ring. */
    munmap(lt->ring, lt->mapsize);
    lt->ring = NULL;
    lj_ltctl_closefd(lt);
    if (!losing) lj_ltring_scratch(lt);
    lt->lost = 0;
    lt->lostsince = lj_ltctl_clock(lt);
    lt->forked = 1;
    lj_trace_abort(LT2G(lt));  /* A ring would otherwise wait until the trace is complete. */
  }
  lj_ltstate_unlock();
}

static uint32_t lt_lastco;  /* The largest LTState.lastco of the VMs that are gone. */

void lj_ltstate_add(LTState *lt)
{
  static int registered;
  lj_ltstate_lock();
  if (!registered) {
    registered = 1;
    pthread_atfork(lj_ltstate_lock, lj_ltstate_unlock, fork_child);
  }
  lt->created = luajit_usdt_control.ring;
  lt->lastco += lt_lastco;
  lt->serial = (uint32_t)++luajit_usdt_control.opened;
  lt->next = lt_first();
  if (lt->next) lt->next->prev = lt;
  st_rel(&luajit_usdt_control.states, (uint64_t)(uintptr_t)lt);
  lj_ltstate_unlock();
}

void lj_ltstate_remove(LTState *lt)
{
  lj_ltstate_lock();
  if (lt->prev) lt->prev->next = lt->next;
  else if (lt_first() == lt)
    luajit_usdt_control.states = (uint64_t)(uintptr_t)lt->next;
  if (lt->next) lt->next->prev = lt->prev;
  lt->next = lt->prev = NULL;
  lj_ltstate_unlock();
}

/* Have the VM stop before its next instruction: interpreted code polls nowhere else. Any thread may
** call it; a VM that changes its table at the same moment may undo it, and polls later. */
void lj_ltstate_poll(LTState *lt)
{
  ASMFunction *disp = LT2GG(lt)->dispatch;
  uint32_t i;
  for (i = 0; i < GG_LEN_SDISP; i++) disp[i] = lj_vm_record;
  __atomic_or_fetch(&lt->stop, LTSTOP_POLL, __ATOMIC_SEQ_CST);
}

/* All of them. The holder of the lock calls it. */
void lj_ltstate_pollall(void)
{
  LTState *lt;
  for (lt = lt_first(); lt; lt = lt->next) lj_ltstate_poll(lt);
}

/* The VM is gone, and another one may get its memory. */
void lj_ltstate_free(LTState *lt)
{
  lj_ltstate_lock();
  if (lt->lastco > lt_lastco) lt_lastco = lt->lastco;
  lj_ltstate_unlock();
}

#endif
