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

#include "recorder/bpf/mapped.h"
#include "recorder/bpf/source.h"

namespace {

using namespace luatrace::record::bpf;

// A copy of the library. The first argument of each probe is in another register for each number.
int library(size_t number) {
  static const char* const kRegisters[] = {"ax", "bx", "cx", "dx", "si", "di", "bp"};
  const int in = open(LIBRARY, O_RDONLY | O_CLOEXEC);
  std::string bytes(4u << 20, 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(read(in, bytes.data(), bytes.size()), 0)));
  close(in);
  const std::string to = std::string("@%r") + kRegisters[number % 7];
  for (size_t at = 0; (at = bytes.find("8@%r", at)) != bytes.npos; at++)
    if (std::find(std::begin(kRegisters), std::end(kRegisters), bytes.substr(at + 4, 2)) !=
        std::end(kRegisters))
      bytes.replace(at + 1, to.size(), to);
  const int fd = static_cast<int>(memfd_create("libluajit", MFD_CLOEXEC));
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return -1;
  return fd;
}

// A process that has mapped these libraries as code.
pid_t mapper(size_t number, size_t layouts) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < number; i++) {
      const int fd = library(i % layouts);
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

TEST(Layouts, OfAProcess) {
  Settings settings;
  settings.ring_bytes = 4096;
  Source source(settings);
  if (const Failure f = source.able()) GTEST_SKIP() << "SKIPPED: " << f.text;
  const pid_t pid = mapper(7, 7);
  testing::internal::CaptureStderr();
  const luatrace::record::Attached added = source.add(pid);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(added) << added.why;
  EXPECT_NE(said.npos, said.find("more than 4 layouts of probe arguments")) << said;
  source.remove(pid);
  source.finish();
  end(pid);
}

}  // namespace
