// SPDX-License-Identifier: MIT
#include "analyzer/report/unmatched_filters.h"

#include <algorithm>
#include <span>

#include "analyzer/filter/phase.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

template <class Number>
void add_missing(std::vector<std::string>& out, const char* option, const char* what,
                 const std::vector<Number>& wanted, const std::set<Number>& known) {
  constexpr size_t kMaxListed = 8;
  std::vector<std::string> names;
  for (const Number number : known) names.push_back(std::to_string(number));
  for (const Number number : wanted)
    if (!known.contains(number))
      out.push_back(std::string(option) + ' ' + std::to_string(number) + ": no such " + what +
                    (known.empty() ? "" : "; the trace has " + list_text(names, kMaxListed)));
}

std::string seconds(uint64_t ns) {
  char text[40];
  snprintf(text, sizeof text, "%.6g s", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

UnmatchedFilters::UnmatchedFilters(const FilterOptions& options)
    : options_(options),
      group_names_(options.group_pattern),
      coroutines_(options.coroutines.size()) {
  add("-F", options.only);
  add("-N", options.without);
  add("-C", options.callers);
  add("-H", options.hide);
  add("--function", options.functions);
  for (const std::string& pattern : options.group_patterns()) groups_.emplace_back(pattern);
  if (options.group != GroupBy::kPattern) return;
  for (const char* name : std::span(kGroupNames).subspan(1)) group_names_.offer(name);
}

void UnmatchedFilters::add(const char* option, const std::vector<std::string>& patterns) {
  for (const std::string& text : patterns)
    wanted_.push_back({option, FunctionPattern(text), Suggestions(text)});
}

void UnmatchedFilters::offer(const FunctionName& f) {
  for (Wanted& w : wanted_) {
    if (w.met) continue;
    w.met = w.pattern.matches(f);
    if (!w.met) w.names.offer(f);
  }
  kinds_.insert(f.kind);
  if (group_matched_) return;
  if (options_.group == GroupBy::kPhase) group_matched_ = !nginx_phase(f).empty();
  const std::string name = groups_.empty() ? "" : file_name(f);
  for (const GroupPattern& group : groups_) group_matched_ |= group.find(name).has_value();
  if (options_.group == GroupBy::kPattern) group_names_.offer(name);
}

void UnmatchedFilters::file(const TraceFacts& facts, const FilteredProfile& profile,
                            const SymbolFinder& symbols) {
  any_file_ = true;
  if (!wanted_.empty() || options_.group >= GroupBy::kPhase || !options_.kinds.empty())
    for (FunctionId i = kFirstFunction; i < facts.functions.size(); ++i)
      if (facts.functions[i].type != kGroupType) offer(describe(facts.functions[i], symbols));
  if (profile.request_groups) group_matched_ |= !profile.request_groups->names().empty();
  if (profile.label_groups) group_matched_ |= !profile.label_groups->empty();
  uint64_t first = UINT64_MAX, last = 0;
  for (const StreamSums& sums : facts.sums) {
    vms_.insert(sums.stream);
    threads_.insert(sums.threads.begin(), sums.threads.end());
    if (sums.traced == 0) continue;
    first = std::min(first, sums.first);
    last = std::max(last, sums.last);
  }
  if (first < last) duration_ns_ = std::max(duration_ns_, facts.clock.ns(last - first));
  for (size_t i = 0; i < coroutines_.size(); i++)
    if (profile.matched(i)) coroutines_[i] = true;
  traced_ += profile.traced();
  const CallTree& tree = profile.sums().tree();
  for (NodeId i{1}; i < tree.size() && !shown_; ++i) shown_ = tree[i].calls || tree[i].self;
}

std::vector<std::string> UnmatchedFilters::remarks() const {
  std::vector<std::string> out;
  if (!any_file_) return out;
  for (const Wanted& w : wanted_)
    if (!w.met)
      out.push_back(w.option + " '" + w.pattern.text() + "': no function of the trace matches" +
                    w.names.question());
  if (!group_matched_) groups(out);
  kinds(out);
  add_missing(out, "--thread", "thread", options_.threads, threads_);
  add_missing(out, "--vm", "Lua VM", options_.vms, vms_);
  coroutines(out);
  if (options_.has_range() && traced_ == 0)
    range(out);
  else if (out.empty() && options_.filters() && !shown_ && traced_)
    nothing_left(out);
  return out;
}

void UnmatchedFilters::groups(std::vector<std::string>& out) const {
  const std::string& pattern = options_.group_pattern;
  if (options_.group == GroupBy::kPattern)
    out.push_back("--group-by '" + pattern +
                  "': no file of the trace matches, so all functions are in [other]" +
                  group_names_.question());
  if (options_.group == GroupBy::kPlugin)
    out.push_back(
        "--group-by plugin: no file of the trace is a plugin's, so all functions are in "
        "[no plugin]; --plugin PATTERN says where the plugins are");
  if (options_.group == GroupBy::kRequest)
    out.push_back(
        "--group-by request: no request is known, so all functions are in [no request]: see "
        "--request-by");
  if (options_.group == GroupBy::kLabel)
    out.push_back("--group-by " + pattern +
                  ": no coroutine has this label (luatrace.label), so all functions are in " +
                  kNoLabel);
  if (options_.group == GroupBy::kPhase)
    out.push_back(
        "--group-by phase: no function of the trace is an inline *_by_lua block of nginx, so no "
        "phase is known");
}

void UnmatchedFilters::kinds(std::vector<std::string>& out) const {
  for (const FunctionKind kind : options_.kinds)
    if (!kinds_.contains(kind))
      out.push_back(std::string("--kind ") + kind_name(kind) +
                    ": the trace has no functions of this kind");
}

void UnmatchedFilters::coroutines(std::vector<std::string>& out) const {
  for (size_t i = 0; i < coroutines_.size(); i++) {
    if (!coroutines_[i])
      out.push_back("--coroutine " + coroutine_text(options_.coroutines[i]) +
                    ": nothing ran in such a coroutine; --coroutines lists all");
  }
}

void UnmatchedFilters::range(std::vector<std::string>& out) const {
  out.push_back("-r: nothing was recorded in that time; the trace is from 0 s to " +
                seconds(duration_ns_) + " (--info has the date)");
}

void UnmatchedFilters::nothing_left(std::vector<std::string>& out) const {
  FilterOptions others = options_;
  others.min_ns = 0;
  const bool by_time = !others.filters();
  others.from = others.to = {};
  out.push_back(by_time            ? "-t leaves nothing: no call ran as long as that"
                : others.filters() ? "the filters leave nothing: no call matches all of them"
                                   : "-r: no call ran in that time");
}

}  // namespace luatrace::analyze
