// SPDX-License-Identifier: MIT
// SingleEvents; see records.h. The records come from our own program in the kernel; their contents
// (addresses, ids, strings) come from the traced process.
#include "recorder/bpf/records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "recorder/os/clock.h"

namespace luatrace::record::bpf {
namespace {

// By LTB_*.
constexpr std::array<HitKind, LTB_NPROBES> kKinds = {
    HitKind::kEntry,  HitKind::kReturn, HitKind::kTail,   HitKind::kEntry, HitKind::kReturn,
    HitKind::kUnwind, HitKind::kCreate, HitKind::kResume, HitKind::kYield, HitKind::kEnd,
    HitKind::kOpen,   HitKind::kClose,  HitKind::kStack};  // LTB_BLOCK, LTB_SWITCH: none

Hit common(const ltb_hit& h, uint64_t time, uint32_t image, uint32_t kind) {
  Hit hit;
  hit.time = time;
  hit.L = h.L;
  hit.state = h.state;
  hit.pid = image;
  hit.tid = h.tid;
  hit.kind = kKinds[kind];
  return hit;
}

}  // namespace

// A number that identifies one function for the life of the process: ids belong to a VM, and VMs
// may re-use addresses.
uint64_t SingleEvents::key(AttachedProcess& a, uint64_t state, uint32_t id) {
  if (state != a.last_state || a.last_number == 0) {
    const auto [it, fresh] = a.states.try_emplace(state, a.next_state);
    if (fresh) a.next_state++;
    a.last_state = state;
    a.last_number = it->second;
  }
  return uint64_t{a.last_number} << 32 | id;
}

void SingleEvents::give(AttachedProcess& a, const Hit& hit) {
  if (!r_.settings.filter.any()) return a.sink->hits->hit(hit);
  a.filter.pass(hit, [&](const Hit& kept) { a.sink->hits->hit(kept); });
}

void SingleEvents::take(AttachedProcess& a, const ltb_hit& hit, uint32_t kind) {
  if (kind <= LTB_CRETURN)
    call(a, hit, kind);
  else if (kind >= LTB_CREATE && kind <= LTB_END)
    coroutine(a, reinterpret_cast<const ltb_co&>(hit), kind);
  else if (kind < LTB_NPROBES)
    other(a, hit, kind);
  else if (kind == LTB_FUNC)
    function(a, reinterpret_cast<const ltb_func&>(hit));
}

void SingleEvents::call(AttachedProcess& a, const ltb_hit& h, uint32_t kind) {
  Hit hit = common(h, r_.clock.at(h.time), a.image, kind);
  hit.what = key(a, h.state, h.id);
  hit.frame = ltb_frame(h.where);
  give(a, hit);
}

void SingleEvents::coroutine(AttachedProcess& a, const ltb_co& r, uint32_t kind) {
  Hit hit = common(r.hit, r_.clock.at(r.hit.time), a.image, kind);
  hit.what = r.co;
  hit.value = kind == LTB_END ? r.hit.extra : static_cast<int32_t>(r.hit.id);
  give(a, hit);
}

void SingleEvents::other(AttachedProcess& a, const ltb_hit& h, uint32_t kind) {
  Hit hit = common(h, r_.clock.at(h.time), a.image, kind);
  hit.frame = ltb_frame(h.where);
  if (kind == LTB_STACK) {
    hit.value = static_cast<int32_t>(h.id);
    hit.reason = static_cast<uint8_t>(h.extra);
  }
  if (kind == LTB_OPEN || kind == LTB_CLOSE) {
    a.states.erase(h.state);
    a.last_number = 0;
  }
  give(a, hit);
}

// Strings that the BPF program could not read are read now; they exist as long as their function.
std::string SingleEvents::text(AttachedProcess& a, const char* bytes, int32_t length,
                               uint64_t address) {
  if (length > 0) return {bytes, strnlen(bytes, static_cast<size_t>(length))};
  if (auto late = a.strings.read(address, LTB_TEXT - 1)) {
    r_.totals.late_names++;
    return *late;
  }
  r_.totals.unread_names++;
  return "";
}

void SingleEvents::function(AttachedProcess& a, const ltb_func& f) {
  HitFunction function;
  const bool is_lua = f.chunk != 0;
  if (is_lua) {
    function.type = LT_FUNC_LUA;
    function.line = static_cast<uint32_t>(f.line);
    function.chunk = text(a, f.chunk_text, f.chunk_len, f.chunk);
  } else {
    function.type = f.line > 1 ? LT_FUNC_FF : LT_FUNC_C;
    function.ffid = static_cast<uint32_t>(f.line);
    function.addr = f.addr;
    if (function.type == LT_FUNC_C) r_.news.with_c.insert(a.pid);
  }
  function.name = text(a, f.name_text, f.name_len, f.name);
  const uint64_t number = key(a, f.hit.state, f.hit.id);
  if (r_.settings.filter.any()) a.filter.describe(number, function);
  a.sink->hits->describe(a.image, number, std::move(function));
}

void SingleEvents::lose(AttachedProcess& a, const ltb_loss& loss) {
  if (loss.since > r_.stop_ns) return;  // while we detached: the recording was over
  const uint64_t noticed = loss.hit.time != 0 ? loss.hit.time : monotonic_ns();
  const uint64_t until = std::min(noticed, r_.stop_ns);
  const uint64_t since = loss.since != 0 ? std::min<uint64_t>(loss.since, until) : until;
  r_.totals.lost += loss.count;
  a.sink->gaps++;
  a.sink->lost_ticks += r_.clock.at(until) - r_.clock.at(since);
  a.sink->hits->lost(
      {a.image, 0, loss.hit.state, loss.count, r_.clock.at(since), r_.clock.at(until)});
}

void SingleEvents::exit(AttachedProcess& a, uint64_t time) {
  if (a.sink == nullptr || a.sink->ended) return;
  a.filter.flush([&](const Hit& kept) { a.sink->hits->hit(kept); });
  if (a.granularity == Granularity::kBlock) return;
  Hit hit;
  hit.time = r_.clock.at(time);
  hit.pid = a.image;
  hit.tid = static_cast<uint32_t>(a.pid);
  hit.kind = HitKind::kExit;
  a.sink->hits->hit(hit);
}

}  // namespace luatrace::record::bpf
