/*
** Tracing of calls: the environment variable LUATRACE.
** SPDX-License-Identifier: MIT
**
**   LUATRACE=mode=record|context|trace|tag|stuck,out=FILE,include=GLOB,args,signal=N
**
** It is read once, when the first Lua VM of the process is created, and not in setuid programs.
** Invariants: whatever is wrong with it, the program runs, and a message on standard error names the
** variable; without it nothing here has any effect. Sections are the Lua module's (sections.cc).
** The signal handler uses only what such a handler may: it takes no lock, and counts. */

#define lj_ltenv_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "luajit.h"
#include "lj_dispatch.h"
#if LJ_HASJIT
#include "lj_jit.h"
#endif
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

#define VALUE_SIZE	4096
#define MAXGLOBS	64

enum { MODE_NONE, MODE_RECORD, MODE_CONTEXT, MODE_TRACE, MODE_TAG, MODE_STUCK };
static const char *const modes[] = { "", "record", "context", "trace", "tag", "stuck" };

extern char *secure_getenv(const char *name);  /* Needs _GNU_SOURCE. */

static struct {
  int read;		/* The variable has been read. */
  int mode, args, signal;
  const char *out;
  const char *options[2*MAXGLOBS+1];  /* --include GLOB ... */
  int noptions;
  char include[LT_GLOBS_MAX+1];
} env;

static char text[VALUE_SIZE];	/* The variable, cut into pieces. */

static int env_fail(const char *what, const char *why)
{
  fprintf(stderr, "luatrace: " LT_ENV_USER ": %.200s%s%.500s; the program runs unobserved\n", what,
	  *why ? ": " : "", why);
  return 0;
}

/* -- Reading it -------------------------------------------------------------- */

static int set_mode(const char *value)
{
  int i;
  for (i = MODE_RECORD; i <= MODE_STUCK; i++)
    if (!strcmp(value, modes[i])) env.mode = i;
  return env.mode ? 1 : env_fail(value, "invalid mode; choose record, context, trace, tag or stuck");
}

static int set_signal(const char *value)
{
  char *end;
  long n = strtol(value, &end, 10);
  if (!strcmp(value, "USR1")) n = SIGUSR1;
  else if (!strcmp(value, "USR2")) n = SIGUSR2;
  else if (*end || end == value || n <= 0 || n >= SIGRTMAX || n == SIGKILL || n == SIGSTOP ||
	   n == SIGSEGV || n == SIGBUS || n == SIGFPE || n == SIGILL)
    return env_fail(value, "invalid signal; choose USR1, USR2 or a number");
  env.signal = (int)n;
  return 1;
}

static int add_include(const char *glob)
{
  size_t n = strlen(env.include);
  if (!*glob || env.noptions+2 > 2*MAXGLOBS || n+strlen(glob)+2 > sizeof(env.include))
    return env_fail("include", "the patterns are empty, or too long");
  if (n) env.include[n++] = '\n';
  strcpy(env.include+n, glob);
  env.options[env.noptions++] = "--include";
  env.options[env.noptions++] = glob;
  return 1;
}

/* Keys, and the modes that have them. */
static struct {
  const char *name;
  int modes, seen;
} keys[] = {
  { "mode", ~0, 0 }, { "out", ~(1<<MODE_CONTEXT), 0 }, { "include", 1<<MODE_RECORD | 1<<MODE_TRACE, 0 },
  { "args", 1<<MODE_TRACE, 0 }, { "signal", 1<<MODE_STUCK, 0 }
};
#define NKEYS	(sizeof(keys)/sizeof(*keys))

/* Only include may be repeated. */
static int is_repeated(const char *key, size_t n)
{
  size_t i;
  for (i = 0; i < NKEYS; i++)
    if (strlen(keys[i].name) == n && !strncmp(key, keys[i].name, n))
      return keys[i].seen++ && strcmp(keys[i].name, "include");
  return 0;
}

/* A key that the mode does not have. */
static int fits_mode(void)
{
  char why[64];
  size_t i;
  for (i = 0; i < NKEYS; i++) {
    if (!keys[i].seen || (keys[i].modes & 1<<env.mode)) continue;
    snprintf(why, sizeof(why), "mode=%s has no such key", modes[env.mode]);
    return env_fail(keys[i].name, why);
  }
  return 1;
}

