// SPDX-License-Identifier: MIT
// The name and location of a function, as filters, reports and exports use them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "analyzer/machine/functions.h"
#include "analyzer/symbols/function_kind.h"

namespace luatrace::analyze {

struct FunctionName {
  FunctionKind kind = FunctionKind::kNone;
  std::string chunk;  // The chunk name; for C functions the library's path, if known.
  uint32_t line = 0;
  uint32_t code = 0;       // For a Lua function without lines: LT_LINE_CODE and a hash of its code.
  std::string name;        // "" if unknown.
  bool hint = false;       // The name comes from a call, not from the definition.
  bool coroutine = false;  // A group of coroutines, distinct from any other group.
};

struct NativeCode;

// The name of a C function and its library.
struct Symbol {
  std::string name;
  std::string file;
  std::shared_ptr<const NativeCode> code;  // Null without --symbols.
};
using SymbolFinder = std::function<Symbol(const Function&)>;

FunctionName describe(const Function& function, const SymbolFinder& symbols);
// Returns a key that is equal exactly for functions that reports treat as the same.
std::string identity(const FunctionName& function);

// Replaces the name of `f` if `name` is better: a definition's name is better than a hint; of two
// equally good names, the alphabetically first one is. So their order has no effect.
void take_name(FunctionName& f, const std::string& name, bool hint);

// Returns the display name, unescaped: "work", "main chunk", "string.gsub", "co.lua:3".
std::string display_name(const FunctionName& f);
// The same, but functions without lines that share a name get distinct ones: for consumers that
// distinguish functions by name, file and line.
std::string distinct_name(const FunctionName& f);
// Returns the file, or else the chunk name, unescaped: "co.lua", "libfoo.so", "return 1", "".
std::string file_name(const FunctionName& f);
// Returns the line, or a hash of the code if there are no lines: "3", "#1e83f2ab".
std::string line_text(const FunctionName& f);
// Returns the location, unescaped: "co.lua:3", "co.luac:#1e83f2ab", "libfoo.so", "".
std::string display_place(const FunctionName& f);

}  // namespace luatrace::analyze
