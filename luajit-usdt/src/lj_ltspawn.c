/*
** Tracing of calls: starting our programs from inside the process.
** SPDX-License-Identifier: MIT
**
** Invariants: a program is no child of the process: no SIGCHLD comes, wait() does not return it.
** It has default signal handlers, an empty signal mask, and no descriptors but the given ones. The
** program's memory is not copied, however large it is, and no handler of fork() runs. */

#define lj_ltspawn_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#ifndef CLONE_VM
#define CLONE_VM	0x00000100
#define CLONE_VFORK	0x00004000
#endif
#ifndef SYS_close_range
#define SYS_close_range	436
#endif

/* Need _GNU_SOURCE. */
extern int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
extern char *secure_getenv(const char *name);
extern int mkostemp(char *name, int flags);

#define STACK		65536u		/* Of each of the two processes. */
#define MAXFD		65536		/* Old kernels: descriptors above stay open. */

/* -- In the new processes, which share our memory ------------------------- */

static void default_signals(void)
{
  sigset_t none;
  int i;
  for (i = 1; i < 65; i++)
    if (i != SIGKILL && i != SIGSTOP) signal(i, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Descriptors from `from` on. Without close_range: as many as there may be. */
static void close_from(int from)
{
  struct rlimit r;
  int i, n = MAXFD;
  if (!syscall(SYS_close_range, from, ~0u, 0)) return;
  if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < (rlim_t)n) n = (int)r.rlim_cur;
  for (i = from; i < n; i++) close(i);
}

/* fd[i] becomes descriptor i; all are above LTSPAWN_FDS. */
static void take_descriptors(const int *fd)
{
  int i;
  for (i = 0; i < LTSPAWN_FDS; i++) {
    close(i);
    if (fd[i] >= 0) dup2(fd[i], i);
    else if (i < 3) open("/dev/null", O_RDWR);  /* Gets i, the lowest number. */
  }
  close_from(LTSPAWN_FDS);
}

static int run_program(void *arg)
{
  LTSpawn *s = (LTSpawn *)arg;
  if (!s->wait) setsid();  /* The terminal's signals are for the program. */
  take_descriptors(s->fd);
  default_signals();
  execv(s->path, s->argv);  /* To name `environ` would make luajit export it. */
  s->error = errno;
  _exit(127);
  return 0;
}

/* Its end is reported to nobody, and makes the program's process an orphan. */
static int run_between(void *arg)
{
  LTSpawn *s = (LTSpawn *)arg;
  int pid, n;
  signal(SIGCHLD, SIG_DFL);  /* If it is ignored nothing can be waited for. */
  pid = clone(run_program, s->stack+STACK, CLONE_VM|CLONE_VFORK|SIGCHLD, s);
  s->pid = pid;
  if (pid < 0) s->error = errno;
  if (pid > 0 && (s->wait || s->error))
    do n = waitpid(pid, &s->status, 0); while (n < 0 && errno == EINTR);
  _exit(0);
  return 0;
}

/* -- In the process -------------------------------------------------------- */

/* The program in that folder, if it is one. */
static int is_program(char *path, size_t size, const char *dir, size_t n, const char *name)
{
  struct stat st;
  int len = snprintf(path, size, "%.*s/%s", (int)n, dir, name);
  return n > 0 && *dir == '/' && len > 0 && (size_t)len < size && !access(path, X_OK) &&
	 !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Find one of our programs. Nothing relative, and nothing that the environment names in a setuid
** program. Returns 0 if there is none: then `path` says so. */
int lj_ltspawn_find(char *path, size_t size, const char *name)
{
  const char *dir = secure_getenv("LUATRACE_BIN"), *end = NULL, *p;
  if (dir) {
    if (is_program(path, size, dir, strlen(dir), name)) return 1;
    snprintf(path, size, "%s is not found in %.500s (LUATRACE_BIN%s)", name, dir,
	     *dir == '/' ? "" : ", which must be an absolute path");
    return 0;
  }
  dir = secure_getenv("PATH");
  if (!dir) dir = "/usr/local/bin:/usr/bin";
  for (p = dir; p; p = end ? end+1 : NULL) {
    end = strchr(p, ':');
    if (is_program(path, size, p, end ? (size_t)(end-p) : strlen(p), name)) return 1;
  }
  snprintf(path, size, "%s is not found in PATH (%.500s)", name, dir);
  return 0;
}

/* Start s->path. With s->wait its end is waited for. Returns 0, or an errno. */
int lj_ltspawn_run(LTSpawn *s)
{
  sigset_t all, old;
  char *stack = (char *)mmap(NULL, 2*STACK, PROT_READ|PROT_WRITE,
			     MAP_PRIVATE|MAP_ANONYMOUS, -1, 0);
  int pid, n;
  if (stack == (char *)MAP_FAILED) return errno;
  s->error = s->status = 0;
  s->stack = stack+STACK;
  sigfillset(&all);  /* No handler of the program may run in the new processes. */
  sigprocmask(SIG_SETMASK, &all, &old);
  pid = clone(run_between, stack+STACK, CLONE_VM|CLONE_VFORK, s);
  if (pid < 0) s->error = errno;
  else
    do n = waitpid(pid, NULL, (int)0x80000000u /* __WCLONE */); while (n < 0 && errno == EINTR);
  sigprocmask(SIG_SETMASK, &old, NULL);
  munmap(stack, 2*STACK);
  return s->error;
}

/* A copy of a descriptor that no program relies on, and that no program inherits. */
int lj_ltspawn_copy(int fd)
{
  return fcntl(fd, F_DUPFD_CLOEXEC, 2*LTSPAWN_FDS);
}

/* Where temporary files are made. */
const char *lj_ltspawn_folder(void)
{
  const char *dir = secure_getenv("TMPDIR");
  return dir && *dir == '/' ? dir : "/tmp";
}

/* An empty file without a name. -1: see errno. */
int lj_ltspawn_temporary(void)
{
  char name[1024];
  const char *dir = lj_ltspawn_folder();
  int fd, len;
  len = snprintf(name, sizeof(name), "%s/luatrace-XXXXXX", dir);
  if (len < 0 || (size_t)len >= sizeof(name)) { errno = ENAMETOOLONG; return -1; }
  fd = mkostemp(name, O_CLOEXEC);
  if (fd < 0) return -1;
  unlink(name);
  return lj_ltctl_fdup(fd);
}

#endif
