// SPDX-License-Identifier: MIT
// The kind, name and location of a function, as filters, reports and exports use them.
//
// Invariant: functions that are not the same differ in what is shown of name and location.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

// A function of the program, or a pseudo-function that stands for calls that are not distinguished.
// In alphabetical order: functions that are otherwise equal are sorted by kind.
enum class FunctionKind : uint8_t {
  kNone,  // Not a function.
  kC,
  kBuiltin,
  kGap,  // Unknown callers.
  kGroup,
  kInlined,  // By the compiler, into a C function.
  kKernel,   // Of the operating system's kernel; in samples only.
  kLua,
  kPhase,  // Of requests, without a function of its own: that of timers.
  kPruned,
  kRoot,
  kUnknown,  // Without a description, or an unknown frame of a sample.
  kSuspended,
};
// Returns the name used by --kind, JSON, CSV, pages and identity(): "lua", "c", "builtin" ...
const char* kind_name(FunctionKind kind);

struct FunctionName {
  FunctionKind kind = FunctionKind::kNone;
  bool hint = false;       // The name comes from a call, not from the definition.
  bool coroutine = false;  // A group of coroutines, distinct from any other group.
  std::string chunk;       // The chunk name; for C functions the library's path, if known; for
                           // functions of the kernel their module.
  uint32_t line = 0;
  // LT_LINE_CODE and, for a Lua function without lines, a hash of its code; for a C function whose
  // name comes from a call, its offset in the library.
  uint32_t code = 0;
  std::string name;  // "" if unknown.
};

struct NativeCode;

// The name of a C function and its library.
struct Symbol {
  std::string name;
  std::string file;
  uint64_t offset = 0;                     // In the file; 0 if `name` is a symbol.
  std::shared_ptr<const NativeCode> code;  // Null without --symbols.
};
using SymbolFinder = std::function<Symbol(const Function&)>;

FunctionName describe(const Function& function, const SymbolFinder& symbols);
// Returns a key that is equal exactly for functions that reports treat as the same.
std::string identity(const FunctionName& function);

// Replaces the name of `f` if `name` is better: a definition's name is better than a hint; of two
// equally good names, the alphabetically first one is. So their order has no effect.
void take_name(FunctionName& f, const std::string& name, bool hint);

// Returns the display name, unescaped: "work", "string.gsub", "co.lua:3". That of a main chunk is
// its chunk's: "content_by_lua(nginx.conf:12)", "app.lua".
std::string display_name(const FunctionName& f);
// What is shown as the location of a main chunk, which is in its name.
constexpr const char* kMainChunk = "main chunk";
bool is_main_chunk(const FunctionName& f);
// What is shown beside the name, unescaped: kMainChunk, "" for a section, or display_place().
std::string shown_place(const FunctionName& f);
// Whether the name shown is only known from a call; text marks it with a '?'.
bool shows_hint(const FunctionName& f);
// The same, but functions without lines that share a name get distinct ones: for consumers that
// distinguish functions by name, file and line.
std::string distinct_name(const FunctionName& f);
// Returns the file, or else the chunk name, unescaped: "co.lua", "libfoo.so", "return 1", "".
std::string file_name(const FunctionName& f);
// Returns the line, or a hash of the code if there are no lines: "3", "#1e83f2ab"; of a C function
// with only a hint the offset in its library: "0x156d0".
std::string line_text(const FunctionName& f);
// Returns the location, unescaped: "co.lua:3", "co.luac:#1e83f2ab", "libfoo.so", "", or
// "libfoo.so+0x156d0" if the name comes from a call.
std::string display_place(const FunctionName& f);

}  // namespace luatrace::analyze
