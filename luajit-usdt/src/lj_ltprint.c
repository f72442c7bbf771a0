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
#define VALUE_MAX_	60	/* and of a string. */
#define LEVELS_MAX	100	/* Calls of a coroutine, and the deepest indent. */
#define LISTED_MAX	1000	/* Coroutines: meanwhile the program waits. */

typedef struct Line {
  char text[LINE_MAX_+2];
  size_t n;
} Line;

/* Where lines go; ino: to recognize it. */
static struct { int fd; uint64_t dev, ino; int failed; } to = { -1, 0, 0, 0 };

/* Lines go to that file, or to standard error. Returns 0, or an errno. */
int lj_ltprint_open(const char *path)
{
  struct stat st;
  int fd = 2;
  if (path) {
    fd = open(path, O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC|O_NOCTTY|O_NOFOLLOW, 0600);
    if (fd < 0) return errno;
    if ((fd = lj_ltctl_fdup(fd)) < 0) return EMFILE;
  }
  if (fstat(fd, &st)) return errno;
  to.fd = fd;
  to.dev = (uint64_t)st.st_dev;
  to.ino = (uint64_t)st.st_ino;
  return 0;
}

/* Is the descriptor ours? A server may have made another log of its standard error. */
static int may_write(void)
{
  if (lj_ltctl_samefile(to.fd, to.dev, to.ino)) return 1;
  return to.fd == 2 && (fcntl(2, F_GETFL)&(O_APPEND|O_ACCMODE)) == (O_APPEND|O_WRONLY);
}

static void line_text(Line *l, const char *format, ...)
{
  va_list args;
  size_t left = LINE_MAX_-l->n;
  int n;
  va_start(args, format);
  n = vsnprintf(l->text+l->n, left+1, format, args);
  va_end(args);
  if (n > 0) l->n += (size_t)n < left ? (size_t)n : left;
}

static void put_escaped(Line *l, const char *s, size_t n, size_t max)
{
  size_t i;
  for (i = 0; i < n && i < max; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '\n') line_text(l, "\\n");
    else if (c < 32 || c >= 127 || c == '\\') line_text(l, "\\x%02x", c);
    else line_text(l, "%c", c);
  }
  if (n > max) line_text(l, "...");
}

static void put_name(Line *l, const char *s)
{
  put_escaped(l, s, strlen(s), NAME_MAX_);
}

/* A line is missing in the file, for example since the disk is full: say so once. */
static void warn_failed(int error)
{
  if (__atomic_exchange_n(&to.failed, 1, __ATOMIC_RELAXED) || to.fd == 2) return;
  fprintf(stderr, "luatrace: " LT_ENV_USER ": out: %s; lines are missing\n", strerror(error));
}

static void put_line(Line *l)
{
  int olderr = errno;
  l->text[l->n++] = '\n';
  if (may_write()) {
    ssize_t n = write(to.fd, l->text, l->n);
    if (n != (ssize_t)l->n) warn_failed(n < 0 ? errno : ENOSPC);
  }
  errno = olderr;
  l->n = 0;
}

/* -- Stacks ----------------------------------------------------------------- */

static void put_call(Line *l, const lua_Debug *call)
{
  int lua = *call->what == 'L' || *call->what == 'm';
  if (lua) {
    put_name(l, call->short_src);
    if (call->currentline > 0) line_text(l, ":%d", call->currentline);
    else line_text(l, ":?");
  } else {
    line_text(l, "[C]");
  }
  line_text(l, "  ");
  if (call->name) put_name(l, call->name);
  else if (*call->what == 'm') line_text(l, "main chunk");
  else if (lua) put_name(l, call->short_src), line_text(l, ":%d", call->linedefined);
  else line_text(l, "?");
}

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
static void put_first(Line *l, GCfunc *fn)
{
  line_text(l, "    ");
  if (isluafunc(fn)) {
    put_name(l, strdata(proto_chunkname(funcproto(fn)))+1);
    line_text(l, ":%d", (int)funcproto(fn)->firstline);
  } else {
    line_text(l, "[C]");
  }
  put_line(l);
}

