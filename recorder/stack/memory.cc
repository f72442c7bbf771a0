// SPDX-License-Identifier: MIT
#include "recorder/stack/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/os/clock.h"

namespace luatrace::record::stack {
namespace {

constexpr size_t kMaxPages = 65536;
constexpr uint64_t kLookingNs = 10 * kMillisecond;  // for mappings of pages that are not in memory

}  // namespace

Memory::Memory(pid_t pid, std::function<bool()> is_late)
    : memory_(pid, kLookingNs), is_late_(std::move(is_late)) {}

Memory::Memory(pid_t pid, uint64_t deadline_ns)
    : Memory(pid, [deadline_ns] { return monotonic_ns() > deadline_ns; }) {}

size_t Memory::cached() const {
  return pages_.size() * (kPage + 64);
}

const Memory::Page* Memory::page(uint64_t number) {
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number != number) recent = {number, fetch(number)};
  if (recent.page == nullptr) recent.number = UINT64_MAX;
  return recent.page;
}

const Memory::Page* Memory::fetch(uint64_t number) {
  if (const auto known = pages_.find(number); known != pages_.end()) return known->second.get();
  if (pages_.size() >= kMaxPages || is_late()) return nullptr;
  if (!map_) map_.emplace(memory_.pid());
  auto page = std::make_unique<Page>();
  if (memory_.read(*map_, number * kPage, page->data(), kPage) != 0) page = nullptr;
  return (pages_[number] = std::move(page)).get();
}

bool Memory::read(uint64_t address, void* to, size_t size) {
  if (address + size < address) return false;
  for (char* at = static_cast<char*>(to); size > 0;) {
    const Page* const from = page(address / kPage);
    if (from == nullptr) return false;
    const size_t offset = address % kPage, part = std::min(size, kPage - offset);
    std::memcpy(at, from->data() + offset, part);
    at += part;
    address += part;
    size -= part;
  }
  return true;
}

uint64_t Memory::word(uint64_t address) {
  uint64_t value = 0;
  return read(address, value) ? value : 0;
}

std::string Memory::bytes(uint64_t address, size_t size) {
  std::string bytes(size, 0);
  return read(address, bytes.data(), size) ? bytes : "";
}

}  // namespace luatrace::record::stack
