// SPDX-License-Identifier: MIT
// The session's thread finds the LuaJITs of processes; everything that uses the Source happens in
// jobs of the drainer. A program loads its libraries after it was executed, or much later: each
// process is looked at again, at growing intervals.
#include "recorder/sampler/backend.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/escape.h"
#include "recorder/bpf/privileges.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "recorder/sample/rules.h"
#include "recorder/sampler/source.h"

namespace luatrace::record {
namespace sampler {
namespace {

constexpr int kPauseMs = 20;
constexpr uint64_t kFirstLook = kMillisecond, kSlowestLook = kSecond;
constexpr uint64_t kPollNs = 20 * kMillisecond;  // of one call of poll()
// Of each look at a process that has a LuaJIT: its file systems may not answer, and all wait for
// that.
constexpr uint64_t kAskAgainNs = 20 * kMillisecond;
constexpr uint64_t kNoLuaNs = 2 * kSecond;  // without a LuaJIT, until a message says so
// Looking for LuaJITs without tracepoints, which reads the files of the process: at its first look,
// and at some later ones; one of so many parts of the time, beside the first kExamineNs.
constexpr uint64_t kExamineNs = kSecond / 2, kExamineShare = 50;
constexpr int kExaminations = 3, kLooksBetween = 4;

Settings settings_of(const Options& o) {
  Settings s;
  s.hertz = o.sample_hz;
  s.threads = o.threads;
  s.lua = !o.kernel_only;
  s.user = !o.kernel_only && !o.lua_only;
  s.kernel = !o.user_only && !o.lua_only;
  s.only_kernel_mode = o.kernel_only;
  s.off_cpu = o.off_cpu;
  if (o.ring_size != 0) s.ring_bytes = o.ring_size;
  return s;
}

Shown shown_of(const Options& o) {
  const Settings s = settings_of(o);
  Shown shown{s.lua, s.user, s.kernel, LT_SAMPLE_FRAMES_MAX};
  if (o.max_stack != 0) shown.max_stack = o.max_stack;
  return shown;
}

// The address that a member of the note gives as the distance from itself.
uint64_t address_of(const LuaImage& image, size_t offset, int64_t distance) {
  return image.abi_at + offset + static_cast<uint64_t>(distance);
}

// Reads the code of the interpreter, and its rules. Empty, or why they cannot be used.
std::string read_rules(const RemoteMemory& memory, FoundImage& f) {
  const lt_abi& abi = f.image.abi;
  const uint64_t size = f.mapped.text_end - f.mapped.text;
  const uint64_t at = address_of(f.image, offsetof(lt_abi, rules), abi.rules);
  lt_abi_rules head{};
  if (size == 0 || size > SMP_TEXT_MAX) return "its ABI note is invalid";
  f.code.resize(size);
  f.rules.resize(size);
  if (abi.rules == 0 || memory.read(at, head) != 0 || head.size > RULES_SIZE_MAX)
    return "its ABI note has no rules for the interpreter's code";
  std::vector<uint32_t> table((head.size + 3) / 4);
  if (memory.read(at, table.data(), head.size) != 0 ||
      memory.read(f.mapped.text, f.code.data(), size) != 0)
    return "the code of its interpreter is not where its ABI note says";
  switch (rules_take(table.data(), head.size, f.code.data(), static_cast<uint32_t>(size),
                     f.rules.data())) {
    case RULES_TAKEN:
      return "";
    case RULES_NONE:
      return "its ABI note has no rules for the interpreter's code";
    case RULES_DAMAGED:
      return "the rules in its ABI note are invalid";
    default:
      return "the code of its interpreter is not that of its ABI note (wrong checksum)";
  }
}

// Is that note one with which the walker works? Empty, or why not.
std::string prepare(const RemoteMemory& memory, FoundImage& f) {
  const lt_abi& abi = f.image.abi;
  if (f.image.abi_at == 0) return "it has no ABI note";
  if (abi.version != LT_ABI_VERSION || abi.size < LT_ABI_SIZE_1)
    return "its ABI note has version " + std::to_string(abi.version) + " and " +
           std::to_string(abi.size) + " bytes; this recorder needs version " +
           std::to_string(LT_ABI_VERSION) + " with " + std::to_string(LT_ABI_SIZE_1);
  if ((abi.flags & LTA_GC64) == 0) return "it was built without GC64";
  f.mapped.text = address_of(f.image, offsetof(lt_abi, vm_begin), abi.vm_begin);
  f.mapped.text_end = address_of(f.image, offsetof(lt_abi, vm_end), abi.vm_end);
  f.mapped.vms = address_of(f.image, offsetof(lt_abi, vms), abi.vms);
  return read_rules(memory, f);
}

// Are these still the LuaJITs of the process? A child executes another program at any time.
bool is_same(const LuaSearch& before, const LuaSearch& now) {
  return std::equal(before.ours.begin(), before.ours.end(), now.ours.begin(), now.ours.end(),
                    [](const LuaImage& a, const LuaImage& b) { return a.abi_at == b.abi_at; });
}

// Is each of these LuaJITs one that the process had before? A search that ended early finds fewer.
bool has_all(const LuaSearch& before, const LuaSearch& now) {
  return std::all_of(now.ours.begin(), now.ours.end(), [&](const LuaImage& image) {
    return std::any_of(before.ours.begin(), before.ours.end(),
                       [&](const LuaImage& known) { return known.abi_at == image.abi_at; });
  });
}

// A thread that cannot be one of the processes: mistyped, or it has ended. Empty: there is none.
// Of a command, and of -a, all may be later ones.
std::string wrong_thread(const Options& o) {
  std::vector<std::string> tasks;
  for (const std::string& spec : o.pids) {
    std::string missing;
    const pid_t pid = find_process(spec, missing);
    if (pid <= 0) return "";  // the attacher says so
    tasks.push_back("/proc/" + std::to_string(pid) + "/task");
  }
  if (tasks.empty() || o.all) return "";
  if (o.children) tasks = {"/proc"};
  for (const uint32_t thread : o.threads) {
    const std::string tid = std::to_string(thread);
    const auto has = [&](const std::string& dir) {
      return access((dir + "/" + tid).c_str(), F_OK) == 0;
    };
    if (!std::any_of(tasks.begin(), tasks.end(), has))
      return "--tid " + tid + ": there is no such thread (not in " + tasks[0] +
             (tasks.size() > 1 ? ", nor those of the other processes)" : ")");
  }
  return "";
}

}  // namespace

class SamplingBackend : public Backend {
 public:
  SamplingBackend(const Options& options, BackendHost& host)
      : options_(options),
        host_(host),
        source_(std::make_shared<Source>(settings_of(options), shown_of(options))) {}

