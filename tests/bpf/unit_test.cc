// SPDX-License-Identifier: MIT
// The parts of --via bpf that need no kernel: notes, arguments, strings of another process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "recorder/bpf/block_stream.h"
#include "recorder/bpf/probed_file.h"
#include "recorder/bpf/strings.h"

namespace {

using namespace luatrace::record::bpf;

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
  EXPECT_EQ(expected, read_probed_file(luatrace::record::reader_of(fd), file, why))
      << path << ": " << why;
  close(fd);
  return file;
}

TEST(ProbedFiles, OurLibraryAndProgram) {
  for (const char* path : {LIBRARY, LUAJIT}) {
    const ProbedFile file = probe(path, Probed::kYes);
    for (const ProbeSite& s : file.sites) EXPECT_NE(0u, s.offset);
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
    if (read_probed_file(luatrace::record::reader_of(fd), file, why) != Probed::kYes) continue;
    for (const ProbeSite& s : file.sites) EXPECT_LT(s.offset, damaged.size());
  }
  close(fd);
}

// -- Blocks --

struct Blocks : testing::Test {
  Blocks()
      : output(std::make_shared<luatrace::record::Output>(
            queue, static_cast<int>(memfd_create("trace", MFD_CLOEXEC)), "trace",
            LT_CLOCK_MONOTONIC, 0)) {}
  static uint64_t call(uint64_t time, uint32_t id) { return lt_word(time, id, LT_ENTRY); }
  static uint64_t back(uint64_t time, uint32_t id) { return lt_word(time, id, LT_RETURN); }
  static uint64_t ext(uint64_t time, uint32_t sub, uint32_t n) {
    return lt_word(time, lt_ext(sub, n, 0), LT_EXT);
  }
  BlockStream stream(uint64_t number) {
    lt_ring start{};
    start.start_tick = 1;
    return BlockStream(output, 1, start, number, rules, 0);
  }
  FilterRules rules;
  luatrace::record::WriteQueue queue;
  std::shared_ptr<luatrace::record::Output> output;
};

TEST_F(Blocks, PiecesTwiceAndPiecesMissing) {
  BlockStream s = stream(0);
  EXPECT_EQ(2u, s.events(0, 2, std::vector{call(10, 1), back(11, 1)}));
  EXPECT_EQ(1u, s.events(0, 3, std::vector{call(10, 1), back(11, 1), call(12, 1)}));
  EXPECT_EQ(0u, s.events(1, 2, std::vector{back(11, 1), call(12, 1)}));
  EXPECT_EQ(3u, s.next());
  // Two are missing; the head of a chunk is not an event.
  EXPECT_EQ(1u,
            s.events(5, 1, std::vector<uint64_t>{ext(20, LTX_BLOCK, 3), 20, 1, 7, back(21, 1)}));
  EXPECT_EQ(2u, s.lost());
  s.end(9, LTE_CLOSE, 30);  // three more at the end
  EXPECT_TRUE(s.ended());
  s.finish();
  EXPECT_EQ(5u, output->totals().lost);
  EXPECT_EQ(0u, output->totals().damaged);
}

// A stream that is joined late begins there; earlier events are not a loss.
TEST_F(Blocks, JoinedLate) {
  BlockStream s = stream(1000);
  EXPECT_EQ(1u, s.events(1000, 1, std::vector{call(10, 1)}));
  s.finish();
  EXPECT_EQ(0u, output->totals().lost);
}

// A report of a known stack says nothing new; other reports are kept.
TEST_F(Blocks, ReportsForOthersAreLeftOut) {
  BlockStream s = stream(0);
  const auto report = [](uint64_t time) {
    return std::vector<uint64_t>{ext(time, LTX_STACK, 2), 1, 2, lt_word(time, 5, LT_FRAME)};
  };
  s.events(0, 2, report(10));
  s.flush();
  EXPECT_EQ(2u, output->writer().events());
  s.events(2, 2, report(20));  // only the current coroutine
  s.flush();
  EXPECT_EQ(3u, output->writer().events());
  s.lose(1, 25);
  s.events(5, 2, report(30));  // after a loss it is news
  s.finish();
  EXPECT_EQ(6u, output->writer().events());
}

TEST_F(Blocks, Nonsense) {
  BlockStream s = stream(0);
  uint64_t random = 88172645463325252ull;
  for (int round = 0; round < 2000; round++) {
    std::vector<uint64_t> words(round % 50);
    for (uint64_t& w : words) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      w = random % 3 == 0 ? random & 0xffffff : random;
    }
    s.events(random % 1000000, random % 100, words);
    s.functions(random % 100, random % 10, std::as_bytes(std::span(words)));
  }
  s.finish();
  EXPECT_TRUE(output->writer().ok());
}

