// SPDX-License-Identifier: MIT
// --via direct: the VM writes into a ring of its own, as if we had started it; we only switch it
// on, open the ring, and switch it off.
#include "recorder/direct/backend.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "base/escape.h"
#include "recorder/direct/guardian.h"
#include "recorder/direct/live.h"
#include "recorder/direct/marks.h"
#include "recorder/direct/open_ring.h"
#include "recorder/direct/seccomp.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"
#include "recorder/vm/force_poll.h"
#include "recorder/vm/target.h"

namespace luatrace::record {
namespace direct {
namespace {

constexpr uint64_t kCalibrationNs = 20 * kMillisecond;
constexpr uint64_t kFirstForceNs = 2 * kMillisecond;
constexpr uint64_t kSlowestForceNs = 256 * kMillisecond;
constexpr uint64_t kRetryNs = 1000 * kMillisecond;  // before an unanswered request is repeated
constexpr uint64_t kCallsHoldNs = 1000 * kMillisecond;
constexpr uint64_t kRingsNs = 20 * kMillisecond;       // for new rings of a process, in one pass
constexpr uint64_t kLastRingsNs = 300 * kMillisecond;  // for those of all processes, at the end
constexpr uint64_t kReleaseNs = 300 * kMillisecond;    // for releasing targets, in one turn
constexpr uint64_t kPassNs = 100 * kMillisecond;       // for a pass over all processes
constexpr uint64_t kPausePerSpent = 20;                // after a pass: 5 % of a processor, but
constexpr uint64_t kLongestPauseMs = 1000;             // new Lua VMs do not wait longer than this
constexpr size_t kMaxRemarks = 100;

uint32_t class_number(const std::string& name) {
  if (name == "none") return LTC_NONE;
  if (name == "user") return LTC_USER;
  if (name == "ffi") return LTC_DEFAULT | LTC_FFI;
  return name == "all" ? LTC_ALL : LTC_DEFAULT;
}

// Identifies a VM of the process across its recordings.
uint64_t number_of(const vm::Target& target, const vm::State& s) {
  return (target.image().control << 20) ^ s.serial;
}

// Attached a moment ago: it may not have answered yet.
bool is_young(const Live& live, uint64_t now) {
  return now < live.begin_ns + 100 * kMillisecond;
}

// It has answered, nothing more is requested of it (a forked child is in this state until it next
// runs Lua), and has no ring.
bool has_no_ring(const vm::Target& target, const vm::State& s) {
  return target.has_answered(s) && s.stop == 0 && s.ring == 0 && s.token == target.token();
}

// It has a ring that was not opened yet.
bool has_new_ring(const Live& live, const vm::Target& target, const vm::State& s) {
  return s.ring != 0 && s.token == target.token() && !live.taken.has(number_of(target, s), s.rec);
}

void release(Live& live) {
  for (auto& t : live.targets) t.release();
  if (live.pass.answered == 0 && live.pass.states > 0)
    live.pass.no_response = no_response_text(live);
  live.force_ns = monotonic_ns() + kFirstForceNs;
  live.force_pause_ns = kFirstForceNs;
  live.released = true;
}

// Of those that are not released yet as many as time allows; true if these were all.
bool release_all(std::list<Live>& all) {
  const uint64_t limit = monotonic_ns() + kReleaseNs;
  for (auto& live : all) {
    if (live.released) continue;
    if (monotonic_ns() >= limit) return false;
    release(live);
  }
  return true;
}

}  // namespace

class DirectBackend : public Backend {
 public:
  DirectBackend(const Options& options, BackendHost& host);

  Attached begin() override;
  Attached check(pid_t pid) override;
  Attached attach(pid_t pid) override;
  bool inherited(pid_t pid) override;
  bool holds(pid_t pid) override;
  void forget(pid_t pid) override;
  int poll(uint64_t now) override;
  void stop() override;
  bool stopped() override;
  std::vector<std::string> remarks() override;
  uint32_t clock() const override { return default_clock(); }

