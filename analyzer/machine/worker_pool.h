// SPDX-License-Identifier: MIT
// Threads that share the work on one file. Each has a queue, with event blocks (a Block is one that
// is still compressed) and descriptions, in the order of the file, that are its to work on; who has
// nothing left to do reads on, for all. So there are as many threads as there is work for, and none
// of them does nothing but read while another has to wait for a processor.
//
// Invariant: one thread at a time reads, what it did is done before the next one does. At most
// kMost event blocks (each keeps its buffer of the input alive) and kMostItems of all kinds wait at
// a queue other than the reader's own: the reader waits for room, for whom nobody has to wait but
// those without work.
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

#include "analyzer/read/block_reader.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class WorkerPool {
 public:
  using Item = std::variant<EventBlock, Block, FunctionInfo, StreamInfo, ProcessInfo>;

  // Of one thread, which alone takes from it.
  class WorkQueue {
    friend WorkerPool;
    std::condition_variable wake_;
    std::deque<Item> items_;
    std::atomic<size_t> blocks_ = 0;  // Given and not done.
    bool waits_ = false;
  };

  // `read` reads some of the file and put()s it; false at the end.
  explicit WorkerPool(std::function<bool()> read) : read_(std::move(read)) {}

  WorkQueue& add_queue();
  // By the thread that reads (in `read`).
  void put(WorkQueue& queue, Item item);
  // By the same: there is so much that more will not be looked at soon.
  bool has_plenty(const WorkQueue& queue) const { return queue.blocks_ >= kMost / 2; }
  // Moves what is there to be done to `items` (which must be empty), and reads before if there is
  // nothing. False at the end: nothing will come any more.
  bool take(WorkQueue& queue, std::deque<Item>& items);
  // One of the blocks that were taken is done.
  void done(WorkQueue& queue);
  // Whether take() returned false because something went wrong: then somebody may still be reading.
  bool failed();
  // It went wrong: all take()s return false from now on, and nothing that is put is kept.
  void fail(std::exception_ptr why);
  // Returns when nobody reads, nor will: it came to the end of the file, or something went wrong.
  void wait();
  // What went wrong first, in `read` or else; null if nothing did. After wait().
  std::exception_ptr failure() const { return failure_; }

 private:
  static constexpr size_t kMost = 32;  // 2 MB of those that the recorder writes.
  static constexpr size_t kMostItems = 4096;
  static constexpr size_t kEnough = 8;  // Of one's own to stop reading for.
  static constexpr int kAtOnce = 64;    // Steps, then a look whether something went wrong.

  void read_on(WorkQueue& mine, std::unique_lock<std::mutex>& lock);
  void wake(bool all);
  bool over() const { return ended_ || failure_; }

  const std::function<bool()> read_;
  std::mutex mutex_;
  std::condition_variable room_, over_;  // For the reader; for wait().
  std::vector<std::unique_ptr<WorkQueue>> queues_;
  WorkQueue* reader_ = nullptr;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace luatrace::analyze
