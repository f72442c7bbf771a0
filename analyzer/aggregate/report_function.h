// SPDX-License-Identifier: MIT
// A function as reports know it: what it is called, where it is, and its sums in nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "analyzer/aggregate/function_kind.h"
#include "analyzer/aggregate/histogram.h"
#include "analyzer/stacks/functions.h"
#include "cli/usage_error.h"

namespace luatrace {

struct ReportFunction {
  FunctionKind kind = FunctionKind::kNone;
  std::string chunk;  // As LuaJIT has it; of C functions the library's path, if known.
  uint32_t line = 0;
  uint32_t code = 0;       // Of a Lua function without lines: LT_LINE_CODE and a hash of its code.
  std::string name;        // "" if nobody knows one.
  bool hint = false;       // The name is only what a call of it called it.
  bool coroutine = false;  // A group that stands for coroutines: no other is the same.
  uint64_t calls = 0;
  uint64_t complete = 0;  // Calls seen from beginning to end: min, max and sum are of these.
  uint64_t wall_ns = 0;
  uint64_t running_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;
  // Groups above the call tree: calls and self times of the functions in them. Not part of the
  // group's own, so that the sum over all functions and groups is the whole.
  uint64_t inner_calls = 0;
  uint64_t inner_self_ns = 0;
  bool in_group = false;  // A group whose time and calls are those of others: no row.
  Distribution times;     // Empty unless histograms were asked for.

  uint64_t average_ns() const { return complete ? sum_ns / complete : 0; }
};

struct NativeCode;

// What a C function is called, and the library it is in.
struct Symbol {
  std::string name;
  std::string file;
  std::shared_ptr<const NativeCode> code;  // Null unless it was asked for (--symbols).
};
using SymbolFinder = std::function<Symbol(const Function&)>;

// Without its sums.
ReportFunction describe(const Function& function, const SymbolFinder& symbols);
// Adds the sums of `from` to those of `to`.
void add_figures(ReportFunction& to, const ReportFunction& from);
// Equal exactly for functions that reports take for the same.
std::string identity(const ReportFunction& function);

// Takes `name` if it is better than the one that `f` has: one of a definition than one of a call,
// and of two equally good ones the first in the alphabet, whatever came first.
void take_name(ReportFunction& f, const std::string& name, bool hint);

// Name of a function for people, unescaped: "work", "main chunk", "string.gsub", "co.lua:3".
std::string display_name(const ReportFunction& f);
// The same, but of functions without lines that have the same name, each has another one: for
// readers that tell functions apart by name, file and line.
std::string distinct_name(const ReportFunction& f);
// The file (or what else its chunk is called), unescaped: "co.lua", "libfoo.so", "return 1", "".
std::string file_name(const ReportFunction& f);
// Its line, or what stands for it where there are no lines: "3", "#1e83f2ab".
std::string line_text(const ReportFunction& f);
// Where it is defined, unescaped: "co.lua:3", "co.luac:#1e83f2ab", "libfoo.so", "".
std::string display_place(const ReportFunction& f);

}  // namespace luatrace
