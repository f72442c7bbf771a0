/*
** Tracing of calls: recording from inside (luatrace.h).
** SPDX-License-Identifier: MIT
**
** The recorder's settings come in its first answer (lj_ltlink.c): from then on the process is in the
** state of one that was started by the recorder.
**
** Invariants: only the process that has started a recorder talks to it; a child that was forked
** has its own. Every wait has a limit. */

#define lj_ltapi_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

#define START_MS	10000	/* Until the recorder answers; it opens its file first. */
#define WAIT_MS		30000	/* Until it has written everything. */
#define MAXARGS		256	/* Of a program. */
#define TEMPORARY_SIZE	"1G"	/* Limit of a file without a name. */
#define REPORT_KEY	0xfffe0001u	/* See lj_ltfunc_pseudo(). */

static struct {
  int32_t busy;		/* Process of a thread that is in one of our functions, or 0. */
  int cancel;		/* Whether that thread could be cancelled. */
  int32_t pid;		/* Process that has started the recorder; 0: none runs. */
  uint32_t token;	/* lt_control.ring of the recording. */
  LTFile trace;		/* The file, for reading. */
  int flight;		/* The recorder keeps only the newest events (--flight). */
  int prints;		/* Its messages go to our standard error. */
  char **args;		/* Of the last start. */
  char *file;
} rec = { 0, 0, 0, 0, { -1, 0, 0 }, 0, 0, NULL, NULL };

static char message[1024];	/* What a function returns. */
static char warnings[1024];	/* What luatrace-analyze printed beside the last report. */

/* -- Messages ------------------------------------------------------------- */

static const char *api_fail(const char *what, const char *why)
{
  snprintf(message, sizeof(message), "%.850s%s%.150s", what, *why ? ": " : "", why);
  return message;
}

static const char *no_temporary(void)
{
  char what[900];
  int err = errno;
  snprintf(what, sizeof(what), "no temporary file in %.800s (TMPDIR)", lj_ltspawn_folder());
  return api_fail(what, strerror(err));
}

#define BUSY	"another thread is starting or ending a recording"

/* Enter a function; it returns by api_leave(). The thread is not cancelled meanwhile: the new
** processes that it starts would be instead, with its stack and its memory. A thread that was
** inside when the process was forked does not exist in the child. */
static int api_enter(void)
{
  int32_t self = (int32_t)getpid(), was = __atomic_load_n(&rec.busy, __ATOMIC_RELAXED);
  if (was == self ||
      !__atomic_compare_exchange_n(&rec.busy, &was, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return 0;
  if (was) {  /* That thread may have been replacing them. */
    rec.args = NULL;
    rec.file = NULL;
  }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &rec.cancel);
  return 1;
}

static const char *api_leave(const char *why)
{
  int cancel = rec.cancel;
  __atomic_store_n(&rec.busy, 0, __ATOMIC_RELEASE);
  pthread_setcancelstate(cancel, NULL);
  return why;
}

/* The recorder's own words, without the last newline; else ours. */
static const char *recorders_reason(const char *ours)
{
  char *messages = lj_ltlink_messages();
  size_t n = strlen(messages);
  if (n && messages[n-1] == '\n') messages[n-1] = '\0';
  return api_fail(n ? messages : ours, "");
}

/* -- Starting a recorder ---------------------------------------------------- */

/* An own copy of the options; NULL without memory. */
static char **copy_options(const char *const *options)
{
  size_t n = 0, size = 0, i;
  char **copy, *p;
  while (options && options[n]) size += strlen(options[n++]) + 1;
  copy = (char **)malloc((n+1)*sizeof(char *) + size);
  if (!copy) return NULL;
  p = (char *)(copy+n+1);
  for (i = 0; i < n; i++, p += strlen(p)+1) copy[i] = strcpy(p, options[i]);
  copy[n] = NULL;
  return copy;
}

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

/* The arguments of a program; its descriptor 3 is the file. Returns 0: too many. */
static int arguments(char **argv, const char *const *first, char **options)
{
  int n = 0;
  while (*first) argv[n++] = (char *)(uintptr_t)*first++;
  while (options && *options && n < MAXARGS) argv[n++] = *options++;
  argv[n] = NULL;
  return n < MAXARGS;
}

/* Its messages come through the socket, or are printed on our standard error. */
static const char *run_recorder(const char *file, char **options, int trace, int s, int *pid)
{
  const char *const first[] = {
    "luatrace-record", "--inside", "-q", "-o", file ? file : "/proc/self/fd/3",
    file || has_option(options, "--max-size") ? NULL : "--max-size", TEMPORARY_SIZE, NULL };
  char *argv[MAXARGS+1], path[4096];
  int error, err = rec.prints ? lj_ltspawn_copy(2) : -1;
  LTSpawn program = { path, argv, { s, err, s, trace }, 0, 0, 0, 0, NULL };
  const char *why = NULL;
  if (!arguments(argv, first, options))
    why = api_fail("too many options", "");
  else if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    why = api_fail("luatrace-record is not found in LUATRACE_BIN or PATH", "");
  else if ((error = lj_ltspawn_run(&program)) != 0)
    why = api_fail(path, strerror(error));
  *pid = program.pid;
  if (err >= 0) close(err);
  return why;
}

/* What the recorder must know of us is that socket. */
static const char *api_connect(const char *file, char **options, int trace)
{
  const char *why;
  int s[2], pid = 0;
  if (!lj_ltctl_fdsleft()) return api_fail("too few file descriptors are left", "");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET|SOCK_CLOEXEC, 0, s)) return api_fail("socketpair", strerror(errno));
  s[0] = lj_ltctl_fdup(s[0]);
  s[1] = lj_ltctl_fdup(s[1]);
  if (s[0] < 0 || s[1] < 0)
    why = api_fail("socketpair", "too few file descriptors are left");
  else
    why = run_recorder(file, options, trace, s[1], &pid);
  if (s[1] >= 0) close(s[1]);
  if (why && s[0] >= 0) close(s[0]);
  if (!why) lj_ltlink_connect(s[0], pid);
  return why;
}

