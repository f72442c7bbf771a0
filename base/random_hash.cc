// SPDX-License-Identifier: MIT
#include "base/random_hash.h"

#include <sys/random.h>

namespace luatrace {

uint64_t random_factor() {
  static const uint64_t factor = [] {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) value = 0x2545f4914f6cdd1d;
    return value | 1;
  }();
  return factor;
}

}  // namespace luatrace
