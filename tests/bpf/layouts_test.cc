// SPDX-License-Identifier: MIT
// Processes that map many LuaJITs, or LuaJITs with many layouts of probe arguments: each layout
// costs a program with its ring buffer and guard, each file a descriptor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "recorder/bpf/mapped.h"
#include "recorder/bpf/source.h"

namespace {

using namespace luatrace::record::bpf;

const char* const kRegisters[] = {"ax", "bx", "cx", "dx", "si", "di", "bp"};

// Puts another register of this width into each argument of the probes that has one.
void set_register(std::string& bytes, const std::string& before, const char* wanted) {
  for (size_t at = 0; (at = bytes.find(before, at)) != bytes.npos; at++) {
    const auto is_this = [&](const char* r) {
      return bytes.compare(at + before.size(), 2, r) == 0;
    };
    if (std::any_of(std::begin(kRegisters), std::end(kRegisters), is_this))
      bytes.replace(at + before.size(), 2, wanted);
  }
}

// A copy of the library, with arguments of the probes in other registers for each number.
int library(size_t number) {
  const int in = open(LIBRARY, O_RDONLY | O_CLOEXEC);
  std::string bytes(4u << 20, 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(read(in, bytes.data(), bytes.size()), 0)));
  close(in);
  set_register(bytes, "8@%r", kRegisters[number % 7]);
  set_register(bytes, "4@%e", kRegisters[number / 7 % 7]);
  const int fd = static_cast<int>(memfd_create("libluajit", MFD_CLOEXEC));
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return -1;
  return fd;
}

// A process that has mapped so many libraries as code, with so many layouts, from the first one on.
pid_t mapper(size_t number, size_t layouts, size_t first = 0) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 3; fd < 256; fd++)
      if (fd != ready[1]) close(fd);  // what the others need ends with them
    for (size_t i = 0; i < number; i++) {
      const int fd = library(first + i % layouts);
      mmap(nullptr, 1u << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
      close(fd);
    }
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char c;
  if (read(ready[0], &c, 1) != 1) return -1;
  close(ready[0]);
  close(ready[1]);
  return pid;
}

void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

size_t descriptors() {
  namespace fs = std::filesystem;
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{}));
}

TEST(Layouts, AFileIsOpenWhileItIsUsed) {
  MappedFiles mapped;
  const pid_t pid = mapper(8, 7);
  const size_t before = descriptors();
  MappedLua found = mapped.look(pid);
  EXPECT_EQ(8u, found.files.size());
  EXPECT_EQ(found.files, mapped.look(pid).files);
  EXPECT_EQ(before + 8, descriptors());
  found = {};
  EXPECT_EQ(before, descriptors());
  EXPECT_EQ(8u, mapped.look(pid).files.size()) << "it is found again";
  end(pid);
}

// What source.add(pid) logs; it must succeed.
std::string logged_by_add(Source& source, pid_t pid) {
  testing::internal::CaptureStderr();
  const luatrace::record::Attached added = source.add(pid);
  EXPECT_TRUE(added) << added.why;
  return testing::internal::GetCapturedStderr();
}

Settings small_ring() {
  Settings settings;
  settings.ring_bytes = 4096;
  return settings;
}

TEST(Layouts, OfAProcess) {
  Source source(small_ring());
  if (const Failure f = source.able()) GTEST_SKIP() << "SKIPPED: " << f.text;
  const pid_t pid = mapper(7, 7);
  const std::string logged = logged_by_add(source, pid);
  EXPECT_NE(logged.npos, logged.find("more than 4 layouts of probe arguments")) << logged;
  source.finish();
  end(pid);
}

TEST(Layouts, FilesOfAProcess) {
  Source source(small_ring());
  if (const Failure f = source.able()) GTEST_SKIP() << "SKIPPED: " << f.text;
  const pid_t pid = mapper(65, 1);
  const std::string logged = logged_by_add(source, pid);
  EXPECT_NE(logged.npos, logged.find("more than 64 LuaJITs")) << logged;
  source.finish();
  end(pid);
}

// Four of each process, and one of the last that is the 17th. A process that ends makes space for
// others.
TEST(Layouts, OfAllProcesses) {
  Source source(small_ring());
  if (const Failure f = source.able()) GTEST_SKIP() << "SKIPPED: " << f.text;
  std::vector<pid_t> pids;
  for (size_t i = 0; i < 4; i++) pids.push_back(mapper(4, 4, 4 * i));
  for (const pid_t pid : pids) EXPECT_EQ("", logged_by_add(source, pid));
  pids.push_back(mapper(2, 2, 15));
  const std::string logged = logged_by_add(source, pids.back());
  EXPECT_NE(logged.npos, logged.find("one more layout of probe arguments than the 16")) << logged;
  source.remove(pids[0]);
  const pid_t later = mapper(4, 4, 20);
  EXPECT_EQ("", logged_by_add(source, later));
  source.finish();
  end(later);
  for (const pid_t pid : pids) end(pid);
}

}  // namespace
