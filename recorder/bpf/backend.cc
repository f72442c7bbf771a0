// SPDX-License-Identifier: MIT
// --via bpf: the kernel reports every hit of the tracepoints; nothing is written into the process
// except by the kernel (sites, semaphore), which removes it however we end. The session's thread
// attaches and polls; everything that uses the Source happens in jobs of the drainer, one after the
// other.
#include "recorder/bpf/backend.h"

#include <atomic>
#include <map>
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

Settings settings_of(const Options& o) {
  Settings s;
  s.ring_bytes = o.ring_size != 0 ? o.ring_size : kRing;
  s.clock = default_clock();
  if (o.bpf_link == "each") s.mechanism = Mechanism::kEach;
  if (o.bpf_link == "multi") s.mechanism = Mechanism::kMulti;
  s.filter = {o.include, o.exclude, o.c_functions};
  s.times = s.filter.any() ? 0 : times_flags(o);
  s.max_depth = o.max_depth;
  s.cpu = o.cpu;
  return s;
}

constexpr const char* kDirect =
    "is being recorded directly, and flushes no blocks meanwhile; end that recording";

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
    bool began = false, warned_no_response = false;  // an event has come; a message said: none
  };
  std::string unsupported() const;
  void drain();
  void executed(pid_t pid);
  void news(uint64_t now);
  void warn_no_response(pid_t pid, Live& live, uint64_t now);

  const Options& options_;
  BackendHost& host_;
  const uint32_t clock_;            // of the files
  std::shared_ptr<Source> source_;  // of the drainer's jobs
  std::map<pid_t, Live> live_;
  std::atomic<bool> draining_ = false, stopped_ = false, unguarded_ = false;
  std::atomic<uint64_t> records_ = 0;  // in the last pass
  // From the jobs to the session's thread, which reads them only while none is draining_, and after
  // stopped_.
  News news_;
  SourceTotals totals_;
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
  if (const Attached a = check_set_id(pid); !a) return a;
  const MappedLua lua = MappedFiles().look(pid);
  if (!lua.files.empty()) return {};
  return nothing_to_attach(pid, lua);
}

Attached BpfBackend::attach(pid_t pid) {
  if (const Attached a = check_set_id(pid); !a) return a;
  Waker waker(pid);
  if (waker.has_ring()) return {Refusal::kBusy, kDirect};
  const bool again = live_.contains(pid);
  const bool will_report = !again && waker.prepare();
  if (options_.c_functions == "all") waker.want_c(LTC_ALL);
  if (options_.c_functions == "ffi") waker.want_c(LTC_DEFAULT | LTC_FFI);
  if (Attached a = waker.want_clock(clock_); !a) return waker.restore_c(), a;
  const uint32_t tracers = waker.block_tracers();
  Attached added;
  bool multi = false;
  host_.drainer().call([&] {
    added = source_->add(pid);
    multi = source_->mechanism() == Mechanism::kMulti;
  });
  if (!added) return waker.restore_c(), waker.restore_clock(), added;
  // Its VMs may not notice this recorder: another one is attached, or has just detached.
  if (!again && (tracers != 0 || will_report)) waker.request_restart();
  if (again) return live_.at(pid).waker = std::move(waker), Attached{};
  std::string why;
  const auto output = host_.output_of(pid, why);
  const uint32_t number = output != nullptr ? host_.process_number(pid, why) : 0;
  if (number == 0) {
    host_.drainer().call([&] { source_->remove(pid); });
    waker.restore_c();
    waker.restore_clock();
    return {Refusal::kOther, "is not recorded: " + why};
  }
  host_.drainer().call([&] { source_->begin(pid, output, number); });
  live_.insert_or_assign(pid, Live{std::move(waker), monotonic_ns()});
  host_.detail("process " + std::to_string(pid) + ": attached through BPF, " +
               (multi ? "uprobe links" : "perf events"));
  return {};
}

void BpfBackend::forget(pid_t pid) {
  const auto it = live_.find(pid);
  if (it == live_.end()) return;
  it->second.waker.restore_c();
  host_.drainer().post([source = source_, pid, waker = it->second.waker] {
    source->remove(pid);
    waker.restore_clock();
  });
  live_.erase(it);
}

// A job: passes on the records, and leaves messages for news().
void BpfBackend::drain() {
  records_ = source_->drain();
  news_ = source_->take_news();
  unguarded_ = source_->unguarded();
  draining_ = false;
}

// Its new program is another process in the file.
void BpfBackend::executed(pid_t pid) {
  std::string why;
  const uint32_t number = host_.process_number(pid, why);
  host_.detail("process " + std::to_string(pid) + " has executed another program");
  host_.drainer().post([source = source_, pid, number] { source->renumber(pid, number); });
  const auto it = live_.find(pid);
  if (it == live_.end()) return;
  it->second.waker = Waker(pid);
  it->second.waker.want_clock(clock_);
}

void BpfBackend::news(uint64_t now) {
  const News news = std::exchange(news_, {});
  for (const pid_t pid : news.with_c) host_.has_c_functions(pid);
  for (const pid_t pid : news.execs) executed(pid);
  for (const auto& [pid, ns] : news.firsts) {
    const auto it = live_.find(pid);
    if (it == live_.end()) continue;
    it->second.began = true;
    host_.first_event(pid, ns);
  }
  for (auto& [pid, live] : live_) {
    live.waker.poll(now);
    if (news.unsynced.contains(pid) && now > live.asked_ns + kAskPause) {
      live.asked_ns = now;
      live.waker.want_clock(clock_);
      live.waker.request_restart();
    }
    warn_no_response(pid, live, now);
  }
}

// Once, if nothing has come for a while.
void BpfBackend::warn_no_response(pid_t pid, Live& live, uint64_t now) {
  if (live.began || live.warned_no_response || now < live.attached_ns + kResponseLimit) return;
  live.warned_no_response = true;
  if (!options_.quiet)
    host_.silent(pid, "process " + std::to_string(pid) + ": " + live.waker.no_response_text());
}

int BpfBackend::poll(uint64_t now) {
  if (!draining_) {
    news(now);
    draining_ = true;
    host_.drainer().post([this] { drain(); });
  }
  return records_ > kBusy ? 1 : kPauseMs;
}

void BpfBackend::stop() {
  std::vector<Waker> wakers;
  for (auto& [pid, live] : live_) {
    live.waker.restore_c();
    wakers.push_back(live.waker);
  }
  host_.drainer().post([this, wakers = std::move(wakers)] {
    source_->finish();
    for (const Waker& w : wakers) w.restore_clock();
    totals_ = source_->totals();
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
  if (!stopped_) return {};
  host_.detail(grouped(totals_.events) + " events came, " + grouped(totals_.lost) + " were lost");
  if (totals_.early > 0)
    host_.detail(grouped(totals_.early) +
                 " events were left out: they came before the first stack report");
  return {};
}

}  // namespace bpf

std::unique_ptr<Backend> make_bpf_backend(const Options& options, BackendHost& host) {
  return std::make_unique<bpf::BpfBackend>(options, host);
}

}  // namespace luatrace::record
