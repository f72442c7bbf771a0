// SPDX-License-Identifier: MIT
// Memory that is shared with other threads through copies of a shared_ptr, then written again.
#pragma once

#include <atomic>
#include <memory>

namespace luatrace {

// Whether the object's only owners are `ours` pointers of the calling thread, which must be the
// only thread that makes copies. If true, all accesses by the other threads happened before
// whatever the caller does next.
template <class T>
bool is_unique_owner(const std::shared_ptr<T>& pointer, long ours = 1) {
  if (pointer.use_count() != ours) return false;
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not understand fences, but it does understand the reference count.
  std::shared_ptr<T>(pointer).reset();
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

}  // namespace luatrace
