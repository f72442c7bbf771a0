// SPDX-License-Identifier: MIT
#include "recorder/bpf/word_filter.h"

#include <algorithm>

#include "recorder/drain/chunk_globs.h"
#include "trace/word_scanner.h"

namespace luatrace::record::bpf {
namespace {

uint32_t id_of(std::span<const uint64_t> r) {
  const uint32_t p = lt_payload(r[0]);
  return p == LT_PAYLOAD_BIG && r.size() > 1 ? lt_lo(r[1]) : p;
}

void append(std::vector<uint64_t>& out, std::span<const uint64_t> r) {
  out.insert(out.end(), r.begin(), r.end());
}

bool matches(const std::vector<std::string>& globs, const std::string& chunk) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& g) { return glob_matches(g, chunk); });
}

}  // namespace

bool wants(const FilterRules& rules, uint16_t type, const std::string& chunk) {
  if (type != LT_FUNC_LUA)
    return rules.c_functions != "none" && (rules.c_functions != "user" || type == LT_FUNC_C);
  if (!rules.include.empty() && !matches(rules.include, chunk)) return false;
  return !matches(rules.exclude, chunk);
}

WordFilter::Coroutine& WordFilter::here() {
  if (coroutines_.size() > kMaxEntries) coroutines_.clear();
  return coroutines_.try_emplace(current_, Coroutine{whole_, 0, {}}).first->second;
}

void WordFilter::lost() {
  coroutines_.clear();
  whole_ = false;
  left_ = 0;
  report_.clear();
}

void WordFilter::suspend(uint32_t status) {
  const uint32_t id = current_;
  current_ = here().resumer;
  if (status != LTS_YIELD) coroutines_.erase(id);
}

// -- Reports of stacks --

void WordFilter::report(std::span<const uint64_t> r) {
  current_ = lt_lo(r[1]);
  Coroutine& co = here();
  co.calls.clear();
  co.known = true;
  report_.assign(r.begin(), r.end());
  left_ = r[2] - 1;
  kept_ = 0;
}

void WordFilter::end_report(std::vector<uint64_t>& out) {
  if (report_.empty()) return;
  report_[2] = kept_ + 1;
  append(out, report_);
  report_.clear();
  left_ = 0;
}

void WordFilter::frame(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t id = id_of(r);
  Coroutine& co = here();
  if (co.calls.size() < kMaxEntries) co.calls.push_back(id);
  if (wanted(id) && report_.empty()) append(out, r);  // not part of a report: passed on
  if (wanted(id) && !report_.empty() && kept_ < kMaxEntries) append(report_, r), kept_++;
  if (left_ > 0 && --left_ == 0) end_report(out);
}

// -- Everything else --

// How many of the calls whose beginning we have seen stay when `depth` of all of them do. If there
// are others below, the function on top shows it, as for the analyzer (docs/semantics.md, Gaps): in
// a recursion the innermost one below the call on top, which has failed, is assumed.
uint64_t WordFilter::kept_calls(const Coroutine& co, uint64_t depth, uint32_t top) {
  const uint64_t all = co.calls.size();
  if (co.known) return std::min(depth, all);
  for (uint64_t keep = all > 0 ? all - 1 : 0; keep > 0; keep--)
    if (co.calls[keep - 1] == top) return keep <= depth ? keep : 0;
  return all > 0 && all <= depth && co.calls.back() == top ? all : 0;
}

// For calls from before a loss it is not known which are wanted, so only later ones are counted,
// and nothing is written about the number below.
void WordFilter::unwind(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  Coroutine& co = here();
  const bool to_depth = lt_ext_arg(lt_payload(r[0])) == 1;
  const uint64_t n = lt_lo(r[1]), depth = co.calls.size();
  const uint32_t on_top = lt_hi(r[1]);
  if (to_depth && n == 0) return append(out, r);
  const uint64_t keep = to_depth ? kept_calls(co, n - 1, on_top) : depth - std::min(n, depth);
  const auto kept_here = [&](uint32_t id) { return wanted(id); };
  const auto first = co.calls.begin(), cut = first + static_cast<ptrdiff_t>(keep);
  const auto gone = static_cast<uint64_t>(std::count_if(cut, co.calls.end(), kept_here));
  const auto left = static_cast<uint64_t>(std::count_if(first, cut, kept_here));
  co.calls.resize(keep);
  if (on_top == LT_ID_NONE && keep == 0) co.known = true;
  const bool with_depth = to_depth && co.known;
  if (gone == 0 && !with_depth) return;
  const auto top = std::find_if(co.calls.rbegin(), co.calls.rend(), kept_here);
  const uint32_t none = co.known ? LT_ID_NONE : LT_ID_UNKNOWN;
  out.push_back(r[0] >> LT_TIME_SHIFT << LT_TIME_SHIFT |
                lt_word(0, lt_ext(LTX_UNWIND, 1, with_depth), LT_EXT));
  out.push_back(lt_pack(with_depth ? left + 1 : gone, top == co.calls.rend() ? none : *top));
}

void WordFilter::extension(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t sub = sub_of(r[0]);
  const uint32_t id = r.size() > 1 ? lt_lo(r[1]) : 0;
  if (sub == LTX_UNWIND && r.size() > 1) return unwind(r, out);
  if (sub == LTX_STACK && r.size() > 2) {
    report(r);
    if (left_ == 0) end_report(out);
    return;
  }
  if (sub == LTX_LOSS) lost();
  if (sub == LTX_SWITCH) current_ = id;
  if (sub == LTX_BLOCK && r.size() > 2 && lt_lo(r[2]) != LT_ID_NONE) current_ = lt_lo(r[2]);
  if (sub == LTX_CREATE) coroutines_[id] = Coroutine{true, 0, {}};
  if (sub == LTX_COLLECT) coroutines_.erase(id);
  append(out, r);
}

void WordFilter::pass(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t kind = lt_kind(r[0]), id = id_of(r);
  const uint32_t sub = sub_of(r[0]);
  if (kind == LT_FRAME) return frame(r, out);
  if (sub == LTX_PAD || sub == LTX_BLOCK) return extension(r, out);
  end_report(out);
  if (kind == LT_EXT) return extension(r, out);
  if (kind == LT_RESUME) {
    const uint32_t by = current_;
    current_ = id;
    if (id != by) here().resumer = by;
    return append(out, r);
  }
  if (kind == LT_SUSPEND) {
    suspend(id);
    return append(out, r);
  }
  Coroutine& co = here();
  if (kind == LT_ENTRY && co.calls.size() < kMaxEntries) co.calls.push_back(id);
  if (kind != LT_ENTRY && !co.calls.empty()) co.calls.pop_back();
  if (wanted(id)) append(out, r);
}

}  // namespace luatrace::record::bpf
