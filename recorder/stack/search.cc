// SPDX-License-Identifier: MIT
#include "recorder/stack/search.h"

#include <algorithm>

#include "recorder/os/clock.h"
#include "recorder/os/maps.h"
#include "recorder/os/remote.h"

namespace luatrace::record::stack {
namespace {

constexpr uint64_t kPage = 4096, kBlock = 64 * kPage;
constexpr uint64_t kLimitNs = 5 * kSecond;
constexpr size_t kMaxFound = 1 << 20;
constexpr size_t kSeen = 4096;         // of the newest objects: one of them will still be there
constexpr size_t kMaxNewer = 1 << 20;  // objects
constexpr int kRounds = 4;
constexpr uint64_t kRoundNs = 100 * kMillisecond;

bool may_have_objects(const Mapping& m) {
  return m.writable && m.inode == 0 &&
         (m.path.empty() || m.path == "[heap]" || m.path.starts_with("[anon"));
}

}  // namespace

Search::Search(pid_t pid, const Layout& layout, const std::vector<uint64_t>& vms)
    : pid_(pid),
      layout_(layout),
      vms_(vms),
      pages_(pid),
      block_(kBlock / sizeof(uint64_t)),
      limit_ns_(monotonic_ns() + kLimitNs) {
  std::sort(vms_.begin(), vms_.end());
  Memory memory(pid, limit_ns_);
  for (const uint64_t vm : vms_) follow_newest(memory, vm, seen_[vm]);
  for (const Mapping& m : mappings_of(pid))
    if (may_have_objects(m)) search(m.start, m.end);
  catch_up();
}

// Follows the list of objects from its head: the newest ones get into `newest`, coroutines among
// them are candidates. False: it did not get to an object that was seen before.
bool Search::follow_newest(Memory& memory, uint64_t vm, std::unordered_set<uint64_t>& newest) {
  const auto& seen = seen_[vm];
  const bool first = &seen == &newest;
  uint64_t object = memory.word(vm + static_cast<uint64_t>(layout_.note.g_gcroot));
  for (size_t i = 0; object != 0 && i < (first ? kSeen : kMaxNewer); i++) {
    if (!first && seen.contains(object)) return true;
    uint8_t type = 0;
    if (!memory.read(object + kType, type) || type > kLastType) return false;
    if (newest.size() < kSeen && !newest.insert(object).second) return false;
    if (type == kThread) found_[vm].push_back(object);
    object = memory.word(object + kNext);
  }
  return object == 0 || first;
}

// The search takes time, in which the program creates more objects. While it runs on, the list may
// change under our feet.
void Search::catch_up() {
  for (const uint64_t vm : vms_) {
    bool good = false;
    for (int i = 0; i < kRounds && !good; i++) {
      Memory memory(pid_, monotonic_ns() + kRoundNs);
      std::unordered_set<uint64_t> newest;
      good = follow_newest(memory, vm, newest);
      if (good) seen_[vm] = std::move(newest);
    }
    caught_up_ = caught_up_ && good;
  }
}

// Present pages are read in blocks.
void Search::search(uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end; at += kBlock) {
    const uint64_t size = std::min(kBlock, end - at);
    if (monotonic_ns() > limit_ns_ || count_ >= kMaxFound) complete_ = false;
    if (!complete_) return;
    if (!PageMap::are_known() || pages_.is_in_memory(at, size)) {
      search_block(at, size);
      continue;
    }
    for (uint64_t page = at; page < at + size; page += kPage)
      if (pages_.is_in_memory(page, kPage)) search_block(page, kPage);
  }
}

// Coroutines have the address of their VM at a fixed place.
void Search::search_block(uint64_t begin, size_t size) {
  if (vms_.empty() || RemoteMemory(pid_).read(begin, block_.data(), size) != 0) return;
  const uint64_t lowest = vms_.front(), span = vms_.back() - lowest;
  const auto member = static_cast<uint64_t>(layout_.note.L_glref);
  for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
    const uint64_t vm = block_[i];
    if (vm - lowest > span || !std::binary_search(vms_.begin(), vms_.end(), vm)) continue;
    const size_t type = i * sizeof(uint64_t) - member + kType;  // in this block, or before it
    if (type < size && reinterpret_cast<const uint8_t*>(block_.data())[type] != kThread) continue;
    found_[vm].push_back(begin + i * sizeof(uint64_t) - member);
    count_++;
  }
}

bool Search::add_newer(Memory& memory, uint64_t vm) {
  std::unordered_set<uint64_t> newest;
  return follow_newest(memory, vm, newest) && caught_up_;
}

}  // namespace luatrace::record::stack
