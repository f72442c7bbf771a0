// SPDX-License-Identifier: MIT
// Where the kernel does not trust the time stamp counter, the recorder makes the VMs use
// CLOCK_MONOTONIC for their blocks. In a mount namespace of its own it finds such a kernel.
#include <ctime>

#include "recorder/vm/force_poll.h"
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

class Clock : public BpfTest {
 protected:
  void SetUp() override {
    BpfTest::SetUp();
    if (IsSkipped()) return;
    std::ofstream(path("source")) << "hpet\n";
    prefix_ = {
        "/usr/bin/unshare",
        "-m",
        "/bin/sh",
        "-c",
        "mount --bind \"$0\" /sys/devices/system/clocksource/clocksource0/current_clocksource"
        " && exec \"$@\"",
        path("source")};
    Words w = prefix_;
    w.push_back("true");
    if (run(w) != 0) GTEST_SKIP() << "SKIPPED: cannot mount: " << err();
    begin_ns_ = now_ns();
  }
  static luatrace::record::vm::Target target(pid_t pid) {
    auto ours = luatrace::record::find_lua(pid).ours;
    return {pid, ours.empty() ? luatrace::record::LuaImage{} : ours.at(0)};
  }
  // What the recorder has written; -1: there is no LuaJIT.
  static int64_t wanted_clock(pid_t pid) {
    const auto t = target(pid);
    lt_control c;
    return t.image().control != 0 && t.memory().read(t.image().control, c) == 0 ? c.clock : -1;
  }
  // All words of the file have times of CLOCK_MONOTONIC between the test's begin and now.
  void expect_monotonic(const std::string& name) {
    const mini::File f = mini::read(path(name));
    EXPECT_EQ(uint32_t{LT_CLOCK_MONOTONIC}, f.header.clock);
    EXPECT_EQ(1u, f.header.tick_mult);
    const auto blocks = f.of_type(LT_BLOCK_EVENTS);
    EXPECT_GE(blocks.size(), 1u) << messages(name);
    for (const auto* b : blocks) {
      EXPECT_GE(b->head.base_tick, begin_ns_);
      EXPECT_LE(b->head.end_tick, now_ns());
    }
    EXPECT_EQ(0u, trust(name, "clock_anomalies"));
  }
  std::string library_with(uint32_t flags_less) {
    std::filesystem::create_directory(path("lib"));
    std::string bytes = mini::slurp(LIBRARY);
    const std::string note("luatrace\0\0\0\0", 12);
    const size_t at = bytes.find(note);
    EXPECT_NE(at, bytes.npos);
    bytes[at + note.size() + offsetof(lt_note, flags)] &= static_cast<char>(~flags_less);
    std::ofstream(path("lib") + "/libluajit-5.1.so.2") << bytes;
    return path("lib");
  }

  uint64_t begin_ns_ = 0;
};

struct EachProgram : Clock, testing::WithParamInterface<std::tuple<const char*, const char*>> {};

// The same events as with the usual clock, from interpreted and from compiled code.
TEST_P(EachProgram, TheSameEvents) {
  const auto [program, jit] = GetParam();
  const Words words = host(script(program), {"-j", jit});
  record(words, "monotonic");
  const std::string output = output_;
  prefix_.clear();
  record(words, "usual");
  EXPECT_EQ(output, output_);
  const std::string usual = calls("usual");
  EXPECT_GT(usual.size(), 10000u);
  EXPECT_TRUE(usual == calls("monotonic"));
  EXPECT_EQ(0u, trust("monotonic", "anomalies"));
  expect_monotonic("monotonic");
}

INSTANTIATE_TEST_SUITE_P(All, EachProgram,
                         testing::Combine(testing::Values("calls", "coroutines", "errors",
                                                          "cfunctions"),
                                          testing::Values("on", "off")));

TEST_F(Clock, OfACommandAndItsForkedChildren) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int fork(void); int waitpid(int, void*, int);') "
      "local function f() end for i = 1, 1000 do f() end local child = ffi.C.fork() "
      "for i = 1, 1000 do f() end if child == 0 then os.exit(0) end ffi.C.waitpid(child, nil, 0)";
  const std::string name = write_script(code);
  Words w = prefix_;
  w.insert(w.end(), {RECORDER, "-v", "--via", "bpf", "-o", path("a"), "--", LUAJIT, name});
  EXPECT_EQ(0, run(w)) << err();
  EXPECT_EQ(3000u, counts("a")[std::filesystem::path(name).filename().string() + ":1"]) << err();
  EXPECT_EQ(0u, trust("a", "anomalies"));
  expect_monotonic("a");
}

