// SPDX-License-Identifier: MIT
// Forwards single calls to several observers.
#pragma once

#include <vector>

#include "analyzer/collect/filtered_profile.h"

namespace luatrace::analyze {

class CallTee : public CallObserver {
 public:
  void add(CallObserver* observer) { all_.push_back(observer); }
  // Returns null if there are no observers, the only one, or this if there are several.
  CallObserver* observer() { return all_.empty() ? nullptr : all_.size() == 1 ? all_[0] : this; }

  void opened(const Coroutine& co, uint32_t stream, uint32_t tid, uint32_t function,
              uint64_t now) override {
    for (auto* o : all_) o->opened(co, stream, tid, function, now);
  }
  void closed(const Coroutine& co, uint32_t stream, uint64_t now) override {
    for (auto* o : all_) o->closed(co, stream, now);
  }
  void moved(const Coroutine& co, uint32_t stream, uint32_t tid, uint64_t now,
             const std::vector<Open>& open) override {
    for (auto* o : all_) o->moved(co, stream, tid, now, open);
  }
  void add_self_time(FilteredProfile::Machine& machine, uint32_t stream, uint64_t from, uint64_t to,
                     Owner owner) override {
    for (auto* o : all_) o->add_self_time(machine, stream, from, to, owner);
  }
  void gone(const Coroutine& co, uint32_t stream, uint64_t now) override {
    for (auto* o : all_) o->gone(co, stream, now);
  }

 private:
  std::vector<CallObserver*> all_;
};

}  // namespace luatrace::analyze
