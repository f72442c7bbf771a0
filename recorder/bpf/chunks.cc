// SPDX-License-Identifier: MIT
// Source: processes that hand over their events in blocks. What a state has not handed over yet is
// fetched from its memory where that is allowed: when nothing comes of it, and at the end. A state
// that notices the end hands it over itself, because its site is left last.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>

#include "recorder/bpf/source.h"
#include "recorder/os/remote.h"
#include "recorder/os/text.h"
#include "recorder/vm/force_poll.h"
#include "trace/word_scanner.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kIdle = 200 * kMillisecond;      // without a piece: then it is looked for
constexpr uint64_t kPatience = 150 * kMillisecond;  // with states that run, at the end
constexpr uint64_t kMaxWords = LT_RING_BLOCK_SIZE / 8;
static_assert(offsetof(lt_ring, meta_ofs) == LTB_RING_META_OFS);
static_assert(offsetof(lt_ring, state_addr) == LTB_RING_STATE);
static_assert(offsetof(lt_ring, head) == LTB_RING_CHANGING);
static_assert(offsetof(lt_ring, told) - LTB_RING_CHANGING == offsetof(ltb_ring_changing, told));
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

uint64_t Source::at(uint64_t ns) const {
  if (settings_.clock == LT_CLOCK_MONOTONIC) return ns;
  if (!rate_) rate_ = rate_between(settings_.clock, start_, sample_clocks(settings_.clock));
  const int64_t apart = static_cast<int64_t>(ns - start_.mono_ns);
  if (apart < 0) return start_.tick - ns_to_ticks(*rate_, static_cast<uint64_t>(-apart));
  return start_.tick + ns_to_ticks(*rate_, static_cast<uint64_t>(apart));
}

uint64_t Source::now() const {
  return stop_ns_ == UINT64_MAX ? read_tick(settings_.clock) : at(stop_ns_);
}

// Blocks if all its LuaJITs hand them over; their words have the time stamp counter's time.
Granularity Source::granularity_for(const MappedLua& lua, bool single, Refused& refused) const {
  const bool able = std::all_of(lua.files.begin(), lua.files.end(),
                                [](const auto& f) { return f->probed().has_blocks(); });
  const bool same_clock = settings_.clock == LT_CLOCK_TSC;
  if (settings_.granularity == Granularity::kBlock && !able)
    refused = {Refused::kOther,
               "has a LuaJIT that does not hand over its events in blocks: use "
               "--bpf-site auto, wide or narrow"};
  else if (settings_.granularity == Granularity::kBlock && !same_clock)
    refused = {Refused::kOther,
               "cannot be recorded in blocks: its LuaJIT and this recorder use other "
               "clocks; use --bpf-site auto, wide or narrow"};
  else if (settings_.granularity == Granularity::kBlock && single)
    refused = {Refused::kBusy,
               "is being recorded directly, and does not hand over blocks "
               "meanwhile: use --bpf-site auto, wide or narrow"};
  if (settings_.granularity) return *settings_.granularity;
  return able && same_clock && !single ? Granularity::kBlock : Granularity::kEvent;
}

// -- Pieces --

// A stream begins; or one goes on, and says so to a tracer that came later.
void Source::start_stream(Attached& a, const ltb_block& b) {
  lt_ring start{};
  std::memcpy(&start, b.bytes, std::min<size_t>(b.size, sizeof start));
  start.luajit[sizeof start.luajit - 1] = 0;
  if (start.magic != LT_RING_MAGIC || start.version != LT_RING_VERSION ||
      start.clock != settings_.clock)
    return;
  Stated& s = a.stated[b.hit.state];
  s.address = b.address;
  s.last_ns = b.hit.time;
  const bool goes_on = s.stream != nullptr && (b.number > 0 || s.stream->next() == 0);
  if (goes_on) return;
  if (s.stream != nullptr) finish_stream(a, s);
  s.stream = std::make_unique<BlockStream>(a.sink->output, numbers_[a.image], start, b.number,
                                           settings_.filter, settings_.max_depth);
}

void Source::take_chunk(Attached& a, const ltb_block& b) {
  if (a.sink->ended || !has_room(*a.sink) || b.number > kNonsense) return;
  if (b.piece == LT_PIECE_START) return start_stream(a, b);
  const auto it = a.stated.find(b.hit.state);
  if (it == a.stated.end()) {  // it was on before we came, and will begin anew for us
    totals_.early += b.piece == LT_PIECE_EVENTS ? b.count : 0;
    unsynced_.push_back(a.pid);
    return;
  }
  Stated& s = it->second;
  s.last_ns = b.hit.time;
  s.looked = false;
  if (b.piece == LT_PIECE_FUNCS) {
    s.stream->functions(b.number, b.count, bytes_of(b));
    if (s.stream->saw_c_functions()) with_c_.insert(a.pid);
  }
  if (b.piece == LT_PIECE_EVENTS) {
    const uint64_t n = b.count == LTB_UNCOUNTED ? count_events(words_of(b)) : b.count;
    const uint64_t lost = s.stream->lost();
    totals_.hits += s.stream->events(b.number, n, words_of(b));
    if (s.stream->lost() > lost) unsynced_.push_back(a.pid);
  }
  if (b.piece == LT_PIECE_END) {
    s.stream->end(b.number, b.count, b.address);
    if (b.count == LT_PIECE_EXIT) return;
    finish_stream(a, s);
    a.stated.erase(it);
  }
}