// The setting is there until the last recorder of blocks has ended.
TEST_F(Clock, IsRestoredByTheLastRecorder) {
  auto p = start(host(script("calls")));
  EXPECT_EQ(0, wanted_clock(p->pid()));
  auto a = attach({p->pid()}, "a"), b = attach({p->pid()}, "b");
  EXPECT_EQ(LT_CLOCK_MONOTONIC, wanted_clock(p->pid()));
  a->send(SIGINT);
  EXPECT_EQ(124, a->wait_ms(60000)) << "no event came";
  EXPECT_EQ(LT_CLOCK_MONOTONIC, wanted_clock(p->pid()));
  b->send(SIGINT);
  EXPECT_EQ(124, b->wait_ms(60000));
  EXPECT_EQ(0, wanted_clock(p->pid()));
}

// It has the usual clock at first: the recorder sets it before its Lua runs.
TEST_F(Clock, OfAProgramThatIsExecuted) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int execl(const char*, const char*, ...);') "
      "ffi.C.execl('" HOST "', '" HOST "', '" +
      script("calls") + "', ffi.cast('char*', nil))";
  auto p = start(host(write_script(code)));
  auto r = attach({p->pid()}, "a");
  p->go();
  wait_until([&] { return p->output().find("ready\nready\n") != std::string::npos; });
  wait_until([&] { return wanted_clock(p->pid()) == LT_CLOCK_MONOTONIC; });
  p->go();
  EXPECT_EQ(0, p->wait()) << p->output();
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]) << messages("a");
  EXPECT_EQ(0u, trust("a", "lost")) << messages("a");
  expect_monotonic("a");
}

// A VM that flushes blocks with another clock than the file's: they are counted, not written, and
// it is asked to begin again.
TEST_F(Clock, OfAnotherKindIsLost) {
  const std::string code =
      "local function f(x) return {x} end "
      "for n = 1, 1e9 do for i = 1, 200 do f(i) end "
      "if n % 100 == 0 then io.write('.') io.flush() end end";
  auto p = start(host(write_script(code)));
  auto r = attach({p->pid()}, "a");
  p->go();
  wait_until([&] { return said("a", "first event"); });
  const auto t = target(p->pid());
  const uint32_t usual = 0;
  ASSERT_EQ(0, t.memory().write(t.image().control + offsetof(lt_control, clock), usual));
  std::vector<luatrace::record::vm::State> states;
  ASSERT_TRUE(t.read_states(states));
  ASSERT_TRUE(luatrace::record::vm::request_report(t, states));
  wait_until([&] { return wanted_clock(p->pid()) == LT_CLOCK_MONOTONIC; });
  wait_until([&, was = p->output().size()] { return p->output().size() > was + 20; });
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_GT(trust("a", "lost"), 0u);
  EXPECT_EQ(2u, mini::read(path("a")).of_type(LT_BLOCK_STREAM).size());
  expect_monotonic("a");
  EXPECT_EQ(0, wanted_clock(p->pid()));
}

// -- Refusals --

TEST_F(Clock, ALuaJitThatHasOnlyOne) {
  const std::string directory = library_with(LTN_CLOCK);
  auto p = start(host(script("calls")),
                 [directory] { setenv("LD_LIBRARY_PATH", directory.c_str(), 1); });
  EXPECT_EQ(125, run(attach_words({p->pid()}, path("a")))) << err();
  EXPECT_NE(err().find("time stamp counter"), std::string::npos) << err();
  EXPECT_NE(err().find("probes/lua-calls.bt"), std::string::npos) << err();
  EXPECT_EQ(0, p->semaphore());
}

TEST_F(Clock, ARecorderThatMayNotWrite) {
  auto p = start(host(script("calls")));
  bpftest::Program r(attach_words({p->pid()}, path("a")), path("out"), [this] {
    dup2(open(path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    bpftest::forbid_debugging();
  });
  EXPECT_EQ(121, r.wait()) << err();
  EXPECT_NE(err().find("time stamp counter"), std::string::npos) << err();
  EXPECT_EQ(0, p->semaphore());
}

}  // namespace
