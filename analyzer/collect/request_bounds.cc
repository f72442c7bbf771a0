// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_bounds.h"

#include <algorithm>
#include <utility>

namespace luatrace::analyze {
namespace {

bool has_run(const RequestLife& life, FunctionId bottom) {
  const auto& phases = life.sums.phases;
  return std::any_of(phases.begin(), phases.end(),
                     [&](const RequestPhase& p) { return p.function == bottom; });
}

// Whether a phase that the request has reached already shows that this is another one. Some phases
// run several times; `set` once for each variable.
bool is_repeated(const RequestLife& life, Phase phase, FunctionId bottom) {
  if (phase < life.reached) return true;
  if (phase > life.reached || phase == Phase::kBody || phase == Phase::kBalancer) return false;
  return phase != Phase::kSet || has_run(life, bottom);
}

// Whether no other coroutine of the request has an open call.
bool is_alone(const RequestCoroutine& e, const RequestLife& life) {
  return life.open == (e.open ? 1u : 0u);
}

}  // namespace

RequestBounds::Verdict RequestBounds::of(const RequestCoroutine& e, RequestLife& life,
                                         FunctionId bottom, FunctionId waits_in) {
  if (life.sums.phases.empty()) return Verdict::kSame;
  const RequestRule r = rules_.of(bottom, called_);
  if (std::exchange(life.restarts, false) || (waits_in && rules_.of(waits_in, called_).restarts))
    return life.reached = r.phase, Verdict::kSame;
  if (r.phase != Phase::kNone && is_repeated(life, r.phase, bottom)) return Verdict::kOther;
  const bool own = e.created || e.resumed;  // It is not the main coroutine.
  // Of the phases on the main coroutine only `set` comes before those in coroutines of their own.
  if (!own && r.phase == Phase::kSet && life.entered) return by_pause(e, life, bottom, r.phase);
  if (!own || !e.fresh) return Verdict::kSame;
  if (!r.main_chunk)  // A timer, or a light thread.
    return e.created || is_timer(e, life, bottom) ? Verdict::kOther : Verdict::kSame;
  if (in_nginx_ && life.sums.timer && is_alone(e, life)) return Verdict::kOther;
  if (life.answered) return Verdict::kOther;
  const bool late = life.reached >= Phase::kContent;
  if (r.phase == Phase::kNone && (late || has_run(life, bottom))) return Verdict::kOther;
  return by_pause(e, life, bottom, r.phase);
}

// A light thread begins while what spawns it has open calls.
bool RequestBounds::is_timer(const RequestCoroutine& e, const RequestLife& life,
                             FunctionId bottom) {
  return e.resumed && !e.created && is_alone(e, life) && !rules_.of(bottom, called_).main_chunk;
}

void RequestBounds::note_end(const RequestLife& life, bool Block::*how) {
  for (const RequestPhase& p : life.sums.phases)
    if (p.function != kTimerFunction) grown(blocks_, p.function).*how = true;
}

// Counts that the second block ran after the first one; returns what was known of them before.
RequestBounds::Pair RequestBounds::pair(FunctionId first, FunctionId second, bool late) {
  const uint64_t key = uint64_t{first} << 32 | second;
  auto at = pairs_.find(key);
  if (at == pairs_.end() && pairs_.size() >= kMaxPairs) return {};
  if (at == pairs_.end()) at = pairs_.try_emplace(key).first;
  const Pair before = at->second;
  (late ? at->second.late : at->second.at_once)++;
  return before;
}

// Within a request a pause is rare: the thread is interrupted, or the request is delayed.
RequestBounds::Verdict RequestBounds::by_pause(const RequestCoroutine& e, const RequestLife& life,
                                               FunctionId bottom, Phase phase) {
  constexpr uint64_t kRare = 8;
  const uint64_t last = std::min(life.last.total, e.since.total);
  const auto& phases = life.sums.phases;
  if (std::any_of(phases.begin(), phases.end(),
                  [this](const RequestPhase& p) { return is_logged(p.function); }))
    return Verdict::kSame;
  Block& block = grown(blocks_, bottom);
  const uint64_t pause = e.since.total - last;
  const bool late = pause >= kPauseNs;
  const bool ordered = phase > life.reached && life.reached != Phase::kNone;
  const Pair known = pair(life.block, bottom, late);
  if (!std::exchange(block.has_run, true) && late)  // nginx compiles it now.
    return ordered ? Verdict::kUnsureSame : Verdict::kUnsureOther;
  if (!late) return Verdict::kSame;
  // Never without a pause, and known to begin requests: there is no doubt.
  if (known.at_once == 0 && known.late >= kRare && block.begins > 0) return Verdict::kOther;
  const bool is_new = known.at_once + known.late == 0;
  const bool same = known.at_once > kRare * known.late || (ordered && block.begins == 0) ||
                    (is_new && pause < kFirstPauseNs);
  return same ? Verdict::kUnsureSame : Verdict::kUnsureOther;
}

}  // namespace luatrace::analyze
