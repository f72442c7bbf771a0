// SPDX-License-Identifier: MIT
// Segments through BPF: a recorder that does not know them never gets one, whatever others want; a
// loss is one, and says that it stands for more; a killed program, a fork, an older LuaJIT.
#include "recorder/vm/target.h"
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

constexpr const char* kInSegments = " % of the events are in segments";

class Segments : public BpfTest {
 protected:
  static std::string file(const std::string& name) {
    return std::filesystem::path(name).filename().string();
  }
  void wait_for(const bpftest::Program& p, const std::string& text) {
    wait_until([&] { return p.output().find(text) != std::string::npos; });
  }
  // How many of its Lua VMs have memory for event words.
  static size_t rings(pid_t pid) {
    size_t n = 0;
    for (auto& image : luatrace::record::find_lua(pid).ours) {
      std::vector<luatrace::record::vm::State> states;
      luatrace::record::vm::Target(pid, std::move(image)).read_states(states);
      for (const auto& s : states) n += s.ring != 0;
    }
    return n;
  }
  uint64_t calls_of_f(const std::string& trace, const std::string& script) {
    return counts(trace)[file(script) + ":1"];
  }
  // Each phase calls f 30,000 times, prints that, and waits for a line.
  std::string phases() const {
    return write_script(
        "local function f(x) return x + 1 end\n"
        "for phase = 1, 3 do\n"
        "  for i = 1, 30000 do f(i) end\n"
        "  io.write('phase', phase, '\\n') io.flush() io.read()\n"
        "end\n");
  }
};

// -- Other recorders --

// One that wants each event comes, and goes again. Both get all events of their time; only the
// other one's has segments, before and after.
TEST_F(Segments, AnotherRecorderThatWantsEvents) {
  const std::string name = phases();
  auto p = start(host(name));
  auto a = attach({p->pid()}, "a", {"--times", "segments"});
  p->go();
  wait_for(*p, "phase1\n");
  auto b = attach({p->pid()}, "b", {"--times", "events"});
  p->go();
  wait_for(*p, "phase2\n");
  b->send(SIGINT);
  EXPECT_EQ(0, b->wait_ms(60000)) << messages("b");
  p->go();
  wait_for(*p, "phase3\n");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, a->wait_ms(60000)) << messages("a");
  EXPECT_EQ(90000u, calls_of_f("a", name)) << messages("a");
  EXPECT_EQ(30000u, calls_of_f("b", name)) << messages("b");
  EXPECT_TRUE(said("a", kInSegments)) << messages("a");
  EXPECT_FALSE(said("b", kInSegments)) << messages("b");
  EXPECT_EQ(0u, kinds("b")["segment"]);
  EXPECT_LT(kinds("a")["entry"], 40000u);
  EXPECT_GT(kinds("a")["entry"], 30000u);  // those of b's time
  for (const char* trace : {"a", "b"}) {
    EXPECT_EQ(0u, trust(trace, "anomalies")) << trace;
    EXPECT_EQ(0u, trust(trace, "lost")) << messages(trace);
  }
}

TEST_F(Segments, WhileAnotherRecorderWantsEvents) {
  const std::string name = phases();
  auto p = start(host(name));
  auto b = attach({p->pid()}, "b", {"--times", "events"});
  auto a = attach({p->pid()}, "a");
  for (const char* phase : {"phase1\n", "phase2\n", "phase3\n"}) p->go(), wait_for(*p, phase);
  p->go();
  EXPECT_EQ(0, p->wait());
  for (auto* r : {&a, &b}) EXPECT_EQ(0, (*r)->wait_ms(60000));
  EXPECT_EQ(90000u, calls_of_f("b", name)) << messages("b");
  EXPECT_EQ(calls("b"), calls("a"));
  EXPECT_EQ(0u, kinds("b")["segment"]);
  EXPECT_EQ(0u, kinds("a")["segment"]);
}

