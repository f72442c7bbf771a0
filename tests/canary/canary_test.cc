// SPDX-License-Identifier: MIT
// The kernel turns the five-byte nop of a probe site into a call once it was hit, and that call
// overwrites -8, -16 and -24(%rsp). A program of a million traced calls must neither notice nor
// lose one. The tracer is a counting perf event on the uprobe: no BPF is needed, root is.
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

// Runs the program, held back until the event is there. into: bytes behind the site's start.
Outcome RunTraced(const Site& site, int into, const char* option) {
  Outcome outcome;
  int out[2], go[2];
  if (pipe(out) != 0 || pipe(go) != 0) return outcome;
  const pid_t pid = fork();
  if (pid == 0) {
    char c;
    close(go[1]);
    if (read(go[0], &c, 1) != 1) _exit(1);
    dup2(out[1], 1);
    execl(kLuajit.c_str(), "luajit", option, CANARY_PROGRAM, nullptr);
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
  const Outcome narrow = RunTraced(entry, 0, GetParam());
  if (narrow.error == EACCES || narrow.error == EPERM || narrow.error == ENOENT)
    GTEST_SKIP() << "SKIPPED: no uprobes here: " << strerror(narrow.error);
  const Outcome wide = RunTraced(entry, 1, GetParam());
  ASSERT_EQ(wide.error, 0) << strerror(wide.error);
  EXPECT_EQ(narrow.hits, kCalls);
  EXPECT_EQ(wide.hits, kCalls);
  EXPECT_EQ(narrow.output, plain.output);
  EXPECT_EQ(wide.output, plain.output);
  EXPECT_EQ(wide.status, 0);
}

INSTANTIATE_TEST_SUITE_P(Jit, Canary, testing::Values("-jon", "-joff"));

}  // namespace
