/*
** Tracing of calls: recording from inside (luatrace.h).
** SPDX-License-Identifier: MIT
**
** The recorder's settings come in its first answer (lj_ltlink.c): from then on the process is in the
** state of one that was started by the recorder.
**
** Invariant: every wait has a limit. */

#define lj_ltapi_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

#define START_MS	10000	/* Until the recorder answers; it opens its file first. */
#define EXIT_MS		1000	/* Until it has written everything, while the process exits. */
#define TEMPORARY_SIZE	"1G"	/* Limit of a file without a name. */

static struct {
  uint32_t token;	/* lt_control.ring of the recording. */
  int prints;		/* The recorder's messages go to our standard error. */
} rec = { 0, 0 };

/* -- The recorder ---------------------------------------------------------- */

/* Does the control structure still have the settings of that recorder, or of our parent's? */
static int is_ours_to_switch(void)
{
  return lj_ltself.pid && !luajit_usdt_control.owner;
}

static void switch_off(lua_State *L)
{
  if (is_ours_to_switch()) __atomic_store_n(&luajit_usdt_control.ring, 0, __ATOMIC_RELEASE);
  lj_ltrace_poll(L);
}

/* The VMs have closed their rings: let the recorder end. */
static const char *end_recorder(void)
{
  char answer[LTLINK_ANSWER];
  const char *why = NULL, *status = NULL;
  int ended = 1, open = lj_ltlink_isopen();
  if (lj_ltlink_request('S', -1)) status = lj_ltlink_answer('S', answer, LTSELF_WAIT_MS, &ended);
  if (is_ours_to_switch()) luajit_usdt_control.socket[0] = '\0';
  if (!open)
    why = lj_ltself_fail("the program has closed the connection to luatrace-record, which completes the "
			 "file when the process ends", "");
  else if (!status && ended)
    why = lj_ltself_reason(LTSELF_ENDED ": the trace ends there");
  else if (!status)
    why = lj_ltself_fail("luatrace-record is still writing", "");
  else if (*status)
    why = lj_ltself_reason("luatrace-record has failed");
  lj_ltlink_disconnect();
  lj_ltself.pid = 0;
  return why;
}

/* -- Starting a recorder ---------------------------------------------------- */

static int has_option(char **options, const char *name)
{
  size_t n = strlen(name);
  for (; *options; options++)
    if (!strncmp(*options, name, n) && (!(*options)[n] || (*options)[n] == '=')) return 1;
  return 0;
}

/* The file's name with %s replaced by something unique, and %p if `pid`. */
static char *expand_name(const char *name, int pid)
{
  char text[32], *to = (char *)malloc(strlen(name)*16+1), *p = to;
  for (; to && *name; name++) {
    *text = '\0';
    if (*name == '%' && name[1] == 's')
      snprintf(text, sizeof(text), "%x%llx", (unsigned)getpid() & 0xfffffu,
	       (unsigned long long)lj_ltctl_monotonic()/1000 & 0xffffffffu);
    else if (*name == '%' && name[1] == 'p' && pid)
      snprintf(text, sizeof(text), "%d", (int)getpid());
    if (*text) { p += sprintf(p, "%s", text); name++; }
    else *p++ = *name;
  }
  if (to) *p = '\0';
  return to;
}

/* Its messages come through the socket, or are printed on our standard error. */
static const char *run_recorder(const char *file, char **options, int trace, int s, int *pid)
{
  const char *const first[] = {
    "luatrace-record", "--inside", "-q", "-o", file ? file : "/proc/self/fd/3",
    file || has_option(options, "--max-size") ? NULL : "--max-size", TEMPORARY_SIZE, NULL };
  char *argv[LTSELF_ARGS+1], path[4096];
  int error, err = rec.prints ? lj_ltspawn_copy(2) : -1;
  LTSpawn program = { path, argv, { s, err, s, trace }, 0, 0, 0, 0, NULL };
  const char *why = NULL;
  if (!lj_ltself_arguments(argv, first, options))
    why = lj_ltself_fail("too many options", "");
  else if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    why = lj_ltself_fail(path, "");
  else if ((error = lj_ltspawn_run(&program)) != 0)
    why = lj_ltself_fail(path, strerror(error));
  *pid = program.pid;
  if (err >= 0) close(err);
  return why;
}

/* What the recorder must know of us is that socket. */
static const char *api_connect(const char *file, char **options, int trace)
{
  const char *why;
  int s[2], pid = 0;
  if (!lj_ltctl_fdsleft()) return lj_ltself_fail("too few file descriptors are left", "");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET|SOCK_CLOEXEC, 0, s)) return lj_ltself_fail("socketpair", strerror(errno));
  s[0] = lj_ltctl_fdup(s[0]);
  s[1] = lj_ltctl_fdup(s[1]);
  if (s[0] < 0 || s[1] < 0)
    why = lj_ltself_fail("socketpair", "too few file descriptors are left");
  else
    why = run_recorder(file, options, trace, s[1], &pid);
  if (s[1] >= 0) close(s[1]);
  if (why && s[0] >= 0) close(s[0]);
  if (!why) lj_ltlink_connect(s[0], pid);
  return why;
}

