// SPDX-License-Identifier: MIT
// A VM that notices the end flushes the rest itself, because its site is detached last.
#include "recorder/bpf/chunks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "recorder/os/text.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kIdle = 200 * kMillisecond;  // without a chunk: then its memory is read
constexpr uint64_t kMaxWords = LT_RING_BLOCK_SIZE / 8;
static_assert(offsetof(lt_ring, meta_ofs) == LTB_RING_META_OFS);
static_assert(offsetof(lt_ring, state_addr) == LTB_RING_STATE);
static_assert(offsetof(lt_ring, head) == LTB_RING_CHANGING);
static_assert(offsetof(lt_ring, flushed) - LTB_RING_CHANGING ==
              offsetof(ltb_ring_changing, flushed));
static_assert(offsetof(lt_ring, meta_count) - LTB_RING_CHANGING ==
              offsetof(ltb_ring_changing, meta_count));

constexpr size_t kMaxVms = LTB_VMS;  // of a process, at a time
constexpr uint64_t kNonsense = uint64_t{1} << 60;

std::span<const uint64_t> words_of(const ltb_block& b) {
  return {reinterpret_cast<const uint64_t*>(b.bytes), b.size / 8};
}

std::span<const std::byte> bytes_of(const ltb_block& b) {
  return {reinterpret_cast<const std::byte*>(b.bytes), b.size};
}

uint64_t events_of(const ltb_block& b) {
  return b.count == LTB_UNCOUNTED ? count_events(words_of(b)) : b.count;
}

}  // namespace

// -- Chunks --

bool Blocks::is_full(const AttachedProcess& a) {
  return a.flushing.size() + a.other_clock.size() >= kMaxVms;
}

// So many events at least, of a VM that has no stream.
void Blocks::lose_unrecorded(const AttachedProcess& a, uint64_t count) {
  OutputTotals& t = a.sink->output->totals();
  t.lost += count;
  t.lost_otherwise += count;
  t.lost_at_least |= count > 0;
  t.gaps += count > 0 ? 1 : 0;
  r_.totals.lost += count;
}

// The VM was on before we attached, and will begin again for us; or there are too many of them; or
// its clock is not the file's.
void Blocks::leave_out(AttachedProcess& a, const ltb_block& b) {
  const bool other_clock = a.other_clock.contains(b.hit.state);
  if (b.chunk_kind == LT_CHUNK_END) a.other_clock.erase(b.hit.state);
  if (b.chunk_kind != LT_CHUNK_EVENTS && (other_clock || is_full(a))) return;
  const uint64_t n = events_of(b);
  if (other_clock) r_.news.unsynced.insert(a.pid);
  if (other_clock || is_full(a)) return lose_unrecorded(a, n);
  r_.totals.early += b.chunk_kind == LT_CHUNK_EVENTS ? n : 0;
  r_.news.unsynced.insert(a.pid);
}

// It was on before the recorder could write the clock that it wants: it is asked to begin again.
// Until then its events are lost, because one stream cannot have two clocks.
void Blocks::refuse_stream(AttachedProcess& a, uint64_t state) {
  if (const auto it = a.flushing.find(state); it != a.flushing.end()) {
    finish_stream(it->second);
    a.flushing.erase(it);
  }
  if (!is_full(a)) a.other_clock.insert(state);
  r_.news.unsynced.insert(a.pid);
}

// A stream begins; or a running one describes itself again for a new tracer.
void Blocks::start_stream(AttachedProcess& a, const ltb_block& b) {
  lt_ring start{};
  std::memcpy(&start, b.bytes, std::min<size_t>(b.size, sizeof start));
  start.luajit[sizeof start.luajit - 1] = 0;
  if (start.magic != LT_RING_MAGIC || start.version != LT_RING_VERSION) return;
  if (start.clock != r_.settings.clock) return refuse_stream(a, b.hit.state);
  a.other_clock.erase(b.hit.state);
  if (is_full(a) && !a.flushing.contains(b.hit.state)) {
    if (!std::exchange(a.warned_too_many, true))
      log("process " + std::to_string(a.pid) + ": has more than " + grouped(kMaxVms) +
          " Lua VMs at a time; the others are not recorded");
    return;
  }
  FlushingVm& s = a.flushing[b.hit.state];
  s.address = b.address;
  s.last_ns = b.hit.time;
  const bool segments = (start.stream_flags & LTF_SEGMENTS) != 0;
  const bool continues = s.stream != nullptr && (b.number > 0 || s.stream->next() == 0) &&
                         s.stream->may_have_segments() == segments;
  if (continues) return;
  if (s.stream != nullptr) finish_stream(s);
  auto cpu = r_.settings.cpu ? CpuTime::of(a.pid, start.clock, start.start_tick) : nullptr;
  s.stream =
      std::make_unique<BlockStream>(a.sink->output, a.number, start, b.number, r_.settings.filter,
                                    r_.settings.max_depth, std::move(cpu));
}