void Source::finish_stream(Attached&, Stated& s) {
  totals_.lost += s.stream->lost();
  s.stream->finish();
}

// The numbers of later pieces have told of some of them.
void Source::lose_tail(Attached& a, const ltb_loss& loss) {
  const auto it = a.stated.find(loss.hit.state);
  if (it == a.stated.end()) return;
  BlockStream& stream = *it->second.stream;
  if (loss.count > stream.lost()) stream.lose(loss.count - stream.lost(), now(), 0);
}

// -- What was not handed over --

// Nothing if that memory may not be read, or the state handed it over meanwhile.
std::optional<Source::Rest> Source::read_rest(const Attached& a, const Stated& s) const {
  const RemoteMemory memory(a.pid);
  lt_ring before, after;
  uint64_t end = 0;
  Rest r;
  r.tick = read_tick(settings_.clock);
  if (memory.read(s.address, before) != 0 || before.magic != LT_RING_MAGIC ||
      (before.flags & LT_RING_PROBE) == 0 || memory.read(before.wp, end) != 0)
    return std::nullopt;
  const uint64_t n = (end - before.told) / 8;
  if (end < before.told || n > kMaxWords) return std::nullopt;
  r.words.resize(n);
  if (n > 0 && memory.read(before.told, r.words.data(), 8 * n) != 0) return std::nullopt;
  // Descriptions are there before the words that use them, so they are read after.
  if (memory.read(s.address, after) != 0 || after.told != before.told ||
      after.told_funcs != before.told_funcs || after.told_events != before.told_events ||
      after.meta_head > LT_RING_BLOCK_SIZE)
    return std::nullopt;
  r.functions.resize(after.meta_head);
  if (after.meta_head > 0 &&
      memory.read(s.address + after.meta_ofs, r.functions.data(), after.meta_head) != 0)
    return std::nullopt;
  r.number = before.told_events;
  r.count = count_events(r.words);
  r.funcs_number = after.told_funcs;
  r.funcs = after.meta_count;
  return r;
}

void Source::take_rest(Stated& s, const Rest& rest) {
  if (rest.number > s.stream->next()) return;  // what is before it is on its way
  s.stream->functions(rest.funcs_number, rest.funcs, rest.functions);
  s.stream->events(rest.number, rest.count, rest.words);
}

void Source::look_at_idle(uint64_t now) {
  for (const auto& [pid, a] : by_pid_) {
    if (a->sink == nullptr || a->sink->ended || a->leaving) continue;
    for (auto& [g, s] : a->stated) {
      if (s.looked || s.last_ns + kIdle > now) continue;
      s.looked = true;
      const auto rest = read_rest(*a, s);
      if (!rest) continue;
      const uint64_t next = s.stream->next();
      take_rest(s, *rest);
      totals_.hits += s.stream->next() - next;
    }
  }
}

// -- The end --

// What each state has not handed over by now. False: there is no state.
bool Source::read_rests() {
  bool any = false;
  for (const auto& [pid, a] : by_pid_)
    for (const auto& [g, s] : a->stated) {
      any = true;
      if (auto rest = read_rest(*a, s)) rests_[{a->slot, g}] = std::move(*rest);
    }
  return any;
}

// Before the sites are left: lowers the semaphores, and waits for those who notice. Of those who
// sleep the rest is fetched before: it does not change.
void Source::settle() {
  drain();
  if (!read_rests()) return;
  // The kernel takes its time (up to a second on a busy machine), in which events come.
  std::atomic<bool> low = false;
  std::thread lowering([&] {
    for (const auto& p : programs_) p->lower();
    low = true;
  });
  while (!low)
    if (drain() == 0) usleep(500);
  lowering.join();
  const uint64_t limit = monotonic_ns() + kPatience;
  for (bool waiting = true; waiting && monotonic_ns() < limit; usleep(500)) {
    waiting = false;
    drain_all();
    for (const auto& [pid, a] : by_pid_)
      waiting = waiting || (!a->stated.empty() && has_running_thread(pid));
  }
  read_rests();  // of those who ran meanwhile and sleep again
}

// gone: the process has ended, or is another program.
void Source::end_streams(Attached& a, bool gone) {
  for (auto& [g, s] : a.stated) {
    const auto it = rests_.find({a.slot, g});
    const uint64_t next = s.stream->next();
    const bool known = it != rests_.end() && it->second.number <= next;
    if (a.sink->ended) continue;
    if (known && !gone) take_rest(s, it->second);
    totals_.hits += s.stream->next() - next;
    // A state whose rest was read has not run since, or its own end would be here.
    const uint64_t tick = known && !gone ? it->second.tick : now();
    if (!s.stream->ended() && (gone || !known)) s.stream->lose(1, tick, 1);  // at least
    if (!gone) s.stream->end(s.stream->next(), LTE_DETACH, tick);
    finish_stream(a, s);
  }
  a.stated.clear();
}

}  // namespace luatrace::record::bpf
