// SPDX-License-Identifier: MIT
// Helper processes, and requests to a file system that may not answer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "recorder/os/helper.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record {
namespace {

// As if it were on a file system of its own.
Mapping mapping(const char* device) {
  Mapping m{};
  m.device = device;
  return m;
}

// Runs body while this process cannot open descriptors.
template <class Body>
void without_descriptors(const Body& body) {
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const rlimit few{0, old.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  body();
  setrlimit(RLIMIT_NOFILE, &old);
}

// Otherwise a reader that waits for the end of our output would wait for a job that hangs.
TEST(RunApart, TheJobHasNoneOfOurDescriptors) {
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  std::array<std::byte, 8> out{};
  const auto look = [&](std::span<std::byte> to) {
    struct stat nothing {
    }, st{};
    stat("/dev/null", &nothing);
    for (int fd = 0; fd < 3; fd++)
      to[fd] = std::byte{fstat(fd, &st) == 0 && st.st_rdev == nothing.st_rdev};
    to[3] = std::byte{fcntl(ends[0], F_GETFD) < 0 && fcntl(ends[1], F_GETFD) < 0};
    return size_t{4};
  };
  ASSERT_EQ(4, run_apart(mapping("00:a1"), look, out));
  for (int i = 0; i < 4; i++) EXPECT_EQ(std::byte{1}, out[i]) << i;
  close(ends[0]);
  close(ends[1]);
}

TEST(RunApart, WhatCouldNotBeAskedIsNotGivenUp) {
  const auto answer = [](std::span<std::byte>) { return size_t{0}; };
  const Mapping m = mapping("00:a2");
  without_descriptors([&] { EXPECT_EQ(-1, run_apart(m, answer, {})); });
  EXPECT_EQ(0, run_apart(m, answer, {}));
}

TEST(RunApart, AJobThatDoesNotAnswerIsAskedOnce) {
  const Mapping m = mapping("00:a3");
  EXPECT_EQ(-1, run_apart(m, [](auto) { return pause(), size_t{0}; }, {}));
  EXPECT_EQ(-1, run_apart(m, [](auto) { return size_t{0}; }, {}));
}

TEST(Helper, IsNotReportedByWait) {
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  const pid_t pid = start_helper("luatrace-test", {ends[0]}, [&] {
    char byte;
    while (read(ends[0], &byte, 1) < 0) {
    }
  });
  ASSERT_GT(pid, 0);
  EXPECT_EQ(-1, waitpid(-1, nullptr, WNOHANG));
  close(ends[0]);
  close(ends[1]);
  reap_helper(pid, 10000);
  EXPECT_EQ(-1, waitpid(pid, nullptr, WNOHANG | __WCLONE)) << "it was waited for";
}

// So a signal to our process group does not reach it, from the first moment.
TEST(Helper, IsInAProcessGroupOfItsOwn) {
  for (int i = 0; i < 50; i++) {
    const pid_t pid = start_helper("luatrace-test", {}, [] { usleep(100'000); });
    ASSERT_GT(pid, 0);
    EXPECT_EQ(pid, getpgid(pid));
    kill(pid, SIGKILL);
    reap_helper(pid, 10000);
  }
}

// A helper that ends too late for its reap_helper() is waited for when the next one starts.
TEST(Helper, LeavesNoZombies) {
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  const pid_t pid = start_helper("luatrace-test", {ends[0]}, [&] {
    char byte;
    while (read(ends[0], &byte, 1) < 0) {
    }
  });
  reap_helper(pid, 0);
  close(ends[0]);
  close(ends[1]);
  siginfo_t end{};
  ASSERT_EQ(0, waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT | __WCLONE));
  const pid_t other = start_helper("luatrace-test", {}, [] {});
  EXPECT_EQ(-1, waitpid(pid, nullptr, WNOHANG | __WCLONE));
  reap_helper(other, 10000);
}

}  // namespace
}  // namespace luatrace::record
