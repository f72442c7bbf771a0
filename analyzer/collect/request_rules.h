// SPDX-License-Identifier: MIT
// --requests: what the name of a function says about a request of nginx's lua module: the phase
// whose block it is the main chunk of, and whether its wait is really that of another coroutine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/collect/called_functions.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/filter/phase.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// In the order in which nginx runs them. kNone: the function is no block of a phase with an order.
enum class Phase : uint8_t {
  kNone,
  kSet,
  kRewrite,
  kAccess,
  kPrecontent,
  kContent,
  kBalancer,
  kHeader,
  kBody,
  kLog
};

// The value of --request-by for the coroutines that the host resumes. It is no pattern: a function
// of this name is [@]coroutines.
constexpr const char* kByCoroutines = "@coroutines";

// The value of --request-by for coroutines with a label begins so; the label's key follows.
constexpr std::string_view kByLabel = "label:";
inline bool is_special(std::string_view by) {
  return by == kByCoroutines || by.starts_with(kByLabel);
}

// Work of the VM itself, which is a call of its own in a trace.
enum class VmWork : uint8_t { kNone, kCollector, kCompiler, kRecording };

struct RequestRule {
  Phase phase = Phase::kNone;
  bool main_chunk = false;
  bool waits_for_others = false;  // While it is suspended, other coroutines of the request run.
  bool restarts = false;          // It goes back to an earlier phase (ngx.exec): it never returns.
  bool yields = false;            // It is coroutine.yield.
  bool returns = false;           // It waits, and is resumed then unless its request is dropped.
  VmWork work = VmWork::kNone;    // What the VM does says nothing about whose code runs.
  bool in_nginx = false;          // Only nginx has it.
  bool creates_timers = false;    // A coroutine that it creates is a timer.
  bool begins = false;            // --request-by: each call of it is a request.
};

// Chooses the phase that a request is named by: its content block, which says what was requested;
// if it has none, that in which it spent most of its time. Null if it has none.
template <class Phases, class IsContent>
auto entry_phase(const Phases& phases, const IsContent& is_content) {
  decltype(phases.data()) best = nullptr;
  const auto rank = [&](const auto& p) {
    return std::pair(is_content(p.function), p.running_ns + p.wait_ns);
  };
  for (const auto& p : phases)
    if (!best || rank(*best) < rank(p)) best = &p;
  return best;
}

// Without `begins`.
RequestRule rule_of(const FunctionName& function);
// The name of the phase whose outermost function this is: the directive's for a block in
// nginx.conf ("access" for access_by_lua), else that of the function.
std::string phase_name(const FunctionName& function);

// What stands for the phase of timers (kTimerFunction) in reports.
FunctionName timer_phase();

// What is known of functions, once for all streams of a file.
class RequestRules {
 public:
  // Requests are the host's if `by` is empty, each coroutine that the host resumes if it is
  // {kByCoroutines}, the values of a label if it begins with kByLabel, or else the calls that it
  // matches.
  explicit RequestRules(const std::vector<std::string>& by)
      : by_coroutine_(by == std::vector<std::string>{kByCoroutines}), by_(by) {
    if (by.size() == 1 && by[0].starts_with(kByLabel)) label_ = by[0].substr(kByLabel.size());
  }

  // A coroutine works for a request because it was told so: by the host, or by a label.
  bool by_host() const { return by_.empty() || by_label(); }
  bool by_label() const { return !label_.empty(); }
  const std::string& label() const { return label_; }
  bool by_coroutine() const { return by_coroutine_; }
  bool by_call() const { return !by_host() && !by_coroutine(); }
  RequestRule of(FunctionId function, const CalledFunctions& called);
  VmWork work(FunctionId function, const CalledFunctions& called) {
    const bool known = function < rules_.size() && rules_[function].known;
    return known ? rules_[function].work : of(function, called).work;
  }
  // Names may have come that were not known before.
  void forget() { rules_.clear(); }

 private:
  struct KnownRule : RequestRule {
    bool known = false;
  };
  const bool by_coroutine_;
  std::string label_;
  const FunctionPatterns by_;
  std::vector<KnownRule> rules_;  // By function.
};

}  // namespace luatrace::analyze
