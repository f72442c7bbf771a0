// SPDX-License-Identifier: MIT
// A program to which a tracer attaches at the worst moments, and which checks its own reports.
//
//   polls_host attach FIRST STEP FILE   runs FILE again and again; in the n-th run a tracer comes at
//                                       the n-th allocation, n = FIRST, FIRST + STEP, ...
//   polls_host report EVERY FILE        traced from the start; at every EVERY-th allocation or event
//                                       the stack is requested, as after a loss
//
// LuaJIT is linked in except for lj_ltprobe.o: its probes end here, so neither the kernel nor
// another process is involved, and each run is the same. The collector does a step at each of its
// checks, so there is a poll at each, too.
//
// All reports must be consistent: a call that ends is the innermost one, a stack report matches the
// events, and when the program has ended no call is left.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lj_obj.h"
#include "lauxlib.h"
#include "lj_dispatch.h"
#include "lualib.h"

enum { kMaxCalls = 1 << 15, kMaxStacks = 4096 };

struct stack {
  void *L;
  uint32_t n, id[kMaxCalls], ofs[kMaxCalls];
};
static struct stack *stacks[kMaxStacks];
static uint32_t nstacks;

static struct { struct stack *of; uint32_t left, n, id[kMaxCalls]; int compare; } report;
static uint64_t allocations, attach_at, occasions, report_every, events, reports, faults;
static global_State *state;

static void fault(const char *what, const char *name) {
  if (faults++ < 10)
    fprintf(stderr, "at allocation %llu, event %llu: %s (%s)\n", (unsigned long long)allocations,
            (unsigned long long)events, what, name);
}

static struct stack *find(void *L) {
  for (uint32_t i = 0; i < nstacks; i++)
    if (stacks[i]->L == L) return stacks[i];
  return NULL;
}

static struct stack *find_or_make(void *L) {
  struct stack *s = find(L);
  if (s) return s;
  if (nstacks == kMaxStacks) fprintf(stderr, "too many coroutines\n"), exit(2);
  s = malloc(sizeof *s);
  s->L = L;
  s->n = 0;
  return stacks[nstacks++] = s;
}

static void forget(void *L) {
  for (uint32_t i = 0; i < nstacks; i++)
    if (stacks[i]->L == L) {
      free(stacks[i]);
      stacks[i] = stacks[--nstacks];
      return;
    }
}

// Another moment at which the stack may be requested.
static void occasion(void) {
  if (report_every && state && ++occasions % report_every == 0)
    G2LT(state)->stop |= LTSTOP_REPORT;
}

static void entry(void *L, uint32_t id, uint32_t ofs, const char *name) {
  struct stack *s = find(L);
  events++;
  if (!s) return fault("a call on a stack that was not reported", name);
  if (s->n >= kMaxCalls) return fault("too many calls are open", name);
  if (report.left) {
    if (report.of != s) fault("the report of a stack is interrupted", name);
    if (report.compare && (report.n >= s->n || s->id[report.n] != id))
      fault("the report of the stack does not match the events", name);
    report.id[report.n] = id;
    if (!report.compare) s->id[s->n] = id, s->ofs[s->n++] = ofs;
    report.n++, report.left--;
    return;
  }
  if (s->n && s->ofs[s->n - 1] >= ofs) fault("a call begins in the place of one that runs", name);
  s->id[s->n] = id;
  s->ofs[s->n++] = ofs;
  occasion();
}

static void leave(void *L, uint32_t id, const char *name) {
  struct stack *s = find(L);
  events++;
  if (report.left) fault("a call ends in a report", name);
  if (!s || !s->n || s->id[s->n - 1] != id) return fault("a call ends that is not the innermost", name);
  s->n--;
  occasion();
}

