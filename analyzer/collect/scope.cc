// SPDX-License-Identifier: MIT
#include "analyzer/collect/scope.h"

#include <algorithm>

#include "analyzer/collect/process_names.h"

namespace luatrace::analyze {

Scope::Scope(const FilterPlan& plan, const TraceFacts& facts)
    : plan_(plan),
      options_(*plan.options),
      facts_(facts),
      matched_(plan.options->coroutines.size()) {
  stream(kNoStream);
}

void Scope::add(const Scope& other) {
  for (size_t i = 0; i < matched_.size(); i++) matched_[i] |= other.matched_[i];
}

void Scope::stream(StreamId number) {
  auto [it, fresh] = streams_.try_emplace(number);
  stream_ = &it->second;
  if (!fresh) return;
  stream_->number = number;
  const auto& vms = options_.vms;
  stream_->vm_wanted = vms.empty() || std::find(vms.begin(), vms.end(), number) != vms.end();
  auto info = facts_.streams.find(number);
  if (info != facts_.streams.end()) stream_->address = info->second.state_addr;
  if (info != facts_.streams.end())
    stream_->tid = ThreadId(static_cast<uint32_t>(info->second.tid));
  stream_->thread_wanted = is_thread_wanted(stream_->tid);
}

bool Scope::is_thread_wanted(ThreadId tid) const {
  const auto& list = options_.threads;
  return list.empty() || std::find(list.begin(), list.end(), tid) != list.end();
}

void Scope::on_thread(ThreadId tid) {
  stream_->tid = tid;
  stream_->thread_wanted = is_thread_wanted(tid);
}

bool Scope::wanted(const Coroutine& co) const {
  if (!wanted()) return false;
  if (options_.coroutines.empty() || co.id == kUnknownCoroutine) return true;
  const auto& filters = options_.coroutines;
  bool any = false;
  for (size_t i = 0; i < filters.size(); i++) {
    if (filters[i].id != co.id || (filters[i].vm && filters[i].vm != number())) continue;
    if (filters[i].address != 0 && filters[i].address != stream_->address) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

uint32_t Scope::group_root(Placement& placement, const Coroutine& co, const Coroutine* by) const {
  std::string name;
  if (options_.inherits_groups()) return placement.enter_inherited(0, co, by);
  if (options_.group == GroupBy::kThread)
    name = "thread " + std::to_string(tid());
  else if (options_.group == GroupBy::kVm)
    name = "Lua VM " + std::to_string(number()) + pid_text(facts_, facts_.process_of(number()));
  else if (options_.group == GroupBy::kProcess)
    name = process_name(facts_, facts_.process_of(number()));
  else
    return 0;
  return placement.enter(0, placement.group(name));
}

uint32_t Scope::base(Placement& placement, const Coroutine& co, const Coroutine* by) const {
  const bool separate =
      options_.mode == CoroutineMode::kSeparate || options_.group == GroupBy::kCoroutine;
  // After a gap the coroutine may be unknown. It needs a group of its own only if results
  // are grouped by coroutine.
  if (separate && (co.id || options_.group == GroupBy::kCoroutine)) {
    const std::string id = co.id ? std::to_string(co.id) : "?";
    const std::string name = "coroutine " + std::to_string(number()) + ':' + id +
                             pid_text(facts_, facts_.process_of(number()));
    return placement.enter(group_root(placement, co, by), placement.group(name, true));
  }
  if (!by) return group_root(placement, co, by);
  if (options_.mode == CoroutineMode::kMerged)
    return placement.enter(group_root(placement, co, by), placement.group("[coroutines]", true));
  const uint32_t linked = placement.enter(by->frames[by->top].node, kCoroutineFunction);
  return options_.inherits_groups() ? placement.enter_inherited(linked, co, by) : linked;
}

}  // namespace luatrace::analyze
