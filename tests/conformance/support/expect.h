// SPDX-License-Identifier: MIT
// The notation in which tests/conformance/programs/*.expect say which events a
// program has, and its expansion. Nesting is the call stack, so depths need
// not be written; see tests/conformance/README.md for the whole language.
//
//   main { repeat 200 { f { g } }  h => g  pcalled { k ! } }
//
// A name is bound to a function of the program by a comment `--:name` at the
// end of the line on which the function begins.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls.h"

namespace luatrace::test {

struct Expectation {
  std::map<std::string, std::string> directives;  // "key: value" lines
  std::vector<Call> calls;                        // in order, as Reduce() gives them
};

// Thrown for a mistake in a .expect file; what() names file, line and reason.
struct ExpectError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Name -> "file.lua:LINE" for every marker `--:name` of a program, and `main`
// for its main chunk. file: the name that the events will show.
std::map<std::string, std::string> FunctionNames(const std::string& lua_source,
                                                 const std::string& file);

// text: the .expect file; file: its name, for messages; names: see above.
Expectation ParseExpectation(const std::string& text, const std::string& file,
                             std::map<std::string, std::string> names);

}  // namespace luatrace::test