void lj_ltprobe_entry(const char *chunk, const char *name, int line, void *L, uint32_t id,
                      uint32_t frame, int callline) {
  UNUSED(chunk), UNUSED(line), UNUSED(callline);
  entry(L, id, frame, name);
}
void lj_ltprobe_return(const char *chunk, const char *name, int line, void *L, uint32_t id,
                       uint32_t frame, int callline) {
  UNUSED(chunk), UNUSED(line), UNUSED(callline), UNUSED(frame);
  leave(L, id, name);
}
void lj_ltprobe_tailcall(const char *chunk, const char *name, int line, void *L, uint32_t id,
                         uint32_t frame, int callline) {
  UNUSED(chunk), UNUSED(line), UNUSED(callline), UNUSED(frame);
  leave(L, id, name);
}
void lj_ltprobe_centry(const char *name, void *addr, int ffid, void *L, uint32_t id, uint32_t frame,
                       int callline) {
  UNUSED(addr), UNUSED(ffid), UNUSED(callline);
  entry(L, id, frame, name);
}
void lj_ltprobe_creturn(const char *name, void *addr, int ffid, void *L, uint32_t id, uint32_t frame,
                        int callline) {
  UNUSED(addr), UNUSED(ffid), UNUSED(callline), UNUSED(frame);
  leave(L, id, name);
}
// The calls above frame have ended.
void lj_ltprobe_unwind(void *L, uint32_t frame) {
  struct stack *s = find(L);
  events++;
  if (!s) return fault("an error on a stack that was not reported", "");
  if (!s->n || s->ofs[s->n - 1] <= frame) fault("an error that ends no call", "");
  while (s->n && s->ofs[s->n - 1] > frame) s->n--;
}
void lj_ltprobe_create(void *L, void *co, uint32_t id) {
  UNUSED(L), UNUSED(id);
  forget(co);
}
void lj_ltprobe_resume(void *L, void *co, uint32_t id) {
  UNUSED(L), UNUSED(id);
  find_or_make(co);
}
void lj_ltprobe_yield(void *L, void *co, uint32_t id) { UNUSED(L), UNUSED(co), UNUSED(id); }
void lj_ltprobe_end(void *L, void *co, uint32_t id, int status) {
  struct stack *s = find(co);
  UNUSED(L), UNUSED(id);
  if (status == 0 && s && s->n) fault("a coroutine has ended with open calls", "");
  forget(co);
}
void lj_ltprobe_stack(void *L, uint32_t id, uint32_t n, int reason, void *g) {
  struct stack *s = find(L);
  UNUSED(id), UNUSED(reason), UNUSED(g);
  reports++;
  if (report.left) fault("a report in a report", "");
  report.compare = s && (report_every || s->n);
  report.of = s = find_or_make(L);
  report.left = n;
  report.n = 0;
  if (report.compare && n != s->n) fault("the depth of the stack does not match the events", "");
}
void lj_ltprobe_markbegin(const char *name, void *L, uint32_t id) { UNUSED(name), UNUSED(L), UNUSED(id); }
void lj_ltprobe_markend(const char *name, void *L, uint32_t id) { UNUSED(name), UNUSED(L), UNUSED(id); }
void lj_ltprobe_label(const char *key, const char *value, void *L, uint32_t id) {
  UNUSED(key), UNUSED(value), UNUSED(L), UNUSED(id);
}
void lj_ltprobe_gcstart(void *L, void *g, int state, uint64_t bytes, int full) {
  UNUSED(L), UNUSED(g), UNUSED(state), UNUSED(bytes), UNUSED(full);
}
void lj_ltprobe_gcdone(void *L, void *g, int state, uint64_t bytes, int full) {
  UNUSED(L), UNUSED(g), UNUSED(state), UNUSED(bytes), UNUSED(full);
}
void lj_ltprobe_tracestart(const char *chunk, int line, void *L, uint32_t number, uint32_t parent,
                           uint32_t exitno) {
  UNUSED(chunk), UNUSED(line), UNUSED(L), UNUSED(number), UNUSED(parent), UNUSED(exitno);
}
void lj_ltprobe_tracestop(void *L, uint32_t number, int linktype, uint32_t link, uint32_t bytes) {
  UNUSED(L), UNUSED(number), UNUSED(linktype), UNUSED(link), UNUSED(bytes);
}
void lj_ltprobe_traceabort(const char *chunk, int line, void *L, uint32_t number,
                           const char *reason, int blacklisted) {
  UNUSED(chunk), UNUSED(line), UNUSED(L), UNUSED(number), UNUSED(reason), UNUSED(blacklisted);
}
void lj_ltprobe_traceflush(void *L, uint32_t traces, int own) {
  UNUSED(L), UNUSED(traces), UNUSED(own);
}
void lj_ltprobe_traceexit(void *L, uint32_t number, uint32_t exitno) {
  UNUSED(L), UNUSED(number), UNUSED(exitno);
}
void lj_ltprobe_open(void *g, void *L) { UNUSED(g), UNUSED(L); }
void lj_ltprobe_close(void *g, void *L) { UNUSED(g), UNUSED(L); }
void lj_ltprobe_block(const void *p, uint32_t size, void *g, int kind, uint64_t number,
                      uint32_t count, uint32_t rec) {
  UNUSED(p), UNUSED(size), UNUSED(g), UNUSED(kind), UNUSED(number), UNUSED(count), UNUSED(rec);
}
void lj_ltprobe_segments(const void *p, uint32_t size, void *g, int kind, uint64_t number,
                         uint32_t count, uint32_t rec) {
  lj_ltprobe_block(p, size, g, kind, number, count, rec);
}
void lj_ltprobe_blockswitch(void) {}
void lj_ltprobe_segmentsswitch(void) {}
void lj_ltprobe_segmentsauto(void) {}