/* Is another recorder reading this process's events? NULL if none is. */
static const char *another_recorder(void)
{
  const LTControl *c = &luajit_usdt_control;
  if (!c->ring && !c->block) return NULL;
  return api_fail("this process is being recorded by luatrace-record", "");
}

/* The recorder's first answer: settings, and at its end a line that is empty. */
static const char *take_settings(void)
{
  char answer[LTLINK_ANSWER], *p = answer+1;
  int n = lj_ltlink_receive(answer, START_MS);
  if (n < 0) return api_fail("luatrace-record does not answer", "");
  if (n == 0) return recorders_reason("luatrace-record has ended");
  if (another_recorder()) return message;  /* It has come meanwhile: the settings are its own. */
  lj_ltctl_defaults();
  while (p < answer+n) {
    char *value = strchr(p, '='), *next = p+strlen(p)+1;
    if (value) {
      *value = '\0';
      lj_ltctl_set(p, value+1);
    }
    p = next;
  }
  return luajit_usdt_control.socket[0] ? NULL : api_fail("luatrace-record names no socket", "");
}

/* The file, for later reports. */
static int open_trace(const char *file)
{
  char *name = file ? expand_name(file, 1) : NULL;
  int fd = name ? lj_ltctl_fdup(open(name, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK)) : -1;
  free(name);
  return fd;
}

/* From now on the VMs make rings. Returns the number of the recording. */
static uint32_t switch_on(void)
{
  LTControl *c = &luajit_usdt_control;
  uint16_t token;
  if (++c->generation % 255 + 1 == rec.token) c->generation++;
  token = (uint16_t)(c->generation % 255 + 1);
  __atomic_store_n(&c->ring, token, __ATOMIC_RELEASE);
  return token;
}

static const char *api_start(lua_State *L, const char *file, char **options)
{
  int trace = file ? -1 : lj_ltspawn_temporary();
  const char *why = NULL;
  lj_ltlink_messages()[0] = '\0';
  if (!file && trace < 0) why = no_temporary();
  if (!why) why = api_connect(file, options, trace);
  if (!why && (why = take_settings()) != NULL) {
    lj_ltlink_request('S', -1);  /* It may still begin: it would wait for the end of this process. */
    lj_ltlink_disconnect();
    rec.pid = 0;
  }
  if (why) {
    if (trace >= 0) close(trace);
    return why;
  }
  lj_ltlink_close(&rec.trace);
  lj_ltlink_own(&rec.trace, file ? open_trace(file) : trace);
  rec.flight = has_option(options, "--flight");
  rec.pid = (int32_t)getpid();
  rec.token = switch_on();
  if (!rec.prints) lj_ltrace_poll(L);  /* A VM without libraries says later what it is. */
  return NULL;
}

/* -- The interface ---------------------------------------------------------- */

/* Is this process being recorded by a recorder of its own? */
static int is_open(void)
{
  return rec.pid == (int32_t)getpid();
}

