// SPDX-License-Identifier: MIT
// One input of a fuzzer: any bytes are imported and analyzed, or refused; nothing else may happen.
// For mutation_test.cc; under libFuzzer, which needs clang, tests/fuzz does it.
#include <cstdint>
#include <cstdlib>

#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const luatrace::analyze::Analysed a =
      luatrace::analyze::analyse(std::vector<uint8_t>(data, data + size));
  // The one equation that holds whatever the input is.
  if (!a.unreadable && a.report.self_ns + a.report.idle_ns + a.report.gap_ns != a.report.traced_ns)
    abort();
  return 0;
}
