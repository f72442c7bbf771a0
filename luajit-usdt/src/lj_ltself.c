/*
** Tracing of calls: what this process knows of the recording that it has started.
** SPDX-License-Identifier: MIT
**
** Invariants: only the process that has started a recorder talks to it; a child that was forked can
** only end its part in the recording, or start its own. One thread at a time is in a function of
** luatrace.h that does. */

#define lj_ltself_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

LTSelf lj_ltself = { 0, 0, 0, NULL, NULL };

static char message[LTSELF_MESSAGE];	/* What a function returns. */

/* -- Messages ------------------------------------------------------------- */

const char *lj_ltself_fail(const char *what, const char *why)
{
  snprintf(message, sizeof(message), "%.850s%s%.150s", what, *why ? ": " : "", why);
  return message;
}

/* Enter a function; it returns by lj_ltself_leave(). The thread is not cancelled meanwhile: the new
** processes that it starts would be instead, with its stack and its memory. A thread that was
** inside when the process was forked does not exist in the child. */
int lj_ltself_enter(void)
{
  int32_t self = (int32_t)getpid(), was = __atomic_load_n(&lj_ltself.busy, __ATOMIC_RELAXED);
  if (was == self ||
      !__atomic_compare_exchange_n(&lj_ltself.busy, &was, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return 0;
  if (was) {  /* That thread may have been replacing them. */
    lj_ltself.args = NULL;
    lj_ltself.file = NULL;
  }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &lj_ltself.cancel);
  return 1;
}

const char *lj_ltself_leave(const char *why)
{
  int cancel = lj_ltself.cancel;
  __atomic_store_n(&lj_ltself.busy, 0, __ATOMIC_RELEASE);
  pthread_setcancelstate(cancel, NULL);
  return why;
}

/* The recorder's own words, without the last newline; else ours. */
const char *lj_ltself_reason(const char *ours)
{
  char *messages = lj_ltlink_messages();
  size_t n = strlen(messages);
  if (n && messages[n-1] == '\n') messages[n-1] = '\0';
  return lj_ltself_fail(n ? messages : ours, "");
}

/* -- The recorder ------------------------------------------------------------ */

/* Has this process started a recorder? */
int lj_ltself_isopen(void)
{
  return lj_ltself.pid == (int32_t)getpid();
}

/* Has our parent, from which this process was forked, started a recorder for both? */
int lj_ltself_isparents(void)
{
  return lj_ltself.pid && !lj_ltself_isopen();
}

/* Is another recorder reading this process's events? NULL if none is. */
const char *lj_ltself_another(void)
{
  const LTControl *c = &luajit_usdt_control;
  if (!c->ring && !c->block && !c->segments) return NULL;
  return lj_ltself_fail("this process is being recorded by luatrace-record", "");
}

/* Ask the recorder for something, with a descriptor unless that is -1. */
const char *lj_ltself_ask(char what, int fd)
{
  char answer[LTLINK_ANSWER];
  const char *why;
  int ended = 1;
  if (!lj_ltlink_isopen())
    return lj_ltself_fail("the program has closed the connection to luatrace-record", "");
  if (lj_ltlink_request(what, fd) && (why = lj_ltlink_answer(what, answer, LTSELF_WAIT_MS, &ended)) != NULL)
    return *why ? lj_ltself_fail(why, "") : NULL;
  if (ended) return lj_ltself_reason(LTSELF_ENDED);
  return lj_ltself_fail("luatrace-record does not answer", "");
}

/* -- Programs ---------------------------------------------------------------- */

/* An own copy of the options; NULL without memory. */
char **lj_ltself_options(const char *const *options)
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

/* The arguments of a program; its descriptor 3 is the file. Returns 0: too many. */
int lj_ltself_arguments(char **argv, const char *const *first, char **options)
{
  int n = 0;
  while (*first) argv[n++] = (char *)(uintptr_t)*first++;
  while (options && *options && n < LTSELF_ARGS) argv[n++] = *options++;
  argv[n] = NULL;
  return n < LTSELF_ARGS;
}

#endif
