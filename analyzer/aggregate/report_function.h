// SPDX-License-Identifier: MIT
// A function as reports know it: what it is called, where it is, and its sums in nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "analyzer/aggregate/histogram.h"
#include "analyzer/stacks/functions.h"

namespace luatrace {

struct ReportFunction {
  // "lua", "c", "ff", "unknown" (no description), "group", "pruned", "yielded", "root",
  // "gap".
  std::string kind;
  std::string chunk;  // As LuaJIT has it; of C functions the library's path, if known.
  uint32_t line = 0;
  std::string name;  // "" if nobody knows one.
  uint64_t calls = 0;
  uint64_t complete = 0;  // Calls seen from beginning to end: min, max and sum are of these.
  uint64_t wall_ns = 0;
  uint64_t running_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;
  Distribution times;  // Empty unless histograms were asked for.

  uint64_t average_ns() const { return complete ? sum_ns / complete : 0; }
};

// The command line, or what it names, makes no sense.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a C function is called, and the library it is in.
struct Symbol {
  std::string name;
  std::string file;
};
using SymbolFinder = std::function<Symbol(const Function&)>;

// Without its sums.
ReportFunction describe(const Function& function, const SymbolFinder& symbols);
// Adds the sums of `from` to those of `to`.
void add_figures(ReportFunction& to, const ReportFunction& from);
// Equal exactly for functions that reports take for the same.
std::string identity(const ReportFunction& function);

// Name of a function for people, unescaped: "work", "main chunk", "string.gsub", "co.lua:3".
std::string display_name(const ReportFunction& f);
// Where it is defined, unescaped: "co.lua:3", "libfoo.so", "".
std::string display_place(const ReportFunction& f);

}  // namespace luatrace
