// SPDX-License-Identifier: MIT
#include "recorder/direct/guardian.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "recorder/os/helper.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/vm/force_poll.h"

namespace luatrace::record::direct {
namespace {

constexpr size_t kEntries = 4096;
constexpr int kEndMs = 500;       // for its end
constexpr int kReleaseMs = 5000;  // for those that release targets; one that is blocked is left

}  // namespace

struct Guardian::Entry {
  std::atomic<uint32_t> used;
  pid_t pid;
  uint64_t owner, control, poll;
  uint8_t token;
  lt_note note;
  vm::Before before;
};

Guardian::Guardian() {
  void* const p = mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int ends[2];
  if (p == MAP_FAILED) return;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    munmap(p, kEntries * sizeof(Entry));
    return;
  }
  entries_ = static_cast<Entry*>(p);  // zeros: all unused
  pid_ = start_helper("luatrace-guard", {ends[0]}, [&] { watch(ends[0]); });
  close(ends[0]);
  pipe_ = Descriptor(ends[1]);
  if (pid_ > 0) pidfd_ = Descriptor(open_pidfd(pid_, -1));
}

// It may have been killed, and its number re-used; it may be stopped, and react only to SIGKILL.
Guardian::~Guardian() {
  if (pipe_ >= 0 && !has_work_) send(pipe_, "q", 1, MSG_NOSIGNAL);
  if (pidfd_ >= 0 && !has_work_) syscall(SYS_pidfd_send_signal, int{pidfd_}, SIGKILL, nullptr, 0);
  pipe_ = Descriptor();  // now it begins, if it has work
  reap_helper(pid_, kEndMs);
  if (entries_ != nullptr) munmap(entries_, kEntries * sizeof(Entry));
}

int Guardian::add(const vm::Target& target) {
  for (size_t i = 0; entries_ != nullptr && i < kEntries; i++) {
    Entry& e = entries_[i];
    if (e.used.load(std::memory_order_relaxed) != 0) continue;
    e.pid = target.memory().pid();
    e.owner = target.owner();
    e.control = target.image().control;
    e.poll = target.image().poll;
    e.token = target.token();
    e.note = target.image().note;
    e.before = target.before();
    e.used.store(1, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void Guardian::remove(int number) {
  if (entries_ != nullptr && number >= 0) entries_[number].used.store(0, std::memory_order_release);
}

// In the guardian. Ends when the recorder does.
void Guardian::watch(int pipe) const {
  char byte;
  ssize_t n;
  while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR) {
  }
  std::map<pid_t, std::vector<vm::Target>> targets;
  for (size_t i = 0; n == 0 && i < kEntries; i++) {
    const Entry& e = entries_[i];
    if (e.used.load(std::memory_order_acquire) == 0) continue;
    LuaImage image;
    image.note = e.note;
    image.control = e.control;
    image.poll = e.poll;
    targets[e.pid].emplace_back(e.pid, image, e.owner, e.token, e.before);
  }
  release_all(targets);
}

namespace {

void release_and_wait_all(std::vector<vm::Target>& targets) {
  for (auto& target : targets) target.release();
  for (auto& target : targets) release_and_wait(target, 200);
}

}  // namespace

// Each process by a process of its own: access to its memory may wait for ever (a mapping of a file
// system that does not answer), and then no other one may stay switched on.
void Guardian::release_all(std::map<pid_t, std::vector<vm::Target>>& targets) {
  size_t running = 0;
  for (auto& [pid, all] : targets) {
    const pid_t child = targets.size() > 1 ? fork() : -1;
    if (child < 0) release_and_wait_all(all);
    if (child == 0) release_and_wait_all(all), _exit(0);
    running += child > 0 ? 1 : 0;
  }
  for (int spent = 0; running > 0 && spent < kReleaseMs; spent++) {
    while (running > 0 && waitpid(-1, nullptr, WNOHANG) > 0) running--;
    usleep(1000);
  }
}

void release_and_wait(vm::Target& target, int limit_ms) {
  target.release();
  for (int pause = 2, spent = 0; spent < limit_ms; spent += pause, pause *= 2) {
    usleep(static_cast<useconds_t>(pause) * 1000);
    std::vector<vm::State> states;
    if (!target.read_states(states)) return;
    std::erase_if(states, [](const vm::State& s) { return s.ring == 0; });
    if (states.empty() || !has_running_thread(target.memory().pid())) return;
    force_poll(target, states);
  }
}

}  // namespace luatrace::record::direct
