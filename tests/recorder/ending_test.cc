// SPDX-License-Identifier: MIT
// All the ways in which a recording ends: exit, crash, kill of either side, signals, limits, a full
// disk. Each leaves a readable file, the right status and a message that says what happened.
#include "tests/recorder/run.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

class EndingTest : public RecorderTest {
 protected:
  uint32_t reason() const { return file().blocks.back().as<lt_end_info>().reason; }
  bool said(const std::string& text) const { return err().find(text) != std::string::npos; }
};

TEST_F(EndingTest, StatusIsTheCommands) {
  struct {
    const char* how;
    int status;
  } const cases[] = {{"exit=3", 3}, {"kill", 128 + SIGKILL}, {"abort", 128 + SIGABRT}};
  for (const auto& c : cases) {
    EXPECT_EQ(c.status, record({"log=" + path("log"), "ring=2", "events=30000", c.how})) << err();
    const auto f = file();
    EXPECT_TRUE(f.ended()) << c.how;
    EXPECT_TRUE(log() == f.words(1)) << c.how;
  }
}

// Neither the recorder's helpers nor children that it had before the command count as left running
// by the command, also where the recorder becomes the parent of all orphans.
TEST_F(EndingTest, OnlyTheCommandsChildrenAreWaitedFor) {
  const Words plain = recorder({"-o", trace()}, fake({"ring=2", "events=10"}));
  std::string line = "exec";
  for (const auto& w : plain) line += " '" + w + "'";
  const Words ways[] = {
      {"/bin/sh", "-c", "sleep 1000 & echo $!; " + line},
      {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c", line},
      {"/usr/bin/python3", "-c",
       "import ctypes, os\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"  // PR_SET_CHILD_SUBREAPER
       "os.execv('/bin/sh', ['sh', '-c', \"\"\"" +
           line + "\"\"\"])"}};
  for (const Words& way : ways) {
    if (way[0].ends_with("unshare") && geteuid() != 0) continue;
    Process p(way, path("out"), path("err"));
    EXPECT_EQ(0, p.wait_ms(20000)) << way[0] << ": " << err();
    EXPECT_FALSE(said("left running")) << way[0];
    if (const pid_t inherited = std::atoi(out().c_str()); inherited > 0) kill(inherited, SIGKILL);
  }
}

TEST_F(EndingTest, AHangupEndsARecordingUnlessItIsIgnored) {
  for (const bool ignored : {false, true}) {
    Words words = {"/bin/sh", "-c", ignored ? "trap '' HUP; exec \"$@\"" : "exec \"$@\"", "sh"};
    const Words plain =
        recorder({"-o", trace()}, {"/bin/sh", "-c", "echo up; read x <" + path("fifo")});
    words.insert(words.end(), plain.begin(), plain.end());
    unlink(path("fifo").c_str());
    ASSERT_EQ(0, mkfifo(path("fifo").c_str(), 0600));
    Process p(words, path("out"), path("err"));
    wait_until([&] { return out() == "up\n"; });
    p.send(SIGHUP);
    if (!ignored) {
      EXPECT_EQ(128 + SIGHUP, p.wait_ms(20000)) << err();
      continue;
    }
    const int fifo = open(path("fifo").c_str(), O_WRONLY);  // returns when the command reads
    EXPECT_EQ(2, write(fifo, "x\n", 2));
    close(fifo);
    EXPECT_EQ(0, p.wait_ms(20000)) << err();
    EXPECT_EQ(uint32_t{LTQ_EXIT}, reason());
  }
}

TEST_F(EndingTest, ADeathInTheMiddleOfARecord) {
  EXPECT_EQ(128 + SIGKILL, record({"log=" + path("log"), "ring=2", "events=100", "torn", "kill"}));
  EXPECT_TRUE(log() == file().words(1));
}

TEST_F(EndingTest, TheRecorderKilledWhileTheProgramIsSlow) {
  Process p(recorder({"-o", trace()}, fake({"log=" + path("log"), "ring=2", "trickle=1500"})),
            path("out"), path("err"));
  wait_until([&] { return log().size() > 1000; });
  const size_t written = log().size();
  p.send(SIGKILL);
  EXPECT_EQ(128 + SIGKILL, p.wait_ms(5000));
  const auto words = file().words(1), all = log();
  ASSERT_LE(words.size(), all.size());
  EXPECT_TRUE(std::equal(words.begin(), words.end(), all.begin()));
  EXPECT_GT(words.size() + 600, written);  // about 200 ms of a word per ms, and some more
  // Nothing of it stays: neither its socket nor the folder that was made for it.
  wait_until([&] {
    for (const auto& entry : std::filesystem::directory_iterator(dir_))
      if (entry.path().filename().string().starts_with("luatrace-")) return false;
    return true;
  });
}

TEST_F(EndingTest, TheRecorderKilledWhileDataFlows) {
  Process p(recorder({"-o", trace()}, fake({"log=" + path("log"), "ring=8", "events=40000000"})),
            path("out"), path("err"));
  wait_until([&] {
    return std::filesystem::exists(trace()) && std::filesystem::file_size(trace()) > 3000000;
  });
  p.send(SIGKILL);
  EXPECT_EQ(128 + SIGKILL, p.wait_ms(5000));
  const auto words = file().words(1);
  const auto all = log();
  ASSERT_GT(words.size(), 100000u);
  ASSERT_LE(words.size(), all.size() + 512);  // the log is buffered
  EXPECT_TRUE(std::equal(words.begin(), words.begin() + 100000, all.begin()));
}

TEST_F(EndingTest, DurationLetsTheCommandContinue) {
  ASSERT_EQ(7, record({"log=" + path("log"), "ring=2", "until_detach=20000", "print=on", "exit=7"},
                      {"-d", "0.3"}));
  EXPECT_EQ("accepted\ndetached\non\n", out());
  EXPECT_EQ(static_cast<uint32_t>(LTQ_DURATION), reason());
  EXPECT_TRUE(log() == file().words(1));
}

TEST_F(EndingTest, ASignalEndsTheRecordingAndReachesTheCommand) {
  Process p(recorder({"-o", trace()}, fake({"log=" + path("log"), "ring=2", "trickle=20000"})),
            path("out"), path("err"));
  wait_until([&] { return log().size() > 100; });
  p.send(SIGTERM);
  EXPECT_EQ(128 + SIGTERM, p.wait_ms(10000)) << err();
  EXPECT_EQ(static_cast<uint32_t>(LTQ_SIGNAL), reason());
  EXPECT_TRUE(log() == file().words(1));
}

TEST_F(EndingTest, TheSecondSignalLeavesAtOnce) {
  Process p(recorder({"-o", trace()},
                     fake({"ignore_int", "log=" + path("log"), "ring=2", "trickle=20000"})),
            path("out"), path("err"));
  wait_until([&] { return log().size() > 100; });
  p.send(SIGINT);
  int status = p.wait_ms(50);
  // Two signals become one for a process that has not run between them.
  for (int i = 0; status == -1 && i < 100; ++i) {
    p.send(SIGINT);
    status = p.wait_ms(50);
  }
  EXPECT_EQ(128 + SIGINT, status) << err();
  const auto f = file();
  EXPECT_TRUE(f.ended());
  EXPECT_GT(f.words(1).size(), 90u);
}

TEST_F(EndingTest, MaxSizeIsKept) {
  const uint64_t limit = 2u << 20;
  ASSERT_EQ(0, record({"log=" + path("log"), "ring=4,drop", "events=3000000", "print=on"},
                      {"--max-size", "2M"}))
      << err();
  EXPECT_LE(mini::slurp(trace()).size(), limit);
  EXPECT_GT(mini::slurp(trace()).size(), limit / 2);
  EXPECT_EQ(static_cast<uint32_t>(LTQ_MAX_SIZE), reason());
  EXPECT_EQ("accepted\non\n", out());
  EXPECT_TRUE(said("--max-size 2,097,152 was reached")) << err();
  const auto words = file().words(1), all = log();
  ASSERT_LE(words.size(), all.size());
  EXPECT_TRUE(std::equal(words.begin(), words.end(), all.begin()));
}

// The program's ring is refused, and the program continues.
TEST_F(EndingTest, FullDisk) {
  const Words script = {"ring=4,drop", "events=1000", "print=on"};
  EXPECT_EQ(125, run(recorder({"-o", "/dev/full"}, fake(script))));
  EXPECT_TRUE(said("/dev/full: cannot write at offset 0: No space left on device")) << err();
  EXPECT_EQ("refused\non\n", out());
}

TEST_F(EndingTest, AFileThatCannotGrow) {
  const std::string line = std::string("ulimit -f 2000; exec ") + RECORDER + " -o " + trace() +
                           " -- " + FAKE_VM + " ring=4,drop events=3000000 print=on";
  EXPECT_EQ(125, run({"/bin/bash", "-c", line})) << err();
  EXPECT_TRUE(said("File too large")) << err();
  EXPECT_NE(std::string::npos, out().find("on\n"));
  const auto f = file();
  EXPECT_FALSE(f.cut);
  EXPECT_GT(f.words(1).size(), 100000u);
}

TEST_F(EndingTest, WhatCannotBeWritten) {
  EXPECT_EQ(125, run(recorder({"-o", dir_}, fake({"print=ran"}))));
  EXPECT_TRUE(said(dir_ + ": cannot open for writing: Is a directory")) << err();
  EXPECT_EQ(125, run(recorder({"-o", path("no/such.bin")}, fake({"print=ran"}))));
  EXPECT_TRUE(said("such.bin: cannot open for writing: No such file or directory")) << err();
  EXPECT_EQ(125, run(recorder({"-o", path("no/%p.bin")}, fake({"print=ran"}))));
  EXPECT_TRUE(said("cannot open for writing: No such file or directory")) << err();
  EXPECT_EQ("", out());
}

// A wrong command name must not cost an older trace.
TEST_F(EndingTest, WhatCannotBeExecuted) {
  ASSERT_EQ(0, record({"ring=2", "events=100"}));
  const std::string before = mini::slurp(trace());
  EXPECT_EQ(127, run(recorder({"-o", trace()}, {path("nothing")})));
  EXPECT_TRUE(said(path("nothing") + ": cannot execute: No such file or directory")) << err();
  EXPECT_EQ(126, run(recorder({"-o", trace()}, {trace()})));
  EXPECT_TRUE(said("cannot execute: Permission denied")) << err();
  EXPECT_EQ(before, mini::slurp(trace()));
  EXPECT_EQ(127, run(recorder({"-o", path("new.bin")}, {path("nothing")})));
  EXPECT_FALSE(std::filesystem::exists(path("new.bin")));
}

// What other programs may have, too, only if the command fails.
TEST_F(EndingTest, OptionsAfterTheCommandAreExplained) {
  for (const std::string option : {"--include", "--children"})
    for (const bool fails : {false, true}) {
      const Words command = {"/bin/sh", "-c", fails ? "exit 3" : "exit 0", "sh", option};
      EXPECT_EQ(fails ? 3 : 0, run(recorder({"-o", trace()}, command)));
      EXPECT_EQ(fails || option == "--children",
                said(option + " after /bin/sh is an option of that command"))
          << err();
    }
}

// -o and the program's file are easily confused.
TEST_F(EndingTest, AFileThatIsNoTraceIsKept) {
  const std::string program = path("prog.lua");
  for (const std::string text : {"print(1)\n", "x"}) {
    std::ofstream(program) << text;
    EXPECT_EQ(125, run(recorder({"-o", program}, fake({"print=ran"}))));
    EXPECT_TRUE(said(program + ": cannot open for writing: it exists and is not a trace")) << err();
    EXPECT_EQ(text, mini::slurp(program));
    EXPECT_EQ("", out());
  }
  EXPECT_EQ(0, run(recorder({"--force", "-o", program}, fake({"ring=2", "events=10"})))) << err();
  EXPECT_TRUE(mini::read(program).ended());
  std::ofstream(path("empty"));
  EXPECT_EQ(0, run(recorder({"-o", path("empty")}, fake({"ring=2", "events=10"})))) << err();
  EXPECT_EQ(0, run(recorder({"-o", path("empty")}, fake({"ring=2", "events=20"})))) << err();
  EXPECT_TRUE(mini::read(path("empty")).ended());
}

TEST_F(EndingTest, Usage) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--", "true"}, "missing output file (-o FILE)"},
      {{"-o", "x"}, "missing command"},
      {{"--", "luajit", "x.lua", "-o", "y"},
       "missing output file (-o FILE); -o after luajit is an"},
      {{"-o", "x", "--nonsense", "true"}, "nonsense"},
      {{"-o", "x", "--ring-size", "1", "true"}, "--ring-size: '1' is not a size"},
      {{"-o", "x", "--max-size", "8Q", "true"}, "--max-size: '8Q' is not a size"},
      {{"-o", "x", "--max-depth", "0", "true"}, "--max-depth: '0' is not a number between"},
      {{"-o", "x", "-d", "-1", "true"}, "-d: invalid duration '-1'"},
      {{"-o", "x", "--c-functions", "some", "true"}, "invalid value 'some'; choose none,"},
      {{"-o", "x", "--ring-size", "128K", "true"}, "between 262,144 and 1,073,741,824"},
      {{"-o", "x", "--include", "a\nb", "true"}, "--include"},
      {{"-o", "x", "--exclude", std::string(600, 'a'), "--exclude", std::string(423, 'b'), "true"},
       "--exclude: the patterns are longer than 1,023 bytes in all"},
  };
  for (auto [words, message] : cases) {
    words.insert(words.begin(), RECORDER);
    EXPECT_EQ(125, run(words)) << message;
    EXPECT_TRUE(said(message)) << message << "\n" << err();
  }
  EXPECT_EQ(0, run({RECORDER, "--version"}));
  EXPECT_EQ("luatrace-record 0.", out().substr(0, 18));
  EXPECT_EQ(0, run({RECORDER, "--help"}));
  EXPECT_NE(std::string::npos, out().find("--max-depth N"));
}

TEST_F(EndingTest, ACommandWithoutOurLuaJIT) {
  EXPECT_EQ(4, run(recorder({"-o", trace()}, {"/bin/sh", "-c", "exit 4"})));
  EXPECT_TRUE(said("no LuaJIT with tracepoints was seen")) << err();
  const auto f = file();
  EXPECT_TRUE(f.ended());
  EXPECT_EQ(0u, f.of_type(LT_BLOCK_EVENTS).size());
  EXPECT_EQ(4 << 8, f.blocks.back().as<lt_end_info>().exit_status);
}

TEST_F(EndingTest, NothingIsLeftBehind) {
  EXPECT_EQ(0, record({"ring=2", "events=10"}));
  EXPECT_EQ(1, record({"exit=1"}));
  EXPECT_EQ(127, run(recorder({"-o", trace()}, {path("nothing")})));
  for (const auto& e : std::filesystem::directory_iterator(dir_))
    EXPECT_FALSE(e.is_directory()) << e.path();
}

}  // namespace
