// SPDX-License-Identifier: MIT
// Shared by the importers' tests. Each trace is given in both forms, which must mean the same.
#pragma once

#include <string>

#include "hits.h"
#include "support.h"

namespace luatrace::analyze::test {

// A main coroutine (address a0, state 90) that calls f1 -> f2.
extern const char* const kCalls;
// A coroutine (c0, number 2) that is created, resumed twice, ends; the address is used again.
extern const char* const kCoroutines;
// The file of the functions of bt_text().
inline const std::string kFile = "a_name_that_needs_two.lua";

// The dumped calls without the line of the start.
std::string body(const std::string& calls);
// What both forms mean.
std::string both(const std::string& hits);
Analysed analysed(const std::string& hits);
// With the names that functions f1..f9 have: file and line.
std::string named(std::string text);

}  // namespace luatrace::analyze::test
