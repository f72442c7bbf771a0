// SPDX-License-Identifier: MIT
// WriteQueue: the one thread that writes to files, and the data that waits for it. A disk may be
// slow, or never answer; callers of the queue do not wait. Invariants: only that thread touches
// descriptors; the waiting data is bounded by kLimit as long as producers of events respect full();
// all waiting ends at the deadline, whatever the disk does.
//
// While events are recorded nothing waits here: a queue that is full() gets nothing, and the rings
// fill. At the end wait_for_space() makes write() wait, so that the rings can be emptied.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/trace_writer.h"

namespace luatrace::record {

class WriteQueue {
 public:
  static constexpr uint64_t kLimit = 64u << 20;  // bytes that wait
  static constexpr uint64_t kForever = UINT64_MAX;

  // limit: for tests.
  explicit WriteQueue(uint64_t limit = kLimit);
  ~WriteQueue();  // waits until everything is written: check idle() first

  // A file of this queue, which closes output.fd in the end. The sink may outlive the queue, but
  // must not be used then. empty_it: a regular file is emptied first. when: it gets its name.
  std::unique_ptr<BlockSink> file(OpenedOutput output, bool empty_it,
                                  Publish when = Publish::kFirstWrite);
  std::unique_ptr<BlockSink> file(int fd, bool empty_it) {
    return file(OpenedOutput{fd}, empty_it);
  }

  // Should nothing be read that would have to be written? False after wait_for_space().
  bool full() const { return !patient_ && held_ >= limit_; }
  // Should only indispensable data be written?
  bool crowded() const { return held_ >= 2 * limit_; }
  bool was_full() const { return was_full_; }  // at any time
  uint64_t held() const { return held_; }      // bytes waiting or being written

  // From now on write() waits for space, until the deadline.
  void wait_for_space() { patient_ = true; }
  // The monotonic time in ns at which waiting ends. A later one than before is ignored.
  void set_deadline(uint64_t ns);
  // Waits until everything is written, or the deadline. False: it is not.
  bool wait_until_written();
  // The same, with a deadline of its own.
  bool wait_until_written(uint64_t until_ns);
  bool is_slow() const { return slow_; }  // waiting timed out once
  // From now on disk_is_scarce() is true once the file system of a regular file has less than a
  // tenth of its space left (or less than half of what was left at first, if that is less), or
  // would have when everything that waits is written.
  void watch_disk() { watches_disk_ = true; }
  bool disk_is_scarce() const { return scarce_; }
  // Would the disk not be scarce either with this many more bytes? To be asked before each block;
  // after the first no the disk is scarce. As of the last write: only the writing thread looks.
  bool disk_has_space(uint64_t bytes);
  // Logs once that the recording ends for lack of space.
  void announce_scarce();
  bool idle() const { return held_tasks_ == 0; }

 private:
  class File;
  struct Task;

  void post(Task task);
  bool has_space(std::unique_lock<std::mutex>& lock, uint64_t size);
  void run();

  const uint64_t limit_;
  std::atomic<uint64_t> held_ = 0, held_tasks_ = 0;
  std::atomic<bool> patient_ = false, was_full_ = false, slow_ = false;
  std::atomic<bool> watches_disk_ = false, scarce_ = false, announced_scarce_ = false;
  // Of the disk, beyond what is kept free, when the last write ended; what waits now goes off it.
  std::atomic<int64_t> disk_left_ = INT64_MAX;
  std::mutex mutex_;  // protects the members below
  std::condition_variable work_, done_;
  std::deque<Task> tasks_;
  std::vector<std::vector<std::byte>> spare_;  // memory of written batches
  uint64_t deadline_ = kForever, taken_late_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace luatrace::record
