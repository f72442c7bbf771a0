// SPDX-License-Identifier: MIT
// HitProcess: one process. Knows which coroutine is at which address and to which Lua VM it
// belongs, and keeps the function descriptions.
//
// Invariant: an address stands for one coroutine at a time, of a VM that is open.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trace/hits/hit_stream.h"

namespace luatrace {

// Shared by all processes.
struct HitShared {
  TraceWriter& writer;
  HitOptions options;
  HitCounters counters;
  uint32_t streams = 0;
  uint64_t first_time = 0;  // of the first hit written
};

// A thread, seen in one process at a time.
struct HitThread {
  uint32_t seq = 0;             // last one counted
  uint32_t wraps = 0;           // how often seq wrapped
  uint64_t time = 0;            // of its last hit
  HitStream* stream = nullptr;  // what ran on it last ...
  const void* owner = nullptr;  // ... of this HitProcess
  uint64_t missing = 0;         // hits missing before the current one
  bool holding = false;         // `held` waits for the next hit, which may name its VM
  Hit held;
};

class HitProcess {
 public:
  HitProcess(HitShared& shared, uint32_t pid) : shared_(shared), pid_(pid) {}

  void describe(uint64_t key, HitFunction function);
  void event(const Hit& hit, HitThread& thread);
  // Hits of this process are missing: of one VM or, if `state` is 0, of any.
  void loss(uint64_t state, uint64_t count, uint64_t since, uint64_t time);
  void finish(uint64_t time, uint32_t reason);  // reason: LTE_*
  void flush();
  // The process has ended: its streams stay, because a loss on one of its threads may belong to
  // them.
  void rest();
  uint64_t lost() const;

 private:
  struct Slot {
    HitCoroutine co;
    HitStream* stream = nullptr;
  };
  struct Description {
    HitFunction function;
    bool known = false;
    std::vector<std::pair<HitStream*, uint32_t>> users;  // streams that used it before it was known
  };

  // The VM that ran last on the thread, if it belongs to this process and is still open.
  HitStream* last_on(const HitThread& thread) const {
    return thread.owner == this && !thread.stream->stopped() ? thread.stream : nullptr;
  }
  Slot* find(uint64_t L);
  Slot* insert(uint64_t L, HitStream& stream, uint32_t vm_id, bool empty);
  Slot* find_or_insert(const Hit& hit, HitThread& thread);
  Slot* find_or_insert_other(const Hit& hit, uint64_t co, HitThread& thread);
  HitStream* stream_of(uint64_t state) const;
  HitStream* choose(const Hit& hit, const HitThread& thread);
  HitStream* new_stream(const Hit& hit);
  void use(HitStream& stream, const Hit& hit, HitThread& thread);
  uint32_t function(HitStream& stream, uint64_t key);
  void call(const Hit& hit, HitThread& thread);
  void coroutine(const Hit& hit, HitThread& thread);
  void create(const Hit& hit, HitThread& thread);
  void end(const Hit& hit, HitThread& thread);
  void stack(const Hit& hit, HitThread& thread);
  void open(const Hit& hit, HitThread& thread);
  void close(const Hit& hit, HitThread& thread);
  void drop(const Hit& hit, HitThread& thread);

  HitShared& shared_;
  uint32_t pid_;
  uint32_t number_ = 0;  // in the file; 0: not written yet
  std::vector<std::unique_ptr<HitStream>> streams_;
  std::unordered_map<uint64_t, HitStream*> states_;
  std::unordered_map<uint64_t, Slot> coroutines_;
  std::unordered_map<uint64_t, Description> functions_;
  uint64_t last_L_ = 0;  // the last one looked up
  Slot* last_slot_ = nullptr;
};

}  // namespace luatrace
