// SPDX-License-Identifier: MIT
// --via bpf: the kernel reports every hit of the tracepoints; nothing is written into the process
// except by the kernel (sites, semaphore), which removes it however we end. The session's thread
// attaches and polls; everything that uses the Source happens in jobs of the drainer, one after the
// other.
#include "recorder/bpf/backend.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "recorder/bpf/privileges.h"
#include "recorder/bpf/source.h"
#include "recorder/bpf/wake.h"
#include "recorder/os/clock.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace bpf {
namespace {

constexpr int kPauseMs = 5;            // between passes: 64 MB are full after 0.3 s at the earliest
constexpr uint64_t kBusy = 65536;      // records in one pass: more will follow immediately
constexpr uint64_t kRing = 64u << 20;  // bytes
constexpr uint64_t kAskPause = 100'000'000;         // ns between requests to begin again
constexpr uint64_t kResponseLimit = 2'000'000'000;  // ns without an event before a message

Refusal refusal_of(Refused::Kind kind) {
  switch (kind) {
    case Refused::kNo:
      return Refusal::kNone;
    case Refused::kGone:
      return Refusal::kNoProcess;
    case Refused::kNoRight:
      return Refusal::kNoRight;
    case Refused::kNoLua:
      return Refusal::kNoLuaJIT;
    case Refused::kBusy:
      return Refusal::kBusy;
    case Refused::kOther:
      break;
  }
  return Refusal::kOther;
}

Settings settings_of(const Options& o) {
  Settings s;
  s.ring_bytes = o.ring_size != 0 ? o.ring_size : kRing;
  if (o.bpf_site == "block") s.granularity = Granularity::kBlock;
  if (o.bpf_site == "single")
    s.granularity = Granularity::kEvent;
  else
    s.clock = default_clock();
  if (o.bpf_link == "each") s.mechanism = Mechanism::kEach;
  if (o.bpf_link == "multi") s.mechanism = Mechanism::kMulti;
  s.filter = {o.include, o.exclude, o.c_functions};
  s.max_depth = o.max_depth;
  return s;
}

std::string mode_text(const AttachMode& m) {
  const char* const link = m.mechanism == Mechanism::kMulti ? ", one link" : ", perf events";
  return std::string(m.granularity == Granularity::kBlock ? "blocks of events" : "single events") +
         link;
}

}  // namespace

class BpfBackend : public Backend {
 public:
  BpfBackend(const Options& options, BackendHost& host)
      : options_(options),
        host_(host),
        clock_(settings_of(options).clock),
        source_(std::make_shared<Source>(settings_of(options))) {}

  Attached begin() override;
  std::string able() override;
  Attached check(pid_t pid) override;
  Attached attach(pid_t pid) override;
  bool holds(pid_t pid) override { return live_.contains(pid); }
  void forget(pid_t pid) override;
  int poll(uint64_t now) override;
  void stop() override;
  bool stopped() override { return stopped_; }
  std::string broken() const override;
  std::vector<std::string> remarks() override;
  uint32_t clock() const override { return clock_; }

 private:
  struct Live {
    Waker waker;
    uint64_t attached_ns;
    uint64_t asked_ns = 0;
    bool began = false,
         warned_no_response = false;  // an event has come; a message said that none did
  };
  std::string unsupported() const;
  void drain();
  void news(uint64_t now);
  void warn_no_response(pid_t pid, Live& live, uint64_t now);

  const Options& options_;
  BackendHost& host_;
  const uint32_t clock_;            // of the files
  std::shared_ptr<Source> source_;  // of the drainer's jobs
  std::map<pid_t, Live> live_;
  std::atomic<bool> draining_ = false, stopped_ = false, unguarded_ = false;
  std::atomic<uint64_t> records_ = 0;  // in the last pass
  // From the jobs to the session's thread.
  std::mutex mutex_;
  std::vector<pid_t> execs_;
  std::map<pid_t, uint64_t> first_;  // ns after attaching
  std::set<pid_t> unsynced_;         // should begin again for us
  std::set<pid_t> with_c_;           // have new C functions
  SourceTotals totals_;
  bool shared_ = false;
};

// Why the options or the build do not allow it; empty: they do.
std::string BpfBackend::unsupported() const {
  if (!Program::not_built().empty())
    return "--via bpf: this luatrace-record was built without it: " + Program::not_built();
  if (options_.block) return "--via bpf: --block is not possible; --via direct supports it";
  return "";
}

Attached BpfBackend::begin() {
  std::string why = unsupported();
  return {why.empty() ? Refusal::kNone : Refusal::kOther, std::move(why)};
}

std::string BpfBackend::able() {
  if (std::string why = unsupported(); !why.empty()) return why;
  Failure failure;
  host_.drainer().call([&] { failure = source_->able(); });
  return failure ? "--via bpf: " + explain(failure).why : "";
}

Attached BpfBackend::check(pid_t pid) {
  const std::string set_id = set_id_reason(pid);
  if (!set_id.empty()) return {Refusal::kNoRight, "is not traced, not even for root: " + set_id};
  const MappedLua lua = MappedFiles().look(pid);
  if (!lua.files.empty()) return {};
  const Refused refused = nothing_to_attach(pid, lua);
  return {refusal_of(refused.kind), refused.why};
}

