// SPDX-License-Identifier: MIT
#include "analyzer/collect/scope.h"

#include <algorithm>

namespace luatrace::analyze {

Scope::Scope(const FilterPlan& plan, const TraceFacts& facts)
    : plan_(plan),
      options_(*plan.options),
      facts_(facts),
      matched_(plan.options->coroutines.size()) {
  stream(0);
}

void Scope::add(const Scope& other) {
  for (size_t i = 0; i < matched_.size(); i++) matched_[i] |= other.matched_[i];
}

void Scope::stream(uint32_t number) {
  auto [it, fresh] = streams_.try_emplace(number);
  stream_ = &it->second;
  if (!fresh) return;
  stream_->number = number;
  const auto& states = options_.states;
  stream_->state_wanted =
      states.empty() || std::find(states.begin(), states.end(), number) != states.end();
  auto info = facts_.streams.find(number);
  if (info != facts_.streams.end()) stream_->tid = static_cast<uint32_t>(info->second.tid);
  stream_->thread_wanted = is_thread_wanted(stream_->tid);
}

bool Scope::is_thread_wanted(uint32_t tid) const {
  const auto& list = options_.threads;
  return list.empty() || std::find(list.begin(), list.end(), tid) != list.end();
}

void Scope::on_thread(uint32_t tid) {
  stream_->tid = tid;
  stream_->thread_wanted = is_thread_wanted(tid);
}

bool Scope::wanted(const Coroutine& co) const {
  if (!wanted()) return false;
  if (options_.coroutines.empty() || co.id == 0) return true;  // 0: unknown coroutine.
  const auto& asked = options_.coroutines;
  bool any = false;
  for (size_t i = 0; i < asked.size(); i++) {
    if (asked[i].id != co.id || (asked[i].state != 0 && asked[i].state != number())) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

std::string Scope::process_text() const {
  auto process = facts_.processes.find(facts_.process_of(number()));
  if (process == facts_.processes.end()) return "";
  return " (pid " + std::to_string(process->second.pid) + ')';
}

uint32_t Scope::group_root(Placement& placement) const {
  std::string name;
  if (options_.group == GroupBy::kThread)
    name = "thread " + std::to_string(tid());
  else if (options_.group == GroupBy::kState)
    name = "state " + std::to_string(number()) + process_text();
  else
    return 0;
  return placement.enter(0, placement.group(name));
}

uint32_t Scope::base(Placement& placement, const Coroutine& co, const Coroutine* by) const {
  const bool separate =
      options_.mode == CoroutineMode::kSeparate || options_.group == GroupBy::kCoroutine;
  // After a gap the coroutine may be unknown (id 0). It needs a group of its own only if results
  // are grouped by coroutine.
  if (separate && (co.id || options_.group == GroupBy::kCoroutine)) {
    const std::string id = co.id ? std::to_string(co.id) : "?";
    const std::string name = "coroutine " + std::to_string(number()) + ':' + id + process_text();
    return placement.enter(group_root(placement), placement.group(name, true));
  }
  if (!by) return group_root(placement);
  if (options_.mode == CoroutineMode::kMerged)
    return placement.enter(group_root(placement), placement.group("[coroutines]", true));
  return placement.enter(by->frames[by->top].node, kCoroutineFunction);
}

}  // namespace luatrace::analyze
