// SPDX-License-Identifier: MIT
// An array that may become large. Above 2 MB it has pages of its own, which the kernel moves
// instead of copying. While growing it needs up to a quarter more than it holds; a std::vector
// that doubles needs three times its old size. Large arrays use huge pages where the kernel has
// them, because random access would otherwise be dominated by TLB misses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace luatrace {

// Resizes an allocation (null: none) from `old_bytes` to `bytes` and keeps its contents; `memory`
// is invalid afterwards. `bytes` 0 frees it and returns null. Both sizes must come from
// array_bytes(). Throws std::bad_alloc.
void* resize_array(void* memory, size_t old_bytes, size_t bytes);
// Returns the size to allocate for an array of `bytes` bytes: at least `bytes`.
size_t array_bytes(size_t bytes);

template <class T>
class GrowArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowArray() = default;
  explicit GrowArray(size_t size, const T& value = T()) { resize(size, value); }
  GrowArray(const GrowArray& other) {
    reserve(other.size_);
    if (other.size_) std::memcpy(static_cast<void*>(data_), other.data_, other.size_ * sizeof(T));
    size_ = other.size_;
  }
  GrowArray(GrowArray&& other) noexcept { swap(other); }
  GrowArray& operator=(GrowArray other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowArray() {
    if (data_) resize_array(data_, capacity_ * sizeof(T), 0);
  }
  void swap(GrowArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& value) {
    if (size_ == capacity_) [[unlikely]] {
      const T copy = value;  // `value` may be an element of this array.
      grow(size_ + 1);
      data_[size_++] = copy;
      return;
    }
    data_[size_++] = value;
  }
  // A new last element, not initialized.
  T& append() {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    return data_[size_++];
  }
  void pop_back() { size_--; }
  void clear() { size_ = 0; }
  void resize(size_t size, const T& value = T()) {
    if (size > capacity_) grow(size);
    for (; size_ < size; size_++) data_[size_] = value;
    size_ = size;
  }
  void reserve(size_t size) {
    if (size > capacity_) reallocate(size);
  }

 private:
  static constexpr size_t kDoubleBelow = 1 << 20;  // Bytes; smaller arrays double.

  [[gnu::noinline]] void grow(size_t min) {
    const bool doubles = capacity_ * sizeof(T) < kDoubleBelow;
    reallocate(std::max(min, doubles ? 2 * capacity_ : capacity_ + capacity_ / 4));
  }
  void reallocate(size_t capacity) {
    const size_t bytes = array_bytes(capacity * sizeof(T)) / sizeof(T) * sizeof(T);
    data_ = static_cast<T*>(resize_array(data_, capacity_ * sizeof(T), bytes));
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// Returns list[at]; the list grows if it is too short.
template <class T>
T& grown(std::vector<T>& list, uint32_t at) {
  if (at >= list.size()) [[unlikely]]
    list.resize(2 * size_t{at} + 64);
  return list[at];
}

}  // namespace luatrace
