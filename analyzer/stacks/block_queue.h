// SPDX-License-Identifier: MIT
// What the thread that reads a trace hands to one that works on some of its streams: event blocks
// and descriptions, in the order of the file.
//
// Invariant: at most kMostBlocks event blocks wait (each keeps its buffer of the input alive); who
// puts waits for room. After stop() nothing is taken any more and put() does not wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <variant>

#include "analyzer/decode/model.h"

namespace luatrace {

class BlockQueue {
 public:
  using Item = std::variant<EventBlock, FunctionInfo, StreamInfo, ProcessInfo>;

  void put(Item item) {
    const bool block = std::holds_alternative<EventBlock>(item);
    bool wake;
    {
      std::unique_lock lock(mutex_);
      if (block) room_.wait(lock, [this] { return blocks_ < kMostBlocks || stopped_; });
      if (stopped_) return;
      blocks_ += block;
      items_.push_back(std::move(item));
      wake = std::exchange(waits_, false);
    }
    if (wake) filled_.notify_one();  // Behind the lock, or it would be waited for at once.
  }
  // No more will come.
  void end() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    filled_.notify_one();
  }
  // Moves what is there to `items` (which must be empty); false at the end.
  bool take(std::deque<Item>& items) {
    std::unique_lock lock(mutex_);
    waits_ = true;
    filled_.wait(lock, [this] { return !items_.empty() || ended_ || stopped_; });
    waits_ = false;
    if (stopped_) return false;
    items.swap(items_);
    return !items.empty();
  }
  // One of the blocks that were taken is done.
  void done() {
    // Not for each: the reader should not be woken to find room for one.
    if (--blocks_ != kMostBlocks / 2) return;
    { std::lock_guard lock(mutex_); }  // If it is about to wait it does now.
    room_.notify_one();
  }
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    items_.clear();
    room_.notify_one();
    filled_.notify_one();
  }

 private:
  static constexpr size_t kMostBlocks = 32;  // 2 MB of those that the recorder writes.

  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<Item> items_;
  std::atomic<size_t> blocks_ = 0;  // Not done.
  bool waits_ = false, ended_ = false, stopped_ = false;
};

}  // namespace luatrace