  Attached begin() override;
  Attached check(pid_t pid) override { return check_set_id(pid); }
  Attached attach(pid_t pid) override;
  bool holds(pid_t pid) override { return live_.contains(pid); }
  void forget(pid_t pid) override;
  int poll(uint64_t now) override;
  void stop() override;
  bool stopped() override { return stopped_; }
  uint32_t clock() const override { return LT_CLOCK_MONOTONIC; }

 private:
  struct Live {
    uint64_t attached_ns = 0, look_ns = 0, pause_ns = kFirstLook;
    bool has_lua = false;
    LuaSearch seen;        // when it was looked at
    std::string problem;   // why its LuaJIT cannot be used
    bool lasting = false;  // the problem will not pass
    int looks = 0;
  };
  Attached look(pid_t pid, Live& live);
  std::vector<FoundImage> usable(pid_t pid, const LuaSearch& search, Live& live);
  void look_again(uint64_t now);
  void examine(pid_t pid, Live& live);
  void warn_no_lua(pid_t pid, Live& live, uint64_t now);

  const Options& options_;
  BackendHost& host_;
  std::shared_ptr<Source> source_;  // of the drainer's jobs
  std::map<pid_t, Live> live_;
  std::atomic<bool> draining_ = false, more_ = false, stopped_ = false;
  std::set<pid_t> execs_;  // from the jobs to the session's thread, while none is draining_
  uint64_t examined_ns_ = 0, begun_ns_ = 0;
  bool warned_no_lua_ = false;
};

Attached SamplingBackend::begin() {
  if (const std::string why = wrong_thread(options_); !why.empty())
    return {Refusal::kNoProcess, why};
  bpf::Failure failure;
  host_.drainer().call([&] { failure = source_->start(); });
  Attached a = bpf::explain(failure);
  if (!a) a.why = "--sample: " + a.why;
  return a;
}

// Those that the walker can use; why it cannot use another one is the problem of the process.
std::vector<FoundImage> SamplingBackend::usable(pid_t pid, const LuaSearch& search, Live& live) {
  std::vector<FoundImage> images;
  if (!search.unusable.empty()) live.problem = search.unusable[0], live.lasting = true;
  for (const LuaImage& image : search.ours) {
    FoundImage f;
    f.image = image;
    const std::string why = prepare(RemoteMemory(pid), f);
    if (why.empty())
      images.push_back(std::move(f));
    else
      live.problem = printable(image.path) + " cannot be used: " + why, live.lasting = true;
  }
  return images;
}

// Finds its LuaJITs, and samples it with them from now on.
Attached SamplingBackend::look(pid_t pid, Live& live) {
  const LuaSearch search = live.has_lua ? find_lua(pid, kAskAgainNs) : find_lua(pid);
  if (search.error != 0 && live.attached_ns == 0)
    return {search.error == ESRCH ? Refusal::kNoProcess : Refusal::kNoPermission,
            explain_no_access(pid, search.error)};
  if (live.has_lua && has_all(live.seen, search)) return {};
  std::vector<FoundImage> images = usable(pid, search, live);
  live.seen = search;
  if (images.empty() && live.attached_ns != 0) return {};
  std::string why;
  const auto output = host_.output_of(pid, why);
  const uint32_t number = output != nullptr ? host_.process_number(pid, why) : 0;
  if (number == 0) return {Refusal::kOther, "is not recorded: " + why};
  live.has_lua = !images.empty();
  Added added{};
  host_.drainer().call([&] { added = source_->add(pid, number, output, std::move(images)); });
  if (added == Added::kSampled && live.has_lua && !is_same(search, find_lua(pid))) {
    host_.drainer().call([&] { source_->executed(pid); });  // before that was noticed
    added = Added::kExecuted;
  }
  if (added == Added::kExecuted) live.has_lua = false;  // it is attached to again
  if (added == Added::kNoPlace) {
    live.has_lua = false;  // it is looked at again: one may end
    live.lasting = false;
    live.problem = "there are " + std::to_string(SMP_IMAGES) + " other LuaJITs at the moment";
  }
  if (added != Added::kTooMany) return {};
  return {Refusal::kOther, "is not recorded: too many processes"};
}

Attached SamplingBackend::attach(pid_t pid) {
  if (const Attached a = check_set_id(pid); !a) return a;
  if (live_.contains(pid)) return {};
  Live live;
  if (Attached a = look(pid, live); !a) return a;
  live.attached_ns = monotonic_ns();
  live.look_ns = live.attached_ns + live.pause_ns;
  live_[pid] = live;
  return {};
}

void SamplingBackend::forget(pid_t pid) {
  if (live_.erase(pid) == 0) return;
  host_.drainer().post([source = source_, pid] { source->remove(pid); });
}

void SamplingBackend::look_again(uint64_t now) {
  const uint64_t until = monotonic_ns() + kPollNs;
  for (auto& [pid, live] : live_) {
    if (now >= live.look_ns && monotonic_ns() < until) {
      look(pid, live);
      examine(pid, live);
      live.look_ns = now + live.pause_ns;
      live.pause_ns = std::min(live.pause_ns * 2, kSlowestLook);
    }
    warn_no_lua(pid, live, now);
  }
}

// Has it a LuaJIT without tracepoints? That is said at once: the process may be short.
void SamplingBackend::examine(pid_t pid, Live& live) {
  const int look = live.looks++;
  if (warned_no_lua_ || live.has_lua || !live.problem.empty() || options_.kernel_only ||
      look % kLooksBetween != 0 || look >= kExaminations * kLooksBetween)
    return;
  const uint64_t start = monotonic_ns();
  if (begun_ns_ == 0) begun_ns_ = start;
  if (examined_ns_ > kExamineNs + (start - begun_ns_) / kExamineShare) return;
  const std::string others = explain_other_lua(pid);
  if (!others.empty()) live.problem = "it " + others, live.lasting = true;
  examined_ns_ += monotonic_ns() - start;
}

// Once: the user may have expected Lua functions. Where these are missing it is said with -q, too.
void SamplingBackend::warn_no_lua(pid_t pid, Live& live, uint64_t now) {
  if (warned_no_lua_ || live.has_lua || options_.kernel_only) return;
  if (!live.lasting && now < live.attached_ns + kNoLuaNs) return;
  const bool other_lua = std::any_of(live_.begin(), live_.end(),
                                     [](const auto& entry) { return entry.second.has_lua; });
  if (live.problem.empty() && (other_lua || options_.several())) return;
  warned_no_lua_ = true;
  if (!options_.quiet || live.lasting)
    log("process " + std::to_string(pid) + ": only its C functions are sampled: " +
        (live.problem.empty() ? "it has no LuaJIT with tracepoints" : live.problem));
}

int SamplingBackend::poll(uint64_t now) {
  if (!draining_) {
    for (const pid_t pid : std::exchange(execs_, {})) live_.erase(pid);
    draining_ = true;
    host_.drainer().post([this] {
      more_ = source_->drain();
      execs_.merge(source_->take_execs());
      draining_ = false;
    });
  }
  look_again(now);
  const bool young = std::any_of(live_.begin(), live_.end(), [&](const auto& entry) {
    return !entry.second.has_lua && now < entry.second.attached_ns + 50 * kMillisecond;
  });
  return young || more_ ? 1 : kPauseMs;
}

void SamplingBackend::stop() {
  host_.drainer().post([this] {
    source_->stop();
    stopped_ = true;
  });
}

}  // namespace sampler

std::unique_ptr<Backend> make_sampling_backend(const Options& options, BackendHost& host) {
  return std::make_unique<sampler::SamplingBackend>(options, host);
}

}  // namespace luatrace::record
