// SPDX-License-Identifier: MIT
// HitWriter: holds hits back until they are in order, checks the threads' numbering, and passes
// each hit to its process.
#include "trace/hits/hit_writer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "trace/hits/hit_process.h"
#include "trace/hits/hit_sorter.h"

namespace luatrace {
namespace {

constexpr size_t kMaxThreads = 1u << 20;
constexpr size_t kMaxProcesses = 1u << 16;
// A HitLoss among the hits: L is `since`, what is `count`, time is `until`; state, pid, tid are the
// same.
constexpr auto kLoss = static_cast<HitKind>(255);
// To judge a jump in the numbers: so many later hits of the thread, among so many of all threads.
constexpr int kMaxVotes = 7;
constexpr size_t kLookAhead = 1024;
constexpr uint64_t kMinSpacing = 20;  // ns: two hits of a thread are never closer

uint32_t next_seq(uint32_t seq) {
  return seq == UINT32_MAX ? 1 : seq + 1;
}

}  // namespace

struct HitWriter::Impl {
  Impl(TraceWriter& writer, HitOptions options)
      : shared{writer, std::move(options), {}, 0, 0},
        sorter(shared.options.window_ns, shared.options.window_hits) {}

  void add(const Hit& hit);
  void drain(uint64_t until);
  void take(const Hit& hit, std::span<const Hit> later);
  bool is_after_end(const Hit& hit);
  void late(const Hit& hit);
  bool is_plausible(const Hit& hit, const HitThread& thread, std::span<const Hit> later) const;
  bool count(const Hit& hit, HitThread& thread, std::span<const Hit> later);
  void take_loss(const Hit& hit);
  void release_held(HitThread& thread, uint64_t state);
  void end_process(uint32_t pid);
  HitThread* thread(uint32_t tid);
  HitProcess* process(uint32_t pid);
  HitProcess* find_process(uint32_t pid);

