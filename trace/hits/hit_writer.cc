// SPDX-License-Identifier: MIT
// HitWriter: holds hits back until they are in order, checks the threads' numbering, and passes
// each hit to its process.
#include "trace/hits/hit_writer.h"

#include <algorithm>
#include <utility>

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

HitWriter::HitWriter(TraceWriter& writer, HitOptions options)
    : shared_{writer, std::move(options), {}, 0, 0},
      sorter_(shared_.options.window_ns, shared_.options.window_hits) {}

// -- Threads and processes --

HitThread* HitWriter::thread(uint32_t tid) {
  if (last_thread_ && last_tid_ == tid) return last_thread_;
  if (threads_.size() >= kMaxThreads && !threads_.contains(tid)) return nullptr;
  last_tid_ = tid;
  return last_thread_ = &threads_[tid];
}

HitProcess* HitWriter::find_process(uint32_t pid) {
  if (last_process_ && last_pid_ == pid) return last_process_;
  const auto it = processes_.find(pid);
  if (it == processes_.end()) return nullptr;
  last_pid_ = pid;
  return last_process_ = it->second.get();
}

HitProcess* HitWriter::process(uint32_t pid) {
  if (HitProcess* known = find_process(pid)) return known;
  if (processes_.size() + ended_.size() >= kMaxProcesses) return nullptr;
  processes_[pid] = std::make_unique<HitProcess>(shared_, pid);
  return find_process(pid);
}

// -- Order --

void HitWriter::add(const Hit& hit) {
  if (!sorter_.add(hit)) return late(hit);
  if (sorter_.full()) drain(sorter_.settled());
}

void HitWriter::drain(uint64_t until) {
  sorter_.drain(until, [this](const Hit& h, std::span<const Hit> later) { take(h, later); });
}

// Its place in the order has passed. If hits are counted, its gap has been reported already.
void HitWriter::late(const Hit& hit) {
  shared_.counters.late++;
  if (hit.kind == kLoss) return take_loss(hit);
  if (hit.seq != 0) return;
  shared_.counters.lost++;
  if (HitProcess* p = find_process(hit.pid)) p->loss(hit.state, 1, hit.time, hit.time);
}

// The hit's number jumps: are hits missing? Not if later hits of the thread continue from before
// the jump: then the number is damaged. Without later hits, the thread's total decides, or whether
// there was time for that many.
bool HitWriter::is_plausible(const Hit& hit, const HitThread& thread,
                             std::span<const Hit> later) const {
  int votes = 0, voters = 0;
  for (const Hit& h : later.first(std::min(later.size(), kLookAhead))) {
    if (h.tid != hit.tid || h.kind > HitKind::kMax || !further(h.seq, thread.seq)) continue;
    if (h.seq != hit.seq) votes += further(h.seq, hit.seq) ? 1 : -1;
    if (++voters == kMaxVotes) break;
  }
  if (votes != 0) return votes > 0;
  const auto total = totals_.find(hit.tid);
  if (total != totals_.end() && !further(hit.seq, total->second)) return true;
  if (!totals_.empty() && !early_totals_) return false;
  const uint64_t since = thread.seq ? thread.time : shared_.first_time;
  return hit.seq - thread.seq <= 1 + (hit.time - std::min(since, hit.time)) / kMinSpacing;
}

// Is the hit to be used? Notes in the thread how many hits before it are missing.
bool HitWriter::count(const Hit& hit, HitThread& thread, std::span<const Hit> later) {
  if (hit.seq == 0) return true;
  auto ahead = static_cast<int32_t>(hit.seq - next_seq(thread.seq));
  if (ahead > 0 && hit.seq < thread.seq && thread.seq != UINT32_MAX)
    ahead--;  // Number 0 is skipped.
  if (ahead < 0) {
    shared_.counters.repeated++;
    return false;
  }
  if (ahead > 0 && !is_plausible(hit, thread, later)) {
    shared_.counters.misnumbered++;
    return false;
  }
  if (ahead > 0 && thread.seq != 0 && thread.time >= gaps_) {
    end_ = taken_;
    totals_.erase(hit.tid);
    return false;
  }
  thread.wraps += hit.seq < thread.seq;
  thread.seq = hit.seq;
  thread.missing += static_cast<uint32_t>(ahead);
  shared_.counters.lost += static_cast<uint32_t>(ahead);
  return true;
}

// Processes the held hit, with its VM if that is known now.
void HitWriter::release_held(HitThread& thread, uint64_t state) {
  Hit held = thread.held;
  held.state = state;
  if (HitProcess* p = find_process(held.pid)) p->event(held, thread);
  thread.holding = false;  // only now, so that it is not held again
}

