// SPDX-License-Identifier: MIT
// The reader of the text form: any text is a trace, or refused; and text -> trace -> text gives the
// same text.
#include <cstring>

#include "check.h"
#include "repair.h"

using namespace luatrace::analyze::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  limit_time();
  const uint64_t way = choice(data, size);
  const Bytes bytes(data, data + size);
  if (way % 2)
    round_trip(bytes);
  else
    analyse(bytes, way / 2);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  return mutate(data, size, limit, seed, [](uint8_t* text, size_t length, unsigned) {
    static const char kFirst[] = "#luatrace-text 1\n";
    if (length >= sizeof kFirst - 1) memcpy(text, kFirst, sizeof kFirst - 1);
  });
}
