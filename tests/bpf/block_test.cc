// SPDX-License-Identifier: MIT
// Blocks of events: the rest in the program's memory is fetched however the
// program or the recorder ends; a late tracer gets everything reported again; recording in blocks
// and directly exclude each other.
#include <sys/utsname.h>

#include "recorder/vm/target.h"
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

class Block : public BpfTest {
 protected:
  static std::string file(const std::string& name) {
    return std::filesystem::path(name).filename().string();
  }
  void wait_for(const bpftest::Program& p, const std::string& text) {
    wait_until([&] { return p.output().find(text) != std::string::npos; });
  }
  static bool kernel_at_least(int major, int minor) {
    utsname u{};
    int a = 0, b = 0;
    uname(&u);
    return std::sscanf(u.release, "%d.%d", &a, &b) == 2 &&
           (a > major || (a == major && b >= minor));
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
  // Calls f 1000 times, prints that, and sleeps until it gets a line; then once more.
  std::string sleeper() const {
    return write_script(
        "local function f(x) return x end for i = 1, 1000 do f(i) end "
        "io.write('half\\n') io.flush() io.read() "
        "for i = 1, 500 do f(i) end io.write('whole\\n') io.flush() io.read()");
  }
};

// -- The rest in the program's memory --

TEST_F(Block, OfASleepingProgramAtTheEnd) {
  const std::string name = sleeper();
  auto p = start(host(name));
  auto r = attach({p->pid()}, "a");
  p->go();
  wait_for(*p, "half\n");
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_EQ(1000u, counts("a")[file(name) + ":1"]) << messages("a");
  EXPECT_EQ(0u, trust("a", "lost"));
  EXPECT_EQ(0u, trust("a", "anomalies"));
  EXPECT_EQ(0, p->semaphore());
  p->go();  // it notices, and gives its memory back
  wait_for(*p, "whole\n");
  EXPECT_EQ(0u, rings(p->pid()));
}

TEST_F(Block, OfASleepingProgramMeanwhile) {
  const std::string name = sleeper();
  auto p = start(host(name));
  auto r = attach({p->pid()}, "a");
  p->go();
  wait_until([&] { return counts("a")[file(name) + ":1"] == 1000; });
  p->go();
  wait_for(*p, "whole\n");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_EQ(1500u, counts("a")[file(name) + ":1"]) << messages("a");
  EXPECT_EQ(0u, trust("a", "anomalies"));
}

// Linux 6.16 reports the end of a process while its memory exists; otherwise the loss is reported.
TEST_F(Block, OfAKilledProgram) {
  const std::string name = sleeper();
  auto p = start(host(name));
  auto r = attach({p->pid()}, "a");
  p->go();
  wait_for(*p, "half\n");
  kill(p->pid(), SIGKILL);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  if (kernel_at_least(6, 16)) {
    EXPECT_EQ(1000u, counts("a")[file(name) + ":1"]) << messages("a");
    EXPECT_EQ(0u, trust("a", "lost"));
  } else {
    EXPECT_TRUE(counts("a")[file(name) + ":1"] == 1000 || trust("a", "lost") > 0);
  }
}

TEST_F(Block, OfAProgramThatExits) {
  const std::string name = write_script(
      "io.write('ready\\n') io.flush() io.read() "
      "for i = 1, 300000 do local t = {i} end\n"  // notices the tracer
      "local function f() end for i = 1, 1000 do f() end os.exit(0)");
  record({LUAJIT, name}, "a");
  EXPECT_EQ(1000u, counts("a")[file(name) + ":2"]) << messages("a");
  EXPECT_EQ(0u, trust("a", "anomalies")) << messages("a");
}

// -- Others --

// Calls are open, in Lua, in C and in a coroutine, when the second recorder comes.
TEST_F(Block, ALateRecorderGetsReports) {
  const std::string name = write_script(
      "local function f(x) return x end\n"
      "local function phase(n) for i = 1, n do f(i) end end\n"
      "local function middle()\n"
      "  phase(100) io.write('half\\n') io.flush() io.read() phase(50)\n"
      "end\n"
      "local function body() calls_back(middle) coroutine.yield() phase(5) end\n"
      "local function outer() local co = coroutine.wrap(body) co() phase(7) co() end\n"
      "outer() phase(3)\n");
  auto p = start(host(name));
  auto a = attach({p->pid()}, "a");
  p->go();
  wait_for(*p, "half\n");
  auto b = attach({p->pid()}, "b");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, a->wait_ms(60000)) << messages("a");
  EXPECT_EQ(0, b->wait_ms(60000)) << messages("b");
  EXPECT_EQ(165u, counts("a")[file(name) + ":1"]) << messages("a");
  EXPECT_EQ(65u, counts("b")[file(name) + ":1"]) << messages("b") << calls("b");
  for (const char* t : {"a", "b"}) {
    EXPECT_EQ(0u, trust(t, "anomalies")) << t << "\n" << calls(t);
    EXPECT_EQ(0u, trust(t, "undescribed")) << t;
  }
  // main, outer, body, calls_back, middle, io.read
  EXPECT_EQ(6u, trust("b", "open_start")) << calls("b");
}

TEST_F(Block, DirectIsRefused) {
  auto p = start(host(script("calls")));
  auto a = attach({p->pid()}, "a");
  EXPECT_EQ(123, run(attach_words({p->pid()}, path("d"), {"--via", "direct"}))) << err();
  EXPECT_NE(err().find("in blocks"), std::string::npos) << err();
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, a->wait_ms(60000));
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]);
}

TEST_F(Block, IsRefusedDuringADirectRecording) {
  auto p = start(host(script("calls")));
  auto d = attach({p->pid()}, "d", {"--via", "direct"});
  for (const char* via : {"bpf", "auto"}) {
    EXPECT_EQ(123, run(attach_words({p->pid()}, path("b"), {"--via", via}))) << err();
    EXPECT_NE(err().find("is being recorded"), std::string::npos) << err();
  }
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, d->wait_ms(60000));
  EXPECT_EQ(4001u, counts("d")["calls.lua:3"]) << messages("d");
  EXPECT_EQ(0u, trust("d", "anomalies"));
}

// A LuaJIT that has only the probes of single events.
TEST_F(Block, ALibraryWithoutIt) {
  std::filesystem::create_directory(path("lib"));
  std::string bytes = mini::slurp(LIBRARY);
  const size_t at = bytes.find("block__switch");
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 5, "older");
  std::ofstream(path("lib") + "/libluajit-5.1.so.2") << bytes;
  const std::string directory = path("lib");
  auto p = start(host(script("calls")),
                 [directory] { setenv("LD_LIBRARY_PATH", directory.c_str(), 1); });
  EXPECT_EQ(122, run(attach_words({p->pid()}, path("b")))) << err();
  EXPECT_NE(err().find("newer luajit-usdt"), std::string::npos) << err();
  EXPECT_NE(err().find("probes/lua-calls.bt"), std::string::npos) << err();
  EXPECT_EQ(0, p->semaphore());
}

}  // namespace
