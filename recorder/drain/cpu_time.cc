// SPDX-License-Identifier: MIT
#include "recorder/drain/cpu_time.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "trace/word_scanner.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kEndless = UINT64_MAX;  // as the end of an absence: as long as the VM is there
constexpr uint64_t kTicksPerRecord = 1u << 24;  // ticks of it in one record, or more
constexpr size_t kMaxAbsences = 8192, kKinds = 3;

std::atomic<bool> warned{false};

// Do records stand before what a block of the ring begins with? The reader of a block looks for a
// loss there, and nothing else may come first; nor between a report of a stack and its frames.
bool may_precede(uint64_t word) {
  const uint32_t sub = sub_of(word);
  return lt_kind(word) != LT_FRAME && sub != LTX_BLOCK && sub != LTX_PAD && sub != LTX_TIME &&
         sub != LTX_THREAD && sub != LTX_LOSS && sub != LTX_START;
}

}  // namespace

std::unique_ptr<CpuTime> CpuTime::of(pid_t pid, uint32_t clock, uint64_t start_tick) {
  std::string why;
  if (SwitchEvents::open(pid, &why))
    return std::unique_ptr<CpuTime>(new CpuTime(pid, clock, start_tick));
  if (!warned.exchange(true))
    log("process " + std::to_string(pid) + ": its CPU time is not recorded: " + why);
  return nullptr;
}

CpuTime::CpuTime(pid_t pid, uint32_t clock, uint64_t start_tick)
    : pid_(pid), clock_(clock), start_(sample_clocks(clock)), tick_(start_tick) {
  current_ = &follow(static_cast<uint32_t>(pid_inside(pid)), start_tick);
}

// since: what the thread did since then is not known.
CpuTime::Thread& CpuTime::follow(uint32_t tid, uint64_t since) {
  const auto [it, fresh] = threads_.try_emplace(tid);
  Thread& thread = it->second;
  if (!fresh) return thread;
  std::string why;
  const pid_t outside = threads_.size() > kMaxThreads ? 0 : thread_outside(pid_, tid);
  if (outside > 0) thread.events = SwitchEvents::open(outside, &why);
  thread.last.ns = monotonic_ns();
  const uint64_t now = std::max(read_tick(clock_), since + 1);
  add(thread, {since, thread.events ? now : kEndless, now - since, LTC_UNKNOWN});
  return thread;
}

// So many without a word in between are one of each kind.
void CpuTime::add(Thread& thread, const Absence& a) {
  auto& all = thread.absences;
  const size_t last = all.size() < kMaxAbsences ? 0 : kKinds;
  for (auto it = all.rbegin(); it != all.rbegin() + static_cast<ptrdiff_t>(last); ++it) {
    if (it->kind != a.kind || it->to == kEndless) continue;
    it->to = a.to;
    it->length += a.length;
    return;
  }
  all.push_back(a);
}

void CpuTime::take(Thread& thread, const SwitchEvent& e, const lt_clock_info& now,
                   const ClockRate& rate) {
  const auto tick_of = [&](uint64_t ns) {
    return now.tick - ns_to_ticks(rate, now.mono_ns - std::min(ns, now.mono_ns));
  };
  const SwitchEvent last = std::exchange(thread.last, e);
  const bool was_lost = last.kind == SwitchEvent::kLost || e.kind == SwitchEvent::kLost;
  if (!was_lost && e.kind != SwitchEvent::kIn) return;  // It ran until now.
  const bool preempted = last.kind == SwitchEvent::kPreempted;
  const uint32_t kind = was_lost ? LTC_UNKNOWN : preempted ? LTC_PREEMPTED : LTC_OFF;
  const uint64_t from = tick_of(last.ns), to = std::max(from, tick_of(e.ns));
  add(thread, {from, to, to - from, kind});
}

void CpuTime::read() {
  for (auto& [tid, thread] : threads_) {
    if (!thread.events) continue;
    scratch_.clear();
    thread.events->read(scratch_);
    if (scratch_.empty()) continue;
    const lt_clock_info now = sample_clocks(clock_);
    const ClockRate rate = rate_until(clock_, start_, now);
    for (const SwitchEvent& e : scratch_) take(thread, e, now, rate);
  }
}

// What the thread did before is no matter of the VM's.
void CpuTime::move_to(Thread& thread) {
  if (current_ == &thread) return;
  current_ = &thread;
  since_ = tick_;
}

// On which thread does the VM run from here on?
void CpuTime::look_at(std::span<const uint64_t> r) {
  const uint32_t sub = sub_of(r[0]);
  if (sub == LTX_BLOCK && r.size() > 3)
    move_to(follow(lt_lo(r[3]), tick_));
  else if (sub == LTX_THREAD && r.size() > 1)
    move_to(follow(lt_lo(r[1]), tick_));
}

// What the current thread missed before the word with this tick. The two clocks differ by some
// hundred ns: so an absence is where its middle is.
void CpuTime::put_due(uint64_t tick, std::vector<uint64_t>& out) {
  auto& due = current_->absences;
  while (!due.empty()) {
    Absence& a = due.front();
    if (a.to <= since_) {
      due.pop_front();
      continue;
    }
    a.from = std::max(a.from, since_);
    const bool endless = a.to == kEndless;
    const uint64_t to = endless ? tick : a.to;
    if (endless && tick < a.from + kTicksPerRecord) return;
    if (to > a.from && a.from + (to - a.from) / 2 > tick) return;
    if (to > a.from) put({a.from, to, endless ? to - a.from : a.length, a.kind}, tick, out);
    if (endless) return static_cast<void>(a.from = tick);
    due.pop_front();
  }
}

void CpuTime::put(const Absence& a, uint64_t tick, std::vector<uint64_t>& out) {
  tick_ = std::clamp(a.to, tick_, tick);
  out.push_back(lt_word(tick_, lt_ext(LTX_CPU, 1, a.kind), LT_EXT));
  out.push_back(std::min(a.length, a.to - a.from));
}

size_t CpuTime::run(std::span<const uint64_t> words, uint64_t not_before,
                    std::vector<uint64_t>& out) {
  read();
  size_t at = 0;
  while (at < words.size()) {
    const uint64_t w = words[at];
    const size_t n = record_words(w);
    if (w == 0 || n == 0 || n > words.size() - at) break;
    const auto record = words.subspan(at, n);
    if (std::find(record.begin(), record.end(), 0u) != record.end()) break;
    uint64_t tick = tick_;
    if (sub_of(w) != LTX_PAD)
      tick = std::max(tick_, unwrap_after(std::max(tick_, not_before), lt_time(w)));
    if (may_precede(w) && !current_->absences.empty()) put_due(tick, out);
    out.insert(out.end(), record.begin(), record.end());
    tick_ = tick;
    look_at(record);
    at += n;
  }
  return at;
}

}  // namespace luatrace::record
