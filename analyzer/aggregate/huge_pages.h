// SPDX-License-Identifier: MIT
// Memory for large arrays that are read in random order: on huge pages where the kernel has them,
// or most of the time goes into finding the pages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace luatrace {

// An allocator for std::vector. What is smaller than a few huge pages comes from the heap.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  static constexpr size_t kPage = size_t{2} << 20;

  T* allocate(size_t n) {
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t size = n * sizeof(T);
    if (size < 2 * kPage) return static_cast<T*>(::operator new(size));
    const size_t whole = (size + kPage - 1) & ~(kPage - 1);
    auto* memory = static_cast<T*>(::operator new (whole, std::align_val_t{kPage}));
    madvise(memory, whole, MADV_HUGEPAGE);  // Without them it is only slower.
    return memory;
  }
  void deallocate(T* memory, size_t n) {
    if (n * sizeof(T) < 2 * kPage)
      ::operator delete(memory);
    else
      ::operator delete (memory, std::align_val_t{kPage});
  }
  bool operator==(const HugePages&) const { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace luatrace