void Blocks::take(AttachedProcess& a, const ltb_block& b) {
  if (b.number > kNonsense) return;
  if (b.chunk_kind == LT_CHUNK_START) return start_stream(a, b);
  const auto it = a.flushing.find(b.hit.state);
  if (it == a.flushing.end()) return leave_out(a, b);
  FlushingVm& s = it->second;
  s.last_ns = b.hit.time;
  s.looked = false;
  if (b.chunk_kind == LT_CHUNK_FUNCS) {
    s.stream->functions(b.number, b.count, bytes_of(b));
    if (s.stream->saw_c_functions()) r_.news.with_c.insert(a.pid);
  }
  if (b.chunk_kind == LT_CHUNK_EVENTS) {
    r_.totals.events += s.stream->events(b.number, events_of(b), words_of(b));
  }
  if (s.stream->wants_reports()) r_.news.unsynced.insert(a.pid);
  if (b.chunk_kind == LT_CHUNK_END) {
    s.stream->end(b.number, b.count, b.address);
    if (b.count == LT_CHUNK_EXIT) return;
    finish_stream(s);
    a.flushing.erase(it);
  }
}

void Blocks::finish_stream(FlushingVm& s) {
  r_.totals.lost += s.stream->lost();
  s.stream->finish();
}

// The numbers of later chunks have revealed some of them.
void Blocks::lose_tail(AttachedProcess& a, uint64_t state, uint64_t events) {
  if (a.sink == nullptr || a.sink->ended) return;
  if (state == 0) return lose_unrecorded(a, events);  // of VMs beyond the limit
  const auto it = a.flushing.find(state);
  if (it == a.flushing.end()) return;
  BlockStream& stream = *it->second.stream;
  if (events > stream.missed()) stream.lose(events - stream.missed(), r_.now(), 0);
}

// -- Unflushed events --

// Empty if that memory may not be read, or the VM has flushed it meanwhile.
std::optional<Blocks::Unflushed> Blocks::read_unflushed(AttachedProcess& a,
                                                        const FlushingVm& s) const {
  const GuardedMemory& memory = a.memory;
  lt_ring before, after;
  uint64_t end = 0;
  Unflushed r;
  r.tick = read_tick(r_.settings.clock);
  if (memory.read(s.address, before) != 0 || before.magic != LT_RING_MAGIC ||
      (before.flags & (LT_RING_PROBE | LT_RING_SEGMENTS)) == 0 || memory.read(before.wp, end) != 0)
    return std::nullopt;
  const uint64_t n = (end - before.flushed) / 8;
  if (end < before.flushed || n > kMaxWords) return std::nullopt;
  r.words.resize(n);
  if (n > 0 && memory.read(before.flushed, r.words.data(), 8 * n) != 0) return std::nullopt;
  // Descriptions are stored before the words that use them, so they are read after.
  if (memory.read(s.address, after) != 0 || after.flushed != before.flushed ||
      after.flushed_funcs != before.flushed_funcs ||
      after.flushed_events != before.flushed_events || after.meta_head > LT_RING_BLOCK_SIZE)
    return std::nullopt;
  r.functions.resize(after.meta_head);
  if (after.meta_head > 0 &&
      memory.read(s.address + after.meta_ofs, r.functions.data(), after.meta_head) != 0)
    return std::nullopt;
  r.number = before.flushed_events;
  r.count = count_events(r.words);
  r.funcs_number = after.flushed_funcs;
  r.funcs = after.meta_count;
  return r;
}

void Blocks::take_unflushed(FlushingVm& s, const Unflushed& rest) {
  if (rest.number > s.stream->next()) return;  // earlier events are on their way
  s.stream->functions(rest.funcs_number, rest.funcs, rest.functions);
  s.stream->events(rest.number, rest.count, rest.words);
}

void Blocks::look_at_idle(uint64_t now) {
  for (const auto& [pid, a] : r_.by_pid) {
    if (a->sink == nullptr || a->sink->ended || a->leaving) continue;
    for (auto& [g, s] : a->flushing) {
      if (s.looked || s.last_ns + kIdle > now) continue;
      s.looked = true;
      const auto rest = read_unflushed(*a, s);
      if (!rest) continue;
      const uint64_t next = s.stream->next();
      take_unflushed(s, *rest);
      r_.totals.events += s.stream->next() - next;
    }
  }
}

// -- The end --

// Reads the unflushed events of each VM. False: there is no VM.
bool Blocks::read_all_unflushed() {
  bool any = false;
  for (const auto& [pid, a] : r_.by_pid)
    for (const auto& [g, s] : a->flushing) {
      any = true;
      if (auto rest = read_unflushed(*a, s)) unflushed_[{a->slot, g}] = std::move(*rest);
    }
  return any;
}

// gone: the process has ended, or runs another program.
void Blocks::end_streams(AttachedProcess& a, bool gone) {
  for (auto& [g, s] : a.flushing) {
    const auto it = unflushed_.find({a.slot, g});
    const uint64_t next = s.stream->next();
    const bool known = it != unflushed_.end() && it->second.number <= next;
    if (a.sink->ended) continue;
    if (known && !gone) take_unflushed(s, it->second);
    r_.totals.events += s.stream->next() - next;
    // A VM whose rest was read has not run since, or its own end would be here.
    const uint64_t tick = known && !gone ? it->second.tick : r_.now();
    if (!s.stream->ended() && (gone || !known))
      s.stream->lose(1, tick, LT_LOSS_OTHER | LT_LOSS_LEAST);
    if (!gone) s.stream->end(s.stream->next(), LTE_DETACH, tick);
    finish_stream(s);
  }
  a.flushing.clear();
  if (a.sink != nullptr && !a.sink->ended) lose_unrecorded(a, a.other_clock.size());
  a.other_clock.clear();
}

}  // namespace luatrace::record::bpf
