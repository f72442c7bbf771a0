// SPDX-License-Identifier: MIT
#include "recorder/stack/snapshot.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>

#include "base/escape.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"
#include "recorder/stack/search.h"
#include "recorder/vm/target.h"

namespace luatrace::record::stack {
namespace {

constexpr int kTries = 10;
constexpr unsigned kPauseUs = 300;
constexpr unsigned kWatchdogS = 10;          // for all of it: SIGALRM ends us, the kernel lets go
constexpr uint64_t kAsleepNs = 2 * kSecond;  // in place of kStopNs if nothing had to be stopped
constexpr size_t kMaxVms = 1024;
constexpr size_t kMaxInstructions = 256;

// The threads that are not stopped must not run.
class Sleepers {
 public:
  explicit Sleepers(pid_t pid) : pid_(pid) {
    for (const pid_t tid : threads_of(pid)) before_[tid] = switches(tid);
  }
  bool have_slept(const StoppedThreads& stopped) const {
    const auto threads = threads_of(pid_);
    return std::all_of(threads.begin(), threads.end(), [&](pid_t tid) {
      if (stopped.has(tid)) return true;
      const auto before = before_.find(tid);
      return before != before_.end() && thread_state(pid_, tid) != 'R' &&
             switches(tid) == before->second;
    });
  }

 private:
  uint64_t switches(pid_t tid) const {
    const std::string status =
        read_proc(pid_, ("task/" + std::to_string(tid) + "/status").c_str(), 8192);
    return status_number(status, "voluntary_ctxt_switches") +
           status_number(status, "nonvoluntary_ctxt_switches");
  }
  pid_t pid_;
  std::map<pid_t, uint64_t> before_;
};

// While a process stands still, others must not delay us, if we may say so.
class Urgent {
 public:
  Urgent() : before_(getpriority(PRIO_PROCESS, 0)) { setpriority(PRIO_PROCESS, 0, -20); }
  ~Urgent() { setpriority(PRIO_PROCESS, 0, before_); }
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  int before_;
};

// One LuaJIT of the process, while it runs on and while it stands still.
class ImageReader {
 public:
  ImageReader(pid_t pid, const LuaImage& image) : pid_(pid), target_(pid, image) {
    layout_.note = image.note;
    note_ = image.control - static_cast<uint64_t>(image.note.control) - offsetof(lt_note, control);
  }
  bool prepare();
  // False: a running coroutine is between two calls.
  bool read(ImageStacks& to, uint64_t deadline_ns, const std::vector<Registers>& threads,
            std::vector<std::string>& notes);

 private:
  bool read_vm(const vm::State& state, ImageStacks& to, const std::vector<Registers>& threads,
               std::vector<std::string>& notes);

