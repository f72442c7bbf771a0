// SPDX-License-Identifier: MIT
// Numbers of one space (nodes of a tree, say), which must not be confused with those of another.
//
// An Id converts to its number, so that it can be an index, a key or a value to print. A number
// becomes an Id only where the code says so; an Id of another space neither becomes one nor
// compares with one.
#pragma once

#include <concepts>
#include <cstdint>

namespace luatrace {

template <class Space>
class Id {
 public:
  constexpr Id() = default;  // 0
  constexpr explicit Id(uint32_t number) : number_(number) {}
  template <class Other>
  Id(Id<Other>) = delete;
  constexpr operator uint32_t() const { return number_; }
  constexpr Id& operator++() { return number_++, *this; }
  constexpr Id operator++(int) { return Id(number_++); }
  constexpr Id& operator--() { return number_--, *this; }
  template <class Other>
  requires(!std::same_as<Space, Other>) friend bool operator==(Id, Id<Other>) = delete;

 private:
  uint32_t number_ = 0;
};

// Two numbers as one key.
constexpr uint64_t pair_key(uint32_t first, uint32_t second) {
  return uint64_t{first} << 32 | second;
}

}  // namespace luatrace
