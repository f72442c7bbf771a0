// SPDX-License-Identifier: MIT
// The reader of saved profiles, and every output from them.
#include "check.h"
#include "repair.h"

using namespace luatrace::analyze::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  limit_time();
  read_saved(Bytes(data, data + size), choice(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  return mutate(data, size, limit, seed, repair_profile);
}