// As the VM would have left them out.
TEST(Words, OfFunctionsThatAreNotWanted) {
  WordFilter filter;
  filter.unwanted(2);
  std::vector<uint64_t> out;
  const auto pass = [&](std::vector<uint64_t> record) { filter.pass(record, out); };
  const auto ext = [](uint32_t sub, uint32_t n, uint32_t arg) {
    return lt_word(1, lt_ext(sub, n, arg), LT_EXT);
  };
  const auto word = [](uint32_t id, uint32_t kind) { return lt_word(1, id, kind); };
  pass({ext(LTX_STACK, 2, 0), 1, 4});  // three calls: 1, 2, 3
  for (const uint32_t id : {1u, 2u, 3u}) pass({word(id, LT_FRAME)});
  EXPECT_EQ(
      (std::vector<uint64_t>{ext(LTX_STACK, 2, 0), 1, 3, word(1, LT_FRAME), word(3, LT_FRAME)}),
      out);
  out.clear();
  pass({word(2, LT_ENTRY)});
  pass({word(4, LT_ENTRY)});
  pass({ext(LTX_UNWIND, 1, 0),
        lt_pack(3, 2)});  // 4, 2, 3 are removed; 2 is left on top, which is not reported
  EXPECT_EQ((std::vector<uint64_t>{word(4, LT_ENTRY), ext(LTX_UNWIND, 1, 0), lt_pack(2, 1)}), out);
}

// After a loss nobody knows what lies below: an error ends exactly the calls that are there of
// those that have begun since.
TEST(Words, OfAnErrorAfterALoss) {
  const auto ext = [](uint32_t sub, uint32_t n, uint32_t arg) {
    return lt_word(1, lt_ext(sub, n, arg), LT_EXT);
  };
  const auto after = [&](std::vector<uint32_t> calls, uint32_t arg, uint64_t unwound) {
    WordFilter filter;
    filter.unwanted(2);
    filter.lost();
    std::vector<uint64_t> out;
    for (const uint32_t id : calls) {
      const uint64_t entry = lt_word(1, id, LT_ENTRY);
      filter.pass({&entry, 1}, out);
    }
    out.clear();
    const std::vector<uint64_t> unwind = {ext(LTX_UNWIND, 1, arg), unwound};
    filter.pass(unwind, out);
    const uint64_t next =
        lt_word(1, 9, LT_ENTRY);  // the remaining ones are on top of the same calls
    filter.pass({&next, 1}, out);
    const std::vector<uint64_t> two = {ext(LTX_UNWIND, 1, 0), lt_pack(2, LT_ID_UNKNOWN)};
    filter.pass(two, out);
    return out;
  };
  const auto events = [&](std::vector<uint64_t> words, std::vector<uint64_t> end) {
    words.push_back(lt_word(1, 9, LT_ENTRY));
    words.push_back(ext(LTX_UNWIND, 1, 0));
    words.insert(words.end(), end.begin(), end.end());
    return words;
  };
  const uint64_t by_count = ext(LTX_UNWIND, 1, 0), to_depth = ext(LTX_UNWIND, 1, 1);
  // Only 2 goes, which is not there.
  EXPECT_EQ(events({}, {lt_pack(2, 3)}), after({3, 1, 2}, 0, lt_pack(1, 1)));
  // 1 and 2 of those that we know, and two that we do not.
  EXPECT_EQ(events({by_count, lt_pack(1, LT_ID_UNKNOWN)}, {lt_pack(1, LT_ID_UNKNOWN)}),
            after({1, 2}, 0, lt_pack(4, 7)));
  // All but eight calls: the function on top shows which ones.
  EXPECT_EQ(events({by_count, lt_pack(1, 3)}, {lt_pack(2, LT_ID_UNKNOWN)}),
            after({3, 2, 1}, 1, lt_pack(9, 3)));
  EXPECT_EQ(events({by_count, lt_pack(2, LT_ID_UNKNOWN)}, {lt_pack(1, LT_ID_UNKNOWN)}),
            after({3, 2, 1}, 1, lt_pack(9, 7)));
  // No call is left: that is known.
  EXPECT_EQ(events({to_depth, lt_pack(1, LT_ID_NONE)}, {lt_pack(1, LT_ID_NONE)}),
            after({3, 2, 1}, 1, lt_pack(1, LT_ID_NONE)));
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
