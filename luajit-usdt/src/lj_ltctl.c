/*
** Tracing of calls: the process-wide control word and the settings.
** SPDX-License-Identifier: MIT
**
** Invariant: luajit_usdt_control is the only thing that a tracer writes from
** outside; it is at a fixed place of a file-backed page of the library.
*/

#define lj_ltctl_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* -- Process-wide control ------------------------------------------------- */

/* In ".probes": a writable, file-backed section, as the kernel wants it for
** the reference counter of a uprobe. */
__attribute__((visibility("default"), section(".probes"), aligned(16), used))
LTControl luajit_usdt_control = {
  .version = 1, .magic = LUAJIT_USDT_MAGIC, .size = sizeof(LTControl),
  .cfuncs = LTC_DEFAULT, .ring_size = 8u<<20
};

LJ_STATIC_ASSERT(sizeof(luajit_usdt_control.include) == LT_GLOBS_MAX+1);
LJ_STATIC_ASSERT(sizeof(luajit_usdt_control.exclude) == LT_GLOBS_MAX+1);

extern char *secure_getenv(const char *name);  /* Needs _GNU_SOURCE. */

#if LJ_LTVMFAST
/* The same under a name that needs no relocation. */
extern LTControl lj_ltcontrol
  __attribute__((alias("luajit_usdt_control"), visibility("hidden")));
#endif

static void env_string(const char *name, char *to, size_t size)
{
  const char *s = secure_getenv(name);
  if (s && strlen(s) < size) strcpy(to, s);
}

/* Take the recorder's settings from the environment, once per process. */
void lj_ltring_env(void)
{
  LTControl *c = &luajit_usdt_control;
  const char *s;
  if (__atomic_exchange_n(&c->envdone, 1, __ATOMIC_ACQ_REL)) return;
  env_string(LT_ENV_SOCKET, c->socket, sizeof(c->socket));
  env_string(LT_ENV_INCLUDE, c->include, sizeof(c->include));
  env_string(LT_ENV_EXCLUDE, c->exclude, sizeof(c->exclude));
  if ((s = secure_getenv(LT_ENV_CFUNCS))) {
    static const char *const names[] = { "none", "user", "default", "all" };
    uint32_t i;
    for (i = 0; i < 4; i++)
      if (!strcmp(s, names[i])) c->cfuncs = i;
  }
  if ((s = secure_getenv(LT_ENV_RING))) c->ring_size = strtoull(s, NULL, 0);
  if ((s = secure_getenv(LT_ENV_BLOCK))) c->ring_block = *s == '1';
  if (c->socket[0]) st_rel(&c->ring, 1);
}

static int match_list(const char *list, const char *chunk)
{
  const char *base = strrchr(chunk, '/');
  while (*list) {
    char pat[1024];
    size_t n = strcspn(list, "\n");
    memcpy(pat, list, n);
    pat[n] = '\0';
    if (n && (!fnmatch(pat, chunk, 0) ||
	      (*chunk && !fnmatch(pat, chunk+1, 0)) ||
	      (base && !fnmatch(pat, base+1, 0))))
      return 1;
    list += n + (list[n] == '\n');
  }
  return 0;
}

/* Is a chunk of this name wanted? Patterns see the name with and without its
** first character, and its last path component. */
int lj_ltring_match(const char *chunk)
{
  const LTControl *c = &luajit_usdt_control;
  if (c->include[0] && !match_list(c->include, chunk)) return 0;
  return !(c->exclude[0] && match_list(c->exclude, chunk));
}

#endif
