// SPDX-License-Identifier: MIT
// Stops threads that end at that very moment: the waiting parent learns of the process's end,
// whether it is luatrace-record (its command) or another process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>

#include "recorder/os/clock.h"
#include "recorder/os/stopped.h"

namespace {

using luatrace::record::StoppedThreads;

// In memory that the processes of a test share.
struct Shared {
  std::atomic<int> word;   // 1: end now
  std::atomic<int> ready;  // threads
  std::atomic<int> status;
  std::atomic<pid_t> pid;

  static Shared* make() {
    void* const at =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : new (at) Shared{};
  }
};

void pause_for(uint64_t ns) {
  for (const uint64_t until = luatrace::record::monotonic_ns() + ns;
       luatrace::record::monotonic_ns() < until;) {
  }
}

// False if it does not happen within a minute.
bool happens(const std::function<bool()>& what) {
  for (int i = 0; i < 600'000; i++) {
    if (what()) return true;
    usleep(100);
  }
  return false;
}

bool reaches(const std::atomic<int>& number, int value) {
  return happens([&] { return number >= value; });
}

// ns of processor time that this process, without others, has had.
uint64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

[[noreturn]] void run_until_word(const Shared& s, int status) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (s.word == 0) {
  }
  _exit(status);
}

// Lets the process end, and a little later stops it.
void stop_one_that_ends(Shared& s, pid_t pid, int turn) {
  std::string why;
  s.word = 1;
  pause_for(static_cast<uint64_t>(turn % 100) * 500);
  StoppedThreads threads;
  threads.stop_running(pid, why);  // it may also have ended
}

constexpr int kTurns = 1000;

TEST(Stopped, TheEndOfAChildIsLeftToItsParent) {
  Shared* const s = Shared::make();
  ASSERT_NE(nullptr, s);
  int missed = 0;
  for (int i = 0; i < kTurns; i++) {
    s->word = 0;
    const pid_t pid = fork();
    if (pid == 0) run_until_word(*s, 7);
    stop_one_that_ends(*s, pid, i);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7) missed++;
  }
  EXPECT_EQ(0, missed);
}

// One of several threads that run.
void* spin(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) {
  }
}

void start_thread(Shared& s, void* (*function)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, function, &s) != 0) _exit(1);
}

// Processor time: less than it takes to give up on a thread, which is waited for in short naps, and
// far more than stopping and detaching takes, however long they wait for a processor.
constexpr uint64_t kSoon = 100'000'000;

// The first thread's end is reported only after that of the other one, which is traced, too.
TEST(Stopped, AllThreadsOfAProcessThatIsKilledMeanwhile) {
  Shared* const s = Shared::make();
  ASSERT_NE(nullptr, s);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_thread(*s, spin);
    spin(s);
  }
  ASSERT_TRUE(reaches(s->ready, 2));
  const uint64_t before = processor_ns();
  {
    std::string why;
    StoppedThreads threads;
    EXPECT_TRUE(threads.stop_running(pid, why)) << why;
    kill(pid, SIGKILL);
  }
  EXPECT_LT(processor_ns() - before, kSoon);
  int status = 0;
  EXPECT_EQ(pid, waitpid(pid, &status, 0));
  EXPECT_TRUE(WIFSIGNALED(status));
}

void* sleep_long(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) pause();
}

// The first thread ends, the process does not: so its parent is not notified.
TEST(Stopped, AThreadThatLeavesOthersBehind) {
  Shared* const s = Shared::make();
  ASSERT_NE(nullptr, s);
  for (int i = 0; i < kTurns && !HasFailure(); i++) {
    s->word = s->ready = 0;
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      start_thread(*s, sleep_long);
      s->ready++;
      while (s->word == 0) {
      }
      syscall(SYS_exit, 0);  // of this thread
    }
    ASSERT_TRUE(reaches(s->ready, 2));
    const uint64_t before = processor_ns();
    stop_one_that_ends(*s, pid, i);
    EXPECT_LT(processor_ns() - before, kSoon);
    kill(pid, SIGKILL);
    int status = 0;
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status));
  }
}

// A parent that reports what it has learnt about its child.
[[noreturn]] void be_parent(Shared& s) {
  const pid_t child = fork();
  if (child == 0) run_until_word(s, 7);
  s.pid = child;
  int status = 0;
  const pid_t got = waitpid(child, &status, 0);
  s.status = got == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  _exit(0);
}

TEST(Stopped, TheEndOfAnothersChildReachesIt) {
  Shared* const s = Shared::make();
  ASSERT_NE(nullptr, s);
  for (int i = 0; i < kTurns && !HasFailure(); i++) {
    s->word = s->pid = s->status = 0;
    const pid_t parent = fork();
    if (parent == 0) be_parent(*s);
    ASSERT_TRUE(reaches(s->pid, 1));
    stop_one_that_ends(*s, s->pid, i);
    const bool ended = happens([&] { return waitpid(parent, nullptr, WNOHANG) == parent; });
    EXPECT_TRUE(ended) << "the parent still waits for its child";
    if (!ended) kill(parent, SIGKILL), waitpid(parent, nullptr, 0);
    EXPECT_EQ(7, s->status);
  }
}

}  // namespace
