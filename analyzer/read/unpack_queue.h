// SPDX-License-Identifier: MIT
// Helper threads decompress blocks while the caller's thread works on earlier ones.
//
// Blocks go in and come out in the same order, on the caller's thread. Compressed payloads, unless
// they are too long, are copied into one of kSlots slots, which helpers take in order; when all
// slots are in use the caller takes the oldest, and decompresses it itself if no helper has begun.
// So nothing depends on the number of helpers, which may be 0. An uncompressed block waits for
// those before it and is not copied. Helpers start when a few compressed blocks wait.
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "analyzer/read/blocks.h"

namespace luatrace::analyze {

class UnpackQueue {
 public:
  // `deliver` gets each block, uncompressed; its payload is valid until `deliver` returns, or while
  // a copy of its `hold` exists. Blocks that cannot be decompressed are counted and logged.
  UnpackQueue(Diagnostics& diagnostics, std::function<void(const Block&)> deliver)
      : diag_(diagnostics), deliver_(std::move(deliver)) {}
  ~UnpackQueue();

  void add(const Block& block);
  // Delivers everything that was added.
  void finish();

 private:
  static constexpr size_t kSlots = 32;  // 4 MB of memory for payloads as the recorder writes them.
  static constexpr unsigned kMaxHelpers = 4;
  static constexpr size_t kMinForHelpers = 4;  // Fewer are decompressed before a thread starts.

  struct Slot {
    Block block;
    std::vector<uint8_t> packed;
    Words words;
    const char* problem = nullptr;  // Error in the file, or:
    std::exception_ptr failure;
    bool done = false;
  };

  Slot& slot(uint64_t number) { return slots_[number % kSlots]; }
  void start_helpers();
  void run_helper();
  void deliver_oldest();
  static void decompress(Unpacker& unpacker, Slot& slot);

  Diagnostics& diag_;
  std::function<void(const Block&)> deliver_;
  std::array<Slot, kSlots> slots_;
  std::vector<std::thread> helpers_;
  Unpacker own_;
  bool started_ = false;

  std::mutex mutex_;  // Protects everything below, and Slot::done.
  std::condition_variable work_, ready_;
  uint64_t added_ = 0, begun_ = 0, delivered_ = 0;  // Total numbers of slots.
  bool stop_ = false;
};

}  // namespace luatrace::analyze
