/*
** Runs a program under a seccomp filter with a special action for one system call.
** SPDX-License-Identifier: MIT
**
**   seccomp kill|trap|errno|allow NUMBER PROGRAM ARGUMENTS...
**   seccomp strange NUMBER ...   a filter with every kind of instruction; allows all
**
** May be given several times: each adds a filter.
*/
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static unsigned action_of(const char *s)
{
  if (!strcmp(s, "kill")) return SECCOMP_RET_KILL_PROCESS;
  if (!strcmp(s, "trap")) return SECCOMP_RET_TRAP;
  if (!strcmp(s, "errno")) return SECCOMP_RET_ERRNO|EPERM;
  return SECCOMP_RET_ALLOW;
}

int main(int argc, char **argv)
{
  unsigned nr = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
  struct sock_filter plain[] = {
    BPF_STMT(BPF_LD|BPF_W|BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K, nr, 0, 1),
    BPF_STMT(BPF_RET|BPF_K, argc > 3 ? action_of(argv[1]) : 0),
    BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW),
  };
  /* The number by a detour: M[3] = nr+7; X = M[3]; A = X-7; then as above, but by a shift. */
  struct sock_filter strange[] = {
    BPF_STMT(BPF_LD|BPF_W|BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_STMT(BPF_ALU|BPF_ADD|BPF_K, 7),
    BPF_STMT(BPF_ST, 3),
    BPF_STMT(BPF_LDX|BPF_W|BPF_MEM, 3),
    BPF_STMT(BPF_MISC|BPF_TXA, 0),
    BPF_STMT(BPF_ALU|BPF_SUB|BPF_K, 7),
    BPF_STMT(BPF_LDX|BPF_W|BPF_IMM, 1),
    BPF_STMT(BPF_ALU|BPF_LSH|BPF_X, 0),
    BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K, nr*2, 0, 1),
    BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_LOG),
    BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { 4, plain };
  if (argc < 4) return 2;
  if (!strcmp(argv[1], "strange")) {
    program.len = sizeof(strange)/sizeof(strange[0]);
    program.filter = strange;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("seccomp");
    return 77;
  }
  execvp(argv[3], argv+3);
  perror(argv[3]);
  return 127;
}
