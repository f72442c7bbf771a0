// SPDX-License-Identifier: MIT
#include "filter_model.h"

#include <algorithm>
#include <set>

namespace luatrace::analyze::model {
namespace {

bool is_in(const std::vector<std::string>& names, uint32_t function) {
  return std::find(names.begin(), names.end(), "f" + std::to_string(function)) != names.end();
}

// What the filters do to a call stack, by the properties of its calls.
struct Verdict {
  std::vector<size_t> shown;  // Outermost first.
  bool takes = false;         // Its time is that of a call in it.
  bool target = false;        // Its innermost call is the one that -C looks for.
  bool innermost_shown = false;
};

class Filter {
 public:
  Filter(const Result& m, const FilterOptions& o, uint64_t from, uint64_t to)
      : m_(m), o_(o), from_(from), to_(to), leads_(m.calls.size()) {}
  Filtered run();

 private:
  bool own_stacks() const { return o_.mode != CoroutineMode::kLinked; }
  bool wanted(int coroutine) const;
  Verdict judge(const std::vector<size_t>& innermost_first) const;
  bool brief(size_t call) const {
    return o_.min_ns && m_.calls[call].begin_seen && m_.calls[call].ran < o_.min_ns;
  }
  std::vector<size_t> of_coroutine(std::vector<size_t> chain, int coroutine) const;
  std::vector<size_t> chain_of(size_t call) const;
  void lead(const Stretch& s);
  void stretch(const Stretch& s);
  void run_in(const Verdict& v, uint64_t length);
  void call(size_t i);

  const Result& m_;
  const FilterOptions& o_;
  uint64_t from_, to_;
  std::vector<bool> leads_;
  Filtered out_;
};

bool Filter::wanted(int coroutine) const {
  if (o_.coroutines.empty() || coroutine == -1) return true;
  for (const auto& c : o_.coroutines)
    if (static_cast<int>(c.id) == coroutine) return true;
  return false;
}

Verdict Filter::judge(const std::vector<size_t>& innermost_first) const {
  Verdict v;
  bool in = o_.only.empty(), without = false, reached = false;
  for (size_t n = innermost_first.size(); n-- > 0;) {
    const size_t i = innermost_first[n];
    const uint32_t f = m_.calls[i].function;
    if (!in && is_in(o_.only, f)) in = true;
    without |= is_in(o_.without, f);
    const bool inside = reached;
    v.target = in && !without && !reached && is_in(o_.callers, f);
    reached |= v.target;
    bool hide = is_in(o_.hide, f) || (!o_.functions.empty() && !is_in(o_.functions, f));
    bool deep = o_.depth && v.shown.size() >= o_.depth;
    v.innermost_shown = in && !without && !inside && !hide && !deep;
    if (v.innermost_shown) v.shown.push_back(i);
  }
  v.takes = in && !without && !v.shown.empty() && (o_.callers.empty() || reached);
  return v;
}

std::vector<size_t> Filter::of_coroutine(std::vector<size_t> chain, int coroutine) const {
  if (own_stacks())
    std::erase_if(chain, [&](size_t i) { return m_.calls[i].coroutine != coroutine; });
  return chain;
}

std::vector<size_t> Filter::chain_of(size_t call) const {
  std::vector<size_t> chain{call};
  const auto& outer = m_.calls[call].outer;
  chain.insert(chain.end(), outer.begin(), outer.end());
  return of_coroutine(chain, m_.calls[call].coroutine);
}

void Filter::stretch(const Stretch& s) {
  const uint64_t from = std::max(from_, s.from), to = std::min(to_, s.to);
  if (from >= to) return;
  const uint64_t length = to - from;
  out_.traced += length;
  if (!wanted(s.coroutine)) {
    out_.filtered += length;
    return;
  }
  if (s.gap) {
    out_.gap += length;  // The callers of the unknown call are known.
    return run_in(judge(of_coroutine(s.running, s.coroutine)), length);
  }
  if (s.running.empty()) {
    out_.idle += length;
    return;
  }
  std::vector<size_t> chain = of_coroutine(s.running, s.coroutine);
  // Time of calls that were too short is their callers'.
  while (!chain.empty() && judge(chain).takes && brief(chain[0])) chain.erase(chain.begin());
  Verdict v = judge(chain);
  if (!v.takes) {
    out_.filtered += length;
    return;
  }
  if (!wanted(m_.calls[v.shown.back()].coroutine)) {
    out_.filtered += length;  // Part of a call that is left out itself.
    return;
  }
  out_.functions[m_.calls[v.shown.back()].function].self += length;
  run_in(v, length);
}

void Filter::run_in(const Verdict& v, uint64_t length) {
  std::set<uint32_t> seen;
  for (size_t i : v.shown)
    if (!brief(i) && (o_.callers.empty() || leads_[i]) && seen.insert(m_.calls[i].function).second)
      out_.functions[m_.calls[i].function].running += length;
}

void Filter::call(size_t i) {
  const Call& c = m_.calls[i];
  const bool counted = c.begin_seen && c.begin >= from_ && c.begin <= to_ && wanted(c.coroutine);
  if (!counted || brief(i) || !judge(chain_of(i)).innermost_shown) return;
  if (!o_.callers.empty() && !leads_[i]) return;
  Numbers& n = out_.functions[c.function];
  n.calls++;
  if (!c.end_seen || c.end > to_) return;
  n.min = n.complete ? std::min(n.min, c.ran) : c.ran;
  n.max = std::max(n.max, c.ran);
  n.sum += c.ran;
  n.complete++;
}

// A call that resumes a coroutine in which a call of -C is open has led to it, too.
void Filter::lead(const Stretch& s) {
  std::vector<size_t> chain = of_coroutine(s.running, s.coroutine);
  while (!chain.empty() && !judge(chain).target) chain.erase(chain.begin());
  if (chain.empty()) return;
  auto target = std::find(s.running.begin(), s.running.end(), chain[0]);
  for (; target != s.running.end(); ++target) leads_[*target] = true;
}

Filtered Filter::run() {
  for (size_t i = 0; i < m_.calls.size(); i++) {
    if (!judge(chain_of(i)).target) continue;
    leads_[i] = true;
    for (size_t outer : m_.calls[i].outer) leads_[outer] = true;
  }
  for (const Stretch& s : m_.stretches) lead(s);
  for (const Stretch& s : m_.stretches) stretch(s);
  for (size_t i = 0; i < m_.calls.size(); i++) call(i);
  return out_;
}

}  // namespace

Filtered filter(const Result& model, const FilterOptions& options, uint64_t from, uint64_t to) {
  return Filter(model, options, from, to).run();
}

}  // namespace luatrace::analyze::model
