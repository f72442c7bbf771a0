// SPDX-License-Identifier: MIT
#include "analyzer/symbols/function_kind.h"

#include <cstddef>

namespace luatrace::analyze {

const char* kind_name(FunctionKind kind) {
  static constexpr const char* kNames[] = {"",    "c",      "ff",   "gap",     "group",  "inlined",
                                           "lua", "pruned", "root", "unknown", "yielded"};
  return kNames[static_cast<size_t>(kind)];
}

std::string kind_word(FunctionKind kind) {
  return kind == FunctionKind::kBuiltin ? "builtin" : kind_name(kind);
}

}  // namespace luatrace::analyze