 private:
  Live* find(pid_t pid);
  Attached examine(pid_t pid, const LuaSearch& search);
  RingCalls ring_calls(pid_t pid);
  void detach(Live& live);
  void remark(const Live& live, const std::string& text);
  void warn_too_many(Live& live);
  void report_missed(const Live& live);
  void note_end(const Live& live);
  template <class Body>
  size_t for_each_in_turn(uint64_t limit, Body body);
  bool poll_target(Live& live, const vm::Target& target, const std::vector<vm::State>& states,
                   uint64_t now);
  void report_no_lock(pid_t pid, bool other_holder);
  bool poll_process(Live& live, uint64_t now);
  std::string unanswered_ends() const;
  bool find_owner(uint64_t inode, pid_t except) const;
  std::string add_ring(pid_t pid, std::unique_ptr<RingMemory> ring);
  bool take_ring(Live& live, const vm::Target& target, const vm::State& s, RingMaps& maps);
  bool take_rings(Live& live, const vm::Target& target, const std::vector<vm::State>& states);
  void take_last_rings();
  void force_unanswered(Live& live, const vm::Target& target, const std::vector<vm::State>& silent,
                        uint64_t now);

  BackendHost& host_;
  vm::Settings settings_;
  lt_clock_info start_;
  Guardian guardian_;
  std::list<Live> live_;
  bool ignore_seccomp_, quiet_;
  std::map<pid_t, std::pair<uint64_t, RingCalls>> calls_;  // when determined, and the result
  Marks marks_;
  std::vector<std::string> remarks_;
  uint64_t remarks_left_out_ = 0;
  std::vector<pid_t> ended_unanswered_;  // had Lua VMs, and none has answered: the first of them
  uint64_t count_ended_unanswered_ = 0;
  uint64_t not_reached_ = 0;  // processes that the last pass did not reach
  size_t locks_missing_ = 0;  // processes attached to without a lock that another process has
  bool stopping_ = false;
};

DirectBackend::DirectBackend(const Options& options, BackendHost& host)
    : host_(host),
      start_(sample_clocks(default_clock())),
      ignore_seccomp_(options.seccomp == "ignore"),
      quiet_(options.quiet) {
  settings_.include = lines_of(options.include);
  settings_.exclude = lines_of(options.exclude);
  settings_.cfuncs = class_number(options.c_functions) | times_flags(options);
  if (options.ring_size != 0) settings_.ring_size = options.ring_size;
  settings_.block = options.block;
  settings_.watch = options.watch_request;
  settings_.children = options.children;
  std::random_device random;
  settings_.owner = (uint64_t{random()} << 32 | random()) | 1;
}

// The VM counts in ticks: it must know their rate to notice our end.
Attached DirectBackend::begin() {
  const lt_control* const none = nullptr;
  for (const auto* text : {&settings_.include, &settings_.exclude})
    if (text->size() >= sizeof none->include)
      return {Refusal::kOther, "the patterns are longer than 1,023 bytes"};
  const uint64_t age = monotonic_ns() - start_.mono_ns;
  if (age < kCalibrationNs) usleep(static_cast<useconds_t>((kCalibrationNs - age) / 1000));
  const ClockRate rate = rate_until(clock(), start_, sample_clocks(clock()));
  settings_.tick_khz = rate_khz(rate);
  return {};
}

Live* DirectBackend::find(pid_t pid) {
  for (auto& l : live_)
    if (l.pid == pid) return &l;
  return nullptr;
}

// Obstacles, as far as its memory shows them.
Attached DirectBackend::examine(pid_t pid, const LuaSearch& search) {
  if (search.error == ESRCH)
    return {Refusal::kNoProcess, "has no memory: it has just ended, or is a kernel thread"};
  if (search.error != 0)
    return {Refusal::kNoPermission, explain_no_access(pid, search.error), true};
  if (const Attached a = check_set_id(pid); !a) return a;
  if (search.ours.empty())
    return {Refusal::kNoLuaJIT, explain_no_lua(pid, search), !search.unusable.empty()};
  for (const auto& image : search.ours)
    if (image.note.clock != clock())
      return {
          Refusal::kOther,
          "cannot be recorded directly: the time stamp counter of this machine is not reliable, "
          "and its LuaJIT uses no other clock for that; --via bpf does (as root)",
          true};
  const RingCalls calls = ring_calls(pid);
  if (calls.verdict == RingCalls::kAllowed) return {};
  std::string other = "; --via bpf needs no ring of it";
  if (geteuid() != 0) other += " (as root)";
  if (calls.verdict == RingCalls::kUnknown)
    other +=
        ", --seccomp ignore takes the risk (the filters that Docker, podman and Kubernetes "
        "give to containers allow it)";
  return {Refusal::kNoPermission, calls.why + other, true};
}

// A process forked by one of ours makes its ring anyway. A recent result is re-used: the check may
// stop the process for a moment.
RingCalls DirectBackend::ring_calls(pid_t pid) {
  if (ignore_seccomp_ || inherited(pid)) return {};
  const uint64_t now = monotonic_ns();
  std::erase_if(calls_, [now](const auto& c) { return now > c.second.first + kCallsHoldNs; });
  if (const auto it = calls_.find(pid); it != calls_.end()) return it->second.second;
  return calls_[pid] = {now, may_make_ring(pid)}, calls_[pid].second;
}

Attached DirectBackend::check(pid_t pid) {
  LuaSearch search = find_lua(pid);
  if (const Attached a = examine(pid, search); !a) return a;
  for (auto& image : search.ours)
    if (const Attached a = vm::Target(pid, std::move(image)).check(settings_); !a) return a;
  return {};
}

Attached DirectBackend::attach(pid_t pid) {
  Live live;
  live.pid = pid;
  live.begin_ns = monotonic_ns();
  live.begin_tick = read_tick(clock());
  LuaSearch search = find_lua(pid);
  if (const Attached a = examine(pid, search); !a) return a;
  const vm::ClaimLock lock(pid);
  if (!lock.is_held()) report_no_lock(pid, lock.has_other_holder());
  for (auto& image : search.ours) {
    vm::Target target(pid, std::move(image));
    const Attached a = target.claim(
        settings_, [&](const vm::Target& t) { live.guarded.push_back(guardian_.add(t)); });
    if (!a) {
      target.release();
      detach(live);
      return a;
    }
    host_.detail("process " + std::to_string(pid) + ": tracepoints in " +
                 printable(target.image().path));
    marks_.insert(target);
    live.targets.push_back(std::move(target));
  }
  live.renew_ns = live.force_ns = monotonic_ns();
  live.renew_ns += kRenewNs;
  live.force_ns += kFirstForceNs;
  live.force_pause_ns = kFirstForceNs;
  live_.push_back(std::move(live));
  return {};
}

void DirectBackend::report_no_lock(pid_t pid, bool other_holder) {
  const std::string process = "process " + std::to_string(pid);
  if (!other_holder)
    return host_.detail(process +
                        ": its program's file cannot be locked: if another recorder "
                        "attaches at this moment, only one of them records it");
  if (locks_missing_++ == 0)
    remarks_.push_back(process +
                       ": another process holds a lock on its program's file "
                       "(/proc/locks), so it was attached to without that lock: if the "
                       "holder was another recorder, only one of them has recorded it");
}

// A fork copies our number, at the same address.
bool DirectBackend::inherited(pid_t pid) {
  return marks_.are_in(pid, settings_.owner) &&
         std::none_of(live_.begin(), live_.end(), [pid](const Live& live) {
           return live.pid == pid || shares_memory(live.pid, pid);
         });
}

bool DirectBackend::holds(pid_t pid) {
  const Live* const live = find(pid);
  return live != nullptr && !live->lost;
}

void DirectBackend::detach(Live& live) {
  for (auto& t : live.targets) {
    t.release();
    marks_.remove(t);
  }
  for (const int n : live.guarded) guardian_.remove(n);
  live.guarded.clear();
}

// Up to a number; the others are counted.
void DirectBackend::remark(const Live& live, const std::string& text) {
  if (remarks_.size() < kMaxRemarks)
    remarks_.push_back("process " + std::to_string(live.pid) + ": " + text);
  else
    remarks_left_out_++;
}

// The VMs whose events are missing.
void DirectBackend::report_missed(const Live& live) {
  if (const uint64_t missed = missed_rings(live); missed > 0)
    remark(live, counted(missed, "Lua VM is", "Lua VMs are") +
                     " not recorded: closed before the recorder could open the ring");
  if (const size_t ringless = live.taken.ringless(); ringless > 0)
    remark(live, counted(ringless, "Lua VM is", "Lua VMs are") +
                     " not recorded: it has no memory or no file descriptor left for a ring (some "
                     "descriptors are kept free for the program), its limit of file sizes (ulimit "
                     "-f) is below that of the ring "
                     "(--ring-size), or a seccomp filter does not allow it memfd_create()");
}

// Has it ended although there were Lua VMs of which nothing came?
void DirectBackend::note_end(const Live& live) {
  if (!is_silent(live) || live.pass.states == 0 || host_.has_streams(live.pid) ||
      !process_is_ending(live.pid))
    return;
  if (ended_unanswered_.size() < kMaxRemarks) ended_unanswered_.push_back(live.pid);
  count_ended_unanswered_++;
}

void DirectBackend::forget(pid_t pid) {
  if (Live* const live = find(pid)) {
    note_end(*live);
    report_missed(*live);
    detach(*live);
  }
  live_.remove_if([&](const Live& l) { return l.pid == pid; });
}

// Does another process of ours have that ring? Its child has the same process id if each starts a
// namespace of its own.
bool DirectBackend::find_owner(uint64_t inode, pid_t except) const {
  return std::any_of(live_.begin(), live_.end(), [&](const Live& live) {
    return live.pid != except && live.taken.has_ring(inode);
  });
}

// Empty, or why it is not drained: the rest of a sentence about the process.
std::string DirectBackend::add_ring(pid_t pid, std::unique_ptr<RingMemory> ring) {
  const Peer peer{pid, ring->info().pid, read_process(pid).uid, -1};
  const RingAnswer answer = host_.add_ring(peer, std::move(ring));
  if (answer.kind == RingAnswer::kTaken) return "";
  return (answer.kind == RingAnswer::kRefused ? "a Lua VM is not recorded: "
                                              : "is not recorded: ") +
         answer.why;
}

// True if there was a new one, usable or not.
bool DirectBackend::take_ring(Live& live, const vm::Target& target, const vm::State& s,
                              RingMaps& maps) {
  if (!has_new_ring(live, target, s)) return false;
  const uint64_t state = number_of(target, s);
  std::string why;
  auto ring = open_ring(target, s, maps, why);
  if (ring != nullptr &&
      (live.taken.has_ring(ring->inode()) || find_owner(ring->inode(), live.pid)))
    ring = nullptr;
  if (ring == nullptr && why.empty()) return live.pass.unopened = true, false;
  live.taken.insert(state, s.rec);
  if (ring == nullptr) live.unusable++;
  if (ring != nullptr) {
    live.taken.insert_ring(ring->inode());
    const uint64_t start = ring->info().start_tick;
    why = add_ring(live.pid, std::move(ring));
    if (why.empty() && live.taken.count() == 1 && start > live.begin_tick) {
      const auto rate = rate_until(clock(), start_, sample_clocks(clock()));
      host_.first_event(live.pid,
                        static_cast<uint64_t>(ticks_to_ns(rate, start - live.begin_tick)));
    }
  }
  if (!why.empty()) remark(live, why);
  return true;
}

// The rings of all VMs, as far as time allows. Those of the oldest VMs first (the list begins with
// the newest): they have waited longest, and a VM that closes does not wait for long. The next pass
// does not begin with those that could not be opened. True if there are more, and some were taken.
bool DirectBackend::take_rings(Live& live, const vm::Target& target,
                               const std::vector<vm::State>& states) {
  const uint64_t begin = monotonic_ns();
  RingMaps maps;
  std::vector<const vm::State*> fresh;
  for (auto s = states.rbegin(); s != states.rend(); ++s)
    if (has_new_ring(live, target, *s)) fresh.push_back(&*s);
  size_t i = 0, taken = 0;
  for (; i < fresh.size() && monotonic_ns() < begin + live.rings_ns; i++)
    if (take_ring(live, target, *fresh[(live.ring_turn + i) % fresh.size()], maps)) taken++;
  const size_t left = fresh.size() - i;
  live.ring_turn = left > 0 ? live.ring_turn + i - taken : 0;
  live.rings_ns -= std::min(live.rings_ns, monotonic_ns() - begin);
  live.pass.untried += left;
  const bool more = taken > 0 && left > 0;
  live.pass.more = live.pass.more || more;
  return more;
}

void DirectBackend::force_unanswered(Live& live, const vm::Target& target,
                                     const std::vector<vm::State>& silent, uint64_t now) {
  if (silent.empty() || now < live.force_ns) return;
  const bool forced = (silent[0].stop & LT_STOP_POLL) != 0;
  live.force_pause_ns = forced ? kRetryNs : std::min(live.force_pause_ns * 2, kSlowestForceNs);
  live.force_ns = now + live.force_pause_ns;
  const bool asleep = !has_running_thread(live.pid);
  if (asleep && forced) return;
  const std::string why = asleep ? force_poll_asleep(target, silent) : force_poll(target, silent);
  if (why.empty() || live.force_failed) return;
  live.force_failed = true;
  host_.detail("process " + std::to_string(live.pid) + ": " + why);
}

void DirectBackend::warn_too_many(Live& live) {
  if (!std::exchange(live.too_many, true))
    remark(live, "it has more Lua VMs than the " + grouped(vm::kMaxStates) +
                     " that are read at a time: some may not be recorded");
}

// The VMs of one LuaJIT in one pass. True if something of them is still to come or to end.
bool DirectBackend::poll_target(Live& live, const vm::Target& target,
                                const std::vector<vm::State>& states, uint64_t now) {
  std::vector<vm::State> silent;
  bool waiting = !stopping_ && take_rings(live, target, states);
  for (const auto& s : states) {
    const bool quiet = stopping_ ? s.ring == 0 : target.has_answered(s);
    live.pass.answered += quiet ? 1 : 0;
    if (!stopping_ && has_no_ring(target, s)) live.taken.insert_ringless(number_of(target, s));
    if (!quiet) silent.push_back(s);
  }
  if (silent.empty()) return waiting;
  force_unanswered(live, target, silent, now);
  if (now > live.begin_ns + kResponseLimitNs && !stopping_)
    live.pass.no_response = reason_text(no_response_reason(target, silent[0]));
  return true;
}

// One pass over a process; each begins with another of its LuaJITs. True if something of it is
// still to come or to end.
bool DirectBackend::poll_process(Live& live, uint64_t now) {
  const bool forgets = live.taken.is_full(live.pass.states);
  const Pass before = std::exchange(live.pass, {});
  live.pass.made = true;
  bool waiting = false;
  std::set<uint64_t> existing;
  if (!stopping_) update_untaken(live);
  live.rings_ns = kRingsNs;
  live.target_turn++;
  for (size_t i = 0; i < live.targets.size(); i++) {
    const auto& target = live.targets[(live.target_turn + i) % live.targets.size()];
    std::vector<vm::State> states;
    const size_t limit = vm::kMaxStates - live.pass.states;
    if (!target.read_states(states, limit)) {
      live.pass.unreadable = true;
      continue;
    }
    live.pass.states += states.size();
    if (limit == 0 || (states.size() == limit && states.back().next != 0)) warn_too_many(live);
    for (const auto& s : states)
      if (forgets) existing.insert(number_of(target, s));
    waiting = poll_target(live, target, states, now) || waiting;
  }
  if (forgets && !live.pass.unreadable) live.taken.keep(existing);
  if (is_young(live, now)) live.pass.unopened = false;  // perhaps fork() has not returned yet
  if (!stopping_ && live.pass.unreadable) live.lost = !is_alive(live);
  if (stopping_ || live.lost) live.pass = before;
  return waiting;
}

// Calls it for each process, as far as time allows; the next call continues from there. Returns how
// many it was not called for.
template <class Body>
size_t DirectBackend::for_each_in_turn(uint64_t limit, Body body) {
  for (size_t left = live_.size(); left > 0; left--) {
    body(live_.front());
    live_.splice(live_.end(), live_, live_.begin());
    if (monotonic_ns() >= limit) return left - 1;
  }
  return 0;
}

int DirectBackend::poll(uint64_t now) {
  bool waiting = false;
  renew_oldest(live_, now, [now] { return monotonic_ns() < now + kPassNs; });
  for_each_in_turn(monotonic_ns() + kPassNs, [&](Live& live) {
    for (auto& t : live.targets) live.lost = live.lost || !t.is_ours();
    if (live.lost) return;
    if (poll_process(live, now) && (is_young(live, now) || live.pass.more)) waiting = true;
    const std::string late = quiet_ ? "" : late_text(live, now);
    if (late.empty()) return;
    const std::string text = "process " + std::to_string(live.pid) + ": " + late;
    live.pass.unreadable ? log(text) : host_.silent(live.pid, text);
  });
  const uint64_t spent = (monotonic_ns() - now) / kMillisecond;
  return waiting
             ? 1
             : static_cast<int>(std::clamp<uint64_t>(spent * kPausePerSpent, 5, kLongestPauseMs));
}

// Many VMs may have made their rings since the last pass, and a VM that is released closes its
// ring: one pass over each process, then others over those that have more.
void DirectBackend::take_last_rings() {
  const uint64_t limit = monotonic_ns() + kLastRingsNs;
  for (auto& live : live_)
    live.force_ns = UINT64_MAX;  // stopping threads may take time: not before all are released
  not_reached_ = for_each_in_turn(limit, [&](Live& live) {
    if (!live.lost) poll_process(live, monotonic_ns());
  });
  for (auto& live : live_)
    while (!live.lost && live.pass.untried > 0 && monotonic_ns() < limit)
      poll_process(live, monotonic_ns());
}

// What time does not allow is released by stopped(), or at the end by the guardian.
void DirectBackend::stop() {
  take_last_rings();
  guardian_.leave_targets(!release_all(live_));
  stopping_ = true;
}

// A sleeping VM detaches when it next runs: that is not waited for.
bool DirectBackend::stopped() {
  bool quiet = release_all(live_);
  guardian_.leave_targets(!quiet);
  const size_t left = for_each_in_turn(monotonic_ns() + kPassNs, [&](Live& live) {
    if (!live.released || live.lost) return;
    if (poll_process(live, monotonic_ns()) && has_running_thread(live.pid)) quiet = false;
  });
  return quiet && left == 0;
}

// A VM that wakes up makes its ring at its next poll; if it was killed before we had opened the
// ring, the ring is lost.
std::string DirectBackend::unanswered_ends() const {
  if (ended_unanswered_.empty()) return "";
  const uint64_t n = count_ended_unanswered_;
  return (n == 1 ? "process " : grouped(n) + " processes (") + pids_text(ended_unanswered_) +
         (n == 1 ? " has" : ") have") +
         " ended without an event: no Lua VM ran until then, or only for some milliseconds";
}

std::vector<std::string> DirectBackend::remarks() {
  for (const auto& live : live_)
    if (live.lost) note_end(live);
  if (const std::string text = unanswered_ends(); !text.empty()) remarks_.push_back(text);
  if (locks_missing_ > 1)
    remarks_.push_back(grouped(locks_missing_) +
                       " processes in all were attached to without a "
                       "lock that another process holds");
  for (const auto& live : live_) {
    const std::string prefix = "process " + std::to_string(live.pid) + ": ";
    report_missed(live);
    if (const size_t untried = live.pass.untried; untried > 0)
      remarks_.push_back(prefix + counted(untried, "Lua VM is", "Lua VMs are") +
                         " not recorded: the recording ended before their rings could be opened");
    const std::string why = host_.has_streams(live.pid) ? "" : silence_text(live);
    if (!why.empty() && is_idle(live))
      host_.silent(live.pid, prefix + why);
    else if (!why.empty())
      remarks_.push_back(prefix + why);
  }
  if (not_reached_ > 0)
    remarks_.push_back("of " + counted(not_reached_, "process", "processes") +
                       " the last new Lua VMs may be missing: reading the others took too long");
  if (remarks_left_out_ > 0)
    remarks_.push_back(counted(remarks_left_out_, "message") +
                       " about processes that are not recorded in full are left out");
  return std::move(remarks_);
}

}  // namespace direct

std::unique_ptr<Backend> make_direct_backend(const Options& options, BackendHost& host) {
  return std::make_unique<direct::DirectBackend>(options, host);
}

}  // namespace luatrace::record
