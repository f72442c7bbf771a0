// SPDX-License-Identifier: MIT
// What is known of a C function besides its name: its file, where it is defined, and the functions
// inlined into it. Plain data, for --symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/symbols/texts.h"
#include "base/id.h"

namespace luatrace::analyze {

// A line of source code. Untrusted.
struct SourceLine {
  SharedText path;    // Null if unknown.
  uint64_t line = 0;  // 0 if unknown.

  const std::string& file() const { return string_of(path); }
};

// Of a row of InlinedFunctions, its index + 1; the function itself has none.
using InlinedId = Id<struct InlinedRows>;
constexpr InlinedId kNotInlined{0};

// An inlined function. Inlined calls of the same function at the same line share an entry.
struct InlinedFunction {
  InlinedId parent;    // What it was inlined into.
  uint32_t depth = 1;  // 1: directly into the function.
  SharedText name;     // Null if unknown.
  SourceLine defined;
  SourceLine called;
  uint64_t times = 0;  // Number of inlined calls at that line.
  uint64_t bytes = 0;  // Of machine code, including functions inlined into it.
};

// The inlined functions of one function, each after its parent, in the order of the debug
// information.
struct InlinedFunctions {
  std::vector<InlinedFunction> list;
  uint64_t more = 0;   // Inlined calls that are not in the list because it was full.
  bool cut = false;    // There are more, not even counted: the file is damaged.
  uint64_t bytes = 0;  // Of the function's machine code, including all inlined functions.
};

struct NativeCode {
  std::string module;    // Path as recorded; "" if there was no mapping.
  std::string build_id;  // Recorded, or else the file's; raw bytes, "" if there is none.
  uint64_t offset = 0;   // In the file.
  // The source of the name: "symtab", "dynsym", "debug", "nothing".
  const char* named_by = "nothing";
  std::string read_from;  // The file that has the name: the module or its debug file; "": none.
  SourceLine defined;     // The definition, or else the line where its code begins.
  uint64_t bytes = 0;     // Of machine code; 0 if unknown.
  // Null if unknown: there is no debug information.
  std::shared_ptr<const InlinedFunctions> inlined;
};

}  // namespace luatrace::analyze
