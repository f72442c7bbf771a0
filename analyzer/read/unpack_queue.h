// SPDX-License-Identifier: MIT
// Compressed blocks, undone by helper threads while the caller's thread works on earlier ones.
//
// Blocks go in and come out in the same order, on the caller's thread. Compressed payloads are
// copied into one of kSlots slots; helpers take them one after the other; the caller takes the
// oldest when all slots are used, and does the work itself if no helper has begun it. So nothing
// depends on how many helpers there are, not even that there is one. An uncompressed block waits
// for those before it and is not copied. Helpers start when a few compressed blocks wait.
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "analyzer/read/block_decoder.h"

namespace luatrace::analyze {

class UnpackQueue {
 public:
  // `deliver` gets each block, uncompressed; its payload lives until it returns, or
  // as long as there is a copy of its `hold`. Blocks that cannot be undone are counted and said.
  UnpackQueue(Diagnostics& diagnostics, std::function<void(const Block&)> deliver)
      : diag_(diagnostics), deliver_(std::move(deliver)) {}
  ~UnpackQueue();

  void add(const Block& block);
  // Delivers everything that was added.
  void finish();

 private:
  static constexpr size_t kSlots = 32;  // 4 MB of memory at most.
  static constexpr unsigned kMaxHelpers = 4;
  static constexpr size_t kWorthHelp = 4;  // Fewer are undone sooner than a thread begins.

  struct Slot {
    Block block;
    std::vector<uint8_t> packed;
    Words words;
    const char* problem = nullptr;  // Of the file, or:
    std::exception_ptr failure;
    bool done = false;
  };

  Slot& slot(uint64_t number) { return slots_[number % kSlots]; }
  void start_helpers();
  void help();
  void deliver_oldest();
  void deliver(Slot& slot);
  static void undo(Unpacker& unpacker, Slot& slot);

  Diagnostics& diag_;
  std::function<void(const Block&)> deliver_;
  std::array<Slot, kSlots> slots_;
  std::vector<std::thread> helpers_;
  Unpacker own_;
  bool started_ = false;

  std::mutex mutex_;  // Of everything below, and of Slot::done.
  std::condition_variable work_, ready_;
  uint64_t added_ = 0, begun_ = 0, delivered_ = 0;  // Numbers of slots, ever.
  bool stop_ = false;
};

}  // namespace luatrace::analyze
