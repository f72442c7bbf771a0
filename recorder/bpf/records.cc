// SPDX-License-Identifier: MIT
// Source: what each record of the ring buffers means for the HitWriter. The records come from our
// own program in the kernel; what they hold (addresses, ids, strings) is the traced process's and
// is passed on as claims.
#include <algorithm>
#include <array>
#include <cstring>

#include "recorder/bpf/source.h"
#include "recorder/os/clock.h"

namespace luatrace::record::bpf {
namespace {

// By LTB_*.
constexpr std::array<HitKind, LTB_NPROBES> kKinds = {
    HitKind::kEntry,  HitKind::kReturn, HitKind::kTail,   HitKind::kEntry, HitKind::kReturn,
    HitKind::kUnwind, HitKind::kCreate, HitKind::kResume, HitKind::kYield, HitKind::kEnd,
    HitKind::kOpen,   HitKind::kClose,  HitKind::kStack};  // LTB_BLOCK, LTB_SWITCH: none

constexpr size_t kMaxHeld = 64u << 20;  // bytes

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

void Source::take(std::span<const std::byte> record) {
  const auto& hit = *reinterpret_cast<const ltb_hit*>(record.data());
  Attached* const a = by_slot_[ltb_slot(hit.where) % LTB_SLOTS];
  const uint32_t kind = ltb_kind(hit.where);
  if (a == nullptr || (hit.time > stop_ns_ && kind != LTB_LOSS && kind != LTB_BLOCK)) return;
  if (!std::exchange(a->began, true))
    firsts_.emplace_back(a->pid, std::max<uint64_t>(hit.time, a->added_ns + 1) - a->added_ns);
  if (!a->waits) return use(*a, hit);
  const auto size = static_cast<uint64_t>(record.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(&size);
  a->held.insert(a->held.end(), bytes, bytes + sizeof size);
  a->held.insert(a->held.end(), record.begin(), record.end());
  if (a->held.size() > kMaxHeld) give_held(*a);
}

// The new image has its number, or nobody had one for it: then it counts as the old one.
void Source::give_held(Attached& a) {
  if (a.sink == nullptr || !std::exchange(a.waits, false)) return;
  const std::vector<std::byte> held = std::exchange(a.held, {});
  for (size_t at = 0; at < held.size();) {
    uint64_t size;
    std::memcpy(&size, held.data() + at, sizeof size);
    use(a, *reinterpret_cast<const ltb_hit*>(held.data() + at + sizeof size));
    at += sizeof size + size;
  }
}

// A state that was on before we came tells of calls whose beginning we have not seen, until it
// reports its stack.
bool Source::too_early(Attached& a, const ltb_hit& hit, uint32_t kind) {
  if (!a.retold || kind >= LTB_NPROBES || a.told.contains(hit.state)) return false;
  if (kind != LTB_STACK && kind != LTB_OPEN) return true;
  a.told.insert(hit.state);
  return false;
}

void Source::use(Attached& a, const ltb_hit& hit) {
  const uint32_t kind = ltb_kind(hit.where);
  if (kind == LTB_BLOCK) return take_chunk(a, reinterpret_cast<const ltb_block&>(hit));
  totals_.hits += kind < LTB_NPROBES ? 1 : 0;
  if (too_early(a, hit, kind)) return void(totals_.early++);
  if (a.sink->ended || (++a.sink->unchecked > kCheckPause && !has_room(*a.sink))) return;
  if (kind <= LTB_CRETURN)
    take_call(a, hit, kind);
  else if (kind >= LTB_CREATE && kind <= LTB_END)
    take_coroutine(a, reinterpret_cast<const ltb_co&>(hit), kind);
  else if (kind < LTB_NPROBES)
    take_other(a, hit, kind);
  else if (kind == LTB_FUNC)
    take_function(a, reinterpret_cast<const ltb_func&>(hit));
  else if (kind == LTB_LOSS)
    take_loss(a, reinterpret_cast<const ltb_loss&>(hit));
  else if (kind == LTB_EXEC)
    take_exec(a, hit);
}

// A number that means one function for the life of the process: ids are of a state, and states may
// lie where another was before.
uint64_t Source::key(Attached& a, uint64_t state, uint32_t id) {
  if (state != a.last_state || a.last_number == 0) {
    const auto [it, fresh] = a.states.try_emplace(state, a.next_state);
    if (fresh) a.next_state++;
    a.last_state = state;
    a.last_number = it->second;
  }
  return uint64_t{a.last_number} << 32 | id;
}

void Source::give(Attached& a, const Hit& hit) {
  if (!settings_.filter.any()) return a.sink->hits->hit(hit);
  a.filter.pass(hit, [&](const Hit& kept) { a.sink->hits->hit(kept); });
}

void Source::take_call(Attached& a, const ltb_hit& h, uint32_t kind) {
  Hit hit = common(h, at(h.time), a.image, kind);
  hit.what = key(a, h.state, h.id);
  hit.frame = ltb_frame(h.where);
  give(a, hit);
}

void Source::take_coroutine(Attached& a, const ltb_co& r, uint32_t kind) {
  Hit hit = common(r.hit, at(r.hit.time), a.image, kind);
  hit.what = r.co;
  hit.value = kind == LTB_END ? r.hit.extra : static_cast<int32_t>(r.hit.id);
  give(a, hit);
}

void Source::take_other(Attached& a, const ltb_hit& h, uint32_t kind) {
  Hit hit = common(h, at(h.time), a.image, kind);
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

// What the BPF program could not read is read now; it is there as long as its function is.
std::string Source::text(Attached& a, const char* bytes, int32_t length, uint64_t address) {
  if (length > 0) return {bytes, strnlen(bytes, static_cast<size_t>(length))};
  if (auto late = a.strings.read(address, LTB_TEXT - 1)) {
    totals_.late_names++;
    return *late;
  }
  totals_.unread_names++;
  return "";
}

void Source::take_function(Attached& a, const ltb_func& f) {
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
    if (function.type == LT_FUNC_C) with_c_.insert(a.pid);
  }
  function.name = text(a, f.name_text, f.name_len, f.name);
  const uint64_t number = key(a, f.hit.state, f.hit.id);
  if (settings_.filter.any()) a.filter.describe(number, function);
  a.sink->hits->describe(a.image, number, std::move(function));
}

void Source::take_loss(Attached& a, const ltb_loss& loss) {
  if (a.sink == nullptr || a.sink->ended) return;
  if (loss.since > stop_ns_) return;  // while we detached: the recording was over
  const uint64_t told = loss.hit.time != 0 ? loss.hit.time : monotonic_ns();
  const uint64_t until = std::min(told, stop_ns_);
  const uint64_t since = loss.since != 0 ? std::min<uint64_t>(loss.since, until) : until;
  if (a.granularity == Granularity::kBlock) return lose_tail(a, loss);
  totals_.lost += loss.count;
  a.sink->gaps++;
  a.sink->lost_ticks += at(until) - at(since);
  a.sink->hits->lost({a.image, 0, loss.hit.state, loss.count, at(since), at(until)});
}

void Source::give_exit(Attached& a, uint64_t time) {
  if (a.sink == nullptr || a.sink->ended) return;
  a.filter.flush([&](const Hit& kept) { a.sink->hits->hit(kept); });
  if (a.granularity == Granularity::kBlock) return;
  Hit hit;
  hit.time = at(time);
  hit.pid = a.image;
  hit.tid = static_cast<uint32_t>(a.pid);
  hit.kind = HitKind::kExit;
  a.sink->hits->hit(hit);
}

// The same process, another program: nothing that was known of it holds. Its LuaJIT may be another
// file; sites in the same file are there already.
void Source::take_exec(Attached& a, const ltb_hit& h) {
  give_exit(a, h.time);
  end_streams(a, true);
  const uint32_t number = numbers_[a.image];
  a.image = next_image_++;
  numbers_[a.image] = number;
  a.waits = true;
  a.states.clear();
  a.last_number = 0;
  a.filter = Filter(settings_.filter);
  a.retold = false;
  a.strings.restart();
  attach_files(a, mapped_.look(a.pid));
  execs_.push_back(a.pid);
}

}  // namespace luatrace::record::bpf
