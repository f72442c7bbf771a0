// SPDX-License-Identifier: MIT
#include "analyzer/machine/worker_pool.h"

#include <utility>

namespace luatrace {

Crew::Seat& Crew::add_seat() {
  std::lock_guard lock(mutex_);
  return *seats_.emplace_back(std::make_unique<Seat>());
}

void Crew::put(Seat& seat, Item item) {
  const bool block =
      std::holds_alternative<EventBlock>(item) || std::holds_alternative<Block>(item);
  bool wake;
  {
    std::unique_lock lock(mutex_);
    auto may_put = [&] {
      return failure_ || (seat.items_.size() < kMostItems && (!block || seat.blocks_ < kMost));
    };
    if (&seat != reader_) room_.wait(lock, may_put);
    if (failure_) return;
    seat.blocks_ += block;
    seat.items_.push_back(std::move(item));
    wake = std::exchange(seat.waits_, false);
  }
  if (wake) seat.wake_.notify_one();  // Behind the lock, or it would be waited for at once.
}

bool Crew::take(Seat& mine, std::deque<Item>& items) {
  std::unique_lock lock(mutex_);
  while (!failure_) {
    if (!mine.items_.empty()) {
      if (mine.items_.size() >= kMostItems) room_.notify_one();
      items.swap(mine.items_);
      return true;
    }
    if (ended_) return false;
    if (!reader_) {
      read_on(mine, lock);
    } else {
      mine.waits_ = true;  // Until somebody wakes it, and then again if another was faster.
      mine.wake_.wait(lock);
    }
  }
  return false;
}

// Until there is enough to do for this thread itself.
void Crew::read_on(Seat& mine, std::unique_lock<std::mutex>& lock) {
  reader_ = &mine;
  lock.unlock();
  bool more = true;
  std::exception_ptr failure;
  try {
    for (int i = 0; i < kAtOnce && more && mine.blocks_ < kEnough; i++) more = read_();
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

// Who waits: all, or one, to read.
void Crew::wake(bool all) {
  for (auto& seat : seats_) {
    if (!std::exchange(seat->waits_, false)) continue;
    seat->wake_.notify_one();
    if (!all) return;
  }
}

void Crew::done(Seat& seat) {
  // Not for each: the reader should not be woken to find room for one.
  if (--seat.blocks_ != kMost / 2) return;
  { std::lock_guard lock(mutex_); }  // If it is about to wait it does now.
  room_.notify_one();
}

void Crew::fail(std::exception_ptr why) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = why;
  room_.notify_one();
  over_.notify_all();
  wake(true);
}

bool Crew::failed() {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void Crew::wait() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return over() && !reader_; });
}

}  // namespace luatrace
