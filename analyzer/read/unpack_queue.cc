// SPDX-License-Identifier: MIT
#include "analyzer/read/unpack_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/unique_owner.h"

namespace luatrace::analyze {

UnpackQueue::~UnpackQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

// One processor is left to the caller.
void UnpackQueue::start_helpers() {
  started_ = true;
  const unsigned processors = std::max(2u, std::thread::hardware_concurrency());
  try {
    for (unsigned i = 0; i < std::min(processors - 1, kMaxHelpers); i++)
      helpers_.emplace_back([this] { run_helper(); });
  } catch (const std::system_error&) {
    // No thread could be started: the caller decompresses the rest.
  }
}

// A lack of memory is not an error of the file: deliver_oldest() rethrows it.
void UnpackQueue::decompress(Unpacker& unpacker, Slot& slot) {
  try {
    slot.problem = unpacker.unpack(slot.block.header, slot.block.payload, *slot.words);
  } catch (...) {
    slot.failure = std::current_exception();
  }
}

void UnpackQueue::run_helper() {
  Unpacker unpacker;
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || begun_ < added_; });
    if (stop_) return;
    Slot& mine = slot(begun_++);
    lock.unlock();
    decompress(unpacker, mine);
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
  if (!started_ && added_ - delivered_ == kMinForHelpers) start_helpers();
  if (added_ - delivered_ == kSlots) deliver_oldest();
  Slot& to = slot(added_);
  if (!is_unique_owner(to.words)) to.words = std::make_shared<std::vector<uint64_t>>();
  to.block = block;
  to.block.hold = nullptr;  // The hold is of the packed payload, which is copied.
  to.packed.clear();
  if (!Unpacker::wrong_size(block.header))  // Otherwise unpack() refuses it by its header.
    to.packed.assign(block.payload.begin(), block.payload.end());
  to.block.payload = to.packed;
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
      decompress(own_, oldest);
    } else {
      ready_.wait(lock, [&] { return oldest.done; });
    }
  }
  delivered_++;
  if (oldest.failure) std::rethrow_exception(std::exchange(oldest.failure, nullptr));
  Block block = std::move(oldest.block);
  if (set_unpacked(block, oldest.words, oldest.problem, diag_)) deliver_(block);
}

void UnpackQueue::finish() {
  while (delivered_ < added_) deliver_oldest();
}

}  // namespace luatrace::analyze
