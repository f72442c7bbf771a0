// SPDX-License-Identifier: MIT
// The two functions that no program has: what the VM does itself (luatrace_work.h). They are
// library functions with names that no library function has.
#pragma once

#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

inline bool is_collector(const FunctionName& f) {
  return f.kind == FunctionKind::kBuiltin && f.name == "[GC]";
}
inline bool is_compiler(const FunctionName& f) {
  return f.kind == FunctionKind::kBuiltin && f.name == "[JIT]";
}

}  // namespace luatrace::analyze
