// SPDX-License-Identifier: MIT
#include "analyzer/machine/worker_pool.h"

#include <utility>

namespace luatrace::analyze {

WorkerPool::WorkQueue& WorkerPool::add_queue() {
  std::lock_guard lock(mutex_);
  return *queues_.emplace_back(std::make_unique<WorkQueue>());
}

void WorkerPool::put(WorkQueue& queue, Item item) {
  const bool block =
      std::holds_alternative<EventBlock>(item) || std::holds_alternative<Block>(item);
  bool wake;
  {
    std::unique_lock lock(mutex_);
    auto may_put = [&] {
      return failure_ ||
             (queue.items_.size() < kMaxItems && (!block || queue.blocks_ < kMaxBlocks));
    };
    if (&queue != reader_) space_.wait(lock, may_put);
    if (failure_) return;
    queue.blocks_ += block;
    queue.items_.push_back(std::move(item));
    wake = std::exchange(queue.waits_, false);
  }
  if (wake) queue.wake_.notify_one();  // After unlocking, or the thread would wait for the lock.
}

bool WorkerPool::take(WorkQueue& mine, std::deque<Item>& items) {
  std::unique_lock lock(mutex_);
  while (!failure_) {
    if (!mine.items_.empty()) {
      if (mine.items_.size() >= kMaxItems) space_.notify_one();
      items.swap(mine.items_);
      return true;
    }
    if (ended_) return false;
    if (!reader_) {
      read_on(mine, lock);
    } else {
      mine.waits_ = true;  // Until notified; waits again if another thread was faster.
      mine.wake_.wait(lock);
    }
  }
  return false;
}

// Reads until this thread has enough work itself.
void WorkerPool::read_on(WorkQueue& mine, std::unique_lock<std::mutex>& lock) {
  reader_ = &mine;
  lock.unlock();
  bool more = true;
  std::exception_ptr failure;
  try {
    for (int i = 0; i < kStepsPerCheck && more && mine.blocks_ < kEnough; i++) more = read_();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  reader_ = nullptr;
  ended_ |= !more;
  if (!failure_) failure_ = failure;
  if (over()) over_.notify_all();
  if (over() || !mine.items_.empty()) wake(over());
}

// Wakes the waiting threads: all of them, or one, which will read.
void WorkerPool::wake(bool all) {
  for (auto& queue : queues_) {
    if (!std::exchange(queue->waits_, false)) continue;
    queue->wake_.notify_one();
    if (!all) return;
  }
}

void WorkerPool::done(WorkQueue& queue) {
  // Notifies only at half the limit, so that the reader does not wake to find space for one block.
  if (--queue.blocks_ != kMaxBlocks / 2) return;
  { std::lock_guard lock(mutex_); }  // If the reader is about to wait, it waits now.
  space_.notify_one();
}

void WorkerPool::fail(std::exception_ptr why) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = why;
  space_.notify_one();
  over_.notify_all();
  wake(true);
}

bool WorkerPool::failed() {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void WorkerPool::wait() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return over() && !reader_; });
}

}  // namespace luatrace::analyze