/* The recorder's first answer: settings, and at its end a line that is empty. */
static const char *take_settings(void)
{
  char answer[LTLINK_ANSWER], *p = answer+1;
  const char *why;
  int n = lj_ltlink_receive(answer, START_MS);
  if (n < 0) return lj_ltself_fail("luatrace-record does not answer", "");
  if (n == 0) return lj_ltself_reason("luatrace-record has ended");
  if ((why = lj_ltself_another()) != NULL) return why;  /* It has come meanwhile: the settings are its own. */
  lj_ltctl_defaults();
  while (p < answer+n) {
    char *value = strchr(p, '='), *next = p+strlen(p)+1;
    if (value) {
      *value = '\0';
      lj_ltctl_set(p, value+1);
    }
    p = next;
  }
  return luajit_usdt_control.socket[0] ? NULL : lj_ltself_fail("luatrace-record names no socket", "");
}

/* The file, for later reports. */
static int open_trace(const char *file)
{
  char *name = file ? expand_name(file, 1) : NULL;
  int fd = name ? lj_ltctl_fdup(open(name, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK)) : -1;
  free(name);
  return fd;
}

/* From now on the VMs make rings, also those that other threads interpret. Returns the number of the
** recording. */
static uint32_t switch_on(void)
{
  LTControl *c = &luajit_usdt_control;
  uint8_t token;
  if (++c->generation % 255 + 1 == rec.token) c->generation++;
  token = (uint8_t)(c->generation % 255 + 1);
  __atomic_store_n(&c->ring, token, __ATOMIC_RELEASE);
  lj_ltstate_lock();
  lj_ltstate_pollall();
  lj_ltstate_unlock();
  return token;
}

/* The VM has no memory for its events, or the recorder cannot take it. */
static const char *without_ring(lua_State *L)
{
  const char *why;
  switch_off(L);
  why = end_recorder();
  lj_ltreport_begin(-1, 0);
  if (*lj_ltlink_messages()) return lj_ltself_reason("");
  return why ? why : lj_ltself_fail("no memory for the events of this Lua VM", "");
}

/* Is there something that is no regular file? Nobody may ever read a pipe, and the reports would. */
static int is_unusual(const char *file)
{
  char *name = expand_name(file, 1);
  struct stat st;
  int unusual = name && !stat(name, &st) && !S_ISREG(st.st_mode);
  free(name);
  return unusual;
}

static const char *api_start(lua_State *L, const char *file, char **options)
{
  int trace = -1;
  const char *why = NULL;
  if (file && is_unusual(file)) return lj_ltself_fail(file, "it is not a regular file");
  if (!file) trace = lj_ltspawn_temporary();
  lj_ltlink_messages()[0] = '\0';
  if (!file && trace < 0) why = lj_ltreport_notemporary();
  if (!why) why = api_connect(file, options, trace);
  if (!why && (why = take_settings()) != NULL) {
    lj_ltlink_request('S', -1);  /* It may still begin: it would wait for the end of this process. */
    lj_ltlink_disconnect();
    lj_ltself.pid = 0;
  }
  if (why) {
    if (trace >= 0) close(trace);
    return why;
  }
  lj_ltreport_begin(file ? open_trace(file) : trace, has_option(options, "--flight"));
  lj_ltself.pid = (int32_t)getpid();
  rec.token = switch_on();
  if (rec.prints) return NULL;  /* A VM without libraries says later what it is. */
  lj_ltrace_poll(L);
  return L2LT(L)->refused == rec.token ? without_ring(L) : NULL;
}

/* -- The interface ---------------------------------------------------------- */

/* The file's name for another start, from whatever folder. */
static char *absolute_name(char *name)
{
  char folder[4096], *all;
  if (!name || *name == '/' || !getcwd(folder, sizeof(folder))) return name;
  all = (char *)malloc(strlen(folder)+strlen(name)+2);
  if (!all) return name;
  sprintf(all, "%s/%s", folder, name);
  free(name);
  return all;
}

/* Reason why no recording can be started, or NULL. */
static const char *api_already(void)
{
  if (lj_ltself_isopen()) return lj_ltself_fail("the recording has been started already", "");
  return lj_ltself_another();
}

/* In a forked child: end its part in the recording of its parent. */
static void leave_parents(lua_State *L)
{
  LTControl *c = &luajit_usdt_control;
  if (!lj_ltself_isparents()) return;
  if (!c->owner) {
    __atomic_store_n(&c->ring, 0, __ATOMIC_RELEASE);
    c->socket[0] = '\0';
    lj_ltrace_poll(L);
  }
  lj_ltlink_disconnect();
  lj_ltself.pid = 0;
  lj_ltreport_begin(-1, 0);
}

