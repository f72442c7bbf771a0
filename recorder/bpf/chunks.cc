// SPDX-License-Identifier: MIT
// Blocks; see chunks.h. A VM that notices the end flushes the rest itself, because its site is
// detached last.
#include "recorder/bpf/chunks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "recorder/os/remote.h"
#include "trace/word_scanner.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kIdle = 200 * kMillisecond;  // without a chunk: then its memory is read
constexpr uint64_t kMaxWords = LT_RING_BLOCK_SIZE / 8;
static_assert(offsetof(lt_ring, meta_ofs) == LTB_RING_META_OFS);
static_assert(offsetof(lt_ring, state_addr) == LTB_RING_STATE);
static_assert(offsetof(lt_ring, head) == LTB_RING_CHANGING);
static_assert(offsetof(lt_ring, flushed) - LTB_RING_CHANGING ==
              offsetof(ltb_ring_changing, flushed));
static_assert(offsetof(lt_ring, meta_count) - LTB_RING_CHANGING ==
              offsetof(ltb_ring_changing, meta_count));

constexpr uint64_t kNonsense = uint64_t{1} << 60;

std::span<const uint64_t> words_of(const ltb_block& b) {
  return {reinterpret_cast<const uint64_t*>(b.bytes), b.size / 8};
}

std::span<const std::byte> bytes_of(const ltb_block& b) {
  return {reinterpret_cast<const std::byte*>(b.bytes), b.size};
}

uint64_t count_events(std::span<const uint64_t> words) {
  uint64_t n = 0;
  for (size_t at = 0; at < words.size();) {
    const size_t length = record_words(words[at]);
    if (length == 0) break;
    const uint32_t sub = lt_kind(words[at]) == LT_EXT ? lt_ext_sub(lt_payload(words[at])) : 0;
    n += sub != LTX_PAD && sub != LTX_BLOCK ? 1 : 0;
    at += length;
  }
  return n;
}

}  // namespace

// -- Chunks --

// A stream begins; or a running one describes itself again for a new tracer.
void Blocks::start_stream(AttachedProcess& a, const ltb_block& b) {
  lt_ring start{};
  std::memcpy(&start, b.bytes, std::min<size_t>(b.size, sizeof start));
  start.luajit[sizeof start.luajit - 1] = 0;
  if (start.magic != LT_RING_MAGIC || start.version != LT_RING_VERSION ||
      start.clock != r_.settings.clock)
    return;
  FlushingVm& s = a.flushing[b.hit.state];
  s.address = b.address;
  s.last_ns = b.hit.time;
  const bool continues = s.stream != nullptr && (b.number > 0 || s.stream->next() == 0);
  if (continues) return;
  if (s.stream != nullptr) finish_stream(s);
  s.stream = std::make_unique<BlockStream>(a.sink->output, r_.numbers[a.image], start, b.number,
                                           r_.settings.filter, r_.settings.max_depth);
}

void Blocks::take(AttachedProcess& a, const ltb_block& b) {
  if (b.number > kNonsense) return;
  if (b.chunk_kind == LT_CHUNK_START) return start_stream(a, b);
  const auto it = a.flushing.find(b.hit.state);
  if (it == a.flushing.end()) {  // it was on before we attached, and will begin again for us
    r_.totals.early += b.chunk_kind == LT_CHUNK_EVENTS ? b.count : 0;
    r_.news.unsynced.push_back(a.pid);
    return;
  }
  FlushingVm& s = it->second;
  s.last_ns = b.hit.time;
  s.looked = false;
  if (b.chunk_kind == LT_CHUNK_FUNCS) {
    s.stream->functions(b.number, b.count, bytes_of(b));
    if (s.stream->saw_c_functions()) r_.news.with_c.insert(a.pid);
  }
  if (b.chunk_kind == LT_CHUNK_EVENTS) {
    const uint64_t n = b.count == LTB_UNCOUNTED ? count_events(words_of(b)) : b.count;
    const uint64_t lost = s.stream->lost();
    r_.totals.hits += s.stream->events(b.number, n, words_of(b));
    if (s.stream->lost() > lost) r_.news.unsynced.push_back(a.pid);
  }
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
void Blocks::lose_tail(AttachedProcess& a, const ltb_loss& loss) {
  const auto it = a.flushing.find(loss.hit.state);
  if (it == a.flushing.end()) return;
  BlockStream& stream = *it->second.stream;
  if (loss.count > stream.lost()) stream.lose(loss.count - stream.lost(), r_.now(), 0);
}

// -- Unflushed events --

// Empty if that memory may not be read, or the VM has flushed it meanwhile.
std::optional<Blocks::Unflushed> Blocks::read_unflushed(const AttachedProcess& a,
                                                        const FlushingVm& s) const {
  const RemoteMemory memory(a.pid);
  lt_ring before, after;
  uint64_t end = 0;
  Unflushed r;
  r.tick = read_tick(r_.settings.clock);
  if (memory.read(s.address, before) != 0 || before.magic != LT_RING_MAGIC ||
      (before.flags & LT_RING_PROBE) == 0 || memory.read(before.wp, end) != 0)
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
      r_.totals.hits += s.stream->next() - next;
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
    r_.totals.hits += s.stream->next() - next;
    // A VM whose rest was read has not run since, or its own end would be here.
    const uint64_t tick = known && !gone ? it->second.tick : r_.now();
    if (!s.stream->ended() && (gone || !known)) s.stream->lose(1, tick, 1);  // at least
    if (!gone) s.stream->end(s.stream->next(), LTE_DETACH, tick);
    finish_stream(s);
  }
  a.flushing.clear();
}

}  // namespace luatrace::record::bpf