static void *allocate(void *ud, void *p, size_t old, size_t size) {
  UNUSED(ud), UNUSED(old);
  if (!size) return free(p), NULL;
  allocations++;
  if (state) {
    state->gc.threshold = 0;  // the next check does a step
    if (attach_at && allocations == attach_at) luajit_usdt_control.semaphore = 1;
    occasion();
  }
  return realloc(p, size);
}

// Runs FILE once in a new VM. Returns the number of allocations.
static uint64_t run(const char *file) {
  lua_State *L = lua_newstate(allocate, NULL);
  uint64_t made;
  luaL_openlibs(L);
  luajit_usdt_control.cfuncs = LTC_ALL;
  if (luaL_loadfile(L, file)) fprintf(stderr, "%s\n", lua_tostring(L, -1)), exit(2);
  allocations = occasions = events = 0;
  luajit_usdt_control.semaphore = report_every != 0;
  state = G(L);
  if (lua_pcall(L, 0, 0, 0)) fprintf(stderr, "%s\n", lua_tostring(L, -1)), exit(2);
  state = NULL;
  made = allocations;
  for (uint32_t i = 0; i < nstacks; i++)
    if (stacks[i]->L == L && stacks[i]->n) fault("calls are open at the end", "");
  lua_close(L);
  while (nstacks) forget(stacks[0]->L);
  report.left = 0;
  luajit_usdt_control.semaphore = 0;
  return made;
}

int main(int argc, char **argv) {
  uint64_t n = 0, step;
  if (argc == 4 && !strcmp(argv[1], "report") && (report_every = strtoull(argv[2], NULL, 10))) {
    run(argv[3]);
    printf("%llu events, ", (unsigned long long)events);
    n = 1;
  } else if (argc == 5 && !strcmp(argv[1], "attach") && (step = strtoull(argv[3], NULL, 10))) {
    for (attach_at = strtoull(argv[2], NULL, 10); run(argv[4]) >= attach_at; attach_at += step) n++;
  } else {
    fprintf(stderr, "usage: polls_host attach FIRST STEP FILE | report EVERY FILE\n");
    return 2;
  }
  printf("%llu runs, %llu reports, %llu faults\n", (unsigned long long)n,
         (unsigned long long)reports, (unsigned long long)faults);
  return faults || n == 0 || reports == 0;
}
