// SPDX-License-Identifier: MIT
// What the name of a function says about a request of nginx's lua module: the phase whose block it
// is the main chunk of, and whether its wait is really that of another coroutine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
enum class VmWork : uint8_t { kNone, kCollector, kCompiler };

struct RequestRule {
  Phase phase = Phase::kNone;
  bool main_chunk = false;
  bool waits_for_others = false;  // While it is suspended, other coroutines of the request run.
  bool restarts = false;          // It goes back to an earlier phase (ngx.exec): it never returns.
  VmWork work = VmWork::kNone;    // What the VM does says nothing about whose code runs.
  bool begins = false;            // --request-by: each call of it is a request.
};

// Without `begins`.
RequestRule rule_of(const FunctionName& function);
// The name of the phase whose outermost function this is: the directive's for a block in
// nginx.conf ("access" for access_by_lua), else that of the function.
std::string phase_name(const FunctionName& function);

}  // namespace luatrace::analyze
