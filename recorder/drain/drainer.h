// SPDX-License-Identifier: MIT
// Drainer: the only thread that reads rings and fills outputs. Invariants: only this thread touches
// rings and outputs; other threads post jobs, which it runs in order between two passes. A pass
// takes up to 20 ms (and a block), and does not wait for the disk: so a job runs soon.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "recorder/drain/ring.h"

namespace luatrace::record {

// A ring and its owner.
struct OwnedRing {
  std::unique_ptr<RingDrain> drain;
  uint64_t owner;  // number of the process within the session
  // Set when the owner's C functions have been seen.
  std::shared_ptr<std::atomic<bool>> maps_wanted;
  // Set when it is finished; that of the closed ring before it of the same Lua VM, or null. Events
  // of a VM are written in their order: readers join its recordings.
  std::shared_ptr<bool> ended = std::make_shared<bool>(false), before = nullptr;
};

class Drainer {
 public:
  using Job = std::function<void()>;
  static constexpr size_t kMaxEnding = 32;

  Drainer();
  ~Drainer();  // runs the posted jobs, then ends the thread

  void post(Job job);
  // Posts a job and waits until it has run; false if that took longer.
  bool call(Job job, std::chrono::milliseconds limit = std::chrono::hours(1));

  // For jobs only.
  void add(OwnedRing ring);
  void complete(uint64_t owner);  // its rings get nothing more
  void detach_all();
  void flush_all();
  void finish_all();
  // The process of that output has ended: finishes it once nothing comes from it any more and
  // everything is written, after a second, in which more Lua VMs of that process may come (earlier
  // if more outputs than kMaxEnding wait for that: each has a descriptor).
  void finish_soon(std::shared_ptr<Output> output);
  // Not, after all. False: it is finished.
  bool keep(const Output& output);

  size_t active() const { return active_; }  // rings that are not finished

 private:
  void run();
  void run_jobs();
  uint64_t poll_all();
  void remove_finished();
  void finish_ending();
  uint64_t patience_ns() const;

  struct Ending {
    std::shared_ptr<Output> output;
    uint64_t due_ns;
  };

  std::vector<OwnedRing> rings_;
  std::deque<Ending> ending_;  // outputs of processes that have ended, oldest first
  size_t next_ = 0;            // the ring with which the next pass begins
  std::atomic<size_t> active_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> jobs_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace luatrace::record
