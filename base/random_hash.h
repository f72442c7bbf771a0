// SPDX-License-Identifier: MIT
// Hashes that who writes a trace cannot foresee: so none can be made of which all keys fall into
// one place of a table, where each look-up would take as long as there are keys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace luatrace {

// Odd; the same as long as the process lives.
uint64_t random_factor();

// For numbers in unordered containers, whose own hash of a number is the number.
struct RandomHash {
  size_t operator()(uint64_t key) const {
    key = (key ^ key >> 32) * random_factor();
    // Numbers in a row are still evenly spaced, with some factors at a distance that puts many of
    // them into few places.
    key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9;
    return key ^ key >> 32;
  }
};

}  // namespace luatrace