  pid_t pid_;
  vm::Target target_;
  Layout layout_;
  uint64_t note_;  // its address in the process
  std::unique_ptr<Search> search_;
};

// What needs not stand still.
bool ImageReader::prepare() {
  const lt_note& n = layout_.note;
  layout_.vm_begin = note_ + offsetof(lt_note, vm_begin) + static_cast<uint64_t>(n.vm_begin);
  layout_.modes.resize(std::min<size_t>(static_cast<size_t>(n.op_funcf) + 8, kMaxInstructions));
  const uint64_t modes = note_ + offsetof(lt_note, bc_mode) + static_cast<uint64_t>(n.bc_mode);
  std::vector<vm::State> states;
  if (target_.memory().read(modes, layout_.modes.data(), layout_.modes.size() * 2) != 0 ||
      !target_.read_states(states, kMaxVms))
    return false;
  std::vector<uint64_t> vms;
  for (const auto& s : states) vms.push_back(s.address + static_cast<uint64_t>(int64_t{n.g}));
  search_ = std::make_unique<Search>(pid_, layout_, vms);
  return true;
}

bool ImageReader::read_vm(const vm::State& state, ImageStacks& to,
                          const std::vector<Registers>& threads, std::vector<std::string>& notes) {
  Vm vm(*to.memory, to.layout, *to.protos, state.address, threads);
  VmStacks stacks;
  stacks.number = state.serial;
  std::unordered_set<uint64_t> seen;
  size_t unread = 0;
  const auto take = [&](uint64_t address) {
    if (!seen.insert(address).second) return;
    if (to.memory->is_late()) return static_cast<void>(unread++);
    auto c = vm.coroutine(address);
    if (!c) return;
    for (size_t i = 0; i < c->calls.list.size(); i++) to.names->of(c->calls, i);
    stacks.coroutines.push_back(std::move(*c));
  };
  for (const uint64_t address : vm.known()) take(address);
  const auto candidates = search_->of(vm.global());
  for (const uint64_t address : candidates) take(address);
  const bool all = search_->add_newer(*to.memory, vm.global());
  const auto& more = search_->of(vm.global());
  for (size_t i = candidates.size(); i < more.size(); i++) take(more[i]);
  if (unread > 0) notes.push_back(counted(unread, "coroutine") + " could not be read in time");
  if (!all) notes.push_back("coroutines that have just been created may be missing");
  if (!search_->is_complete())
    notes.push_back("the memory is too large to be searched: coroutines may be missing");
  to.vms.push_back(std::move(stacks));
  return !vm.between();
}

bool ImageReader::read(ImageStacks& to, uint64_t deadline_ns, const std::vector<Registers>& threads,
                       std::vector<std::string>& notes) {
  to.layout = layout_;
  to.memory = std::make_unique<Memory>(pid_, deadline_ns);
  to.protos = std::make_unique<Prototypes>(*to.memory, to.layout);
  to.names = std::make_unique<Names>(*to.protos);
  std::vector<vm::State> states;
  if (!target_.read_states(states, kMaxVms)) notes.push_back("not all Lua VMs could be read");
  bool settled = true;
  for (const auto& s : states) settled = read_vm(s, to, threads, notes) && settled;
  return settled;
}

// Stands still, reads, lets go. True: everything is of one moment.
bool try_once(pid_t pid, std::vector<std::unique_ptr<ImageReader>>& readers, Stacks& stacks,
              std::string& why) {
  const Sleepers sleepers(pid);
  uint64_t begin = monotonic_ns();
  bool good = true;
  {
    const Urgent urgent;
    StoppedThreads stopped;
    if (!stopped.stop_running(pid, why)) return false;
    const std::vector<Registers> threads = stopped.registers();
    if (threads.size() < 2) begin = monotonic_ns();
    for (const auto& reader : readers) {
      stacks.images.push_back(std::make_unique<ImageStacks>());
      good = reader->read(*stacks.images.back(), begin + (threads.empty() ? kAsleepNs : kStopNs),
                          threads, stacks.notes) &&
             good;
    }
    good = sleepers.have_slept(stopped) && good;
    stacks.stopped_ns = threads.empty() ? 0 : 1;
  }
  if (stacks.stopped_ns != 0) stacks.stopped_ns = monotonic_ns() - begin;
  return good;
}

Attached read_images(pid_t pid, std::vector<std::unique_ptr<ImageReader>>& readers,
                     Stacks& stacks) {
  uint64_t longest = 0;
  for (int i = 0; i < kTries; i++, usleep(kPauseUs)) {
    stacks = {};
    stacks.pid = pid;
    std::string why;
    const bool good = try_once(pid, readers, stacks, why);
    stacks.stopped_ns = longest = std::max(longest, stacks.stopped_ns);
    if (!why.empty()) return {Refusal::kNoPermission, "cannot be looked at: " + why};
    if (good) return {};
  }
  stacks.notes.push_back(
      "its threads never slept, or were between two calls each time: the stacks "
      "may not be of one moment");
  return {};
}

}  // namespace

const std::string& Names::of(const Calls& calls, size_t i) {
  const Call& call = calls.list[i];
  if (call.kind == Callee::kLua) {
    std::string& name = defined_[call.proto];
    if (name.empty()) name = protos_.defined_name(*call.proto);
    if (!name.empty()) return name;
  }
  static const std::string kNone;
  if (!call.named_by_caller || i + 1 >= calls.list.size()) return kNone;
  const Call& caller = calls.list[i + 1];
  if (caller.kind != Callee::kLua || caller.position == kNoPosition) return kNone;
  const auto [name, fresh] = called_.try_emplace({caller.proto, caller.position});
  if (fresh) name->second = protos_.call_name(*caller.proto, caller.position);
  return name->second;
}

Attached read_stacks(pid_t pid, Stacks& stacks) {
  if (const Attached refused = check_set_id(pid); !refused) return refused;
  const LuaSearch search = find_lua(pid);
  if (search.ours.empty())
    return {search.error == 0       ? Refusal::kNoLuaJIT
            : search.error == ESRCH ? Refusal::kNoProcess
                                    : Refusal::kNoPermission,
            explain_no_lua(pid, search)};
  std::vector<std::unique_ptr<ImageReader>> readers;
  alarm(kWatchdogS);
  for (const LuaImage& image : search.ours) {
    if (image.note.size < LT_NOTE_STACKS)
      return {Refusal::kNoLuaJIT, "has a LuaJIT with tracepoints that is too old for --stack: " +
                                      printable(image.path)};
    if ((image.note.flags & LTN_GC64) == 0)
      return {Refusal::kNoLuaJIT, "has a LuaJIT without GC64, whose stacks --stack cannot read: " +
                                      printable(image.path)};
    readers.push_back(std::make_unique<ImageReader>(pid, image));
    if (!readers.back()->prepare())
      return {Refusal::kNoPermission, "cannot be looked at: its Lua VMs cannot be read"};
  }
  const Attached result = read_images(pid, readers, stacks);
  alarm(0);
  return result;
}

}  // namespace luatrace::record::stack
