// SPDX-License-Identifier: MIT
// Which calls a generated program makes, by interpreting its structure: nothing here knows LuaJIT.
#pragma once

#include <string>
#include <vector>

#include "calls.h"
#include "program.h"

namespace luatrace::test {

// program: after Print(), so that the lines are known. file: the chunk's base name.
std::vector<Call> Predict(const Program& program, const std::string& file);

}  // namespace luatrace::test
