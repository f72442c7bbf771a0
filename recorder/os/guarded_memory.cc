// SPDX-License-Identifier: MIT
#include "recorder/os/guarded_memory.h"

#include <algorithm>
#include <cerrno>

#include "recorder/os/clock.h"
#include "recorder/os/maps.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kShare = 10;  // looking takes one of so many parts of the time
constexpr size_t kMinLooks = 4;  // however long they take: the machine may be busy

}  // namespace

// Some pages are not in memory: where do they come from?
bool GuardedMemory::answers(uint64_t address, size_t size) const {
  const uint64_t end = address + size;
  for (const Mapping& m : mappings_of(pid())) {
    const uint64_t from = std::max(address, m.start), to = std::min(end, m.end);
    if (from < to && !memory_answers(pid(), m, from, to - from)) return false;
  }
  return true;
}

bool GuardedMemory::may_access(const PageMap& pages, uint64_t address, size_t size) const {
  if (address + size < address) return false;
  if (!PageMap::are_known() || pages.is_in_memory(address, size)) return true;
  const uint64_t start = monotonic_ns();
  spent_ns_ -= std::min(spent_ns_, (start - last_ns_) / kShare);
  last_ns_ = start;
  if (spent_ns_ == 0) looks_ = 0;
  if (spent_ns_ >= limit_ns_ && looks_ >= kMinLooks) return false;
  looks_++;
  const bool good = answers(address, size);
  spent_ns_ += monotonic_ns() - start;
  return good;
}

int GuardedMemory::read(const PageMap& pages, uint64_t address, void* to, size_t size) const {
  return may_access(pages, address, size) ? memory_.read(address, to, size) : ETIMEDOUT;
}

int GuardedMemory::write(uint64_t address, const void* from, size_t size) const {
  return may_access(PageMap(pid()), address, size) ? memory_.write(address, from, size) : ETIMEDOUT;
}

}  // namespace luatrace::record
