/* SPDX-License-Identifier: MIT */
/*
** A program that embeds the shared library, as servers do. It creates its Lua VMs, waits for a line
** on stdin, and then runs the script in each, from C: lua_pcall is where a VM notices a tracer, so
** all of the script is traced.
**
**   bpf_host [options] SCRIPT
**     -j off      compiler off
**     -t N        N threads with a Lua VM each, which run one after the other
**     -k          a seccomp filter kills the process if it makes the system call
**                 `uprobe` (336)
**     -r N        N Lua VMs that are opened and closed again, one after the other
**     -s          runs Lua in the first VM only, and then waits for its end: it is
**                 killed as soon as a process stops it by ptrace
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const char *script;
static int jit_off;

static int plain_c(lua_State *L) {
  lua_pushinteger(L, 7);
  return 1;
}

static int calls_back(lua_State *L) {
  lua_pushvalue(L, 1);
  lua_call(L, 0, 1);
  return 1;
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  if (!L) exit(3);
  luaL_openlibs(L);
  lua_register(L, "plain_c", plain_c);
  lua_register(L, "calls_back", calls_back);
  if (jit_off && luaL_dostring(L, "jit.off() jit.flush()")) exit(3);
  if (luaL_loadfile(L, script)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(3);
  }
  return L;
}

static void *run(void *state) {
  lua_State *L = (lua_State *)state;
  if (lua_pcall(L, 0, 0, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(4);
  }
  return NULL;
}

static void forbid_uprobe(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* seccomp_data.nr */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 336, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    exit(3);
}

static int is_traced(int status) {
  char text[4096];
  const ssize_t n = pread(status, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  return strstr(text, "TracerPid:\t") && !strstr(text, "TracerPid:\t0\n");
}

/* Killed by a child, once a process traces it; gives up after half a minute. */
static void run_until_killed(void) {
  const int status = open("/proc/self/status", O_RDONLY);
  const time_t end = time(NULL) + 30;
  const pid_t self = getpid();
  if (fork() == 0) {
    while (!is_traced(status))
      if (time(NULL) > end) _exit(0);
    kill(self, SIGKILL);
    _exit(0);
  }
  while (time(NULL) < end) {
  }
}

static void wait_for_line(void) {
  char c;
  ssize_t n;
  do n = read(0, &c, 1);
  while ((n < 0 && errno == EINTR) || (n == 1 && c != '\n'));
}

int main(int argc, char **argv) {
  int option, threads = 1, rounds = 0, silent = 0, i;
  lua_State *L[64];
  while ((option = getopt(argc, argv, "j:t:kr:s")) != -1) {
    switch (option) {
      case 'j': jit_off = strcmp(optarg, "off") == 0; break;
      case 't': threads = atoi(optarg); break;
      case 'k': forbid_uprobe(); break;
      case 'r': rounds = atoi(optarg); break;
      case 's': silent = 1; break;
      default: return 2;
    }
  }
  if (optind >= argc || threads > 64) return 2;
  script = argv[optind];
  for (i = 0; i < threads; i++) L[i] = open_state();
  printf("ready\n");
  fflush(stdout);
  if (silent) {
    run(L[0]);
    run_until_killed();
  }
  wait_for_line();
  for (i = 0; i < rounds; i++) {
    lua_State *more = open_state();
    run(more);
    lua_close(more);
  }
  for (i = 0; i < threads && !rounds; i++) {
    pthread_t thread;
    if (threads == 1) {
      run(L[i]);
    } else if (pthread_create(&thread, NULL, run, L[i]) == 0) {
      pthread_join(thread, NULL);
    }
  }
  for (i = 0; i < threads; i++) lua_close(L[i]);
  return 0;
}
