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

#include "recorder/direct/guardian.h"
#include "recorder/direct/open_ring.h"
#include "recorder/direct/seccomp.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "recorder/vm/force_poll.h"
#include "recorder/vm/target.h"

namespace luatrace::record {
namespace direct {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kCalibrationNs = 20 * kMillisecond;
constexpr uint64_t kRenewNs = 250 * kMillisecond;
constexpr uint64_t kFirstForceNs = 2 * kMillisecond;
constexpr uint64_t kSlowestForceNs = 256 * kMillisecond;
constexpr uint64_t kRetryNs = 1000 * kMillisecond;  // before an unanswered request is repeated
constexpr uint64_t kCallsHoldNs = 1000 * kMillisecond;
constexpr uint64_t kResponseLimitNs = 2000 * kMillisecond;
constexpr uint64_t kRingsNs = 20 * kMillisecond;       // for new rings of a process, in one pass
constexpr uint64_t kLastRingsNs = 300 * kMillisecond;  // for those of all processes, at the end

constexpr size_t kMaxRemarks = 100;
constexpr size_t kMaxWithoutRing = 65536;
constexpr const char* kUnreadable =
    "its Lua VMs cannot be found: their list is damaged (or changes all the time)";

std::string joined(const std::vector<std::string>& globs) {
  std::string all;
  for (const auto& g : globs) all += (all.empty() ? "" : "\n") + g;
  return all;
}

uint32_t class_number(const std::string& name) {
  if (name == "none") return LTC_NONE;
  if (name == "user") return LTC_USER;
  return name == "all" ? LTC_ALL : LTC_DEFAULT;
}

// A process and its LuaJITs.
struct Live {
  pid_t pid = 0;
  uint64_t begin_ns = 0, begin_tick = 0;  // of attaching
  std::vector<vm::Target> targets;
  std::vector<int> guarded;                       // its numbers in the guardian
  std::set<std::pair<uint64_t, uint32_t>> taken;  // VMs (LuaJIT and serial), recordings
  std::set<uint64_t> rings;                       // their inodes
  uint64_t renew_ns = 0, force_ns = 0, force_pause_ns = kFirstForceNs;
  bool inherited = false, lost = false, warned_no_response = false, force_failed = false;
  bool unreadable = false;          // its list of VMs, at the last pass
  size_t ring_turn = 0;             // the VM whose ring is opened first
  size_t states = 0, answered = 0;  // at the last pass
  std::set<uint64_t> without_ring;  // VMs that answered and had none when they were read
  size_t untried = 0;               // VMs whose rings there was no time to open, at the last pass
  bool unopened = false;            // at the last pass: there was a ring that could not be opened
  std::string no_response;          // why some have not answered
};

// Identifies a VM of the process across its recordings.
uint64_t number_of(const vm::Target& target, const vm::State& s) {
  return (target.image().control << 20) ^ s.serial;
}

// It has answered, nothing more is requested of it (a forked child is in this state until it next
// runs Lua), and has no ring.
bool has_no_ring(const vm::Target& target, const vm::State& s) {
  return target.has_answered(s) && s.stop == 0 && s.ring == 0 && s.token == target.token();
}

// It has a ring that was not opened yet.
bool has_new_ring(const Live& live, const vm::Target& target, const vm::State& s) {
  return s.ring != 0 && s.token == target.token() &&
         !live.taken.contains({number_of(target, s), s.rec});
}

// How many could not make a ring. A VM that is closing has no ring any more, one that is opening
// has none yet: both had one or will have one.
size_t count_ringless(const Live& live) {
  return static_cast<size_t>(
      std::count_if(live.without_ring.begin(), live.without_ring.end(), [&live](uint64_t state) {
        const auto taken = live.taken.lower_bound({state, 0});
        return taken == live.taken.end() || taken->first != state;
      }));
}

}  // namespace

class DirectBackend : public Backend {
  struct Mark {
    LuaImage image;
    uint8_t token;
  };

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
  void report_ringless(const Live& live);
  bool poll_process(Live& live, uint64_t now);
  static std::string no_response_text(const Live& live);
  std::string unanswered_ends() const;
  bool find_owner(uint64_t inode, pid_t except) const;
  std::string add_ring(pid_t pid, std::unique_ptr<RingMemory> ring);
  bool take_ring(Live& live, const vm::Target& target, const vm::State& s);
  bool take_rings(Live& live, const vm::Target& target, const std::vector<vm::State>& states);
  void take_last_rings();
  void force_unanswered(Live& live, const vm::Target& target, const std::vector<vm::State>& silent,
                        uint64_t now);
  void warn_no_response(Live& live, uint64_t now);

