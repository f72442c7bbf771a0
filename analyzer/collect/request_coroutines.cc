// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_coroutines.h"

#include <utility>

namespace luatrace::analyze {

RequestCoroutine& RequestCoroutines::of(Coroutine& co) {
  if (co.request_entry) return entries_[co.request_entry];
  if (free_.empty()) {
    co.request_entry = RequestCoroutineId(static_cast<uint32_t>(entries_.size()));
    entries_.emplace_back();
  } else {
    co.request_entry = free_.back();
    free_.pop_back();
  }
  RequestCoroutine& e = entries_[co.request_entry] = {};
  e.id = co.id;
  e.self = co.request_entry;
  e.open = co.top > 0;
  e.resumed = co.resumed;
  if (co.top) e.bottom = called_.function_of(co.frames[1].node);
  e.older = co.top && co.frames[1].start == kNotSeen;
  return e;
}

void RequestCoroutines::remove(Coroutine& co) {
  free_.push_back(std::exchange(co.request_entry, RequestCoroutineId()));
}

void RequestCoroutines::wait(RequestCoroutine& e, FunctionId function, bool yields,
                             RequestLife& life) {
  if (e.waiting) wake(e, life);
  e.waiting = true;
  e.wait = function;
  e.yields = yields && life.main != e.self;
  life.yielding += e.yields;
  e.before = {};
  e.next = life.waiting;
  if (e.next) entries_[e.next].before = e.self;
  life.waiting = e.self;
}

void RequestCoroutines::wake(RequestCoroutine& e, RequestLife& life) {
  e.waiting = false;
  if (std::exchange(e.yields, false) && life.yielding) life.yielding--;
  if (e.before)
    entries_[e.before].next = e.next;
  else
    life.waiting = e.next;
  if (e.next) entries_[e.next].before = e.before;
  e.next = e.before = {};
}

}  // namespace luatrace::analyze
