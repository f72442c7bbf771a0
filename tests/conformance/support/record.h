// SPDX-License-Identifier: MIT
// Records a Lua program with the products of this build and gives back its
// calls: one step for the tests that compare sequences.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "modes.h"
#include "process.h"

namespace luatrace::test {

struct RecordRequest {
  std::string program;               // path of the .lua file
  std::vector<std::string> args;     // its arguments
  std::string c_functions = "user";  // class for --c-functions
  std::vector<std::pair<std::string, std::string>> env;
  ReduceOptions reduce;
  int timeout_ms = 60'000;
};

struct Recorded {
  RunResult run;      // the program under luatrace-record
  RunResult analyze;  // luatrace-analyze --dump=calls; its output is cleared
  Reduced reduced;
  std::string commands;  // shell lines that repeat both steps
};

// scratch: where the trace may be written; it is left there.
Recorded Record(const Mode& mode, const RecordRequest& request, const ScratchDir& scratch);

// The same program, same options, by the unpatched build.
RunResult RunUpstream(const Mode& mode, const RecordRequest& request);

}  // namespace luatrace::test
