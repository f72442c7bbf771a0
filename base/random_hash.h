// SPDX-License-Identifier: MIT
// Hashes that the author of a trace cannot predict. So no trace can be crafted whose keys all fall
// into one bucket of a hash table, where every lookup would be linear.
#pragma once

#include <cstddef>
#include <cstdint>

namespace luatrace {

// An odd random number, constant during the life of the process.
uint64_t random_factor();

// A hash of numbers for unordered containers; std::hash of a number is the number itself.
struct RandomHash {
  size_t operator()(uint64_t key) const {
    key = (key ^ key >> 32) * random_factor();
    // Consecutive numbers are still evenly spaced, and some factors space them so that many share a
    // few buckets.
    key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9;
    return key ^ key >> 32;
  }
};

}  // namespace luatrace
