// SPDX-License-Identifier: MIT
// Memory: the memory of a process that does not run, page by page. Invariants: each page is read
// once, so everything that is read belongs to one moment; no read waits for a file system or for
// another program (guarded_memory.h), nor begins when it is too late; the cache has a limit.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "recorder/os/guarded_memory.h"

namespace luatrace::record::stack {

class Memory {
 public:
  Memory(pid_t pid, std::function<bool()> is_late);
  // deadline_ns: of the monotonic clock.
  Memory(pid_t pid, uint64_t deadline_ns);

  // False: not readable, or too late.
  bool read(uint64_t address, void* to, size_t size);
  template <class T>
  bool read(uint64_t address, T& to) {
    return read(address, &to, sizeof to);
  }
  // 0 if it cannot be read.
  uint64_t word(uint64_t address);
  // Bytes of that memory; empty if not all can be read.
  std::string bytes(uint64_t address, size_t size);

  bool is_late() const { return is_late_(); }
  size_t cached() const;  // bytes

 private:
  static constexpr uint64_t kPage = 4096;
  using Page = std::array<char, kPage>;
  struct Recent {
    uint64_t number = UINT64_MAX;
    const Page* page = nullptr;
  };
  const Page* page(uint64_t number);
  const Page* fetch(uint64_t number);

  GuardedMemory memory_;
  std::optional<PageMap> map_;  // from the first read on: it is an open file
  std::function<bool()> is_late_;
  std::array<Recent, 256> recent_;                             // by number
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // null: not readable
};

}  // namespace luatrace::record::stack
