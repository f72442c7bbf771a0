// SPDX-License-Identifier: MIT
// Threads that share the work on one file. Each has a queue of event blocks (Block: one that is
// still compressed) and descriptions, in file order. A thread without work reads more of the file
// for all threads. So there are as many threads as there is work for, and none only reads while
// another waits for a processor.
//
// Invariant: one thread reads at a time, and sees the effects of the previous reader. In any queue
// but the reader's own, up to kMaxBlocks event blocks (each keeps its input buffer alive) and
// kMaxItems items of all kinds wait: the reader waits for space there, which delays only threads
// without work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "analyzer/read/blocks.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class WorkerPool {
 public:
  using Item = std::variant<EventBlock, Block, FunctionInfo, SegmentInfo, StreamInfo, ProcessInfo>;

  // The queue of one thread; only that thread takes from it.
  class WorkQueue {
    friend WorkerPool;
    std::condition_variable wake_;
    std::deque<Item> items_;
    std::atomic<size_t> blocks_ = 0;  // Put and not done.
    bool waits_ = false;
  };

  // `read` reads a part of the file and calls put() for its items; it returns false at the end.
  explicit WorkerPool(std::function<bool()> read) : read_(std::move(read)) {}

  WorkQueue& add_queue();
  // Adds an item; waits for space. Only for the reading thread (in `read`).
  void put(WorkQueue& queue, Item item);
  // Whether the queue holds so many blocks that another one would wait for long. For the reader.
  bool has_plenty(const WorkQueue& queue) const { return queue.blocks_ >= kMaxBlocks / 2; }
  // Moves the queue's items to `items` (which must be empty); reads first if there are none. False
  // if there will be no more items, at the end of the file or after a failure.
  bool take(WorkQueue& queue, std::deque<Item>& items);
  // Marks one of the taken blocks as done.
  void done(WorkQueue& queue);
  // Whether take() returned false because of a failure; another thread may still be reading then.
  bool failed();
  // Reports a failure: all take() calls return false from now on, and put() drops its items.
  void fail(std::exception_ptr why);
  // Returns when no thread reads or will read again: at the end of the file or after a failure.
  void wait();
  // The first failure, in `read` or passed to fail(); null if there was none. Valid after wait().
  std::exception_ptr failure() const { return failure_; }

 private:
  static constexpr size_t kMaxBlocks = 32;  // 2 MB in blocks of the recorder's size.
  static constexpr size_t kMaxItems = 4096;
  static constexpr size_t kEnough = 8;       // Own blocks after which a thread stops reading.
  static constexpr int kStepsPerCheck = 64;  // Reading steps between two checks for a failure.

  void read_on(WorkQueue& mine, std::unique_lock<std::mutex>& lock);
  void wake(bool all);
  bool over() const { return ended_ || failure_; }

  const std::function<bool()> read_;
  std::mutex mutex_;
  std::condition_variable space_, over_;  // Awaited by the reader; awaited by wait().
  std::vector<std::unique_ptr<WorkQueue>> queues_;
  WorkQueue* reader_ = nullptr;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace luatrace::analyze
