// SPDX-License-Identifier: MIT
// The functions that no program has: what the VM does itself (luatrace_work.h). They are
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

// A report that the program made of its own recording.
inline bool is_own_report(const FunctionName& f) {
  return f.kind == FunctionKind::kBuiltin && f.name == "[luatrace]";
}

}  // namespace luatrace::analyze
