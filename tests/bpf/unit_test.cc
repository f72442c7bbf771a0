// SPDX-License-Identifier: MIT
// The parts of --via bpf that need no kernel: notes, arguments, chunks.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "recorder/bpf/block_stream.h"
#include "recorder/bpf/link_keeper.h"
#include "recorder/bpf/privileges.h"
#include "recorder/bpf/probed_file.h"
#include "recorder/bpf/site_args.h"
#include "recorder/bpf/wake.h"
#include "recorder/vm/lua_image.h"
#include "trace/records.h"

namespace {

using namespace luatrace::record::bpf;

TEST(SiteArgs, AsTheNotesHaveThem) {
  std::array<ltb_arg, LTB_NARGS> a;
  ASSERT_TRUE(parse_site_args(EM_X86_64, "8@%rax 8@%rsi -4@%edx 8@%rcx 4@%r8d 4@%r9d -4@$-1", a));
  EXPECT_EQ(LTB_REG, a[0].type);
  EXPECT_EQ(10, a[0].reg);
  EXPECT_EQ(8, a[0].size);
  EXPECT_EQ(12, a[2].reg);
  EXPECT_EQ(-4, a[2].size);
  EXPECT_EQ(9, a[4].reg);
  EXPECT_EQ(LTB_CONST, a[6].type);
  EXPECT_EQ(-1, a[6].value);
  ASSERT_TRUE(parse_site_args(EM_X86_64, "", a));
  EXPECT_EQ(LTB_NONE, a[0].type);
}

TEST(SiteArgs, WhatCannotBeReadIsRefused) {
  std::array<ltb_arg, LTB_NARGS> a;
  for (const char* bad :
       {"8@8(%rsp)", "8@%xmm0", "4@%eax,", "@%rax", "8%rax", "8@", "3@%eax", "8@$x", "8@$",
        "x@%rax", "8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax"})
    EXPECT_FALSE(parse_site_args(EM_X86_64, bad, a)) << bad;
}

TEST(SiteArgs, OfArm64) {
  std::array<ltb_arg, LTB_NARGS> a;
  ASSERT_TRUE(parse_site_args(EM_AARCH64, "8@x0 8@x1 -4@w2 8@x30 4@x4 -4@-1", a));
  const uint8_t registers[] = {0, 1, 2, 30, 4};
  for (size_t i = 0; i < std::size(registers); i++) {
    EXPECT_EQ(LTB_REG, a[i].type);
    EXPECT_EQ(registers[i], a[i].reg);
  }
  EXPECT_EQ(-4, a[2].size);
  EXPECT_EQ(LTB_CONST, a[5].type);
  EXPECT_EQ(-1, a[5].value);
  for (const char* bad : {"8@[sp, 16]", "8@x31", "8@sp", "8@%x0", "8@d0", "8@x", "8@", "4@$1"})
    EXPECT_FALSE(parse_site_args(EM_AARCH64, bad, a)) << bad;
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
    EXPECT_NE(0u, file.block);
    EXPECT_NE(0u, file.block_switch);
    EXPECT_NE(0u, file.semaphore);
    EXPECT_NE(0u, file.segments);
    EXPECT_NE(file.block_switch, file.segments_switch);
    EXPECT_EQ(file.semaphore + 2, file.segments_semaphore);
    EXPECT_NE(0u, file.auto_switch);
    EXPECT_NE(0u, file.auto_semaphore);
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
    EXPECT_LT(file.block, damaged.size());
    EXPECT_LT(file.block_switch, damaged.size());
  }
  close(fd);
}

// -- Blocks --

