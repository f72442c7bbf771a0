// SPDX-License-Identifier: MIT
#include "base/grow_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace luatrace {
namespace {

constexpr size_t kPage = size_t{2} << 20;

// Whether an array of `bytes` bytes has pages of its own.
bool is_mapped(size_t bytes) {
  return bytes > kPage;
}

size_t whole_pages(size_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

// Reserves `size` bytes of address space, without memory, aligned to a huge page.
void* reserve(size_t size) {
  void* found = mmap(nullptr, size + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) throw std::bad_alloc();
  auto* at = static_cast<char*>(found);
  const size_t before =
      whole_pages(reinterpret_cast<uintptr_t>(at)) - reinterpret_cast<uintptr_t>(at);
  if (before) munmap(at, before);
  if (before < kPage) munmap(at + before + size, kPage - before);
  return at + before;
}

void* map(size_t size) {
  void* at = reserve(size);
  if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    munmap(at, size);
    throw std::bad_alloc();
  }
  madvise(at, size, MADV_HUGEPAGE);  // Best effort: without huge pages it is only slower.
  return at;
}

void* remap(void* memory, size_t old_size, size_t size) {
  if (mremap(memory, old_size, size, 0) != MAP_FAILED) return memory;  // Resized in place.
  void* at = reserve(size);
  if (mremap(memory, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED) return at;
  munmap(at, size);
  throw std::bad_alloc();
}

}  // namespace

size_t array_bytes(size_t bytes) {
  return is_mapped(bytes) ? whole_pages(bytes) : bytes;
}

void* resize_array(void* memory, size_t old_bytes, size_t bytes) {
  const size_t old_size = whole_pages(old_bytes), size = whole_pages(bytes);
  if (bytes == 0) {
    is_mapped(old_bytes) ? static_cast<void>(munmap(memory, old_size)) : free(memory);
    return nullptr;
  }
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  if (memory && is_mapped(old_bytes)) return remap(memory, old_size, size);
  if (is_mapped(bytes)) {
    void* at = map(size);
    if (memory) std::memcpy(at, memory, old_bytes);
    free(memory);
    return at;
  }
  void* at = realloc(memory, bytes);
  if (!at) throw std::bad_alloc();
  return at;
}

}  // namespace luatrace
