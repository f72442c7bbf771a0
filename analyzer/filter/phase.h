// SPDX-License-Identifier: MIT
// --group-by phase: which phase of nginx's request processing a function begins. lua-nginx-module
// names the chunk of an inline block after its directive: `=access_by_lua(nginx.conf:12)`. The
// chunk of a *_by_lua_file directive has the name of its file, so nothing shows its phase.
#pragma once

#include <string>

#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

constexpr const char* kTimerPhase = "timer";

// Returns the phase as ngx.get_phase() names it if the function is the main chunk of an inline
// block: "access", "ssl_cert"; otherwise "".
std::string nginx_phase(const FunctionName& function);

// Whether a coroutine that this function creates runs later, as a timer.
bool creates_timers(const FunctionName& function);

}  // namespace luatrace::analyze
