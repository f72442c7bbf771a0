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

// What the recording itself took: reports of the program's own, and the pages of a new ring.
inline bool is_recording(const FunctionName& f) {
  return f.kind == FunctionKind::kBuiltin && f.name == "[luatrace]";
}

}  // namespace luatrace::analyze