  BackendHost& host_;
  vm::Settings settings_;
  lt_clock_info start_;
  Guardian guardian_;
  std::list<Live> live_;
  bool ignore_seccomp_;
  std::map<pid_t, std::pair<uint64_t, RingCalls>> calls_;  // when determined, and the result
  std::map<uint64_t, Mark> marks_;  // by address: marks that forks of our processes contain
  std::vector<std::string> remarks_;
  std::vector<pid_t> ended_unanswered_;  // had Lua VMs, and none has answered
  bool stopping_ = false;
};

DirectBackend::DirectBackend(const Options& options, BackendHost& host)
    : host_(host),
      start_(sample_clocks(default_clock())),
      ignore_seccomp_(options.seccomp == "ignore") {
  settings_.include = joined(options.include);
  settings_.exclude = joined(options.exclude);
  settings_.cfuncs = class_number(options.c_functions);
  if (options.ring_size != 0) settings_.ring_size = options.ring_size;
  settings_.block = options.block;
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
  const ClockRate rate = rate_between(clock(), start_, sample_clocks(clock()));
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
  if (search.error != 0) return {Refusal::kNoRight, explain_no_access(pid, search.error), true};
  const std::string set_id = set_id_reason(pid);
  if (!set_id.empty()) return {Refusal::kNoRight, "is not traced, not even for root: " + set_id};
  if (search.ours.empty())
    return {Refusal::kNoLuaJIT, explain_no_lua(pid, search), !search.unusable.empty()};
  for (const auto& image : search.ours)
    if (image.note.clock != clock())
      return {Refusal::kOther,
              "cannot be recorded: its LuaJIT and this recorder use different clocks", true};
  const RingCalls calls = ring_calls(pid);
  if (calls.verdict == RingCalls::kAllowed) return {};
  std::string other = "; --via bpf needs no ring of it";
  if (geteuid() != 0) other += " (as root)";
  if (calls.verdict == RingCalls::kUnknown)
    other +=
        ", --seccomp ignore takes the risk (the filters that Docker, podman and Kubernetes "
        "give to containers allow it)";
  return {Refusal::kNoRight, calls.why + other, true};
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
    live.inherited = live.inherited || target.claimed_tick() < live.begin_tick;
    marks_.insert_or_assign(target.image().control, Mark{target.image(), target.token()});
    live.targets.push_back(std::move(target));
  }
  live.renew_ns = live.force_ns = monotonic_ns();
  live.renew_ns += kRenewNs;
  live.force_ns += kFirstForceNs;
  live_.push_back(std::move(live));
  return {};
}

// A fork copies our number, at the same address.
bool DirectBackend::inherited(pid_t pid) {
  bool ours = false;
  for (const auto& [control, mark] : marks_)
    ours = ours || vm::Target(pid, mark.image, settings_.owner, mark.token).is_ours();
  return ours && std::none_of(live_.begin(), live_.end(), [pid](const Live& live) {
           return live.pid == pid || shares_memory(live.pid, pid);
         });
}

bool DirectBackend::holds(pid_t pid) {
  const Live* const live = find(pid);
  return live != nullptr && !live->lost;
}

void DirectBackend::detach(Live& live) {
  for (auto& t : live.targets) t.release();
  for (const int n : live.guarded) guardian_.remove(n);
  live.guarded.clear();
}

void DirectBackend::report_ringless(const Live& live) {
  const size_t ringless = count_ringless(live);
  if (ringless == 0) return;
  remarks_.push_back("process " + std::to_string(live.pid) + ": " + grouped(ringless) +
                     (ringless == 1 ? " Lua VM is" : " Lua VMs are") +
                     " not recorded: it has no memory or no file descriptor left for a ring (some "
                     "descriptors are kept free for the program), its limit of file sizes (ulimit "
                     "-f) is below that of the ring "
                     "(--ring-size), or a seccomp filter does not allow it memfd_create()");
}

