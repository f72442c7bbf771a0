// SPDX-License-Identifier: MIT
// The parts of --via bpf that need no kernel: notes, arguments, strings of another process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "recorder/bpf/probed_file.h"
#include "recorder/bpf/strings.h"

namespace {

using namespace luatrace::bpf;

TEST(SiteArgs, AsTheNotesHaveThem) {
  std::array<ltb_arg, LTB_NARGS> a;
  ASSERT_TRUE(parse_site_args("8@%rax 8@%rsi -4@%edx 8@%rcx 4@%r8d 4@%r9d -4@$-1", a));
  EXPECT_EQ(LTB_REG, a[0].type);
  EXPECT_EQ(10, a[0].reg);
  EXPECT_EQ(8, a[0].size);
  EXPECT_EQ(12, a[2].reg);
  EXPECT_EQ(-4, a[2].size);
  EXPECT_EQ(9, a[4].reg);
  EXPECT_EQ(LTB_CONST, a[6].type);
  EXPECT_EQ(-1, a[6].value);
  ASSERT_TRUE(parse_site_args("", a));
  EXPECT_EQ(LTB_NONE, a[0].type);
}

TEST(SiteArgs, WhatCannotBeReadIsRefused) {
  std::array<ltb_arg, LTB_NARGS> a;
  for (const char* bad :
       {"8@8(%rsp)", "8@%xmm0", "4@%eax,", "@%rax", "8%rax", "8@", "3@%eax", "8@$x", "8@$",
        "x@%rax", "8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax"})
    EXPECT_FALSE(parse_site_args(bad, a)) << bad;
}

ProbedFile probe(const char* path, Probed expected) {
  ProbedFile file;
  std::string why;
  const int fd = open(path, O_RDONLY);
  EXPECT_GE(fd, 0) << path;
  EXPECT_EQ(expected, read_probed_file(fd, file, why)) << path << ": " << why;
  close(fd);
  return file;
}

TEST(ProbedFiles, OurLibraryAndProgram) {
  for (const char* path : {LIBRARY, LUAJIT}) {
    const ProbedFile file = probe(path, Probed::kYes);
    for (const ProbeSite& s : file.sites) {
      EXPECT_NE(0u, s.offset);
      EXPECT_TRUE(s.wide);
    }
    EXPECT_NE(0u, file.semaphore);
    EXPECT_EQ(8u, file.glref_size);
  }
}

TEST(ProbedFiles, Others) {
  probe("/bin/true", Probed::kNo);
  probe("/proc/self/status", Probed::kNo);
  probe("/dev/null", Probed::kNo);
}

// Any byte of the file may be wrong: it is refused or read, and nothing else happens.
TEST(ProbedFiles, Damaged) {
  const int in = open(LIBRARY, O_RDONLY);
  std::string bytes(1u << 21, '\0');
  bytes.resize(static_cast<size_t>(read(in, bytes.data(), bytes.size())));
  close(in);
  const int fd = static_cast<int>(memfd_create("damaged", MFD_CLOEXEC));
  uint64_t random = 88172645463325252ull;
  const size_t notes = bytes.find("stapsdt");
  for (int round = 0; round < 300; round++) {
    std::string damaged = bytes;
    for (int k = 0; k < 8; k++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      const size_t at = round % 3 == 0   ? random % 64
                        : round % 3 == 1 ? notes - 12 + random % 1600
                                         : bytes.size() - 1 - random % 3000;
      damaged[at] = static_cast<char>(random >> 40);
    }
    if (round % 10 == 0) damaged.resize(random % damaged.size());
    ASSERT_EQ(0, ftruncate(fd, 0));
    ASSERT_EQ(static_cast<ssize_t>(damaged.size()), pwrite(fd, damaged.data(), damaged.size(), 0));
    ProbedFile file;
    std::string why;
    if (read_probed_file(fd, file, why) != Probed::kYes) continue;
    for (const ProbeSite& s : file.sites) EXPECT_LT(s.offset, damaged.size());
  }
  close(fd);
}

TEST(Strings, OfAProcess) {
  ProcessStrings strings(getpid());
  strings.restart();
  const std::string text = "here " + std::to_string(getpid());
  EXPECT_EQ(text, strings.read(reinterpret_cast<uint64_t>(text.c_str()), 1000));
  EXPECT_EQ(text.substr(0, 4), strings.read(reinterpret_cast<uint64_t>(text.c_str()), 4));
  EXPECT_FALSE(strings.read(16, 1000));
  const std::string longer(10000, 'x');
  EXPECT_EQ(longer.substr(0, 5000), strings.read(reinterpret_cast<uint64_t>(longer.c_str()), 5000));
}

}  // namespace