  HitShared shared;
  HitSorter sorter;
  std::unordered_map<uint32_t, HitThread> threads;
  std::unordered_map<uint32_t, std::unique_ptr<HitProcess>> processes;
  std::vector<std::unique_ptr<HitProcess>> ended;  // threads may still point to their streams
  std::unordered_map<uint32_t, uint32_t> totals;
  bool early_totals = false;
  uint64_t end = UINT64_MAX;   // see end_at()
  uint64_t gaps = UINT64_MAX;  // see cut_at()
  uint64_t taken = 0;          // time of the youngest hit taken
  uint32_t last_tid = 0, last_pid = 0;
  HitThread* last_thread = nullptr;
  HitProcess* last_process = nullptr;
};

HitWriter::HitWriter(TraceWriter& writer, HitOptions options)
    : impl_(std::make_unique<Impl>(writer, std::move(options))) {}

HitWriter::~HitWriter() = default;

// -- Threads and processes --

HitThread* HitWriter::Impl::thread(uint32_t tid) {
  if (last_thread && last_tid == tid) return last_thread;
  if (threads.size() >= kMaxThreads && !threads.contains(tid)) return nullptr;
  last_tid = tid;
  return last_thread = &threads[tid];
}

HitProcess* HitWriter::Impl::find_process(uint32_t pid) {
  if (last_process && last_pid == pid) return last_process;
  const auto it = processes.find(pid);
  if (it == processes.end()) return nullptr;
  last_pid = pid;
  return last_process = it->second.get();
}

HitProcess* HitWriter::Impl::process(uint32_t pid) {
  if (HitProcess* known = find_process(pid)) return known;
  if (processes.size() + ended.size() >= kMaxProcesses) return nullptr;
  processes[pid] = std::make_unique<HitProcess>(shared, pid);
  return find_process(pid);
}

// -- Order --

void HitWriter::Impl::add(const Hit& hit) {
  if (!sorter.add(hit)) return late(hit);
  if (sorter.full()) drain(sorter.settled());
}

void HitWriter::Impl::drain(uint64_t until) {
  sorter.drain(until, [this](const Hit& h, std::span<const Hit> later) { take(h, later); });
}

// Its place in the order has passed. If hits are counted, its gap has been reported already.
void HitWriter::Impl::late(const Hit& hit) {
  shared.counters.late++;
  if (hit.kind == kLoss) return take_loss(hit);
  if (hit.seq != 0) return;
  shared.counters.lost++;
  if (HitProcess* p = find_process(hit.pid)) p->loss(hit.state, 1, hit.time, hit.time);
}

// The hit's number jumps: are hits missing? Not if later hits of the thread continue from before
// the jump: then the number is damaged. Without later hits, the thread's total decides, or whether
// there was time for that many.
bool HitWriter::Impl::is_plausible(const Hit& hit, const HitThread& thread,
                                   std::span<const Hit> later) const {
  int votes = 0, voters = 0;
  for (const Hit& h : later.first(std::min(later.size(), kLookAhead))) {
    if (h.tid != hit.tid || h.kind > HitKind::kMax || !further(h.seq, thread.seq)) continue;
    if (h.seq != hit.seq) votes += further(h.seq, hit.seq) ? 1 : -1;
    if (++voters == kMaxVotes) break;
  }
  if (votes != 0) return votes > 0;
  const auto total = totals.find(hit.tid);
  if (total != totals.end() && !further(hit.seq, total->second)) return true;
  if (!totals.empty() && !early_totals) return false;
  const uint64_t since = thread.seq ? thread.time : shared.first_time;
  return hit.seq - thread.seq <= 1 + (hit.time - std::min(since, hit.time)) / kMinSpacing;
}

// Is the hit to be used? Notes in the thread how many hits before it are missing.
bool HitWriter::Impl::count(const Hit& hit, HitThread& thread, std::span<const Hit> later) {
  if (hit.seq == 0) return true;
  auto ahead = static_cast<int32_t>(hit.seq - next_seq(thread.seq));
  if (ahead > 0 && hit.seq < thread.seq && thread.seq != UINT32_MAX)
    ahead--;  // Number 0 is skipped.
  if (ahead < 0) {
    shared.counters.repeated++;
    return false;
  }
  if (ahead > 0 && !is_plausible(hit, thread, later)) {
    shared.counters.misnumbered++;
    return false;
  }
  if (ahead > 0 && thread.seq != 0 && thread.time >= gaps) {
    end = taken;
    totals.erase(hit.tid);
    return false;
  }
  thread.wraps += hit.seq < thread.seq;
  thread.seq = hit.seq;
  thread.missing += static_cast<uint32_t>(ahead);
  shared.counters.lost += static_cast<uint32_t>(ahead);
  return true;
}

// Processes the held hit, with its VM if that is known now.
void HitWriter::Impl::release_held(HitThread& thread, uint64_t state) {
  Hit held = thread.held;
  held.state = state;
  if (HitProcess* p = find_process(held.pid)) p->event(held, thread);
  thread.holding = false;  // only now, so that it is not held again
}

// Did this hit come while the tracer was detaching?
bool HitWriter::Impl::is_after_end(const Hit& hit) {
  if (hit.time <= end) return false;
  if (gaps != UINT64_MAX) return totals.erase(hit.tid), true;
  const auto total = totals.find(hit.tid);
  if (hit.seq == 0 || total == totals.end()) return true;
  return static_cast<int32_t>(hit.seq - total->second) > 0;
}

void HitWriter::Impl::take(const Hit& hit, std::span<const Hit> later) {
  if (hit.kind == kLoss) return take_loss(hit);
  if (hit.kind == HitKind::kExit) return end_process(hit.pid);
  if (shared.first_time == 0) shared.first_time = hit.time;
  HitThread* const t = thread(hit.tid);
  if (t && (is_after_end(hit) || !count(hit, *t, later))) return;
  const bool wanted = hit.kind != HitKind::kLeftOut;
  HitProcess* const p = t && wanted ? process(hit.pid) : nullptr;
  if (!p) {
    shared.counters.dropped += wanted;
    if (t) t->time = hit.time;
    return;
  }
  if (t->holding) {
    const bool named = hit.kind == HitKind::kStack && hit.L == t->held.what;
    release_held(*t, named && t->missing == 0 ? hit.state : 0);
  }
  p->event(hit, *t);
  t->time = taken = hit.time;
}

// -- Losses --

void HitWriter::Impl::take_loss(const Hit& hit) {
  shared.counters.lost += hit.what;
  uint64_t count = hit.what;
  if (hit.tid != 0) {
    HitThread* const t = thread(hit.tid);
    if (t && t->stream && !t->stream->stopped()) return t->stream->loss(count, hit.L, hit.time);
  }
  for (auto& [pid, process] : processes)
    if (hit.pid == 0 || hit.pid == pid)
      process->loss(hit.state, std::exchange(count, 0), hit.L, hit.time);
}

void HitWriter::Impl::end_process(uint32_t pid) {
  const auto it = processes.find(pid);
  if (it == processes.end()) return;
  it->second->rest();
  ended.push_back(std::move(it->second));
  processes.erase(it);
  last_process = nullptr;
}

// -- Interface --

void HitWriter::describe(uint32_t pid, uint64_t key, HitFunction function) {
  if (HitProcess* p = impl_->process(pid)) p->describe(key, std::move(function));
}

void HitWriter::hit(const Hit& hit) {
  impl_->shared.counters.hits += hit.kind != HitKind::kExit && hit.kind != HitKind::kLeftOut;
  if (hit.kind < HitKind::kEntry || hit.kind > HitKind::kMax) {
    impl_->shared.counters.dropped++;
  } else if (hit.kind == HitKind::kExit) {
    Hit last = hit;
    last.tid = UINT32_MAX;  // after all hits of its time
    impl_->add(last);
  } else {
    impl_->add(hit);
  }
}

void HitWriter::lost(const HitLoss& loss) {
  Hit h;
  h.kind = kLoss;
  h.time = loss.until;
  h.L = std::min(loss.since, loss.until);
  h.what = loss.count;
  h.state = loss.state;
  h.pid = loss.pid;
  h.tid = loss.tid;
  impl_->add(h);
}

void HitWriter::total(uint32_t tid, uint32_t seq) {
  if (impl_->totals.size() < kMaxThreads) impl_->totals[tid] = seq;
}

void HitWriter::totals_are_early() {
  impl_->early_totals = true;
}

void HitWriter::forget_totals() {
  impl_->totals.clear();
}

uint64_t HitWriter::numbered(bool with_totals) const {
  uint64_t sum = 0;
  for (const auto& [tid, t] : impl_->threads) sum += uint64_t{t.wraps} * UINT32_MAX + t.seq;
  if (!with_totals) return sum;
  for (const auto& [tid, total] : impl_->totals) {
    const auto t = impl_->threads.find(tid);
    const uint32_t seq = t == impl_->threads.end() ? 0 : t->second.seq;
    if (further(total, seq)) sum += total - seq - (total < seq);  // Number 0 is skipped.
  }
  return sum;
}

void HitWriter::end_at(uint64_t time) {
  impl_->end = time;
}

void HitWriter::cut_at(uint64_t time, uint64_t gaps) {
  impl_->end = time;
  impl_->gaps = gaps;
}

void HitWriter::settle() {
  impl_->drain(UINT64_MAX);
}

void HitWriter::finish() {
  Impl& i = *impl_;
  i.drain(UINT64_MAX);
  const uint64_t end = i.end == UINT64_MAX ? last_time() : i.end;
  for (auto& [tid, t] : i.threads)
    if (t.holding) i.release_held(t, 0);
  for (const auto& [tid, seq] : i.totals) {
    HitThread* const t = i.thread(tid);
    const int32_t missing = t ? static_cast<int32_t>(seq - t->seq) : 0;
    if (missing <= 0) continue;
    i.shared.counters.lost += static_cast<uint32_t>(missing);
    if (t->stream && !t->stream->stopped())
      t->stream->loss(static_cast<uint32_t>(missing), t->time, end);
  }
  for (auto& [pid, process] : i.processes) process->finish(end, LTE_DETACH);
  for (auto& process : i.ended) process->flush();  // what was missing at their end
}

const HitCounters& HitWriter::counters() const {
  return impl_->shared.counters;
}

uint64_t HitWriter::last_time() const {
  return impl_->sorter.youngest();
}

uint64_t HitWriter::lost_events() const {
  const HitCounters& c = counters();
  return c.lost + c.odd + c.dropped;
}

}  // namespace luatrace
