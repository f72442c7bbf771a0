/*
** Tracing of calls: reports and snapshots of a recording from inside (luatrace.h).
** SPDX-License-Identifier: MIT
**
** A report is what luatrace-analyze makes of the trace that this process reads: the recorder's
** file, or the last snapshot of a flight recorder.
**
** Invariant: what is asked of the recorder, and the programs that are run, leave the recording as it
** is. */

#define lj_ltreport_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace.h"

static struct {
  LTFile trace;		/* For reading. */
  int flight;		/* The recorder keeps only the newest events (--flight). */
} of = { { -1, 0, 0 }, 0 };

static char warnings[1024];	/* What luatrace-analyze printed beside the last report. */

/* -- The trace --------------------------------------------------------------- */

/* Reports are made of this file from now on, if it is one. */
void lj_ltreport_begin(int fd, int flight)
{
  lj_ltlink_close(&of.trace);
  lj_ltlink_own(&of.trace, fd);
  of.flight = flight;
}

/* Why there is no temporary file. */
const char *lj_ltreport_notemporary(void)
{
  char what[900];
  int err = errno;
  snprintf(what, sizeof(what), "no temporary file in %.800s (TMPDIR)", lj_ltspawn_folder());
  return lj_ltself_fail(what, strerror(err));
}

/* A snapshot of a flight recorder becomes what reports are made of. */
static const char *snapshot_for_reports(void)
{
  int fd = lj_ltspawn_temporary();
  const char *why = fd < 0 ? lj_ltreport_notemporary() : lj_ltself_ask('N', fd);
  if (why) {
    if (fd >= 0) close(fd);
    return why;
  }
  lj_ltlink_close(&of.trace);
  lj_ltlink_own(&of.trace, fd);
  return NULL;
}

/* The recording is about to end: a last snapshot. */
const char *lj_ltreport_last(void)
{
  return of.flight && lj_ltlink_isopen() ? snapshot_for_reports() : NULL;
}

/* The recording has ended, but the newest events of its flight recorder are not to be had. */
const char *lj_ltreport_outdated(const char *why)
{
  char reason[LTSELF_MESSAGE];
  snprintf(reason, sizeof(reason), "%s: %.600s", lj_ltlink_isours(&of.trace) ?
	   "the recording has ended, but reports show an earlier moment of it" :
	   "the recording has ended, but there are no reports of it", why);
  return lj_ltself_fail(reason, "");
}

/* -- Reports ---------------------------------------------------------------- */

/* Have the recorder write what has happened so far. */
static const char *api_flush(void)
{
  return of.flight ? snapshot_for_reports() : lj_ltself_ask('F', -1);
}

/* What a program has printed; its last line, if that is long. */
static const char *printed(int fd, const char *name)
{
  char text[LTSELF_MESSAGE];
  off_t size = lseek(fd, 0, SEEK_END), from = size - (off_t)sizeof(text)/2;
  ssize_t n = pread(fd, text, sizeof(text)/2, from > 0 ? from : 0);
  while (n > 0 && text[n-1] == '\n') n--;
  if (n <= 0) return lj_ltself_fail(name, "it has failed and printed nothing");
  text[n] = '\0';
  return lj_ltself_fail(text, "");
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
  snprintf(name, sizeof(name), "/proc/self/fd/%d", of.trace.fd);
  fd = open(name, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK);
  if (fd >= 0) close(fd);
  else lseek(of.trace.fd, 0, SEEK_SET);
  return fd >= 0;
}

