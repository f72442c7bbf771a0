// SPDX-License-Identifier: MIT
// The kind of a function in reports: a function of the program, or a pseudo-function that stands
// for calls that are not distinguished.
#pragma once

#include <cstdint>
#include <string>

namespace luatrace::analyze {

// In alphabetical order: functions that are otherwise equal are sorted by kind.
enum class FunctionKind : uint8_t {
  kNone,  // Not a function.
  kC,
  kBuiltin,
  kGap,  // Unknown callers.
  kGroup,
  kInlined,  // By the compiler, into a C function.
  kLua,
  kPruned,
  kRoot,
  kUnknown,  // Without a description.
  kYielded,
};
// Returns the name used in JSON, CSV, pages and identity(): "lua", "c", "ff" ...
const char* kind_name(FunctionKind kind);

// Returns the value of --kind: "lua", "c" or "builtin".
std::string kind_word(FunctionKind kind);

}  // namespace luatrace::analyze
