// SPDX-License-Identifier: MIT
// Filter; see filter.h. coroutine__stack gives the number of entries that follow as calls of the
// report: it can be passed on only when the number of kept ones is known.
#include "recorder/bpf/filter.h"

#include <fnmatch.h>

#include <algorithm>

#include "luatrace_format.h"

namespace luatrace::record::bpf {
namespace {

// The chunk's name, the same without its first character, and the file's name alone.
bool matches(const std::vector<std::string>& globs, const std::string& chunk) {
  const size_t slash = chunk.rfind('/');
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& g) {
    const auto like = [&](size_t from) { return fnmatch(g.c_str(), chunk.c_str() + from, 0) == 0; };
    return like(0) || (!chunk.empty() && like(1)) || (slash != chunk.npos && like(slash + 1));
  });
}

}  // namespace

bool wants(const FilterRules& rules, const HitFunction& f) {
  if (f.type != LT_FUNC_LUA)
    return rules.c_functions != "none" && (rules.c_functions != "user" || f.type == LT_FUNC_C);
  if (!rules.include.empty() && !matches(rules.include, f.chunk)) return false;
  return !matches(rules.exclude, f.chunk);
}

void Filter::give_report(Report& report, const Give& give) {
  report.head.frame = static_cast<uint32_t>(report.kept.size()) + report.left;
  give(report.head);
  for (const Hit& h : report.kept) give(h);
}

// True if it was a call of a report.
bool Filter::pass_reported(const Hit& hit, const Give& give) {
  const auto it = reports_.find(hit.L);
  if (it == reports_.end()) return false;
  Report& r = it->second;
  const bool call = hit.kind == HitKind::kEntry;
  if (call && !unwanted_.contains(hit.what)) r.kept.push_back(hit);
  if (call) r.left--;
  if (call && r.left > 0) return true;
  give_report(r, give);
  reports_.erase(it);
  return call;
}

void Filter::pass(const Hit& hit, const Give& give) {
  if (!reports_.empty() && pass_reported(hit, give)) return;
  if (hit.kind == HitKind::kStack && hit.frame > 0) {
    reports_.insert_or_assign(hit.L, Report{hit, hit.frame, {}});
    return;
  }
  const bool call =
      hit.kind == HitKind::kEntry || hit.kind == HitKind::kReturn || hit.kind == HitKind::kTail;
  if (!call || !unwanted_.contains(hit.what)) give(hit);
}

void Filter::flush(const Give& give) {
  for (auto& [L, report] : reports_) give_report(report, give);
  reports_.clear();
}

}  // namespace luatrace::record::bpf