/* Does the control structure still have the settings of our recorder? */
static int is_ours_to_switch(void)
{
  return is_open() && !luajit_usdt_control.owner;
}

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
  if (is_open()) return api_fail("the recording has been started already", "");
  return another_recorder();
}

/* In a forked child: end its part in the recording of its parent. */
static void leave_parents(lua_State *L)
{
  LTControl *c = &luajit_usdt_control;
  if (rec.pid == 0 || is_open()) return;
  if (!c->owner) {
    __atomic_store_n(&c->ring, 0, __ATOMIC_RELEASE);
    c->socket[0] = '\0';
    lj_ltrace_poll(L);
  }
  lj_ltlink_disconnect();
  rec.pid = 0;
  lj_ltlink_close(&rec.trace);
}

/* The arguments for reset(): kept only if the start succeeds. */
static const char *start_with(lua_State *L, const char *file, const char *const *options)
{
  char *name = file ? expand_name(file, 0) : NULL, **args = copy_options(options);
  const char *why = !args || (file && !name) ? api_fail("not enough memory", "") : NULL;
  if (!why && file && !*file) why = api_fail("the file's name is empty", "");
  if (!why) why = api_start(L, name, args);
  if (why) {
    free(name);
    free(args);
    return why;
  }
  free(rec.file);
  free(rec.args);
  rec.file = absolute_name(name);
  rec.args = args;
  return NULL;
}

const char *luaJIT_trace_start(lua_State *L, const char *file, const char *const *options)
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!api_enter()) return BUSY;
  leave_parents(L);
  if ((why = api_already()) == NULL) why = start_with(L, file, options);
  errno = err;
  return api_leave(why);
}

static void switch_off(lua_State *L)
{
  if (is_ours_to_switch()) __atomic_store_n(&luajit_usdt_control.ring, 0, __ATOMIC_RELEASE);
  lj_ltrace_poll(L);
}

/* Ask the recorder for something, with a descriptor unless that is -1. */
static const char *ask_recorder(char what, int fd)
{
  char answer[LTLINK_ANSWER];
  const char *why;
  int ended = 1;
  if (lj_ltlink_request(what, fd) && (why = lj_ltlink_answer(what, answer, WAIT_MS, &ended)) != NULL)
    return *why ? api_fail(why, "") : NULL;
  if (ended) return recorders_reason("luatrace-record has ended unexpectedly");
  return api_fail("luatrace-record does not answer", "");
}

/* A snapshot of a flight recorder becomes what reports are made of. */
static const char *snapshot_for_reports(void)
{
  int fd = lj_ltspawn_temporary();
  const char *why = fd < 0 ? no_temporary() : ask_recorder('N', fd);
  if (why) {
    if (fd >= 0) close(fd);
    return why;
  }
  lj_ltlink_close(&rec.trace);
  lj_ltlink_own(&rec.trace, fd);
  return NULL;
}

/* The VMs have closed their rings: let the recorder end. */
static const char *end_recorder(void)
{
  char answer[LTLINK_ANSWER];
  const char *why = NULL, *status = NULL;
  int ended = 1;
  if (lj_ltlink_request('S', -1)) status = lj_ltlink_answer('S', answer, WAIT_MS, &ended);
  if (is_ours_to_switch()) luajit_usdt_control.socket[0] = '\0';
  if (!status && ended)
    why = recorders_reason("luatrace-record has ended unexpectedly: the end of the trace is missing");
  else if (!status)
    why = api_fail("luatrace-record is still writing", "");
  else if (*status)
    why = recorders_reason("luatrace-record has failed");
  lj_ltlink_disconnect();
  rec.pid = 0;
  return why;
}

/* The recording has ended, but the newest events of its flight recorder are not to be had. */
static const char *api_outdated(const char *why)
{
  char reason[sizeof(message)];
  snprintf(reason, sizeof(reason), "%s: %.600s", lj_ltlink_isours(&rec.trace) ?
	   "the recording has ended, but reports show an earlier moment of it" :
	   "the recording has ended, but there are no reports of it", why);
  return api_fail(reason, "");
}

static const char *api_stop(lua_State *L)
{
  const char *why, *missed = NULL;
  switch_off(L);
  if (rec.flight && lj_ltlink_isopen()) missed = snapshot_for_reports();
  why = end_recorder();
  return missed ? api_outdated(why ? why : missed) : why;
}

#define NOT_STARTED	"no recording has been started"

