// SPDX-License-Identifier: MIT
// A value that few objects have: Rare<T> takes the memory of a pointer where it
// is T{}.
//
// Invariant: copies and comparisons are those of T.
#pragma once

#include <memory>

namespace luatrace {

template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(Rare&&) noexcept = default;
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare& operator=(Rare other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  bool operator==(const Rare& other) const { return **this == *other; }

  const T& operator*() const {
    static const T none{};
    return value_ ? *value_ : none;
  }
  const T* operator->() const { return &**this; }
  explicit operator bool() const { return value_ != nullptr; }
  // To be changed: from now on it takes memory.
  T& own() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace luatrace
