// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_rules.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/filter/phase.h"
#include "analyzer/symbols/vm_work.h"
#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

constexpr std::pair<std::string_view, Phase> kDirectives[] = {
    {"server_rewrite", Phase::kSet},    {"set", Phase::kSet},
    {"rewrite", Phase::kRewrite},       {"access", Phase::kAccess},
    {"precontent", Phase::kPrecontent}, {"content", Phase::kContent},
    {"balancer", Phase::kBalancer},     {"header_filter", Phase::kHeader},
    {"body_filter", Phase::kBody},      {"log", Phase::kLog}};

// nginx's lua module runs coroutines itself: what resumes one is a C function that yields to it.
constexpr std::array<std::string_view, 7> kWaitsForOthers = {
    "thread.wait",        "wait",     "coroutine.resume",  "resume",
    "coroutine.__resume", "__resume", "coroutine.wrap_aux"};
constexpr std::array<std::string_view, 4> kRestarts = {"ngx.exec", "exec", "ngx.req.set_uri",
                                                       "set_uri"};
constexpr std::array<std::string_view, 4> kYields = {"coroutine.yield", "coroutine.__yield",
                                                     "yield", "__yield"};
constexpr std::array<std::string_view, 4> kNeverReturns = {"ngx.exit", "exit", "ngx.redirect",
                                                           "redirect"};

template <size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

RequestRule rule_of(const FunctionName& f) {
  RequestRule rule;
  rule.main_chunk = is_main_chunk(f);
  const std::string directive = nginx_phase(f);
  for (const auto& [name, phase] : kDirectives)
    if (directive == name) rule.phase = phase;
  const bool block = f.chunk.starts_with('=') && f.chunk.find("_by_lua(") != f.chunk.npos;
  rule.in_nginx = rule.phase != Phase::kNone || block || f.name.starts_with("ngx.");
  if (f.kind == FunctionKind::kLua) return rule;
  if (is_collector(f)) rule.work = VmWork::kCollector;
  if (is_compiler(f)) rule.work = VmWork::kCompiler;
  if (is_recording(f)) rule.work = VmWork::kRecording;
  std::string_view name = f.name;
  if (name.starts_with("ngx.thread.")) name.remove_prefix(4);
  rule.waits_for_others = has(kWaitsForOthers, name);
  rule.restarts = has(kRestarts, name);
  rule.yields = has(kYields, name);
  rule.returns = f.kind == FunctionKind::kC && rule.work == VmWork::kNone && !rule.yields &&
                 !rule.restarts && !has(kNeverReturns, name);
  rule.creates_timers = creates_timers(f);
  return rule;
}

std::string phase_name(const FunctionName& f) {
  const std::string name = nginx_phase(f);
  return name.empty() ? display_name(f) : name;
}

FunctionName timer_phase() {
  FunctionName f;
  f.kind = FunctionKind::kPhase;
  f.name = kTimerPhase;
  return f;
}

RequestRule RequestRules::of(FunctionId function, const CalledFunctions& called) {
  KnownRule& known = grown(rules_, function);
  if (known.known) return known;
  const FunctionName f = called.described(function);
  static_cast<RequestRule&>(known) = rule_of(f);
  known.begins = by_call() && by_.matches(f);
  known.known = true;
  return known;
}

}  // namespace luatrace::analyze