/* A function that needs a recording of this process. */
static const char *with_recording(lua_State *L, const char *(*act)(lua_State *))
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!api_enter()) return BUSY;
  why = is_open() ? act(L) : api_fail(NOT_STARTED, "");
  errno = err;
  return api_leave(why);
}

const char *luaJIT_trace_stop(lua_State *L)
{
  return with_recording(L, api_stop);
}

static const char *pause_rings(lua_State *L)
{
  if (!luajit_usdt_control.ring) return api_fail("the recording is paused already", "");
  switch_off(L);
  return NULL;
}

static const char *resume_rings(lua_State *L)
{
  if (luajit_usdt_control.ring) return api_fail("the recording is not paused", "");
  if (!is_ours_to_switch() || !luajit_usdt_control.socket[0])
    return api_fail("another recorder has recorded this process meanwhile", "");
  rec.token = switch_on();
  lj_ltrace_poll(L);
  return NULL;
}

static const char *api_again(lua_State *L)
{
  char reason[sizeof(message)];
  const char *why;
  switch_off(L);
  why = end_recorder();
  if (!why) why = api_start(L, rec.file, rec.args);
  if (!why) return NULL;
  snprintf(reason, sizeof(reason), "the recording has ended and does not begin again: %.750s", why);
  return api_fail(reason, "");
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
  if (!is_open()) return LUATRACE_OFF;
  return luajit_usdt_control.ring ? LUATRACE_ON : LUATRACE_PAUSED;
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

/* -- Reports ---------------------------------------------------------------- */

/* Have the recorder write what has happened so far. */
static const char *api_flush(void)
{
  return rec.flight ? snapshot_for_reports() : ask_recorder('F', -1);
}

/* What a program has printed; its last line, if that is long. */
static const char *printed(int fd, const char *name)
{
  char text[sizeof(message)];
  off_t size = lseek(fd, 0, SEEK_END), from = size - (off_t)sizeof(text)/2;
  ssize_t n = pread(fd, text, sizeof(text)/2, from > 0 ? from : 0);
  while (n > 0 && text[n-1] == '\n') n--;
  if (n <= 0) return api_fail(name, "it has failed and printed nothing");
  text[n] = '\0';
  return api_fail(text, "");
}

/* Whole lines only. */
static void take_warnings(int fd)
{
  ssize_t n = pread(fd, warnings, sizeof(warnings)-1, 0);
  while (n > 0 && warnings[n-1] != '\n') n--;
  warnings[n > 0 ? n : 0] = '\0';
}

/* Can the program open the trace? Not if this process has given up the user that created it: then
** the program reads our descriptor, from its beginning. */
static int can_reopen(void)
{
  char name[32];
  int fd;
  snprintf(name, sizeof(name), "/proc/self/fd/%d", rec.trace.fd);
  fd = open(name, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK);
  if (fd >= 0) close(fd);
  else lseek(rec.trace.fd, 0, SEEK_SET);
  return fd >= 0;
}

static const char *api_analyze(char **options, int out, int err)
{
  const char *const first[] = { "luatrace-analyze", is_open() ? "--growing" : NULL, NULL };
  static char *const last[] = { (char *)(uintptr_t)"/proc/self/fd/3",
				(char *)(uintptr_t)"-" };
  char *argv[MAXARGS+2], path[4096];
  LTSpawn program = { path, argv, { -1, out, err, rec.trace.fd }, 1, 0, 0, 0, NULL };
  int error, n;
  if (!arguments(argv, first, options)) return api_fail("too many options", "");
  for (n = 0; argv[n]; n++) {}
  argv[n] = last[0];
  argv[n+1] = NULL;
  if (!can_reopen()) {
    argv[n] = last[1];
    program.fd[0] = rec.trace.fd;
  }
  if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    return api_fail("luatrace-analyze is not found in LUATRACE_BIN or PATH", "");
  error = lj_ltspawn_run(&program);
  if (error) return api_fail(path, strerror(error));
  if (!WIFEXITED(program.status) || WEXITSTATUS(program.status)) return printed(err, path);
  take_warnings(err);
  return NULL;
}

const char *luaJIT_trace_warnings(void)
{
  return warnings;
}

static const char *api_report(char **options, int fd)
{
  const char *why = is_open() ? api_flush() : rec.pid ?
    api_fail("the parent process has started the recording: it has the reports", "") : NULL;
  int out = lj_ltspawn_copy(fd), err = lj_ltspawn_temporary();
  warnings[0] = '\0';
  if (!why && !lj_ltlink_isours(&rec.trace)) why = api_fail("there is no trace: " NOT_STARTED, "");
  if (!why && out < 0) why = api_fail("output of a report: its descriptor", strerror(EBADF));
  if (!why && err < 0) why = no_temporary();
  if (!why) why = api_analyze(options, out, err);
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  return why;
}

/* A report is a call of a function of its own in the events, like a step of the collector: its time
** is not the program's. Returns the function's id, or LT_ID_UNKNOWN if there are no events. */
static uint32_t report_begins(lua_State *L)
{
  LTState *lt = L2LT(L);
  uint32_t id = LT_ID_UNKNOWN;
  if (!lt_ringon(lt) || lt_mute(G(L)) || lt->forked || tvref(G(L)->jit_base)) return id;
  lt_check_current(lt, L, 0);
  id = lj_ltfunc_pseudo(lt, REPORT_KEY, LT_FF_REPORT, "[luatrace]");
  if (id != LT_ID_UNKNOWN) lt_ring_event(lt, id, LT_ENTRY);
  return id;
}

static void report_ends(lua_State *L, uint32_t id)
{
  if (id != LT_ID_UNKNOWN && lt_ringon(L2LT(L))) lt_ring_event(L2LT(L), id, LT_RETURN);
}

const char *luaJIT_trace_report(lua_State *L, const char *const *options, int fd)
{
  const char *why;
  uint32_t id;
  int err = errno;
  char **args;
  if (!L) return LT_NO_STATE;
  if (!api_enter()) return BUSY;
  args = copy_options(options);
  id = report_begins(L);
  why = args ? api_report(args, fd) : api_fail("not enough memory", "");
  report_ends(L, id);
  free(args);
  errno = err;
  return api_leave(why);
}

/* -- Snapshots --------------------------------------------------------------- */

/* A regular file of ours for writing; *is_new: it was created. -1: see errno, 0 if it is another thing. */
static int open_snapshot(const char *path, int *is_new)
{
  const int flags = O_WRONLY|O_CLOEXEC|O_NOCTTY|O_NOFOLLOW|O_NONBLOCK;
  struct stat st;
  int fd = open(path, flags|O_CREAT|O_EXCL, 0600);
  *is_new = fd >= 0;
  if (fd < 0 && errno == EEXIST) fd = open(path, flags);
  if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return lj_ltctl_fdup(fd);
  close(fd);
  errno = 0;
  return -1;
}

static const char *snapshot_to(const char *path)
{
  const char *why;
  int is_new, fd = open_snapshot(path, &is_new);
  if (fd < 0) return api_fail(path, errno ? strerror(errno) : "it is not a regular file");
  if ((why = ask_recorder('N', fd)) != NULL) {
    char reason[sizeof(message)];
    struct stat st;
    if (is_new && !fstat(fd, &st) && st.st_size == 0) unlink(path);
    snprintf(reason, sizeof(reason), "%.800s", why);
    why = api_fail(path, reason);
  }
  close(fd);
  return why;
}

/* A recorder that was started from outside is asked as by a user, and names the file itself. */
static const char *snapshot_outside(void)
{
  static const char *const first[] = { "luatrace-record", "-q", "--snapshot", "-p", NULL };
  char *argv[8], path[4096], pid[16];
  int error, err = lj_ltspawn_temporary();
  char *options[2] = { pid, NULL };
  LTSpawn program = { path, argv, { -1, -1, err, -1 }, 1, 0, 0, 0, NULL };
  const char *why = NULL;
  if (err < 0) return no_temporary();
  snprintf(pid, sizeof(pid), "%d", (int)getpid());
  arguments(argv, first, options);
  if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    why = api_fail("luatrace-record is not found in LUATRACE_BIN or PATH", "");
  else if ((error = lj_ltspawn_run(&program)) != 0)
    why = api_fail(path, strerror(error));
  else if (!WIFEXITED(program.status) || WEXITSTATUS(program.status))
    why = printed(err, path);
  close(err);
  return why;
}

static const char *api_snapshot(const char *path)
{
  if (is_open() && !rec.flight) return api_fail("the recording has no flight recorder: start it with flight", "");
  if (is_open()) return path ? snapshot_to(path) : ask_recorder('N', -1);
  if (!another_recorder()) return api_fail(NOT_STARTED, "");
  if (path) return api_fail("this process has not started its recorder, which names its files itself: call it without a path", "");
  return snapshot_outside();
}

const char *luaJIT_trace_snapshot(lua_State *L, const char *path)
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!api_enter()) return BUSY;
  why = path && !*path ? api_fail("the file's name is empty", "") : api_snapshot(path);
  errno = err;
  return api_leave(why);
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
