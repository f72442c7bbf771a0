/* A host in which another thread forks at the worst moment: a child has the recorder's end of the socket.
** When the recorder is killed, no function waits for it. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <lualib.h>
#include <luatrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pid_t child;

/* In place of the C library's. The child exists before the caller has closed anything. */
int socketpair(int domain, int type, int protocol, int s[2])
{
  int result = (int)syscall(SYS_socketpair, domain, type, protocol, s);
  if ((child = fork()) == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return result;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec/1e9;
}

static const char *const flight[] = { "--flight", "1M", NULL };

/* ARGV: where to write the snapshot, the command that kills the recorder of the file in the second. */
int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  const char *why;
  double begin;
  if (argc < 4 || luaJIT_trace_start(L, argv[2], flight)) return 2;
  why = luaJIT_trace_snapshot(L, argv[1]);
  printf("snapshot: %s\n", why ? why : "complete");
  if (system(argv[3])) return 3;
  begin = now();
  why = luaJIT_trace_snapshot(L, argv[1]);
  printf("without a recorder: %s\n", why ? why : "complete");
  why = luaJIT_trace_stop(L);
  printf("stop: %s\n", why ? why : "complete");
  printf("%s\n", now()-begin < 20 ? "in time" : "it has waited for the limit");
  kill(child, SIGKILL);
  lua_close(L);
  return 0;
}
