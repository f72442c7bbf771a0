// SPDX-License-Identifier: MIT
// The importer of lua-calls.stp's output.
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
  return mutate(data, size, limit, seed, [](uint8_t* records, size_t length, unsigned) {
    static const uint8_t kFirst[] = {'H', 0x4c, 1, 0, 'T', 'S', 'T', 'P'};
    if (length >= sizeof kFirst) memcpy(records, kFirst, sizeof kFirst);
    for (size_t at = 40; at + 40 <= length; at += 40) records[at + 1] = 0x4c;  // Every record's.
  });
}
