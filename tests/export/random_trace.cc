// SPDX-License-Identifier: MIT
// random_trace SEED LENGTH: a random program's trace in the text form, as the analyzer's own tests
// make them (tests/analyzer/model.h).
#include <cstdlib>
#include <iostream>

#include "model.h"
#include "support.h"

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const auto events = luatrace::analyze::model::generate(strtoull(argv[1], nullptr, 10),
                                                         strtoull(argv[2], nullptr, 10));
  std::cout << luatrace::analyze::trace_text(luatrace::analyze::model::to_text(events));
  return 0;
}
