// SPDX-License-Identifier: MIT
// The importer of lua-calls.bt's output.
#include <cstring>

#include "check.h"
#include "repair.h"

using namespace luatrace::analyze::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  limit_time();
  analyse(Bytes(data, data + size), choice(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  return mutate(data, size, limit, seed, [](uint8_t* text, size_t length, unsigned) {
    static const char kFirst[] = "#luatrace-bt 1 100000000000 ";
    if (length >= sizeof kFirst - 1) memcpy(text, kFirst, sizeof kFirst - 1);
  });
}