// Did this hit come while the tracer was detaching?
bool HitWriter::is_after_end(const Hit& hit) {
  if (hit.time <= end_) return false;
  if (gaps_ != UINT64_MAX) return totals_.erase(hit.tid), true;
  const auto total = totals_.find(hit.tid);
  if (hit.seq == 0 || total == totals_.end()) return true;
  return static_cast<int32_t>(hit.seq - total->second) > 0;
}

void HitWriter::take(const Hit& hit, std::span<const Hit> later) {
  if (hit.kind == kLoss) return take_loss(hit);
  if (hit.kind == HitKind::kExit) return end_process(hit.pid);
  if (shared_.first_time == 0) shared_.first_time = hit.time;
  HitThread* const t = thread(hit.tid);
  if (t && (is_after_end(hit) || !count(hit, *t, later))) return;
  const bool wanted = hit.kind != HitKind::kLeftOut;
  HitProcess* const p = t && wanted ? process(hit.pid) : nullptr;
  if (!p) {
    shared_.counters.dropped += wanted;
    if (t) t->time = hit.time;
    return;
  }
  if (t->holding) {
    const bool named = hit.kind == HitKind::kStack && hit.L == t->held.what;
    release_held(*t, named && t->missing == 0 ? hit.state : 0);
  }
  p->event(hit, *t);
  t->time = taken_ = hit.time;
}

// -- Losses --

void HitWriter::take_loss(const Hit& hit) {
  shared_.counters.lost += hit.what;
  uint64_t count = hit.what;
  if (hit.tid != 0) {
    HitThread* const t = thread(hit.tid);
    if (t && t->stream && !t->stream->stopped()) return t->stream->loss(count, hit.L, hit.time);
  }
  for (auto& [pid, process] : processes_)
    if (hit.pid == 0 || hit.pid == pid)
      process->loss(hit.state, std::exchange(count, 0), hit.L, hit.time);
}

void HitWriter::end_process(uint32_t pid) {
  const auto it = processes_.find(pid);
  if (it == processes_.end()) return;
  it->second->rest();
  ended_.push_back(std::move(it->second));
  processes_.erase(it);
  last_process_ = nullptr;
}

// -- Interface --

void HitWriter::describe(uint32_t pid, uint64_t key, HitFunction function) {
  if (HitProcess* p = process(pid)) p->describe(key, std::move(function));
}

void HitWriter::hit(const Hit& hit) {
  shared_.counters.hits += hit.kind != HitKind::kExit && hit.kind != HitKind::kLeftOut;
  if (hit.kind < HitKind::kEntry || hit.kind > HitKind::kMax) {
    shared_.counters.dropped++;
  } else if (hit.kind == HitKind::kExit) {
    Hit last = hit;
    last.tid = UINT32_MAX;  // after all hits of its time
    add(last);
  } else {
    add(hit);
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
  add(h);
}

void HitWriter::total(uint32_t tid, uint32_t seq) {
  if (totals_.size() < kMaxThreads) totals_[tid] = seq;
}

uint64_t HitWriter::numbered(bool with_totals) const {
  uint64_t sum = 0;
  for (const auto& [tid, t] : threads_) sum += uint64_t{t.wraps} * UINT32_MAX + t.seq;
  if (!with_totals) return sum;
  for (const auto& [tid, total] : totals_) {
    const auto t = threads_.find(tid);
    const uint32_t seq = t == threads_.end() ? 0 : t->second.seq;
    if (further(total, seq)) sum += total - seq - (total < seq);  // Number 0 is skipped.
  }
  return sum;
}

void HitWriter::finish() {
  drain(UINT64_MAX);
  const uint64_t end = end_ == UINT64_MAX ? last_time() : end_;
  for (auto& [tid, t] : threads_)
    if (t.holding) release_held(t, 0);
  for (const auto& [tid, seq] : totals_) {
    HitThread* const t = thread(tid);
    const int32_t missing = t ? static_cast<int32_t>(seq - t->seq) : 0;
    if (missing <= 0) continue;
    shared_.counters.lost += static_cast<uint32_t>(missing);
    if (t->stream && !t->stream->stopped())
      t->stream->loss(static_cast<uint32_t>(missing), t->time, end);
  }
  for (auto& [pid, process] : processes_) process->finish(end, LTE_DETACH);
  for (auto& process : ended_) process->flush();  // what was missing at their end
}

uint64_t HitWriter::lost_events() const {
  const HitCounters& c = counters();
  return c.lost + c.odd + c.dropped;
}

}  // namespace luatrace
