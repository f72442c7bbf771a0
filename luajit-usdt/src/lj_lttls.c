/*
** Tracing of calls: the variable that points to the context of a thread.
** SPDX-License-Identifier: MIT
**
** OTEP 4947 prescribes its name, and that it is in the table of dynamic symbols. This file is never
** amalgamated: on x64 it is compiled with the recommended dialect of TLS, if the compiler knows it. */

#define lj_lttls_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include "lj_ltrace.h"

__attribute__((visibility("default"), used)) __thread void *otel_thread_ctx_v1;

void **lj_lttls_context(void)
{
  return &otel_thread_ctx_v1;
}

#endif
