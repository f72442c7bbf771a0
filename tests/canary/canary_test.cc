// SPDX-License-Identifier: MIT
// Tracers at both nops of a probe site. The instructions with which newer kernels replace the
// second one must neither overwrite the memory below a program's stack pointer (a million traced
// calls, none lost) nor be missing in a forked child. The tracer is a counting perf event on the
// uprobe, which needs root but no BPF.
#include <elf.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

constexpr uint64_t kCalls = 1000001;  // canary.lua

const std::string kLuajit = std::string(LUATRACE_BUILD_DIR) + "/bin/luajit";

struct Site {
  uint64_t location = 0, semaphore = 0;  // offsets in the file
};

// Offset in the file of an address, 0 if no segment has it.
uint64_t FileOffset(const std::string& file, uint64_t address) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(file.data() + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
        address < segments[i].p_vaddr + segments[i].p_filesz)
      return address - segments[i].p_vaddr + segments[i].p_offset;
  return 0;
}

// The site of a probe, from .note.stapsdt.
Site FindSite(const std::string& path, const std::string& probe) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const std::string wanted = std::string("luajit") + '\0' + probe + '\0';
  const size_t at = file.find(wanted);
  if (at == std::string::npos || at < 24) return {};
  uint64_t words[3];  // location, base, semaphore
  std::memcpy(words, file.data() + at - sizeof words, sizeof words);
  return {FileOffset(file, words[0]), FileOffset(file, words[2])};
}

int OpenUprobe(const Site& site, uint64_t into, pid_t pid) {
  perf_event_attr attr{};
  std::ifstream type("/sys/bus/event_source/devices/uprobe/type");
  if (!(type >> attr.type)) return -1;
  attr.size = sizeof attr;
  attr.config = site.semaphore << 32;  // reference counter: raised while the event exists
  attr.config1 = reinterpret_cast<uint64_t>(kLuajit.c_str());
  attr.config2 = site.location + into;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

struct Outcome {
  std::string output;
  int status = -1;
  uint64_t hits = 0;
  int error = 0;
};

// Runs the program, held back until the event is there. into: bytes after the site's start.
Outcome RunTraced(const Site& site, int into, const char* option,
                  const char* program = CANARY_PROGRAM) {
  Outcome outcome;
  int out[2], go[2];
  if (pipe(out) != 0 || pipe(go) != 0) return outcome;
  const pid_t pid = fork();
  if (pid == 0) {
    char c;
    close(go[1]);
    if (read(go[0], &c, 1) != 1) _exit(1);
    dup2(out[1], 1);
    execl(kLuajit.c_str(), "luajit", option, program, nullptr);
    _exit(127);
  }
  close(out[1]);
  close(go[0]);
  const int event = into < 0 ? -1 : OpenUprobe(site, static_cast<uint64_t>(into), pid);
  if (into >= 0 && event < 0) outcome.error = errno;
  if (write(go[1], "g", 1) != 1) outcome.error = errno;
  close(go[1]);
  char buffer[256];
  for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) > 0;) outcome.output.append(buffer, n);
  close(out[0]);
  waitpid(pid, &outcome.status, 0);
  if (event >= 0 && read(event, &outcome.hits, sizeof outcome.hits) < 0) outcome.error = errno;
  if (event >= 0) close(event);
  return outcome;
}

class Canary : public testing::TestWithParam<const char*> {};

TEST_P(Canary, NothingIsOverwrittenOrLost) {
  const Site entry = FindSite(kLuajit, "function__entry");
  ASSERT_NE(entry.location, 0u);
  ASSERT_NE(entry.semaphore, 0u);
  const Outcome plain = RunTraced(entry, -1, GetParam());
  ASSERT_EQ(plain.status, 0);
  const Outcome first = RunTraced(entry, 0, GetParam());
  if (first.error == EACCES || first.error == EPERM || first.error == ENOENT)
    GTEST_SKIP() << "SKIPPED: no uprobes here: " << strerror(first.error);
  const Outcome second = RunTraced(entry, 1, GetParam());
  ASSERT_EQ(second.error, 0) << strerror(second.error);
  EXPECT_EQ(first.hits, kCalls);
  EXPECT_TRUE(second.hits == 0 || second.hits == kCalls)
      << second.hits;  // 0: older kernels, which refuse this place
  EXPECT_EQ(first.output, plain.output);
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(second.output, plain.output);
  EXPECT_EQ(second.status, 0);
}

// Linux 6.18 makes a call of a five-byte nop, and gives a forked child the call without the page
// that is called: it dies of SIGSEGV. Our sites have a ten-byte nop.
TEST_P(Canary, AForkedChildLives) {
  const Site entry = FindSite(kLuajit, "function__entry");
  ASSERT_NE(entry.location, 0u);
  for (const int into : {0, 1}) {
    const Outcome o = RunTraced(entry, into, GetParam(), FORKED_PROGRAM);
    if (o.error == EACCES || o.error == EPERM || o.error == ENOENT)
      GTEST_SKIP() << "SKIPPED: no uprobes here: " << strerror(o.error);
    ASSERT_EQ(o.error, 0) << strerror(o.error);
    EXPECT_EQ(o.output, "status 0\n") << into;
    EXPECT_EQ(o.status, 0);
    EXPECT_TRUE(o.hits >= 2000 || (into == 1 && o.hits == 0)) << o.hits;
  }
}

INSTANTIATE_TEST_SUITE_P(Jit, Canary, testing::Values("-jon", "-joff"));

}  // namespace