static int set_one(char *key)
{
  char *value = strchr(key, '=');
  if (is_repeated(key, strcspn(key, "="))) return env_fail(key, "it is given more than once");
  if (!strcmp(key, "args")) return env.args = 1;
  if (!value) return env_fail(key, "a key and a value are needed, as in mode=record");
  *value++ = '\0';
  if (!strcmp(key, "mode")) return set_mode(value);
  if (!strcmp(key, "out")) return *(env.out = value) ? 1 : env_fail("out", "the name is empty");
  if (!strcmp(key, "include")) return add_include(value);
  if (!strcmp(key, "signal")) return set_signal(value);
  if (!strcmp(key, "args")) return env_fail("args", "it takes no value");
  return env_fail(key, "unknown; there are mode, out, include, args and signal");
}

static int read_env(const char *value)
{
  char *p = text;
  if (strlen(value) >= sizeof(text)) return env_fail("the value", "it is too long");
  strcpy(text, value);
  env.signal = SIGUSR2;
  while (*p) {
    char *end = p+strcspn(p, ",");
    int last = !*end;
    *end = '\0';
    if (*p && !set_one(p)) return 0;
    p = last ? end : end+1;
  }
  if (!env.mode) return env_fail("mode is missing", "choose record, context, trace, tag or stuck");
  return fits_mode();
}

/* -- mode=stuck --------------------------------------------------------------- */

/* Each VM prints its stacks at its next poll. The list of VMs is left alone if it is changing. */
static void on_signal(int number)
{
  int olderr = errno;
  UNUSED(number);
  __atomic_add_fetch(&luajit_usdt_control.stacks, 1, __ATOMIC_SEQ_CST);
  if (lj_ltstate_trylock()) {
    lj_ltstate_pollall();
    lj_ltstate_unlock();
  }
  errno = olderr;
}

static void wait_for_signal(void)
{
  struct sigaction old, sa;
  char name[16];
  snprintf(name, sizeof(name), "%d", env.signal);
  if (sigaction(env.signal, NULL, &old) || old.sa_handler != SIG_DFL) {
    env_fail("signal", "the program handles or ignores it; choose another one by signal=");
    return;
  }
  memset(&sa, 0, sizeof(sa));
  sa.sa_handler = on_signal;
  sa.sa_flags = SA_RESTART;
  sigemptyset(&sa.sa_mask);
  if (sigaction(env.signal, &sa, NULL)) env_fail("signal", strerror(errno));
}

/* -- mode=trace --------------------------------------------------------------- */

/* Compiled code has no hooks, so nothing is compiled. */
static void on_call(lua_State *L, lua_Debug *call)
{
  if (lt_jiton(G(L))) luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE|LUAJIT_MODE_OFF);
  lj_ltprint_call(L, call, env.include, env.args);
}

/* -- Starting ----------------------------------------------------------------- */

static void start_recording(lua_State *L)
{
  const char *why = lj_ltapi_start(L, env.out ? env.out : "luatrace.%p.bin", env.options);
  if (why) env_fail("mode=record", why);
}

static void start_mode(lua_State *L)
{
  if (env.mode == MODE_RECORD) start_recording(L);
  if (env.mode == MODE_CONTEXT) luajit_usdt_control.context = 1;
  if (env.mode >= MODE_TRACE) {
    int error = lj_ltprint_open(env.out);
    if (error) {
      env_fail(env.out ? env.out : "standard error", strerror(error));
      env.mode = MODE_NONE;
    }
  }
  if (env.mode == MODE_STUCK) wait_for_signal();
}

void luaJIT_trace_section(lua_State *L, int begins, int n)
{
  if (env.mode == MODE_TAG) lj_ltprint_tag(L, begins, n);
}

/* A new VM. */
void lj_ltenv_newstate(lua_State *L)
{
  if (!__atomic_exchange_n(&env.read, 1, __ATOMIC_ACQ_REL)) {
    const char *value = secure_getenv(LT_ENV_USER);
    if (!value || !*value) return;
    if (!read_env(value)) env.mode = MODE_NONE;
    start_mode(L);
  }
  if (env.mode == MODE_TRACE) lua_sethook(L, on_call, LUA_MASKCALL, 0);
}

#endif
