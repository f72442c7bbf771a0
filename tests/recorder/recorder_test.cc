// SPDX-License-Identifier: MIT
// luatrace-record with well-behaved programs: nothing lost, nothing twice, everything reported.

#include "tests/recorder/run.h"

namespace {

using runs::RecorderTest;
using runs::Words;

TEST_F(RecorderTest, TenMillionEventsThroughASmallRing) {
  ASSERT_EQ(0, record({"log=" + path("log"), "meta=4096", "ring=2", "events=10000000", "close"}))
      << err();
  const auto f = file();
  EXPECT_TRUE(f.ended());
  const auto words = f.words(1), expected = log();
  ASSERT_GT(expected.size(), 10000000u);
  ASSERT_EQ(expected.size(), words.size());
  EXPECT_TRUE(expected == words);
  uint64_t count = 0;
  for (const auto* b : f.of_type(LT_BLOCK_EVENTS)) {
    count += b->head.count;
    EXPECT_LE(b->head.payload_size, 65536u);
  }
  const auto end = f.blocks.back().as<lt_end_info>();
  EXPECT_EQ(count, end.events);
  EXPECT_EQ(0u, end.lost);
  EXPECT_EQ(f.blocks.size() - 1, end.blocks);
  EXPECT_EQ(static_cast<uint32_t>(LTQ_EXIT), end.reason);
  EXPECT_EQ(0, end.exit_status);
}

// A reader that reads from front to back must know a function before it is called.
TEST_F(RecorderTest, FunctionsComeBeforeTheirUse) {
  ASSERT_EQ(0, record({"meta=4096", "ring=4", "events=300000", "close"})) << err();
  std::set<uint32_t> known;
  uint64_t used = 0;
  for (const auto& b : file().blocks) {
    if (b.head.type == LT_BLOCK_FUNCS) {
      uint32_t n = 0;
      for (size_t at = 0; at < b.payload.size(); n++) {
        lt_func d;
        ASSERT_LE(at + sizeof d, b.payload.size());
        std::memcpy(&d, &b.payload[at], sizeof d);
        EXPECT_EQ("f" + std::to_string(d.id),
                  std::string(&b.payload[at + sizeof d + d.chunk_len + 1], d.name_len));
        EXPECT_TRUE(known.insert(d.id).second) << d.id;
        at += d.size;
      }
      EXPECT_EQ(n, b.head.count);
    }
    if (b.head.type != LT_BLOCK_EVENTS) continue;
    const auto w = b.words();
    for (size_t i = 0; i < w.size(); i++) {
      const uint32_t kind = lt_kind(w[i]), p = lt_payload(w[i]);
      const bool big = p == LT_PAYLOAD_BIG && kind != LT_EXT && kind != LT_SUSPEND;
      if (kind == LT_ENTRY) {
        const uint32_t id = big ? lt_lo(w[i + 1]) : p;
        ASSERT_EQ(1u, known.count(id)) << id;
        used++;
      }
      i += kind == LT_EXT ? lt_ext_nwords(p) : (big ? 1 : 0);
    }
  }
  EXPECT_GT(known.size(), 1000u);
  EXPECT_GT(used, 100000u);
}

TEST_F(RecorderTest, SeveralThreadsAndSeveralVmsInOne) {
  Words script;
  for (int i = 1; i <= 4; i++)
    script.push_back("thread=id=" + std::to_string(i) + ";log=" + path("log" + std::to_string(i)) +
                     ";ring=3;events=300000;close");
  script.insert(script.end(), {"id=5", "log=" + path("log5"), "ring=2", "events=1000", "close",
                               "id=6", "log=" + path("log6"), "ring=2", "events=1000", "join"});
  ASSERT_EQ(0, record(script)) << err();
  const auto f = file();
  EXPECT_EQ(1u, f.of_type(LT_BLOCK_PROCESS).size());
  EXPECT_EQ(6u, f.of_type(LT_BLOCK_STREAM).size());
  for (uint32_t i = 1; i <= 6; i++)
    EXPECT_TRUE(log("log" + std::to_string(i)) == f.words(stream(f, i))) << i;
}

TEST_F(RecorderTest, ForkedChildrenAreProcessesOfTheirOwn) {
  ASSERT_EQ(0, record({"log=" + path("log1"), "ring=3", "events=1000",
                       "fork=id=2;log=" + path("log2") + ";ring=3;events=5000",
                       "fork=id=3;log=" + path("log3") + ";ring=3;sleep=100;events=5000;kill",
                       "events=1000", "join"}))
      << err();
  const auto f = file();
  const auto processes = f.of_type(LT_BLOCK_PROCESS);
  ASSERT_EQ(3u, processes.size());
  for (int i = 1; i <= 2; i++) {
    EXPECT_EQ(1, processes[i]->as<lt_process_info>().parent);
    EXPECT_NE(processes[0]->as<lt_process_info>().pid, processes[i]->as<lt_process_info>().pid);
  }
  for (uint32_t i = 1; i <= 3; i++)
    EXPECT_TRUE(log("log" + std::to_string(i)) == f.words(stream(f, i))) << i;
}

// A child that outlives the command is waited for.
TEST_F(RecorderTest, ADaemonIsRecordedToItsEnd) {
  ASSERT_EQ(5, record({"ring=2", "events=10",
                       "fork=id=2;log=" + path("log2") + ";ring=2;sleep=300;events=4000",
                       "sleep=50", "exit=5"}))
      << err();
  const auto f = file();
  EXPECT_TRUE(log("log2") == f.words(stream(f, 2)));
  EXPECT_EQ(5 << 8, f.blocks.back().as<lt_end_info>().exit_status);
}

TEST_F(RecorderTest, AFileForEachProcess) {
  const std::string name = path("t.%p.bin");
  ASSERT_EQ(0,
            run(recorder({"-o", name},
                         fake({"ring=2", "events=100",
                               "fork=id=2;log=" + path("log2") + ";ring=2;events=500", "join"}))))
      << err();
  std::set<uint32_t> recordings;
  int files = 0;
  for (const auto& e : std::filesystem::directory_iterator(dir_)) {
    if (e.path().extension() != ".bin") continue;
    files++;
    const auto f = mini::read(e.path());
    EXPECT_TRUE(f.ended());
    const auto process = f.of_type(LT_BLOCK_PROCESS).at(0)->as<lt_process_info>();
    EXPECT_EQ("t." + std::to_string(process.pid) + ".bin", e.path().filename());
    recordings.insert(f.of_type(LT_BLOCK_STREAM).at(0)->as<lt_stream_info>().recording);
  }
  EXPECT_EQ(2, files);
  EXPECT_EQ((std::set<uint32_t>{1, 2}), recordings);
}

// The file of a process that has ended is finished: it does not wait for the others.
TEST_F(RecorderTest, FilesOfMoreProcessesThanItMayHaveDescriptors) {
  constexpr int kChildren = 150;
  Words script = {"ring=2", "events=10"};
  for (int i = 0; i < kChildren; i++) {
    script.push_back("fork=ring=2;events=10;close");
    script.push_back("join");
  }
  const Words limited = {"/bin/sh", "-c", "ulimit -n 100 && exec \"$@\"", "sh"};
  Words words = recorder({"-o", path("t.%p.bin")}, fake(script));
  words.insert(words.begin(), limited.begin(), limited.end());
  ASSERT_EQ(0, run(words)) << err();
  int files = 0;
  for (const auto& e : std::filesystem::directory_iterator(dir_)) {
    if (e.path().extension() != ".bin") continue;
    files++;
    const auto f = mini::read(e.path());
    EXPECT_TRUE(f.ended()) << e.path();
    EXPECT_EQ(1u, f.of_type(LT_BLOCK_STREAM).size()) << e.path();
    EXPECT_GE(f.blocks.back().as<lt_end_info>().events, 10u) << e.path();
  }
  EXPECT_EQ(1 + kChildren, files);
}

TEST_F(RecorderTest, AnExecIsAnotherProcessWithTheSameNumber) {
  ASSERT_EQ(0, record({"log=" + path("log1"), "ring=2", "events=1000",
                       "exec=id=2;log=" + path("log2") + ";ring=2;events=1000"}))
      << err();
  const auto f = file();
  const auto processes = f.of_type(LT_BLOCK_PROCESS);
  ASSERT_EQ(2u, processes.size());
  EXPECT_EQ(processes[0]->as<lt_process_info>().pid, processes[1]->as<lt_process_info>().pid);
  EXPECT_TRUE(log("log1") == f.words(stream(f, 1)));
  EXPECT_TRUE(log("log2") == f.words(stream(f, 2)));
}

TEST_F(RecorderTest, ProcessAndMapsAndNoteAndClocks) {
  ASSERT_EQ(0, record({"ring=2", "events=100", "sleep=1200", "events=5"}, {"--max-depth", "1000"}))
      << err();
  const auto f = file();
  EXPECT_EQ(static_cast<uint32_t>(LT_BLOCK_NOTE), f.blocks[0].head.type);
  EXPECT_NE(std::string::npos, f.blocks[0].payload.find("\nmax-depth=1000\n"));
  const auto* process = f.of_type(LT_BLOCK_PROCESS).at(0);
  const auto info = process->as<lt_process_info>();
  EXPECT_EQ(std::filesystem::canonical(FAKE_VM).string(),
            process->payload.substr(sizeof info, info.exe_len));
  EXPECT_EQ(std::string(FAKE_VM) + std::string("\0ring=2\0events=100\0sleep=1200\0events=5", 38),
            process->payload.substr(sizeof info + info.exe_len));
  bool libc = false;
  for (const auto* b : f.of_type(LT_BLOCK_MAPS))
    for (size_t at = 0; at < b->payload.size();) {
      lt_map m;
      std::memcpy(&m, &b->payload[at], sizeof m);
      const std::string name = b->payload.substr(at + sizeof m, m.path_len);
      if (name.find("/libc.so") != name.npos) libc = m.build_id_len == 20 && m.end > m.start;
      at += m.size;
    }
  EXPECT_TRUE(libc);
  uint64_t last_tick = f.header.start_tick, last_ns = f.header.start_mono_ns;
  const auto clocks = f.of_type(LT_BLOCK_CLOCK);
  EXPECT_GE(clocks.size(), 3u);
  for (const auto* b : clocks) {
    const auto c = b->as<lt_clock_info>();
    EXPECT_GE(c.tick, last_tick);
    const auto ns = static_cast<double>(c.mono_ns - last_ns);
    const double by_ticks = static_cast<double>(c.tick - last_tick) *
                            static_cast<double>(f.header.tick_mult) /
                            static_cast<double>(1ull << f.header.tick_shift);
    EXPECT_NEAR(ns, by_ticks, 20000 + ns / 100);
    last_tick = c.tick;
    last_ns = c.mono_ns;
  }
}

// The events of a slow program reach the file soon, but not in a block per word.
TEST_F(RecorderTest, ASlowProgramMakesFewBlocks) {
  ASSERT_EQ(0, record({"log=" + path("log"), "ring=2", "trickle=1000"})) << err();
  const auto f = file();
  EXPECT_TRUE(log() == f.words(1));
  const size_t blocks = f.of_type(LT_BLOCK_EVENTS).size();
  EXPECT_GE(blocks, 3u);
  EXPECT_LE(blocks, 40u);
}

TEST_F(RecorderTest, LossIsCountedAndReported) {
  ASSERT_EQ(0, record({"log=" + path("log"), "ring=2,drop", "pause", "events=200000", "continue",
                       "events=200000", "space", "close", "lost"}))
      << err();
  const auto f = file();
  EXPECT_TRUE(log() == f.words(1));
  const auto end = f.blocks.back().as<lt_end_info>();
  ASSERT_GT(end.lost, 0u);
  EXPECT_NE(std::string::npos, out().find("lost " + std::to_string(end.lost) + "\n")) << out();
  EXPECT_NE(std::string::npos, err().find("LOST: ")) << err();
}

// The VM had no space left to report it.
TEST_F(RecorderTest, ALossThatLastsToTheEnd) {
  ASSERT_EQ(0, record({"log=" + path("log"), "ring=2,drop", "pause", "events=20000", "close",
                       "lost", "continue"}))
      << err();
  const auto f = file();
  const auto end = f.blocks.back().as<lt_end_info>();
  EXPECT_EQ("accepted\nlost " + std::to_string(end.lost) + "\n", out());
  auto words = f.words(1);
  ASSERT_GT(words.size(), 3u);
  const std::vector<uint64_t> last(words.end() - 3, words.end());
  EXPECT_EQ(lt_ext(LTX_LOSS, 2, 0), lt_payload(last[0]));
  EXPECT_EQ(end.lost + 1, last[1]);
  words.resize(words.size() - 3);
  EXPECT_TRUE(log() == words);
  EXPECT_NE(std::string::npos, err().find("LOST: ")) << err();
}

TEST_F(RecorderTest, OutputOfTheCommandAndNextCommand) {
  ASSERT_EQ(0, record({"ring=2", "events=10", "print=hello"})) << err();
  EXPECT_EQ("accepted\nhello\n", out());
  const std::string dir = std::string(RECORDER).substr(0, std::string(RECORDER).rfind('/'));
  EXPECT_NE(std::string::npos,
            err().find("next: " + dir + "/luatrace-analyze " + trace() + " --flame\n"))
      << err();
  ASSERT_EQ(0, record({"ring=2", "events=10"}, {"-q"}));
  EXPECT_EQ("", err());
}

TEST_F(RecorderTest, ToAPipe) {
  const std::string line = std::string(RECORDER) + " -o - -- " + FAKE_VM + " log=" + path("log") +
                           " ring=2 events=100000 print=hello | cat > " + trace();
  ASSERT_EQ(0, run({"/bin/sh", "-c", line})) << err();
  const auto f = file();
  EXPECT_TRUE(f.ended());
  EXPECT_TRUE(log() == f.words(1));
  EXPECT_NE(std::string::npos, err().find("hello\n")) << err();
}

}  // namespace
