// SPDX-License-Identifier: MIT
// What a function of a report is: one of the program's, or what stands for calls that are not kept
// apart.
#pragma once

#include <cstdint>
#include <string>

namespace luatrace::analyze {

// In the order of their names: functions that are alike otherwise are sorted by them.
enum class FunctionKind : uint8_t {
  kNone,  // No function.
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
// As JSON, CSV, pages and identity() have it: "lua", "c", "ff" ...
const char* kind_name(FunctionKind kind);

// As --kind has it: "lua", "c" or "builtin".
std::string kind_word(FunctionKind kind);

}  // namespace luatrace::analyze
