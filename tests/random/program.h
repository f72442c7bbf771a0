// SPDX-License-Identifier: MIT
// A random Lua program: a few functions that call each other in every way that has events. The same
// structure is printed as Lua (program.cc) and interpreted by the oracle (oracle.cc).
// Invariant: what a program does depends on nothing but this structure: no input, no time, no
// addresses, no iteration order. It ends because every call takes one unit of fuel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::test {

struct Statement {
  enum Type {
    kCall,       // F[fn](d - 1)
    kLoop,       // for i = 1, n do body end
    kPcall,      // pcall(F[fn], d - 1)
    kError,      // if d == n then error() end
    kYield,      // if inside a coroutine then yield end
    kCoroutine,  // create F[fn], resume it up to n times
    kWrap,       // wrap F[fn], call it up to n times under pcall
    kGsub,       // string.gsub with a callback that calls F[fn], n times
    kIndex,      // an __index function that calls F[fn]
    kAdd,        // an __add function that calls F[fn]
    kCallable,   // a __call function that calls F[fn]
    kCollect,    // garbage is made, and collected: whole cycles in the middle of calls
    kFlush,      // compiled code is discarded
    kTypes
  };
  Type type = kCall;
  int fn = 0;
  int n = 0;
  std::vector<Statement> body;
  int line = 0;  // kGsub: of the callback (set by Print)
};

struct Function {
  enum Tail { kNone, kFunction, kFast, kCallableTail, kTails };
  bool vararg = false;
  std::vector<Statement> body;
  Tail tail = kNone;
  int tail_fn = 0;
  int line = 0;                                     // of the definition (set by Print)
  int index_line = 0, add_line = 0, call_line = 0;  // of its metamethods (set by Print)
};

struct Program {
  uint64_t seed = 0;
  std::vector<Function> functions;
  int rounds = 0, fuel = 0, depth = 0;
  std::string c_functions;  // class of C functions to record: user or default
};

// The program of a seed; the same on every machine.
Program Generate(uint64_t seed);

// Its Lua source; sets the lines in *program.
std::string Print(Program* program);

}  // namespace luatrace::test