void DirectBackend::forget(pid_t pid) {
  if (Live* const live = find(pid)) {
    if (live->taken.empty() && live->without_ring.empty() && live->states > 0 &&
        process_is_ending(pid))
      ended_unanswered_.push_back(pid);
    report_ringless(*live);
    detach(*live);
  }
  live_.remove_if([&](const Live& l) { return l.pid == pid; });
}

// Does another process of ours have that ring? Its child has the same process id if each starts a
// namespace of its own.
bool DirectBackend::find_owner(uint64_t inode, pid_t except) const {
  return std::any_of(live_.begin(), live_.end(), [&](const Live& live) {
    return live.pid != except && live.rings.contains(inode);
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
bool DirectBackend::take_ring(Live& live, const vm::Target& target, const vm::State& s) {
  if (!has_new_ring(live, target, s)) return false;
  const uint64_t state = number_of(target, s);
  std::string why;
  auto ring = open_ring(target, s, why);
  if (ring != nullptr && find_owner(ring->inode(), live.pid)) ring = nullptr;
  if (ring == nullptr && why.empty()) return live.unopened = true, false;
  live.taken.insert({state, s.rec});
  if (ring != nullptr) {
    live.rings.insert(ring->inode());
    const uint64_t start = ring->info().start_tick;
    why = add_ring(live.pid, std::move(ring));
    if (why.empty() && live.taken.size() == 1 && start > live.begin_tick) {
      const auto rate = rate_between(clock(), start_, sample_clocks(clock()));
      host_.first_event(live.pid,
                        static_cast<uint64_t>(ticks_to_ns(rate, start - live.begin_tick)));
    }
  }
  if (!why.empty() && remarks_.size() < kMaxRemarks)
    remarks_.push_back("process " + std::to_string(live.pid) + ": " + why);
  return true;
}

// The rings of all VMs, as far as time allows; the next pass continues from there. True if there
// are more, and some were new.
bool DirectBackend::take_rings(Live& live, const vm::Target& target,
                               const std::vector<vm::State>& states) {
  const uint64_t limit = monotonic_ns() + kRingsNs;
  bool any = false;
  for (size_t i = 0; i < states.size(); i++) {
    const size_t turn = (live.ring_turn + i) % states.size();
    any = take_ring(live, target, states[turn]) || any;
    if (monotonic_ns() < limit) continue;
    live.ring_turn = turn + 1;
    const auto left =
        static_cast<size_t>(std::count_if(states.begin(), states.end(), [&](const auto& s) {
          return has_new_ring(live, target, s);
        }));
    live.untried += left;
    return any && left > 0;
  }
  return false;
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

// Why the first VM that has not answered did not.
std::string DirectBackend::no_response_text(const Live& live) {
  for (const auto& target : live.targets) {
    std::vector<vm::State> states;
    target.read_states(states);
    if (!states.empty()) return reason_text(no_response_reason(target, states[0]));
  }
  return "";
}

// One pass over a process. True if something of it is still to come or to end.
bool DirectBackend::poll_process(Live& live, uint64_t now) {
  bool waiting = false;
  live.states = live.answered = 0;
  if (!stopping_) live.unopened = false;
  if (!stopping_) live.untried = 0;
  if (!stopping_) live.no_response.clear();
  for (auto& target : live.targets) {
    std::vector<vm::State> states, silent;
    live.unreadable = !target.read_states(states);
    if (live.unreadable) continue;
    if (!stopping_ && take_rings(live, target, states)) waiting = true;
    for (const auto& s : states) {
      const bool quiet = stopping_ ? s.ring == 0 : target.has_answered(s);
      live.answered += quiet ? 1 : 0;
      if (!stopping_ && has_no_ring(target, s) && live.without_ring.size() < kMaxWithoutRing)
        live.without_ring.insert(number_of(target, s));
      if (!quiet) silent.push_back(s);
    }
    live.states += states.size();
    if (silent.empty()) continue;
    waiting = true;
    force_unanswered(live, target, silent, now);
    if (now > live.begin_ns + kResponseLimitNs && !stopping_)
      live.no_response = reason_text(no_response_reason(target, silent[0]));
  }
  return waiting;
}

// Once, if nothing has come for a while.
void DirectBackend::warn_no_response(Live& live, uint64_t now) {
  if (live.warned_no_response || live.answered > 0 || now < live.begin_ns + kResponseLimitNs)
    return;
  live.warned_no_response = true;
  const std::string who = "process " + std::to_string(live.pid) + ": ";
  if (live.states == 0)
    log(who + (live.unreadable ? kUnreadable : "attached, but it has no Lua VM (yet)"));
  else
    log(who + "no Lua VM has answered for " + time_text(static_cast<double>(now - live.begin_ns)) +
        ": " + live.no_response);
}

int DirectBackend::poll(uint64_t now) {
  bool waiting = false;
  for (auto& live : live_) {
    if (live.lost) continue;
    const bool due = now >= live.renew_ns;
    if (due) live.renew_ns = now + kRenewNs;
    for (auto& t : live.targets) live.lost = live.lost || !(due ? t.renew() : t.is_ours());
    if (live.lost) continue;
    const bool young = now - live.begin_ns < 100 * kMillisecond;
    if (poll_process(live, now) && young) waiting = true;
    warn_no_response(live, now);
  }
  const uint64_t spent = (monotonic_ns() - now) / kMillisecond;
  return waiting ? 1 : static_cast<int>(std::clamp<uint64_t>(spent * 20, 5, 100));
}

// Many VMs may have made their rings since the last pass, and a VM that is released closes its
// ring: one pass over each process, then others over those that have more.
void DirectBackend::take_last_rings() {
  const uint64_t limit = monotonic_ns() + kLastRingsNs;
  for (auto& live : live_) {
    live.force_ns = UINT64_MAX;  // stopping threads may take time: not before all are released
    if (!live.lost) poll_process(live, monotonic_ns());
  }
  for (auto& live : live_)
    while (!live.lost && live.untried > 0 && monotonic_ns() < limit)
      poll_process(live, monotonic_ns());
}

void DirectBackend::stop() {
  take_last_rings();
  const uint64_t now = monotonic_ns();
  for (auto& live : live_) {
    for (auto& t : live.targets) t.release();
    if (live.answered == 0 && live.states > 0) live.no_response = no_response_text(live);
    live.force_ns = now + kFirstForceNs;
    live.force_pause_ns = kFirstForceNs;
  }
  stopping_ = true;
}

// A sleeping VM detaches when it next runs: that is not waited for.
bool DirectBackend::stopped() {
  bool quiet = true;
  for (auto& live : live_)
    if (!live.lost && poll_process(live, monotonic_ns()) && has_running_thread(live.pid))
      quiet = false;
  return quiet;
}

// A VM that wakes up makes its ring at its next poll; if it was killed before we had opened the
// ring, the ring is lost.
std::string DirectBackend::unanswered_ends() const {
  if (ended_unanswered_.empty()) return "";
  const size_t n = ended_unanswered_.size();
  return (n == 1 ? "process " : grouped(n) + " processes (") + pids_text(ended_unanswered_) +
         (n == 1 ? " has" : ") have") +
         " ended without an event: no Lua VM ran until then, or only for some milliseconds";
}

std::vector<std::string> DirectBackend::remarks() {
  if (const std::string text = unanswered_ends(); !text.empty()) remarks_.push_back(text);
  for (const auto& live : live_) {
    const std::string who = "process " + std::to_string(live.pid) + ": ";
    report_ringless(live);
    if (live.untried > 0)
      remarks_.push_back(who + grouped(live.untried) +
                         (live.untried == 1 ? " Lua VM is" : " Lua VMs are") +
                         " not recorded: the recording ended before their rings could be opened");
    if (live.taken.empty() && live.unopened)
      remarks_.push_back(
          who +
          "its ring could not be opened: it is its parent's (it was created without the "
          "C library's fork()), or the program has closed its descriptor");
    else if (live.taken.empty() && live.without_ring.empty() && !live.warned_no_response)
      remarks_.push_back(who + (live.unreadable ? kUnreadable
                                : live.states == 0
                                    ? "it has no Lua VM"
                                    : "no Lua VM has answered: " + live.no_response));
  }
  return std::move(remarks_);
}

}  // namespace direct

std::unique_ptr<Backend> make_direct_backend(const Options& options, BackendHost& host) {
  return std::make_unique<direct::DirectBackend>(options, host);
}

}  // namespace luatrace::record
