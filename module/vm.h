// SPDX-License-Identifier: MIT
// luatrace.h of the LuaJIT that loads this module. All of it is weak: a LuaJIT without tracepoints
// has none of it, and the module must be loaded there to say so.
#pragma once

#include "luatrace.h"

#pragma weak luaJIT_trace_start
#pragma weak luaJIT_trace_stop
#pragma weak luaJIT_trace_pause
#pragma weak luaJIT_trace_resume
#pragma weak luaJIT_trace_reset
#pragma weak luaJIT_trace_snapshot
#pragma weak luaJIT_trace_status
#pragma weak luaJIT_trace_messages
#pragma weak luaJIT_trace_report
#pragma weak luaJIT_trace_warnings
#pragma weak luaJIT_trace_coroutine
#pragma weak luaJIT_trace_hidden
#pragma weak luaJIT_trace_section_start
#pragma weak luaJIT_trace_section_stop
#pragma weak luaJIT_trace_label
#pragma weak luaJIT_trace_stack
#pragma weak luaJIT_trace_hook
#pragma weak luaJIT_trace_unhook
#pragma weak luaJIT_trace_section
