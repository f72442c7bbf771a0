// SPDX-License-Identifier: MIT
// conformance_expand PROGRAM.expect: prints the events that PROGRAM.expect says
// PROGRAM.lua has, one a line, as the tests compare them.
#include <iostream>

#include "expect.h"
#include "process.h"

using namespace luatrace::test;

static Expectation Load(std::string path) {
  path.resize(path.size() - std::string(".expect").size());
  std::string file = path.substr(path.rfind('/') + 1) + ".lua";
  auto names = FunctionNames(ReadFile(path + ".lua"), file);
  return ParseExpectation(ReadFile(path + ".expect"), path + ".expect", names);
}

int main(int argc, char** argv) {
  if (argc != 2 || !std::string(argv[1]).ends_with(".expect")) {
    std::cerr << "usage: conformance_expand PROGRAM.expect\n";
    return 1;
  }
  try {
    for (const Call& call : Load(argv[1]).calls) std::cout << ToText(call) << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
