/*
** Tracing of calls: text for the user of a program, without a recorder (LUATRACE, lj_ltenv.c).
** SPDX-License-Identifier: MIT
**
** Invariants: a line is one write(). Nothing is written to a descriptor that the program uses for
** something else by now. Values are read raw, and whatever comes from the program is cut and
** escaped. The program's stacks are only read. */

#define lj_ltprint_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_frame.h"
#include "lj_gc.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define LINE_MAX_	1000	/* Bytes of a line. */
#define NAME_MAX_	100	/* Of a name or a chunk name in it, */
#define LEVELS_MAX	100	/* Calls of a coroutine, and the deepest indent. */
#define LISTED_MAX	1000	/* Coroutines: meanwhile the program waits. */

/* An empty line. */
#define LINE(l) \
  char l##_text[LINE_MAX_+2]; \
  LTText l; \
  l.s = l##_text; l.n = 0; l.max = LINE_MAX_

/* A descriptor and what it was when it was first seen: the program may use the number again. */
typedef struct Known {
  int fd;
  uint64_t dev, ino;
} Known;

/* Where lines go, standard error, and whether a line is missing. */
static Known to = { -1, 0, 0 }, errors = { -1, 0, 0 };
static int failed;
static struct {
  const char *name;  /* NULL: standard error. */
  pid_t pid;
} file = { NULL, 0 };

static int know(Known *k, int fd)
{
  struct stat st;
  if (fstat(fd, &st)) return errno;
  k->fd = fd;
  k->dev = (uint64_t)st.st_dev;
  k->ino = (uint64_t)st.st_ino;
  return 0;
}

/* Open the file of this process. Returns 0, or an errno. */
static int open_file(void)
{
  const char *p = strstr(file.name, "%p");
  size_t size = strlen(file.name)+16;
  char *path = (char *)malloc(size);
  int fd, err;
  file.pid = getpid();
  if (!path) return ENOMEM;
  if (p) snprintf(path, size, "%.*s%d%s", (int)(p-file.name), file.name, (int)file.pid, p+2);
  else strcpy(path, file.name);
  fd = open(path, O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC|O_NOCTTY|O_NOFOLLOW|O_NONBLOCK, 0600);
  err = errno;  /* ENXIO: a pipe that nobody reads. */
  free(path);
  if (fd < 0) return err;
  (void)fcntl(fd, F_SETFL, O_APPEND);
  if ((fd = lj_ltctl_fdup(fd)) < 0) return EMFILE;
  return know(&to, fd);
}

/* Lines go to the file of that name, in which %p is the process id and which is kept, or to standard
** error. Returns 0, or an errno. */
int lj_ltprint_open(const char *name)
{
  (void)know(&errors, 2);
  file.name = name;
  return name ? open_file() : know(&to, 2);
}

/* A forked child has a file of its own, if the name says so and it may make one. */
static void follow_fork(void)
{
  Known parents = to;
  if (!file.name || file.pid == getpid() || !strstr(file.name, "%p") || open_file()) return;
  if (lj_ltctl_samefile(parents.fd, parents.dev, parents.ino)) close(parents.fd);
}

/* Is the descriptor ours? A server may have made another log of its standard error. */
static int may_write(void)
{
  if (lj_ltctl_samefile(to.fd, to.dev, to.ino)) return 1;
  return to.fd == 2 && (fcntl(2, F_GETFL)&(O_APPEND|O_ACCMODE)) == (O_APPEND|O_WRONLY);
}

/* A line is missing in the file, for example since the disk is full: say so once, if standard error
** is still what it was. */
static void warn_failed(int error)
{
  if (__atomic_exchange_n(&failed, 1, __ATOMIC_RELAXED) || to.fd == 2 ||
      !lj_ltctl_samefile(errors.fd, errors.dev, errors.ino)) return;
  fprintf(stderr, "luatrace: " LT_ENV_USER ": out: %s; lines are missing\n", strerror(error));
}

/* The program has closed the descriptor, as daemons do. Open the file again, unless its name has
** another meaning in the program's folder of now. Returns whether lines can be written. */
static int open_again(void)
{
  int error = EBADF;
  if (!file.name || failed) return 0;
  if (*file.name == '/' && (error = open_file()) == 0) return 1;
  warn_failed(error);
  return 0;
}

static void put_line(LTText *l)
{
  int olderr = errno;
  l->s[l->n++] = '\n';
  follow_fork();
  if (may_write() || open_again()) {
    ssize_t n = write(to.fd, l->s, l->n);
    if (n != (ssize_t)l->n) warn_failed(n < 0 ? errno : ENOSPC);
  }
  errno = olderr;
  l->n = 0;
}

/* -- Stacks ----------------------------------------------------------------- */

static const char not_started[] = "not started";