static const char *api_analyze(char **options, int out, int err)
{
  const int reopened = can_reopen();
  /* The trace first: an option without its value takes the next word. */
  const char *const first[] = { "luatrace-analyze", reopened ? "/proc/self/fd/3" : "-",
				lj_ltself_isopen() ? "--growing" : NULL, NULL };
  char *argv[LTSELF_ARGS+1], path[4096];
  LTSpawn program = { path, argv, { reopened ? -1 : of.trace.fd, out, err, of.trace.fd }, 1, 0, 0, 0, NULL };
  int error;
  if (!lj_ltself_arguments(argv, first, options)) return lj_ltself_fail("too many options", "");
  if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    return lj_ltself_fail(path, "");
  error = lj_ltspawn_run(&program);
  if (error) return lj_ltself_fail(path, strerror(error));
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
  const char *why = lj_ltself_isopen() ? api_flush() : lj_ltself_isparents() ?
    lj_ltself_fail(LT_PARENTS, "it has the reports") : NULL;
  int out = lj_ltspawn_copy(fd), err = lj_ltspawn_temporary();
  warnings[0] = '\0';
  if (!why && !lj_ltlink_isours(&of.trace)) why = lj_ltself_fail("there is no trace: no recording has been started", "");
  if (!why && out < 0) why = lj_ltself_fail("output of a report: its descriptor", strerror(EBADF));
  if (!why && err < 0) why = lj_ltreport_notemporary();
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
  id = lj_ltring_own(lt);
  lt_ring_event(lt, id, LT_ENTRY);
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
  if (!lj_ltself_enter()) return LT_BUSY;
  args = lj_ltself_options(options);
  id = report_begins(L);
  why = args ? api_report(args, fd) : lj_ltself_fail("not enough memory", "");
  report_ends(L, id);
  free(args);
  errno = err;
  return lj_ltself_leave(why);
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
  if (fd < 0 && (errno == ELOOP || errno == ENXIO)) errno = 0;  /* A link; a FIFO. */
  if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return lj_ltctl_fdup(fd);
  close(fd);
  errno = 0;
  return -1;
}

static const char *snapshot_to(const char *path)
{
  const char *why;
  int is_new, fd = open_snapshot(path, &is_new);
  if (fd < 0) return lj_ltself_fail(path, errno ? strerror(errno) : "it is not a regular file");
  if ((why = lj_ltself_ask('N', fd)) != NULL) {
    char reason[LTSELF_MESSAGE];
    struct stat st;
    if (is_new && !fstat(fd, &st) && st.st_size == 0) unlink(path);
    snprintf(reason, sizeof(reason), "%.800s", why);
    why = lj_ltself_fail(path, reason);
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
  if (err < 0) return lj_ltreport_notemporary();
  snprintf(pid, sizeof(pid), "%d", (int)getpid());
  lj_ltself_arguments(argv, first, options);
  if (!lj_ltspawn_find(path, sizeof(path), argv[0]))
    why = lj_ltself_fail(path, "");
  else if ((error = lj_ltspawn_run(&program)) != 0)
    why = lj_ltself_fail(path, strerror(error));
  else if (!WIFEXITED(program.status) || WEXITSTATUS(program.status))
    why = printed(err, path);
  close(err);
  return why;
}

static const char *api_snapshot(const char *path)
{
  if (lj_ltself_isopen() && !of.flight) return lj_ltself_fail("the recording has no flight recorder: start it with flight", "");
  if (lj_ltself_isopen()) return path ? snapshot_to(path) : lj_ltself_ask('N', -1);
  if (lj_ltself_isparents()) return lj_ltself_fail(LT_PARENTS, "it can ask for a snapshot");
  if (!lj_ltself_another()) return lj_ltself_fail(LT_NOT_RUNNING, "");
  if (path) return lj_ltself_fail("this process has not started its recorder, which names its files itself: call it without a path", "");
  return snapshot_outside();
}

const char *luaJIT_trace_snapshot(lua_State *L, const char *path)
{
  const char *why;
  int err = errno;
  if (!L) return LT_NO_STATE;
  if (!lj_ltself_enter()) return LT_BUSY;
  why = path && !*path ? lj_ltself_fail("the file's name is empty", "") : api_snapshot(path);
  errno = err;
  return lj_ltself_leave(why);
}

#endif
