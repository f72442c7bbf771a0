// SPDX-License-Identifier: MIT
// The reader of binary traces: any bytes are read as far as they are valid, or refused.
#include "check.h"
#include "repair.h"

using namespace luatrace::analyze::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  limit_time();
  analyse(Bytes(data, data + size), choice(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  return mutate(data, size, limit, seed, repair_trace);
}
