// SPDX-License-Identifier: MIT
// WriteQueue: the one thread that writes to files, and what waits for it. A disk may take its time,
// or never answer; who gives something to the queue does not wait.
// Invariants: descriptors are touched by that thread only; what waits is bounded by kLimit as long
// as who produces events heeds full(); what is waited for ends at the deadline, whatever the disk
// does.
//
// While events are recorded nothing waits here: a queue that is full() is left alone, and the rings
// fill. At the end wait_for_room() makes write() wait, so that the rings can be emptied.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/block_sink.h"

namespace luatrace::record {

class WriteQueue {
 public:
  static constexpr uint64_t kLimit = 64u << 20;  // bytes that wait
  static constexpr uint64_t kForever = UINT64_MAX;

  // limit: for tests.
  explicit WriteQueue(uint64_t limit = kLimit);
  ~WriteQueue();  // waits until all is written: look at idle() first
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // A file of this queue, which closes fd in the end. The sink may live longer than the queue, but
  // not be used then. empty_it: it is cut to nothing first, if it is a regular file.
  std::unique_ptr<BlockSink> file(int fd, bool empty_it);

  // Should nothing more be read that would have to be written? Never, once wait_for_room() was
  // called.
  bool full() const { return !patient_ && held_ >= limit_; }
  // Should nothing be written that can be done without?
  bool crowded() const { return held_ >= 2 * limit_; }
  bool was_full() const { return was_full_; }  // ever
  uint64_t held() const { return held_; }      // bytes that wait, or are being written

  // From now on write() waits for room, until the deadline.
  void wait_for_room();
  // Monotonic ns until which is waited. Only an earlier one than before counts.
  void set_deadline(uint64_t ns);
  // Waits until everything is written, or the deadline. False: it is not.
  bool wait_until_written();
  // The same, but with a time of its own.
  bool wait_until_written(uint64_t until_ns);
  bool is_slow() const { return slow_; }  // that took too long, once
  bool idle() const { return held_tasks_ == 0; }

 private:
  class File;
  struct Task;

  void post(Task task);
  bool has_room(std::unique_lock<std::mutex>& lock, uint64_t size);
  void run();

  const uint64_t limit_;
  std::atomic<uint64_t> held_ = 0, held_tasks_ = 0;
  std::atomic<bool> patient_ = false, was_full_ = false, slow_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable work_, done_;
  std::deque<Task> tasks_;
  std::vector<std::vector<std::byte>> spare_;  // memory of chunks that were written
  uint64_t deadline_ = kForever, taken_late_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace luatrace::record
