// SPDX-License-Identifier: MIT
// What is known of the coroutines of one stream that work for requests, and for each request the
// list of those that wait.
//
// Invariant: a coroutine is in the list of its life if and only if it is `waiting`.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/collect/called_functions.h"
#include "analyzer/collect/request_ledger.h"
#include "analyzer/machine/coroutine.h"

namespace luatrace::analyze {

struct RequestCoroutine {
  CoroutineId id;
  RequestCoroutineId self;
  uint64_t address = 0;
  std::shared_ptr<const Labels> labels;
  RequestClock since;    // When it got the address.
  bool asked = false;    // It has a new address, and no call since: its life is to be found.
  bool fresh = false;    // The host itself gave it the address: no Lua ran.
  bool created = false;  // Its creation was seen: it is not the main coroutine.
  bool resumed = false;  // It runs because it was resumed: the same.
  bool open = false;     // It has open calls.
  bool older = false;    // The outermost of them was reported: it began before.
  bool of_vm = false;    // Its outermost call is a step of the collector in an idle coroutine.
  bool counted = false;  // Among the coroutines of its request.
  bool waiting = false;  // In the list of its request, ...
  FunctionId wait;       // ... because of this function, ...
  bool yields =
      false;  // ... by coroutine.yield: for code of its own request, and not the main one.
  RequestCoroutineId next, before;  // In that list.
  RequestId life, outer;            // Its own, and that of the running call that resumed it.
  FunctionId phase, outer_phase;    // The outermost call of its request's coroutine.
  FunctionId inherited;             // The phase of what created it, or kTimerFunction.
  FunctionId bottom;                // Its outermost call.
  uint32_t depth = 0;               // Of the call that is a request (--request-by).
};

class RequestCoroutines {
 public:
  // The reference must stay valid.
  explicit RequestCoroutines(const CalledFunctions& called) : called_(called) {}

  // The entry of that coroutine; a new one, which may move the others in memory, if it has none.
  RequestCoroutine& of(Coroutine& co);
  // Null if it has none.
  RequestCoroutine* find(const Coroutine& co) {
    return co.request_entry ? &entries_[co.request_entry] : nullptr;
  }
  // The entry must not be waiting.
  void remove(Coroutine& co);
  RequestCoroutine& operator[](RequestCoroutineId id) { return entries_[id]; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  size_t size() const { return entries_.size(); }

  // It waits in that function, or waits no longer. life: its own one.
  void wait(RequestCoroutine& e, FunctionId function, bool yields, RequestLife& life);
  void wake(RequestCoroutine& e, RequestLife& life);

 private:
  const CalledFunctions& called_;
  std::vector<RequestCoroutine> entries_{1};
  std::vector<RequestCoroutineId> free_;
};

}  // namespace luatrace::analyze
