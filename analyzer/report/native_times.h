// SPDX-License-Identifier: MIT
// Native time of functions: the third duration of LuaProfile, c_ns in JSON.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// By function: time during which a C function called by it was open; nested calls count once.
std::vector<uint64_t> native_times(const Report& report);

}  // namespace luatrace::analyze