/* The arguments for reset(): kept only if the start succeeds. */
static const char *start_with(lua_State *L, const char *file, const char *const *options)
{
  char *name = file ? expand_name(file, 0) : NULL, **args = lj_ltself_options(options);
  const char *why = !args || (file && !name) ? lj_ltself_fail("not enough memory", "") : NULL;
  if (!why && file && !*file) why = lj_ltself_fail("the file's name is empty", "");
  if (!why) why = api_start(L, name, args);
  if (why) {
    free(name);
    free(args);
    return why;
  }
  free(lj_ltself.file);
  free(lj_ltself.args);
  lj_ltself.file = absolute_name(name);
  lj_ltself.args = args;
  return NULL;
}

const char *luaJIT_trace_start(lua_State *L, const char *file, const char *const *options)
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!lj_ltself_enter()) return LT_BUSY;
  leave_parents(L);
  if ((why = api_already()) == NULL) why = start_with(L, file, options);
  errno = err;
  return lj_ltself_leave(why);
}

static const char *api_stop(lua_State *L)
{
  const char *why, *missed = NULL;
  if (!lj_ltself_isopen()) {
    leave_parents(L);
    return NULL;
  }
  switch_off(L);
  missed = lj_ltreport_last();
  why = end_recorder();
  return missed ? lj_ltreport_outdated(why ? why : missed) : why;
}

/* A function that needs a recording of this process, be it our parent's. */
static const char *with_recording(lua_State *L, const char *(*act)(lua_State *))
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!lj_ltself_enter()) return LT_BUSY;
  why = lj_ltself.pid ? act(L) : lj_ltself_fail(LT_NOT_RUNNING, "");
  errno = err;
  return lj_ltself_leave(why);
}

const char *luaJIT_trace_stop(lua_State *L)
{
  return with_recording(L, api_stop);
}

static const char *pause_rings(lua_State *L)
{
  if (!luajit_usdt_control.ring) return lj_ltself_fail("the recording is paused already", "");
  switch_off(L);
  return lj_ltself_isopen() && lj_ltlink_ended() ? lj_ltself_reason(LTSELF_ENDED) : NULL;
}

static const char *resume_rings(lua_State *L)
{
  if (luajit_usdt_control.ring) return lj_ltself_fail("the recording is not paused", "");
  if (!is_ours_to_switch() || !luajit_usdt_control.socket[0])
    return lj_ltself_fail("another recorder has recorded this process meanwhile", "");
  if (lj_ltself_isopen() && lj_ltlink_ended()) return lj_ltself_reason(LTSELF_ENDED);
  rec.token = switch_on();
  lj_ltrace_poll(L);
  return NULL;
}

static const char *api_again(lua_State *L)
{
  char reason[LTSELF_MESSAGE];
  const char *why;
  if (!lj_ltself_isopen()) return lj_ltself_fail(LT_PARENTS, "it alone can reset it");
  switch_off(L);
  why = end_recorder();
  if (!why) why = api_start(L, lj_ltself.file, lj_ltself.args);
  if (!why) return NULL;
  snprintf(reason, sizeof(reason), "the recording has ended and does not begin again: %.750s", why);
  return lj_ltself_fail(reason, "");
}

const char *luaJIT_trace_pause(lua_State *L)
{
  return with_recording(L, pause_rings);
}

const char *luaJIT_trace_resume(lua_State *L)
{
  return with_recording(L, resume_rings);
}

const char *luaJIT_trace_reset(lua_State *L)
{
  return with_recording(L, api_again);
}

int luaJIT_trace_status(void)
{
  if (!lj_ltself.pid) return LUATRACE_OFF;
  if (luajit_usdt_control.ring) return LUATRACE_ON;
  return lj_ltself_isopen() || luajit_usdt_control.socket[0] ? LUATRACE_PAUSED : LUATRACE_OFF;
}

const char *luaJIT_trace_messages(void)
{
  return lj_ltlink_messages();
}

unsigned int luaJIT_trace_coroutine(lua_State *L, unsigned long long *vm)
{
  if (vm) *vm = L ? (unsigned long long)(uintptr_t)G(L) : 0;
  if (!L) return 0;
  return lt_coid(L2LT(L), L);
}

void *luaJIT_trace_hidden(void)
{
  return &luajit_usdt_control;
}

/* -- Exit -------------------------------------------------------------------- */

/* Whoever waits for the end of this process finds a complete file. */
static __attribute__((destructor)) void wait_for_file(void)
{
  char answer[LTLINK_ANSWER];
  int ended;
  if (!lj_ltself_isopen() || !lj_ltself_enter()) return;
  if (lj_ltlink_request('E', -1)) lj_ltlink_answer('E', answer, EXIT_MS, &ended);
  lj_ltself_leave(NULL);
}

/* -- LUATRACE ---------------------------------------------------------------- */

/* The same as luaJIT_trace_start() for a program that does not know of it: what the recorder has to
** say is printed on standard error. */
const char *lj_ltapi_start(lua_State *L, const char *file, const char *const *options)
{
  const char *why;
  rec.prints = 1;
  why = luaJIT_trace_start(L, file, options);
  rec.prints = 0;
  return why;
}

#endif