Attached BpfBackend::attach(pid_t pid) {
  Refused refused;
  AttachMode mode;
  const std::string set_id = set_id_reason(pid);
  if (!set_id.empty()) return {Refusal::kNoRight, "is not traced, not even for root: " + set_id};
  Waker waker(pid);
  const bool again = live_.contains(pid);
  const bool will_report = !again && waker.prepare();
  if (options_.c_functions == "all") waker.want_all_c();
  const bool single = waker.has_ring();
  const uint32_t tracers = waker.block_tracers();
  host_.drainer().call([&] {
    refused = source_->add(pid, will_report, single);
    mode = source_->mode();
  });
  if (will_report && mode.granularity == Granularity::kEvent) waker.ask();
  // Its VMs may not notice this recorder: another one is attached, or has just detached.
  if (!again && !refused && mode.granularity == Granularity::kBlock &&
      (tracers != 0 || will_report))
    waker.ask_all();
  if (refused) return {refusal_of(refused.kind), refused.why};
  if (again) return live_.at(pid).waker = std::move(waker), Attached{};
  std::string why;
  const auto output = host_.output_of(pid, why);
  const uint32_t number = output != nullptr ? host_.process_number(pid, why) : 0;
  if (number == 0) {
    host_.drainer().call([&] { source_->remove(pid); });
    return {Refusal::kOther, "is not recorded: " + why};
  }
  host_.drainer().call([&] { source_->begin(pid, output, number); });
  live_.insert_or_assign(pid, Live{std::move(waker), monotonic_ns()});
  host_.detail("process " + std::to_string(pid) + ": attached through BPF, " + mode_text(mode));
  return {};
}

void BpfBackend::forget(pid_t pid) {
  const auto it = live_.find(pid);
  if (it == live_.end()) return;
  it->second.waker.restore_c();
  live_.erase(it);
  host_.drainer().post([source = source_, pid] { source->remove(pid); });
}

// A job: passes on the records, and leaves messages for news().
void BpfBackend::drain() {
  const uint64_t n = source_->drain();
  const std::lock_guard lock(mutex_);
  News news = source_->take_news();
  execs_.insert(execs_.end(), news.execs.begin(), news.execs.end());
  for (const auto& [pid, ns] : news.firsts) first_[pid] = ns;
  unsynced_.insert(news.unsynced.begin(), news.unsynced.end());
  with_c_.merge(news.with_c);
  unguarded_ = source_->unguarded();
  records_ = n;
  draining_ = false;
}

void BpfBackend::news(uint64_t now) {
  std::vector<pid_t> execs;
  std::map<pid_t, uint64_t> first;
  std::set<pid_t> unsynced, with_c;
  {
    const std::lock_guard lock(mutex_);
    execs.swap(execs_);
    first.swap(first_);
    unsynced.swap(unsynced_);
    with_c.swap(with_c_);
  }
  for (const auto& [pid, ns] : first) {
    const auto it = live_.find(pid);
    if (it == live_.end()) continue;
    it->second.began = true;
    host_.first_event(pid, ns);
  }
  for (const pid_t pid : with_c) host_.has_c_functions(pid);
  for (const pid_t pid : execs) {
    std::string why;
    const uint32_t number = host_.process_number(pid, why);
    host_.drainer().post([source = source_, pid, number] { source->renumber(pid, number); });
    const auto it = live_.find(pid);
    if (it != live_.end()) it->second.waker = Waker(pid);
  }
  for (auto& [pid, live] : live_) {
    live.waker.poll(now);
    if (unsynced.contains(pid) && now > live.asked_ns + kAskPause) {
      live.asked_ns = now;
      live.waker.ask_all();
    }
    warn_no_response(pid, live, now);
  }
}

// Once, if nothing has come for a while.
void BpfBackend::warn_no_response(pid_t pid, Live& live, uint64_t now) {
  if (live.began || live.warned_no_response || now < live.attached_ns + kResponseLimit) return;
  live.warned_no_response = true;
  log("process " + std::to_string(pid) + ": " + live.waker.no_response_text());
}

int BpfBackend::poll(uint64_t now) {
  news(now);
  if (!draining_.exchange(true)) host_.drainer().post([this] { drain(); });
  return records_ > kBusy ? 1 : kPauseMs;
}

void BpfBackend::stop() {
  for (auto& [pid, live] : live_) live.waker.restore_c();
  host_.drainer().post([this] {
    source_->finish();
    const std::lock_guard lock(mutex_);
    totals_ = source_->totals();
    shared_ = source_->mode().shared;
    unguarded_ = source_->unguarded();
    stopped_ = true;
  });
}

std::string BpfBackend::broken() const {
  if (!unguarded_) return "";
  return "luatrace-guard, which holds the probes, was killed: the recording ends here, and the "
         "kernel may leave breakpoints in the programs until they end";
}

std::vector<std::string> BpfBackend::remarks() {
  std::vector<std::string> all;
  const std::lock_guard lock(mutex_);
  host_.detail(grouped(totals_.hits) + " hits came, " + grouped(totals_.lost) + " were lost");
  if (totals_.early > 0)
    host_.detail(grouped(totals_.early) +
                 " hits were left out: they came before the first stack report");
  if (totals_.late_names > 0)
    host_.detail(grouped(totals_.late_names) +
                 " names were read late: they were not in memory for BPF");
  if (totals_.unread_names > 0)
    all.push_back(grouped(totals_.unread_names) +
                  " names could not be read: the process had ended, or their memory was gone");
  if (shared_)
    all.push_back(
        "another tool had probes at the same places: the first events before all of "
        "ours were attached are incomplete");
  return all;
}

}  // namespace bpf

std::unique_ptr<Backend> make_bpf_backend(const Options& options, BackendHost& host) {
  return std::make_unique<bpf::BpfBackend>(options, host);
}

}  // namespace luatrace::record