struct Blocks : testing::Test {
  Blocks()
      : output(std::make_shared<luatrace::record::Output>(
            queue,
            luatrace::OpenedOutput{
                static_cast<int>(memfd_create("trace", MFD_CLOEXEC)), false, 0, 0, {}},
            "trace", LT_CLOCK_MONOTONIC, 0, 0, true)) {}
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

TEST_F(Blocks, ChunksTwiceAndChunksMissing) {
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
TEST_F(Blocks, ReportsForOtherTracersAreLeftOut) {
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

// A loop of one event with the places 1 (its beginning) and 2; from there a trace that is left
// at 4.
struct SegmentBlocks : Blocks {
  static constexpr uint32_t kCall = 1u << LT_KIND_BITS | LT_ENTRY;
  SegmentBlocks()
      : s([this] {
          lt_ring start{};
          start.start_tick = 1;
          start.stream_flags = LTF_SEGMENTS;
          return BlockStream(output, 1, start, 0, rules, 0);
        }()) {}
  static uint64_t place(uint64_t time, uint32_t id) {
    return lt_word(time, LT_SEGMENT_FIRST + id, LT_SUSPEND);
  }
  void describe(uint64_t number, uint32_t id, uint32_t parent) {
    lt_segment d{};
    d.id = id;
    d.parent = parent;
    d.nmarks = d.nexits = 1;
    std::vector<std::byte> record;
    const uint32_t places[] = {0, 1}, events[] = {kCall};
    luatrace::append_segment(record, d, places, events);
    s.functions(number, 1, record);
  }
  uint64_t segments() {
    s.finish();
    return output->totals().segment_words;
  }
  BlockStream s;
};

// A place inside of the path may have been in the chunk: what ends the path is left out, too.
TEST_F(SegmentBlocks, ATornPathIsLeftOut) {
  describe(0, 1, 0);
  describe(1, 3, 2);
  EXPECT_FALSE(s.wants_reports());
  EXPECT_EQ(1u, s.events(0, 1, std::vector{place(10, 4)}));
  EXPECT_EQ(4u, s.events(5, 4, std::vector{place(20, 1), place(21, 4), place(22, 4), call(23, 1)}));
  EXPECT_TRUE(s.wants_reports());
  EXPECT_EQ(4u, s.missed());
  EXPECT_EQ(6u, s.lost());
  EXPECT_EQ(2u, segments());
  EXPECT_TRUE(output->totals().lost_at_least);
}

// The interpreter runs, or a word holds whole paths: none is under way.
TEST_F(SegmentBlocks, WhatIsWholeIsKept) {
  describe(0, 1, 0);
  const uint64_t packed = lt_packed_word(LT_PACKED_PLACE + 2);
  s.events(1, 2, std::vector{call(10, 1), place(11, 2)});
  s.events(4, 2, std::vector{packed, place(21, 2)});
  EXPECT_EQ(2u, s.missed());
  EXPECT_EQ(2u, s.lost());
  EXPECT_EQ(3u, segments());
}

// Without its description, or with that of a part of its path, a segment says nothing.
TEST_F(SegmentBlocks, ADescriptionIsMissing) {
  describe(0, 1, 0);
  s.events(0, 1, std::vector{place(10, 2)});
  describe(2, 5, 4);  // number 1, with the places 3 and 4, did not come
  EXPECT_TRUE(s.wants_reports());
  s.events(1, 3, std::vector{place(20, 4), place(21, 6), place(22, 2)});
  EXPECT_EQ(0u, s.missed());
  EXPECT_EQ(2u, s.lost());
  EXPECT_EQ(2u, segments());
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

uint64_t ext_word(uint32_t sub, uint32_t n, uint32_t arg) {
  return lt_word(1, lt_ext(sub, n, arg), LT_EXT);
}

const uint64_t kByCount = ext_word(LTX_UNWIND, 1, 0), kToDepth = ext_word(LTX_UNWIND, 1, 1);

// Returns what is kept of an error that unwinds `calls`, a call of function 9 after it, and an
// error that ends two calls. Function 2 is unwanted. known: no calls are below these.
std::vector<uint64_t> unwound(bool known, const std::vector<uint32_t>& calls, uint64_t head,
                              uint64_t word) {
  WordFilter filter;
  filter.unwanted(2);
  if (!known) filter.lost();
  std::vector<uint64_t> out;
  for (const uint32_t id : calls) {
    const uint64_t entry = lt_word(1, id, LT_ENTRY);
    filter.pass({&entry, 1}, out);
  }
  out.clear();
  const std::vector<uint64_t> unwind = {head, word};
  filter.pass(unwind, out);
  const uint64_t next = lt_word(1, 9, LT_ENTRY);  // on top of the calls that remain
  filter.pass({&next, 1}, out);
  const std::vector<uint64_t> two = {kByCount, lt_pack(2, LT_ID_UNKNOWN)};
  filter.pass(two, out);
  return out;
}

// words: those of the first error. end: number of calls that the last error ends, and the function
// on top then.
std::vector<uint64_t> kept(std::vector<uint64_t> words, uint64_t end) {
  for (const uint64_t w : {lt_word(1, 9, LT_ENTRY), kByCount, end}) words.push_back(w);
  return words;
}

// After a loss the calls below are unknown: an error ends exactly those of its calls that have
// begun since and are kept.
TEST(Words, OfAnErrorAfterALoss) {
  const auto after = [](const std::vector<uint32_t>& calls, uint64_t head, uint64_t word) {
    return unwound(false, calls, head, word);
  };
  // It ends only 2, which is not in the stream.
  EXPECT_EQ(kept({}, lt_pack(2, 3)), after({3, 1, 2}, kByCount, lt_pack(1, 1)));
  // It ends 1 and 2, and two unknown calls.
  EXPECT_EQ(kept({kByCount, lt_pack(1, LT_ID_UNKNOWN)}, lt_pack(1, LT_ID_UNKNOWN)),
            after({1, 2}, kByCount, lt_pack(4, 7)));
  // No call is left: that is known.
  EXPECT_EQ(kept({kToDepth, lt_pack(1, LT_ID_NONE)}, lt_pack(1, LT_ID_NONE)),
            after({3, 2, 1}, kToDepth, lt_pack(1, LT_ID_NONE)));
  // An impossible depth is passed on.
  EXPECT_EQ(kept({kToDepth, lt_pack(0, 3)}, lt_pack(2, 3)), after({3, 1}, kToDepth, lt_pack(0, 3)));
}

// All but eight calls, or all but one, end: the function on top shows which.
TEST(Words, OfAnErrorToADepthAfterALoss) {
  const auto eight = [](const std::vector<uint32_t>& calls, uint32_t top) {
    return unwound(false, calls, kToDepth, lt_pack(9, top));
  };
  const auto one = [](const std::vector<uint32_t>& calls, uint32_t top) {
    return unwound(false, calls, kToDepth, lt_pack(2, top));
  };
  EXPECT_EQ(kept({kByCount, lt_pack(1, 3)}, lt_pack(2, LT_ID_UNKNOWN)), eight({3, 2, 1}, 3));
  EXPECT_EQ(kept({kByCount, lt_pack(2, LT_ID_UNKNOWN)}, lt_pack(1, LT_ID_UNKNOWN)),
            eight({3, 2, 1}, 7));
  // In a recursion, the innermost one below the call on top, which has failed.
  EXPECT_EQ(kept({kByCount, lt_pack(1, 3)}, lt_pack(2, 1)), eight({1, 3, 3}, 3));
  // It can only be the call on top.
  EXPECT_EQ(kept({}, lt_pack(2, 1)), eight({1, 4}, 4));
  // More known calls than remain: it is one of those below.
  EXPECT_EQ(kept({kByCount, lt_pack(3, LT_ID_UNKNOWN)}, lt_pack(1, LT_ID_UNKNOWN)),
            one({1, 3, 3}, 3));
  EXPECT_EQ(kept({kByCount, lt_pack(2, LT_ID_UNKNOWN)}, lt_pack(1, LT_ID_UNKNOWN)), one({1, 4}, 4));
}

TEST(Words, OfAnErrorToADepthThatIsKnown) {
  const auto to = [](const std::vector<uint32_t>& calls, uint32_t depth, uint32_t top) {
    return unwound(true, calls, kToDepth, lt_pack(depth + 1, top));
  };
  EXPECT_EQ(kept({kToDepth, lt_pack(2, 1)}, lt_pack(2, LT_ID_NONE)), to({1, 1, 1}, 1, 1));
  EXPECT_EQ(kept({kToDepth, lt_pack(2, 1)}, lt_pack(1, 1)), to({1, 2, 3}, 2, 2));
  // No more calls remain than there are.
  EXPECT_EQ(kept({kToDepth, lt_pack(3, 3)}, lt_pack(2, 1)), to({1, 2, 3}, 8, 3));
}

// A late answer to an earlier request is not taken for that to the next one.
TEST(Keeper, ALateAnswerIsIgnored) {
  if (geteuid() != 0 || access("/sys/bus/event_source/devices/uprobe", F_OK) != 0)
    GTEST_SKIP() << "SKIPPED: uprobes need root and a kernel that has them";
  LinkKeeper keeper(20, 1);
  ASSERT_EQ(0, keeper.start({}));
  const auto attach = [&](const char* path) {
    return keeper.attach(Mechanism::kEach, path, {}, getpid());
  };
  kill(keeper.pid(), SIGSTOP);
  EXPECT_EQ(-ETIMEDOUT, attach("/nowhere"));  // and sends SIGCONT
  int error = -ETIMEDOUT;
  for (int i = 0; error == -ETIMEDOUT && i < 1000; i++) error = attach("/");
  EXPECT_EQ(-EINVAL, error) << "not -ENOENT, the answer for /nowhere";
}

// Not "no LuaJIT": its memory has one.
TEST(NothingToAttach, SaysWhichFileCouldNotBeRead) {
  ASSERT_NE(nullptr, dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)) << dlerror();
  MappedLua lua;
  lua.readable = true;
  EXPECT_EQ(luatrace::record::Refusal::kNoLuaJIT, nothing_to_attach(getpid(), lua).refusal);
  lua.unanswered = "/far/libluajit.so";
  const auto a = nothing_to_attach(getpid(), lua);
  EXPECT_EQ(luatrace::record::Refusal::kOther, a.refusal);
  EXPECT_NE(a.why.find("/far/libluajit.so could not be read in time"), a.why.npos) << a.why;
}

// The last of several LuaJITs of a process refuses the setting: the others are restored.
TEST(Wake, RestoresTheSettingsOfEachLuaJIT) {
  const int copy = static_cast<int>(memfd_create("libluajit", MFD_CLOEXEC));
  const int in = open(LIBRARY, O_RDONLY | O_CLOEXEC);
  std::string bytes(4u << 20, 0);
  const ssize_t n = read(in, bytes.data(), bytes.size());
  ASSERT_EQ(n, write(copy, bytes.data(), static_cast<size_t>(n)));
  close(in);
  ASSERT_NE(nullptr, dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)) << dlerror();
  ASSERT_NE(nullptr, dlopen(("/proc/self/fd/" + std::to_string(copy)).c_str(), RTLD_NOW));
  const auto images = luatrace::record::find_lua(getpid()).ours;
  ASSERT_EQ(2u, images.size());
  const auto cfuncs = [&](size_t i) -> uint32_t {
    return reinterpret_cast<const volatile lt_control*>(images[i].control)->cfuncs;
  };
  const uint32_t before = cfuncs(0);
  void* const page = reinterpret_cast<void*>(images[1].control & ~uint64_t{4095});
  Waker waker(getpid());
  mprotect(page, 8192, PROT_READ);
  waker.want_c(LTC_ALL);
  mprotect(page, 8192, PROT_READ | PROT_WRITE);
  EXPECT_EQ(uint32_t{LTC_ALL}, cfuncs(0));
  waker.restore_c();
  EXPECT_EQ(before, cfuncs(0));
  close(copy);
}

}  // namespace