// The second one gets the descriptions of what is compiled for it.
TEST_F(Segments, TwoThatWantThem) {
  const std::string name = phases();
  auto p = start(host(name));
  auto a = attach({p->pid()}, "a");
  p->go();
  wait_for(*p, "phase1\n");
  auto b = attach({p->pid()}, "b", {"--times", "segments"});
  for (const char* phase : {"phase2\n", "phase3\n"}) p->go(), wait_for(*p, phase);
  p->go();
  EXPECT_EQ(0, p->wait());
  for (auto* r : {&a, &b}) EXPECT_EQ(0, (*r)->wait_ms(60000));
  EXPECT_EQ(90000u, calls_of_f("a", name)) << messages("a");
  EXPECT_EQ(60000u, calls_of_f("b", name)) << messages("b");
  for (const char* trace : {"a", "b"}) {
    EXPECT_TRUE(said(trace, kInSegments)) << messages(trace);
    EXPECT_LT(kinds(trace)["entry"], 1000u);
    EXPECT_EQ(0u, trust(trace, "anomalies")) << trace;
  }
}

// -- Losses --

// The recorder is stopped while compiled code runs: paths are torn, and descriptions missing.
TEST_F(Segments, ALossIsOne) {
  const std::string code =
      "local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end\n"
      "local function g(i) local s = 0 for k = 1, i % 7 do s = s + f(k) end return s end\n"
      "for i = 1, 400 do f(16 + i % 3) for k = 1, 3000 do g(k) end io.write('.') io.flush() end";
  auto p = start(host(write_script(code)));
  auto r = attach({p->pid()}, "some", {"--ring-size", "256K", "--times", "segments"});
  r->send(SIGSTOP);
  p->go();
  wait_until([&] { return p->output().find(std::string(100, '.')) != std::string::npos; });
  r->send(SIGCONT);
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("some");
  EXPECT_TRUE(said("some", "LOST: at least ")) << messages("some");
  EXPECT_TRUE(said("some", kInSegments)) << messages("some");
  EXPECT_EQ(trust("some", "lost"), trust("some", "anomalies")) << analyze("some", {"--json"});
}

// -- Processes --

// It sleeps in C, so compiled code has been left: everything is in its memory.
TEST_F(Segments, OfAKilledProgram) {
  const std::string name = phases();
  auto p = start(host(name));
  auto r = attach({p->pid()}, "a", {"--times", "segments"});
  p->go();
  wait_for(*p, "phase1\n");
  kill(p->pid(), SIGKILL);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_TRUE(calls_of_f("a", name) == 30000 || trust("a", "lost") > 0) << messages("a");
}

// Its guard lowers the semaphores. The program, which is in compiled code, goes on, at full speed:
// it releases its memory.
TEST_F(Segments, OfAKilledRecorder) {
  const std::string name = write_script(
      "local function f(x) return x + 1 end while true do for i = 1, 1e5 do f(i) end end");
  for (const char* link : {"multi", "each"}) {
    auto p = start(host(name));
    p->go();
    auto r = attach({p->pid()}, link, {"--times", "segments", "--bpf-link", link});
    EXPECT_EQ(1, p->semaphore());
    wait_until([&] { return std::filesystem::file_size(path(link)) > 4000; });
    r->send(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, r->wait_ms(60000));
    wait_until([&] { return p->semaphore() == 0; });
    wait_until([&] { return rings(p->pid()) == 0; });
    EXPECT_EQ(-1, p->wait(50));
  }
}

// -- What excludes them --

TEST_F(Segments, AnOlderLuaJIT) {
  std::filesystem::create_directory(path("lib"));
  std::string bytes = mini::slurp(LIBRARY);
  const size_t at = bytes.find("segments__switch");
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 8, "nothings");
  std::ofstream(path("lib") + "/libluajit-5.1.so.2") << bytes;
  const std::string directory = path("lib"), name = phases();
  auto p = start(host(name), [directory] { setenv("LD_LIBRARY_PATH", directory.c_str(), 1); });
  auto r = attach({p->pid()}, "a", {"--times", "segments"});
  for (const char* phase : {"phase1\n", "phase2\n", "phase3\n"}) p->go(), wait_for(*p, phase);
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_EQ(90000u, calls_of_f("a", name)) << messages("a");
  EXPECT_EQ(0u, kinds("a")["segment"]);
}

TEST_F(Segments, FiltersExcludeThem) {
  const Words filters[] = {{"--include", "*"}, {"--exclude", "x"}, {"--c-functions", "user"}};
  for (Words words : filters) {
    const std::string text = words[0];
    words.insert(words.end(), {"--times", "segments"});
    EXPECT_EQ(125, run(attach_words({getpid()}, path("a"), words))) << text;
    EXPECT_NE(err().find("--times segments and --via bpf with " + text), std::string::npos)
        << err();
  }
}

}  // namespace