/* Why a coroutine is listed, or NULL if it has ended. */
static const char *state_of(lua_State *L, lua_State *of)
{
  if (L == of) return "running";
  if (of->status == LUA_YIELD) return "suspended";
  if (of->status != LUA_OK) return NULL;
  if (of->cframe) return "normal";
  if (of == mainthread(G(of))) return NULL;
  return of->top > of->base && tvisfunc(of->base) ? not_started : NULL;
}

/* The function with which a coroutine will begin. */
static void put_first(LTText *l, GCfunc *fn)
{
  lj_lttext_add(l, "    ");
  if (isluafunc(fn)) {
    lj_lttext_name(l, strdata(proto_chunkname(funcproto(fn)))+1);
    lj_lttext_add(l, ":%d", (int)funcproto(fn)->firstline);
  } else {
    lj_lttext_add(l, "[C]");
  }
  put_line(l);
}

static void print_stack(lua_State *L, lua_State *of, const char *state)
{
  lua_Debug call;
  LINE(l);
  int level = 0, n = 0;
  lj_lttext_add(&l, "  coroutine %p%s: %s", (void *)of, of == mainthread(G(L)) ? " (main)" : "", state);
  put_line(&l);
  if (state == not_started) put_first(&l, funcV(of->base));
  for (; lj_lttext_nextcall(of, &level, &call); n++) {
    lj_lttext_add(&l, "    ");
    if (n == LEVELS_MAX) {
      lj_lttext_add(&l, "...");
      put_line(&l);
      return;
    }
    lj_lttext_call(&l, &call);
    put_line(&l);
  }
}

/* The stacks of all coroutines of the VM, that of L first. */
void lj_ltprint_stacks(lua_State *L)
{
  global_State *g = G(L);
  GCobj *o;
  uint32_t n = 0;
  LINE(l);
  lj_lttext_add(&l, "luatrace: stacks of Lua VM %u, process %d", G2LT(g)->serial, (int)getpid());
  put_line(&l);
  print_stack(L, L, state_of(L, L));
  for (o = gcref(g->gc.root); o != NULL; o = gcref(o->gch.nextgc))
    if (o->gch.gct == ~LJ_TTHREAD && gco2th(o) != L && !isdead(g, o)) {
      const char *state = state_of(L, gco2th(o));
      if (state && ++n < LISTED_MAX) print_stack(L, gco2th(o), state);
    }
  if (n >= LISTED_MAX) {
    lj_lttext_add(&l, "  and %u more coroutines", n-LISTED_MAX+1);
    put_line(&l);
  }
  lj_lttext_add(&l, "luatrace: end of the stacks");
  put_line(&l);
}

/* -- Calls ------------------------------------------------------------------- */

/* Numbers of calls below one, up to LEVELS_MAX. */
static int depth_of(lua_State *L)
{
  cTValue *frame = L->base-1;
  int depth = -1;
  for (; !lt_frame_isbottom(L, frame) && depth < LEVELS_MAX; frame = frame_prev(frame))
    if (!frame_isvarg(frame)) depth++;
  return depth < 0 ? 0 : depth;
}

static void put_values(LTText *l, cTValue *o, cTValue *end)
{
  cTValue *first = o;
  lj_lttext_add(l, "(");
  for (; o < end && l->n < LINE_MAX_; o++) {
    if (o > first) lj_lttext_add(l, ", ");
    lj_lttext_value(l, o, 0);
  }
  lj_lttext_add(l, ")");
}

/* The Lua function on top has been entered, as a hook sees it. */
void lj_ltprint_call(lua_State *L, lua_Debug *call, const char *include, int args)
{
  LINE(l);
  if (!isluafunc(curr_func(L)) || !lua_getinfo(L, "nS", call) ||
      !strcmp(call->source, LUATRACE_HIDDEN)) return;
  if (*include && !lj_ltctl_matchlist(include, call->source)) return;
  lj_lttext_add(&l, "%*s", 2*depth_of(L), "");
  lj_lttext_name(&l, call->short_src);
  lj_lttext_add(&l, ":%d  ", call->linedefined);
  if (call->name) lj_lttext_name(&l, call->name);
  else lj_lttext_add(&l, *call->what == 'm' ? "main chunk" : "?");
  if (args) put_values(&l, L->base, L->top);
  if (L != mainthread(G(L))) lj_lttext_add(&l, "  coroutine %p", (void *)L);
  put_line(&l);
}

/* A section begins or ends: the running C function has its name and n-1 values as arguments. */
void lj_ltprint_tag(lua_State *L, int begins, int n)
{
  LINE(l);
  if (n < 1 || !tvisstr(L->base)) return;
  lj_lttext_add(&l, "%*s%s ", 2*depth_of(L), "", begins ? ">" : "<");
  lj_lttext_escaped(&l, strVdata(L->base), strV(L->base)->len, NAME_MAX_);
  if (n > 1) put_values(&l, L->base+1, L->base+n);
  put_line(&l);
}

#endif
