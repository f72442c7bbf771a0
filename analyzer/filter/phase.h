// SPDX-License-Identifier: MIT
// --group-by phase: which phase of nginx's request processing a function begins. lua-nginx-module
// names the chunk of an inline block after its directive: `=access_by_lua(nginx.conf:12)`. The
// chunk of a *_by_lua_file directive has the name of its file, so nothing shows its phase.
#pragma once

#include <string>

#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

constexpr const char* kTimerPhase = "timer";
// Where functions stand for phases: that of timers. It is no index of the function table.
constexpr FunctionId kTimerFunction{UINT32_MAX};

// Returns the phase as ngx.get_phase() names it if the function is the main chunk of an inline
// block: "access", "ssl_cert"; otherwise "".
std::string nginx_phase(const FunctionName& function);

// Whether a coroutine that this function creates runs later, as a timer.
bool creates_timers(const FunctionName& function);

// The phase of a coroutine, the same for --group-by phase and --requests; P is what stands for a
// phase there, P{} for none.

// Returns what a coroutine inherits: a timer, or the phase of the call that creates it. by_host: no
// call does, but the host; creates_timers: that call is of such a function.
template <class P>
P inherited_phase(P creator, bool creates_timers, bool by_host, P timer) {
  return (creator ? creates_timers : by_host) ? timer : creator;
}

// Returns the phase of a coroutine's outermost call, which is a block of the phase `own`, if it is
// one. That a timer's function is no main chunk distinguishes it from a *_by_lua_file.
template <class P>
P outermost_phase(P own, P inherited, bool is_main_chunk, P timer) {
  if (own) return own;
  return is_main_chunk && inherited == timer ? P{} : inherited;
}

}  // namespace luatrace::analyze
