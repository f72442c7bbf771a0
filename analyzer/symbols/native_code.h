// SPDX-License-Identifier: MIT
// What is known of a C function besides its name: the file it is in, where it is defined, and which
// functions the compiler has put into it. Plain data, for --symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/symbols/texts.h"

namespace luatrace::analyze {

// A line of source code. Untrusted.
struct SourceLine {
  SharedText path;    // Null if unknown.
  uint64_t line = 0;  // 0 if unknown.

  const std::string& file() const { return string_of(path); }
};

// A function that was inlined. Calls of the same function at the same line are one.
struct InlinedFunction {
  uint32_t parent = 0;  // Into which it was: index + 1 in the list; 0: the function itself.
  uint32_t depth = 1;   // 1: directly into the function.
  SharedText name;      // Null if unknown.
  SourceLine defined;
  SourceLine called;
  uint64_t times = 0;  // Calls of it at that line.
  uint64_t bytes = 0;  // Of machine code, with what was inlined into it.
};

// Those of one function, each behind what it was inlined into, in the order of the code's
// description.
struct InlinedFunctions {
  std::vector<InlinedFunction> list;
  uint64_t more = 0;   // Calls that are not in the list, which has an end.
  bool cut = false;    // There are more that were not even counted: the file is damaged.
  uint64_t bytes = 0;  // Of the function's own code and all of theirs.
};

struct NativeCode {
  std::string module;    // Path as recorded; "" if there was no mapping.
  std::string build_id;  // Recorded, or else that of the file; raw, "" if there is none.
  uint64_t offset = 0;   // In the file.
  // What named it: "symtab", "dynsym", "debug", "nothing".
  const char* named_by = "nothing";
  std::string read_from;  // The file that says so: the module, or its debug file. "": none.
  SourceLine defined;     // Or else where its code begins.
  uint64_t bytes = 0;     // Of machine code; 0 if unknown.
  // Null without debug information: then nobody knows.
  std::shared_ptr<const InlinedFunctions> inlined;
};

}  // namespace luatrace::analyze
