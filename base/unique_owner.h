// SPDX-License-Identifier: MIT
// Memory that was lent to other threads by copies of a shared_ptr, and may be written to again.
#pragma once

#include <atomic>
#include <memory>

namespace luatrace {

// Whether nobody holds it but `ours` pointers of the caller's thread, which alone makes copies.
// Then all that the others did with it is done: their last look comes before what the caller
// writes.
template <class T>
bool is_unique_owner(const std::shared_ptr<T>& pointer, long ours = 1) {
  if (pointer.use_count() != ours) return false;
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not know fences. The counting of copies is an order that it knows, too.
  std::shared_ptr<T>(pointer).reset();
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

}  // namespace luatrace
