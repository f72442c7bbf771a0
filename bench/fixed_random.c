/*
** Makes LuaJIT's start deterministic: getrandom() through syscall() always
** returns the same bytes, so string hashes, code addresses and the points where
** traces begin are the same in each run and instruction counts can be compared.
** Loaded with LD_PRELOAD for counting only, never for timing.
** SPDX-License-Identifier: MIT
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

typedef long (*syscall_fn)(long, long, long, long, long, long, long);

long syscall(long number, ...)
{
  va_list ap;
  long a[6];
  va_start(ap, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg(ap, long);
  va_end(ap);
  if (number == SYS_getrandom) {
    memset((void *)a[0], 0x5a, (size_t)a[1]);
    return a[1];
  }
  return ((syscall_fn)dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
