// SPDX-License-Identifier: MIT
// HitStream: the VM's rules (luajit-usdt/src/lj_ltrace.c), as seen from outside.
#include "trace/hits/hit_stream.h"

#include <algorithm>
#include <utility>

namespace luatrace {
namespace {

constexpr uint32_t kBottom = 4;            // slot offset of a coroutine's outermost call, or less
constexpr uint32_t kMaxReport = 1u << 16;  // calls in a report; LuaJIT's stacks have fewer slots

}  // namespace

HitStream::HitStream(TraceWriter& writer, HitCounters& counters, uint32_t number,
                     const lt_stream_info& info)
    : counters_(counters),
      number_(number),
      state_(info.state_addr),
      tid_(static_cast<uint32_t>(info.tid)),
      flags_(info.flags),
      words_(writer, number, info) {}

HitCoroutine HitStream::make_coroutine(uint32_t vm_id, bool empty) {
  HitCoroutine co;
  co.number = next_coroutine_++;
  co.vm_id = vm_id;
  co.epoch = epoch_;
  co.complete = empty || proves_gaps();
  return co;
}

// -- VM --

void HitStream::begin(uint64_t time) {
  if (begun_ && !stopped_) return;
  begun_ = true;
  stopped_ = false;
  words_.put_ext(time, LTX_START, attached_ && complete() ? LT_START_ATTACHED : 0,
                 std::max<uint64_t>(time, 1), lt_pack(1, flags_));
}

// Before an event that is not part of a report.
void HitStream::prepare(uint64_t time) {
  begin(time);
  if (left_ > 0) end_report(time);
}

// After a gap, what was known of a coroutine's stack no longer holds.
void HitStream::refresh(HitCoroutine& co) {
  if (co.epoch == epoch_) return;
  co.epoch = epoch_;
  co.complete = false;
  co.resumed = false;
  co.calls.clear();
}

// `co` runs: writes a record if the reader cannot know that.
void HitStream::activate(HitCoroutine& co, uint64_t time) {
  prepare(time);
  refresh(co);
  if (current_ == co.number) return;
  current_ = co.number;
  words_.put_ext(time, LTX_SWITCH, 0, co.number);
}

void HitStream::thread(uint32_t tid, uint64_t time) {
  if (tid == tid_ || tid == 0) return;
  tid_ = tid;
  if (left_ > 0) end_report(time);
  begin(time);
  words_.put_ext(time, LTX_THREAD, 0, tid);
}

void HitStream::loss(uint64_t count, uint64_t since, uint64_t time) {
  begin(time);
  left_ = 0;
  since = std::clamp(since, std::min(words_.last(), time), time);
  words_.put_ext(time, LTX_LOSS, 1, count + 1, std::max<uint64_t>(since, 1));
  lost_ += count;
  epoch_++;
  current_ = 0;
}

// A hit that is impossible if all hits were seen.
void HitStream::odd(uint64_t time) {
  counters_.odd++;
  loss(1, words_.last(), time);
}

// -- Calls --

void HitStream::entry(HitCoroutine& co, const Hit& hit, uint32_t id) {
  if (left_ > 0 && report_co_ == co.number) {
    co.calls.push_back({hit.frame, id});
    if (--left_ == 0) write_report(co);
    return;
  }
  activate(co, hit.time);
  find_bottom(co, hit);
  if (!co.calls.empty() && co.calls.back().frame >= hit.frame) {
    odd(hit.time);
    activate(co, hit.time);
  }
  if (co.calls.size() >= HitLimits::kMaxDepth) {
    counters_.dropped++;
    loss(1, words_.last(), hit.time);
    return;
  }
  words_.put_id(hit.time, id, LT_ENTRY);
  co.calls.push_back({hit.frame, id});
}

// The outermost call of a coroutine of which nothing was known: it is the only one.
void HitStream::find_bottom(HitCoroutine& co, const Hit& hit) {
  if (co.complete || !complete() || !co.calls.empty() || hit.frame > kBottom) return;
  co.complete = co.reported = true;
  words_.put_ext(hit.time, LTX_STACK, LTR_RESUMED, co.number, 1);
}

void HitStream::leave(HitCoroutine& co, const Hit& hit, uint32_t id) {
  activate(co, hit.time);
  const bool top =
      !co.calls.empty() && co.calls.back().frame == hit.frame && co.calls.back().id == id;
  const bool below = co.calls.empty() && !co.complete;  // returns from a call from before a gap
  if (!top && !below) {
    odd(hit.time);
    activate(co, hit.time);
  }
  words_.put_id(hit.time, id, hit.kind == HitKind::kTail ? LT_TAIL : LT_RETURN);
  if (top) co.calls.pop_back();
}

void HitStream::unwind(HitCoroutine& co, const Hit& hit) {
  activate(co, hit.time);
  uint32_t n = 0;
  while (!co.calls.empty() && co.calls.back().frame > hit.frame) {
    co.calls.pop_back();
    n++;
  }
  if (n == 0 && co.complete) return odd(hit.time);
  if (n == 0) return;  // Only calls from before a gap.
  words_.put_ext(hit.time, LTX_UNWIND, 0,
                 lt_pack(n, co.calls.empty() ? LT_ID_NONE : co.calls.back().id));
}

// -- Coroutines --

void HitStream::create(HitCoroutine* by, HitCoroutine& co, uint64_t time) {
  prepare(time);
  if (by) activate(*by, time);
  words_.put_ext(time, LTX_CREATE, 0, co.number);
}

void HitStream::resume(HitCoroutine* by, HitCoroutine& co, uint64_t time) {
  prepare(time);
  if (by) activate(*by, time);
  refresh(co);
  co.resumed = true;
  co.resumer = current_;
  current_ = co.number;
  words_.put_id(time, co.number, LT_RESUME);
}

void HitStream::suspend(HitCoroutine& co, uint64_t time, uint32_t status) {
  activate(co, time);
  words_.put(time, status, LT_SUSPEND);
  if (status != LTS_YIELD) {
    co.calls.clear();
    co.complete = true;
  }
  current_ = co.resumed ? co.resumer : 0;
  co.resumed = false;
}

void HitStream::collect(HitCoroutine& co, uint64_t time) {
  prepare(time);
  words_.put_ext(time, LTX_COLLECT, 0, co.number);
  if (current_ == co.number) current_ = 0;
}

// -- Stack reports --

void HitStream::stack(HitCoroutine& co, const Hit& hit) {
  prepare(hit.time);
  refresh(co);
  known_ = co.complete ? co.calls : std::vector<HitCall>{{0, LT_ID_NONE}};
  co.complete = true;
  co.calls.clear();
  report_co_ = co.number;
  const bool given = hit.reason != Hit::kNoReason;
  report_reason_ = given ? hit.reason : uint32_t{co.resumed ? LTR_RESUMED : LTR_ACTIVATE};
  report_time_ = hit.time;
  left_ = std::min(hit.frame, kMaxReport);
  if (left_ == 0) write_report(co);
}

// Written at once, since its frames must follow it. If it says nothing new (the VM reports again
// when another tracer attaches), the calls stay as they are.
void HitStream::write_report(HitCoroutine& co) {
  const bool first = co.calls.empty() && !std::exchange(co.reported, true);
  if (co.calls == known_ && !first) return activate(co, report_time_);
  current_ = co.number;
  words_.put_ext(report_time_, LTX_STACK, report_reason_, co.number, uint64_t{co.calls.size()} + 1);
  for (const HitCall& call : co.calls) words_.put_id(report_time_, call.id, LT_FRAME);
}

// Another event came before the report was complete.
void HitStream::end_report(uint64_t time) {
  left_ = 0;
  odd(time);
}

void HitStream::stop(uint64_t time, uint32_t reason) {
  if (!begun_ || stopped_) return;
  if (left_ > 0) end_report(time);
  words_.put(time, lt_ext(LTX_STOP, 0, reason), LT_EXT);
  stopped_ = true;
  current_ = 0;
  epoch_++;
}

}  // namespace luatrace