static void print_stack(lua_State *L, lua_State *of, const char *state)
{
  lua_Debug call;
  Line l;
  int level;
  l.n = 0;
  line_text(&l, "  coroutine %p%s: %s", (void *)of, of == mainthread(G(L)) ? " (main)" : "", state);
  put_line(&l);
  if (state == not_started) put_first(&l, funcV(of->base));
  for (level = 0; lua_getstack(of, level, &call); level++) {
    line_text(&l, "    ");
    if (level == LEVELS_MAX) {
      line_text(&l, "...");
      put_line(&l);
      return;
    }
    if (!lua_getinfo(of, "nSl", &call)) continue;
    put_call(&l, &call);
    put_line(&l);
  }
}

/* The stacks of all coroutines of the VM, that of L first. */
void lj_ltprint_stacks(lua_State *L)
{
  global_State *g = G(L);
  GCobj *o;
  uint32_t n = 0;
  Line l;
  l.n = 0;
  line_text(&l, "luatrace: stacks of Lua VM %u, process %d", G2LT(g)->serial, (int)getpid());
  put_line(&l);
  print_stack(L, L, state_of(L, L));
  for (o = gcref(g->gc.root); o != NULL; o = gcref(o->gch.nextgc))
    if (o->gch.gct == ~LJ_TTHREAD && gco2th(o) != L && !isdead(g, o)) {
      const char *state = state_of(L, gco2th(o));
      if (state && ++n < LISTED_MAX) print_stack(L, gco2th(o), state);
    }
  if (n >= LISTED_MAX) {
    line_text(&l, "  and %u more coroutines", n-LISTED_MAX+1);
    put_line(&l);
  }
  line_text(&l, "luatrace: end of the stacks");
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

static void put_value(Line *l, cTValue *o)
{
  if (tvisstr(o)) {
    line_text(l, "\"");
    put_escaped(l, strVdata(o), strV(o)->len, VALUE_MAX_);
    line_text(l, "\"");
  } else if (tvisint(o)) {
    line_text(l, "%d", intV(o));
  } else if (tvisnum(o)) {
    line_text(l, "%.14g", numV(o));
  } else if (tvisnil(o) || tvisbool(o)) {
    line_text(l, "%s", tvisnil(o) ? "nil" : tvistrue(o) ? "true" : "false");
  } else {
    line_text(l, "%s", lj_obj_itypename[itypemap(o)]);
    if (tvisgcv(o)) line_text(l, ": %p", (void *)gcV(o));
  }
}

static void put_values(Line *l, cTValue *o, cTValue *end)
{
  cTValue *first = o;
  line_text(l, "(");
  for (; o < end && l->n < LINE_MAX_; o++) {
    if (o > first) line_text(l, ", ");
    put_value(l, o);
  }
  line_text(l, ")");
}

/* The Lua function on top has been entered, as a hook sees it. */
void lj_ltprint_call(lua_State *L, lua_Debug *call, int args)
{
  Line l;
  l.n = 0;
  if (!isluafunc(curr_func(L)) || !lua_getinfo(L, "nS", call) || !lj_ltctl_match(call->source))
    return;
  line_text(&l, "%*s", 2*depth_of(L), "");
  put_name(&l, call->short_src);
  line_text(&l, ":%d  ", call->linedefined);
  if (call->name) put_name(&l, call->name);
  else line_text(&l, *call->what == 'm' ? "main chunk" : "?");
  if (args) put_values(&l, L->base, L->top);
  put_line(&l);
}

/* A section begins or ends: the running C function has its name and n-1 values as arguments. */
void lj_ltprint_tag(lua_State *L, int begins, int n)
{
  Line l;
  l.n = 0;
  if (n < 1 || !tvisstr(L->base)) return;
  line_text(&l, "%*s%s ", 2*depth_of(L), "", begins ? ">" : "<");
  put_escaped(&l, strVdata(L->base), strV(L->base)->len, NAME_MAX_);
  if (n > 1) put_values(&l, L->base+1, L->base+n);
  put_line(&l);
}

#endif
