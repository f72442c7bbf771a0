// SPDX-License-Identifier: MIT
// What a function is called and where it is: how filters, reports and exports name it.
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
  std::string chunk;  // As LuaJIT has it; of C functions the library's path, if known.
  uint32_t line = 0;
  uint32_t code = 0;       // Of a Lua function without lines: LT_LINE_CODE and a hash of its code.
  std::string name;        // "" if it is not known.
  bool hint = false;       // The name is only what a call of it called it.
  bool coroutine = false;  // A group that stands for coroutines: no other is the same.
};

struct NativeCode;

// What a C function is called, and the library it is in.
struct Symbol {
  std::string name;
  std::string file;
  std::shared_ptr<const NativeCode> code;  // Null unless it was asked for (--symbols).
};
using SymbolFinder = std::function<Symbol(const Function&)>;

FunctionName describe(const Function& function, const SymbolFinder& symbols);
// Equal exactly for functions that reports take for the same.
std::string identity(const FunctionName& function);

// Takes `name` if it is better than the one that `f` has: one of a definition than one of a call,
// and of two equally good ones the first in the alphabet, whatever came first.
void take_name(FunctionName& f, const std::string& name, bool hint);

// Name of a function for people, unescaped: "work", "main chunk", "string.gsub", "co.lua:3".
std::string display_name(const FunctionName& f);
// The same, but of functions without lines that have the same name, each has another one: for
// readers that tell functions apart by name, file and line.
std::string distinct_name(const FunctionName& f);
// The file (or what else its chunk is called), unescaped: "co.lua", "libfoo.so", "return 1", "".
std::string file_name(const FunctionName& f);
// Its line, or what stands for it where there are no lines: "3", "#1e83f2ab".
std::string line_text(const FunctionName& f);
// Where it is defined, unescaped: "co.lua:3", "co.luac:#1e83f2ab", "libfoo.so", "".
std::string display_place(const FunctionName& f);

}  // namespace luatrace::analyze
