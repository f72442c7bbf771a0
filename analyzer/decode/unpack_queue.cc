// SPDX-License-Identifier: MIT
#include "analyzer/decode/unpack_queue.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "analyzer/decode/only_ours.h"

namespace luatrace {

UnpackQueue::~UnpackQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

// One processor is the caller's.
void UnpackQueue::start_helpers() {
  started_ = true;
  const unsigned processors = std::max(2u, std::thread::hardware_concurrency());
  try {
    for (unsigned i = 0; i < std::min(processors - 1, kMaxHelpers); i++)
      helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // No thread to be had: the caller does what is left.
  }
}

void UnpackQueue::unpack(Unpacker& unpacker, Slot& slot) {
  try {
    slot.problem = unpacker.unpack(slot.block.header, slot.packed, *slot.words);
  } catch (const std::bad_alloc&) {
    slot.problem = "out of memory";
  }
}

void UnpackQueue::help() {
  Unpacker unpacker;
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || begun_ < added_; });
    if (stop_) return;
    Slot& mine = slot(begun_++);
    lock.unlock();
    unpack(unpacker, mine);
    lock.lock();
    mine.done = true;
    ready_.notify_one();
  }
}

void UnpackQueue::add(const Block& block) {
  if (!(block.header.flags & LT_BLOCK_F_ZSTD)) {
    finish();
    return deliver_(block);
  }
  if (!started_ && added_ - delivered_ == kWorthHelp) start_helpers();
  if (added_ - delivered_ == kSlots) deliver_oldest();
  Slot& to = slot(added_);
  if (!only_ours(to.words)) to.words = std::make_shared<std::vector<uint64_t>>();
  to.block = block;
  to.block.hold = to.words;
  to.packed.assign(block.payload.begin(), block.payload.end());
  to.done = false;
  {
    std::lock_guard lock(mutex_);
    added_++;
  }
  work_.notify_one();
}

void UnpackQueue::deliver_oldest() {
  Slot& oldest = slot(delivered_);
  {
    std::unique_lock lock(mutex_);
    if (begun_ == delivered_) {
      begun_++;
      lock.unlock();
      unpack(own_, oldest);
    } else {
      ready_.wait(lock, [&] { return oldest.done; });
    }
  }
  delivered_++;
  deliver(oldest);
}

void UnpackQueue::deliver(Slot& slot) {
  Block block = std::move(slot.block);
  if (slot.problem) {
    diag_.trust.bad_blocks++;
    if (block.header.type == LT_BLOCK_EVENTS) diag_.trust.bad_block_events += block.header.count;
    diag_.say(block.offset, "block of type " + std::to_string(block.header.type) +
                                ": its compressed payload cannot be read (" + slot.problem +
                                "), skipped");
    return;
  }
  block.header.flags &= static_cast<uint16_t>(~LT_BLOCK_F_ZSTD);
  block.header.payload_size = block.header.raw_size;
  block.payload = {reinterpret_cast<const uint8_t*>(slot.words->data()), block.header.raw_size};
  deliver_(block);
}

void UnpackQueue::finish() {
  while (delivered_ < added_) deliver_oldest();
}

}  // namespace luatrace
