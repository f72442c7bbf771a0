// SPDX-License-Identifier: MIT
#include "trace/open_calls.h"

#include <algorithm>
#include <unordered_set>

#include "trace/word_scanner.h"

namespace luatrace {
namespace {

void put_ext(std::vector<uint64_t>& out, uint64_t tick, uint32_t sub, uint32_t arg,
             std::initializer_list<uint64_t> words) {
  out.push_back(lt_word(tick, lt_ext(sub, words.size(), arg), LT_EXT));
  out.insert(out.end(), words);
}

void put_id(std::vector<uint64_t>& out, uint64_t tick, uint32_t kind, uint32_t id) {
  const bool big = id >= LT_PAYLOAD_BIG;
  out.push_back(lt_word(tick, big ? LT_PAYLOAD_BIG : id, kind));
  if (big) out.push_back(id);
}

uint32_t id_of(std::span<const uint64_t> r) {
  const uint32_t p = lt_payload(r[0]);
  return p == LT_PAYLOAD_BIG && r.size() > 1 ? lt_lo(r[1]) : p;
}

}  // namespace

// -- Following --

OpenCalls::Coroutine& OpenCalls::co() {
  if (here_ != nullptr) return *here_;
  if (all_.size() >= kMaxCoroutines && !all_.contains(current_)) {
    const uint32_t id = current_;
    forget();
    current_ = id;
  }
  const auto [it, fresh] = all_.try_emplace(current_);
  if (fresh) it->second.known = !lost_;
  here_ = &it->second;
  return *here_;
}

const OpenCalls::Coroutine* OpenCalls::find(uint32_t id) const {
  const auto it = all_.find(id);
  return it == all_.end() ? nullptr : &it->second;
}

void OpenCalls::set_current(uint32_t id) {
  current_ = id;
  here_ = nullptr;
}

void OpenCalls::forget() {
  all_.clear();
  calls_ = marks_ = 0;
  lost_ = true;
  set_current(0);
}

void OpenCalls::erase(uint32_t id) {
  const auto it = all_.find(id);
  if (it == all_.end()) return;
  clear(it->second);
  marks_ -= it->second.marks.words();
  if (here_ == &it->second) here_ = nullptr;
  all_.erase(it);
}

// A call that is not there was open before: of an unknown stack, or the words are wrong.
void OpenCalls::pop(Coroutine& c, size_t n) {
  if (n > c.calls.size()) c.known = false;
  n = std::min(n, c.calls.size());
  c.more = 0;
  c.calls.resize(c.calls.size() - n);
  calls_ -= n;
}

void OpenCalls::suspend(uint32_t status) {
  const uint32_t id = current_, resumer = co().resumer;
  co().resumer = 0;
  co().yielded = status == LTS_YIELD;
  if (status != LTS_YIELD) erase(id);
  set_current(resumer);
}

void OpenCalls::unwind(uint32_t n, bool to_depth) {
  Coroutine& c = co();
  if (!to_depth) return pop(c, n);
  const size_t keep = n > 0 ? n - 1 : 0;
  if (!c.known) return clear(c);  // which of the calls stay is not known
  if (c.calls.size() > keep) pop(c, c.calls.size() - keep);
}

// Beyond the limit the marks of a coroutine are not known.
void OpenCalls::count_marks(Coroutine& c, size_t before) {
  marks_ += c.marks.words() - before;
  if (marks_ <= kMaxMarks) return;
  marks_ -= c.marks.words();
  c.marks.clear();
}

void OpenCalls::create(uint32_t id) {
  const uint64_t request = co().request;
  const Marks marks = co().marks;
  const uint32_t by = current_;
  set_current(id);
  Coroutine& c = co();
  if (c.calls.empty()) c.known = true;
  c.request = request;
  const size_t before = c.marks.words();
  c.marks.inherit(marks);
  count_marks(c, before);
  set_current(by);
}

// A request, label or section of a coroutine that is known.
void OpenCalls::say(uint32_t id, uint32_t sub, std::span<const uint64_t> r) {
  const auto it = all_.find(id);
  if (it == all_.end() && id != current_) return;
  Coroutine& c = it != all_.end() ? it->second : co();
  const size_t before = c.marks.words();
  if (sub == LTX_REQUEST && r.size() > 2) c.request = r[2];
  if (sub == LTX_LABEL) c.marks.label(r);
  if (sub == LTX_MARK) c.marks.section(r);
  count_marks(c, before);
}

void OpenCalls::extension(std::span<const uint64_t> r, uint32_t p) {
  const uint32_t sub = lt_ext_sub(p), id = r.size() > 1 ? lt_lo(r[1]) : 0;
  if (sub == LTX_LOSS) return forget();
  if (sub == LTX_START && lt_ext_arg(p) == LT_START_ATTACHED) lost_ = true;
  if (r.size() < 2) return;
  if (sub == LTX_UNWIND) return unwind(id, lt_ext_arg(p) == 1);
  if (sub == LTX_CREATE) return create(id);
  if (sub == LTX_COLLECT && id != current_) return erase(id);
  if (sub == LTX_SWITCH) {
    set_current(id);
    co().yielded = false;
    return;
  }
  if (sub == LTX_THREAD) tid_ = id;
  if (sub == LTX_BLOCK && r.size() > 3) {
    tid_ = lt_lo(r[3]);
    if (current_ == 0 && lt_lo(r[2]) != LT_ID_NONE) set_current(lt_lo(r[2]));
  }
  if (sub == LTX_REQUEST || sub == LTX_LABEL || sub == LTX_MARK) return say(id, sub, r);
  if (sub != LTX_STACK) return;
  set_current(id);
  clear(co());
  const size_t marks = co().marks.words();
  co().marks.clear_sections();  // those that are open follow
  count_marks(co(), marks);
  co().known = true;
  co().yielded = false;
  co().more = r.size() > 2 ? r[2] - 1 : 0;  // its frames follow, perhaps in a later block
}

void OpenCalls::record(std::span<const uint64_t> r) {
  switch (lt_kind(r[0])) {
    case LT_ENTRY:
    case LT_FRAME: {
      if (calls_ >= kMaxCalls) forget();
      Coroutine& c = co();
      const bool frame = lt_kind(r[0]) == LT_FRAME && c.more > 0;
      c.more = frame ? c.more - 1 : 0;
      c.calls.push_back(id_of(r));
      calls_++;
      return;
    }
    case LT_RETURN:
    case LT_TAIL:
      return pop(co(), 1);
    case LT_RESUME: {
      const uint32_t by = current_, id = id_of(r);
      set_current(id);
      if (id != by) co().resumer = by;
      co().yielded = false;
      return;
    }
    case LT_SUSPEND:
      return suspend(lt_payload(r[0]));
    case LT_EXT:
      return extension(r, lt_payload(r[0]));
    default:
      return;
  }
}

void OpenCalls::apply(std::span<const uint64_t> words) {
  while (!words.empty()) {
    const size_t n = record_words(words[0]);
    if (n == 0 || n > words.size()) return;
    record(words.first(n));
    words = words.subspan(n);
  }
}

// -- Reporting --

void OpenCalls::report_resume(std::vector<uint64_t>& out, uint64_t tick, uint32_t id) {
  put_id(out, tick, LT_RESUME, id);
}

void OpenCalls::report_stack(std::vector<uint64_t>& out, uint64_t tick, uint32_t id,
                             const Coroutine& co) {
  if (co.known) {
    put_ext(out, tick, LTX_STACK, LTR_RESUMED, {id, co.calls.size() + co.more + 1});
    for (const uint32_t call : co.calls) put_id(out, tick, LT_FRAME, call);
  }
  if (co.request != 0) put_ext(out, tick, LTX_REQUEST, 0, {id, co.request});
  co.marks.report_labels(out, tick, id);
  if (co.known) co.marks.report_sections(out, tick, id);
}

// The current coroutine and those that have resumed it, outermost first.
std::vector<uint32_t> OpenCalls::running() const {
  std::vector<uint32_t> chain;
  for (uint32_t id = current_; id != 0 && chain.size() <= all_.size();) {
    chain.push_back(id);
    const Coroutine* const c = find(id);
    id = c != nullptr ? c->resumer : 0;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// Suspended coroutines are resumed, reported and suspended again, so that a reader knows that they
// wait; those that the host left otherwise are only reported.
std::vector<uint64_t> OpenCalls::report(uint64_t tick, uint32_t recording, uint32_t flags) const {
  std::vector<uint64_t> out;
  put_ext(out, tick, LTX_START, lost_ ? LT_START_ATTACHED : 0, {tick, lt_pack(recording, flags)});
  put_ext(out, tick, LTX_BLOCK, 0, {tick, LT_ID_NONE, lt_pack(tid_, recording)});
  const std::vector<uint32_t> chain = running();
  const std::unordered_set<uint32_t> runs(chain.begin(), chain.end());
  for (const bool yielded : {true, false})
    for (const auto& [id, c] : all_) {
      if (id == 0 || !c.known || c.yielded != yielded || runs.contains(id)) continue;
      const bool suspend = yielded || chain.empty();  // none is current afterwards
      if (suspend) report_resume(out, tick, id);
      report_stack(out, tick, id, c);
      if (suspend) out.push_back(lt_word(tick, LTS_YIELD, LT_SUSPEND));
    }
  for (const uint32_t id : chain) {
    const Coroutine* const c = find(id);
    if (id != chain.front())
      report_resume(out, tick, id);
    else if (c == nullptr || !c->known)
      put_ext(out, tick, LTX_SWITCH, 0, {id});
    if (c != nullptr) report_stack(out, tick, id, *c);
  }
  return out;
}

void OpenCalls::add_functions(std::vector<uint32_t>& ids) const {
  for (const auto& [id, c] : all_) ids.insert(ids.end(), c.calls.begin(), c.calls.end());
}

}  // namespace luatrace
