// SPDX-License-Identifier: MIT
// Guardian; see guardian.h.
#include "recorder/direct/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "recorder/direct/kick.h"
#include "recorder/process.h"

namespace luatrace::direct {
namespace {

constexpr size_t kEntries = 4096;
constexpr int kEndTries = 5000;  // of 0.1 ms, for its end

}  // namespace

struct Guardian::Entry {
  std::atomic<uint32_t> used;
  pid_t pid;
  uint64_t owner, control, poll;
  uint8_t token;
  lt_note note;
  Before before;
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
  entries_ = static_cast<Entry*>(p);  // zeros: nothing is used
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    watch(ends[0]);
  }
  close(ends[0]);
  pipe_ = ends[1];
  if (pid_ > 0) pidfd_ = open_pidfd(pid_, -1);
}

// It may have been killed, and its number be another's by now; it may be stopped, and hear nothing
// but SIGKILL.
Guardian::~Guardian() {
  if (pipe_ >= 0) send(pipe_, "q", 1, MSG_NOSIGNAL);
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0);
  for (const int fd : {pipe_, pidfd_})
    if (fd >= 0) close(fd);
  for (int i = 0; pid_ > 0 && i < kEndTries && waitpid(pid_, nullptr, WNOHANG) == 0; i++)
    usleep(100);
  if (entries_ != nullptr) munmap(entries_, kEntries * sizeof(Entry));
}

int Guardian::add(const Target& target) {
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
void Guardian::watch(int pipe) {
  setsid();  // what the terminal sends is not for us
  prctl(PR_SET_NAME, "luatrace-guard");
  for (int s = 1; s < NSIG; s++)
    if (s != SIGKILL && s != SIGCHLD) signal(s, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nothing >= 0; fd++) dup2(nothing, fd);
  for (int fd = 3; fd < 1024; fd++)  // the trace, for one, must not be held open
    if (fd != pipe) close(fd);
  char byte;
  ssize_t n;
  while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR) {
  }
  std::vector<Target> targets;
  for (size_t i = 0; n == 0 && i < kEntries; i++) {
    const Entry& e = entries_[i];
    if (e.used.load(std::memory_order_acquire) == 0) continue;
    LuaImage image;
    image.note = e.note;
    image.control = e.control;
    image.poll = e.poll;
    targets.emplace_back(e.pid, image, e.owner, e.token, e.before).release();
  }
  for (auto& target : targets) release_and_wait(target, 200);
  _exit(0);
}

void release_and_wait(Target& target, int limit_ms) {
  target.release();
  for (int pause = 2, spent = 0; spent < limit_ms; spent += pause, pause *= 2) {
    usleep(static_cast<useconds_t>(pause) * 1000);
    std::vector<State> states;
    if (!target.read_states(states)) return;
    std::erase_if(states, [](const State& s) { return s.ring == 0; });
    if (states.empty() || !has_running_thread(target.memory().pid())) return;
    kick(target, states);
  }
}

}  // namespace luatrace::direct
