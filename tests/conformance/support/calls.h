// SPDX-License-Identifier: MIT
// The sequence of calls as the tests compare it: what `luatrace-analyze
// --dump=calls` printed, reduced to what a Lua program determines.
//
// Reduced means: only what happens from the entry of the program's main chunk
// on, calls of the stand-alone front end left out, depth counted from the main
// chunk, coroutines numbered in the order of their creation (1: the first),
// no collection of coroutines (that is the garbage collector's business).
// Invariant: every depth of the dump was checked against a stack rebuilt from
// the dump alone; what did not fit is listed in Reduced::problems.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace::test {

enum class Kind : uint8_t { kEntry, kReturn, kTail, kUnwind, kResume, kSuspend, kCreate, kOther };

struct Call {
  Kind kind = Kind::kOther;
  uint32_t co = 1;     // coroutine in which it happens (calls only)
  uint32_t depth = 0;  // of the call, 1: the outermost (calls only)
  std::string what;    // "file.lua:12", "C:print", "co2" or a status word
};

struct Reduced {
  std::vector<Call> calls;
  std::vector<std::string> problems;  // contradictions inside the dump
};

struct ReduceOptions {
  std::string main;                // name of the main chunk's function: "x.lua:0"
  std::set<std::string> ignore;    // functions left out, with their ends
  bool ignore_coroutine_c = true;  // leave out C:coroutine.*, except yield
};

// text: the output of --dump=calls for one process.
Reduced Reduce(std::string_view text, const ReduceOptions& options);

// "" if the sequences are equal, else a text that shows the first difference
// with `context` events around it. An expected name that ends in '*' matches
// every name that begins like it.
std::string FirstDifference(const std::vector<Call>& expected, const std::vector<Call>& actual,
                            size_t context = 14);

std::string ToText(const Call& call);

}  // namespace luatrace::test
