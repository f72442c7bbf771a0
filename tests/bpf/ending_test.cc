// SPDX-License-Identifier: MIT
// However the recorder or the program ends, the program is left unchanged; where permission or
// support is missing, a message says which.

#include "recorder/os/process.h"
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Process;
using runs::Words;

class Ending : public BpfTest {
 protected:
  // A program that works until it is killed, not so fast that a recorder that has to wait for a
  // processor must lose something.
  std::unique_ptr<bpftest::Program> busy() {
    const std::string code =
        "local ffi = require('ffi') ffi.cdef('int usleep(unsigned);') "
        "local function f(x) return {x} end "
        "while true do for i = 1, 200 do f(i) end ffi.C.usleep(1000) end";
    auto p = start(host(write_script(code)));
    p->go();
    return p;
  }
  // Also of compiled code.
  uint64_t all_calls(const std::string& name) {
    uint64_t sum = 0;
    for (const auto& [function, n] : counts(name)) sum += n;
    return sum;
  }
  // The recorder without some capabilities, or with only some.
  Words without(const std::string& change, const Words& words) const {
    Words w = {"/usr/bin/setpriv", "--bounding-set", change, "--inh-caps", change};
    w.insert(w.end(), words.begin(), words.end());
    return w;
  }
};

TEST_F(Ending, InOrder) {
  auto p = busy();
  auto r = attach({p->pid()}, "bpf", {"-d", "2"});
  EXPECT_EQ(1, p->semaphore());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  EXPECT_EQ(0, p->semaphore());
  EXPECT_GT(all_calls("bpf"), 100u);
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
}

TEST_F(Ending, BySignal) {
  auto p = busy();
  auto r = attach({p->pid()}, "bpf");
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  EXPECT_EQ(0, p->semaphore());
  EXPECT_TRUE(mini::read(path("bpf")).ended());
}

TEST_F(Ending, ByKill9) {
  for (const char* link : {"multi", "each"}) {
    auto p = busy();
    auto r = attach({p->pid()}, link, {"--bpf-link", link, "--times", "events"});
    EXPECT_EQ(1, p->semaphore());
    wait_until([&] { return std::filesystem::file_size(path(link)) > 20000; });
    r->send(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, r->wait_ms(60000));
    wait_until([&] { return p->semaphore() == 0; });
    EXPECT_GT(kinds(link)["entry"], 100u);  // what was written by then is there
    EXPECT_EQ(1u, trust(link, "cut"));
    EXPECT_EQ(-1, p->wait(50));  // it continues
  }
}

// The helper that holds the probes; 0: none.
pid_t guard_of(pid_t recorder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (std::atoi(entry.path().filename().c_str()) == 0) continue;
    const std::string stat = mini::slurp(entry.path().string() + "/stat");
    if (stat.find("(luatrace-guard) ") == std::string::npos) continue;
    if (std::atoi(stat.c_str() + stat.rfind(')') + 4) == recorder) return std::atoi(stat.c_str());
  }
  return 0;
}

// Nothing is recorded without the guard, so the recording ends, with the status of a failure. The
// program ran on before the recorder could notice it: the VM has ended its stream itself, or lost
// some.
TEST_F(Ending, AKilledGuardEndsTheRecording) {
  const std::string fast =
      "local function f(x) return {x} end "
      "while true do for i = 1, 1e5 do f(i) end io.write('.') io.flush() end";
  auto p = start(host(write_script(fast)));
  p->go();
  auto r = attach({p->pid()}, "a");
  wait_until([&] { return said("a", "first event"); });
  const pid_t guard = guard_of(r->pid());
  ASSERT_GT(guard, 0);
  r->send(SIGSTOP);
  kill(guard, SIGKILL);
  wait_until([&] { return luatrace::record::process_is_gone(guard); });
  wait_until([&, was = p->output().size()] { return p->output().size() > was + 3; });
  r->send(SIGCONT);
  EXPECT_EQ(125, r->wait_ms(60000)) << messages("a");
  EXPECT_TRUE(said("a", "luatrace-guard, which holds the probes, was killed")) << messages("a");
  const mini::File trace = mini::read(path("a"));
  ASSERT_TRUE(trace.ended());
  EXPECT_EQ(uint32_t{LTQ_ERROR}, trace.blocks.back().as<lt_end_info>().reason);
  EXPECT_EQ(1u, kinds("a")["stop"]);
  EXPECT_EQ(trust("a", "lost"), trust("a", "anomalies"));
  EXPECT_EQ(-1, p->wait(50)) << "the program has ended";
}

// The command continues; the status shows that it was not recorded to its end.
TEST_F(Ending, AKilledGuardEndsTheRecordingOfACommand) {
  const std::string stop = path("stop");
  const std::string code =
      "local function f(x) return {x} end "
      "repeat for i = 1, 1000 do f(i) end until io.open('" +
      stop + "')";
  runs::Process r({RECORDER, "-v", "--via", "bpf", "-o", path("bpf"), "--", LUAJIT, "-e", code},
                  path("bpf.out"), path("bpf.err"));
  wait_until([&] { return said("bpf", "first event"); });
  const pid_t guard = guard_of(r.pid());
  ASSERT_GT(guard, 0);
  kill(guard, SIGKILL);
  wait_until([&] { return said("bpf", "continues without being recorded") || r.wait_ms(1) >= 0; });
  EXPECT_TRUE(said("bpf", "luatrace-guard")) << messages("bpf");
  std::ofstream(stop) << "";
  EXPECT_EQ(125, r.wait_ms(60000)) << messages("bpf");
}

// Requests to it wait until it is continued, and each gets its own answer.
TEST_F(Ending, AGuardThatIsStoppedIsContinued) {
  auto p = busy(), other = busy();
  auto r = attach({p->pid(), other->pid()}, "bpf");
  const pid_t guard = guard_of(r->pid());
  ASSERT_GT(guard, 0);
  kill(guard, SIGSTOP);
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  EXPECT_EQ(0, p->semaphore());
  EXPECT_EQ(0, other->semaphore());
}

// The kernel counts a site once, however many tracers it has; recorders of blocks mostly use
// different sites.
TEST_F(Ending, TwoRecordersAtOnce) {
  auto p = start(host(script("calls")));
  auto a = attach({p->pid()}, "a"), b = attach({p->pid()}, "b");
  EXPECT_GE(p->semaphore(), 1);
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, a->wait_ms(60000));
  EXPECT_EQ(0, b->wait_ms(60000));
  EXPECT_EQ(calls("a"), calls("b"));
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]);
  EXPECT_EQ(0u, trust("a", "anomalies"));
}

TEST_F(Ending, OneOfTwoRecordersIsKilled) {
  auto p = busy();
  auto a = attach({p->pid()}, "a"), b = attach({p->pid()}, "b");
  a->send(SIGKILL);
  a->wait_ms(60000);
  wait_until([&] { return p->semaphore() == 1; });
  b->send(SIGINT);
  EXPECT_EQ(0, b->wait_ms(60000));
  EXPECT_EQ(0, p->semaphore());
}

// Again and again, while it works: each time everything is there and nothing is left.
TEST_F(Ending, ManyTimes) {
  auto p = busy();
  for (int i = 0; i < 12; i++) {
    const std::string name = "t" + std::to_string(i);
    auto r = attach({p->pid()}, name);
    ASSERT_EQ(0, record_some(*r, name)) << messages(name);
    ASSERT_EQ(0, p->semaphore());
    ASSERT_EQ(0u, trust(name, "anomalies")) << i << analyze(name, {});
    ASSERT_GT(kinds(name)["entry"], 10u);
  }
  EXPECT_EQ(-1, p->wait(1));
}

// A child that was forked during the recording inherits the raised semaphore, but has no tracer.
TEST_F(Ending, AForkedChildIsLeftClean) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int fork(void); int getpid(void); int sleep(int);') "
      "local function f(x) return {x} end for i = 1, 1000 do f(i) end "
      "local child = ffi.C.fork() if child == 0 then while true do f(1) end end "
      "io.write('child ', child, '\\n') io.flush() while true do f(2) end";
  auto p = start(host(write_script(code)));
  auto r = attach({p->pid()}, "bpf");
  p->go();
  wait_until([&] { return p->output().find("child ") != std::string::npos; });
  wait_until([&] { return p->output().back() == '\n'; });
  const std::string said = p->output();
  const pid_t child = std::atoi(said.c_str() + said.find("child ") + 6);
  ASSERT_GT(child, 0) << said;
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  EXPECT_EQ(0, p->semaphore());
  EXPECT_EQ(0, bpftest::Program::semaphore_of(child));
  kill(child, SIGKILL);
}

// A program that depends on the memory below its stack pointer; see tests/canary.
TEST_F(Ending, TheCanarySurvives) {
  for (const char* jit : {"on", "off"}) {
    auto plain = start(host(CANARY, {"-j", jit}));
    plain->go();
    ASSERT_EQ(0, plain->wait());
    record(host(CANARY, {"-j", jit}), "bpf", {"--ring-size", "256M", "--times", "events"});
    EXPECT_EQ(plain->output(), output_) << jit;
    const auto [came, lost] = events("bpf");
    EXPECT_GE(came + lost, 2u * 1000001);
    record(host(CANARY, {"-j", jit}), "segments", {"--ring-size", "256M", "--times", "segments"});
    EXPECT_EQ(plain->output(), output_) << jit;
    EXPECT_GE(all_calls("segments") + trust("segments", "lost"), 1000001u);
  }
}

TEST_F(Ending, AForkedChildLives) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int fork(void); int waitpid(int, int*, int);') "
      "local function f(x) return {x} end for i = 1, 1000 do f(i) end "
      "local child = ffi.C.fork() for i = 1, 1000 do f(i) end if child == 0 then os.exit(0) end "
      "local status = ffi.new('int[1]') ffi.C.waitpid(child, status, 0) "
      "io.write('status ', status[0], '\\n')";
  record(host(write_script(code)), "bpf");
  EXPECT_NE(output_.find("status 0\n"), std::string::npos) << output_;
}

// A seccomp filter of the process does not see what the kernel does at a site.
TEST_F(Ending, UnderSeccomp) {
  record(host(script("calls"), {"-k"}), "bpf");
  EXPECT_EQ(4001u, counts("bpf")["calls.lua:3"]);
}

// -- Refusals --

TEST_F(Ending, WithoutTheCapability) {
  auto p = start(host(script("calls")));
  for (const char* left : {"-all", "-all,+sys_ptrace,+dac_override", "-all,+bpf,+sys_ptrace"}) {
    Process r(without(left, attach_words({p->pid()}, path("a"))), path("out"), path("err"));
    EXPECT_EQ(121, r.wait_ms(60000)) << left << ": " << err();
    EXPECT_NE(err().find("CAP_SYS_ADMIN is missing"), std::string::npos) << left << ": " << err();
  }
  EXPECT_EQ(0, p->semaphore());
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

// Without CAP_SYS_ADMIN it may work or not, kernel and way of attaching decide: if it attaches, the
// events come.
TEST_F(Ending, NeverSilently) {
  for (const char* link : {"multi", "each"}) {
    auto p = start(host(script("calls")));
    std::filesystem::remove(path("err"));
    const auto words = attach_words({p->pid()}, path(link), {"--bpf-link", link});
    Process r(without("-all,+bpf,+perfmon,+sys_ptrace,+dac_override", words), path("out"),
              path("err"));
    int status = -1;
    wait_until([&] {
      if (status < 0) status = r.wait_ms(1);
      return err().find("is being recorded") != std::string::npos || status >= 0;
    });
    p->go();
    EXPECT_EQ(0, p->wait());
    if (status < 0) status = r.wait_ms(60000);
    if (status == 0) {
      EXPECT_EQ(4001u, counts(link)["calls.lua:3"]) << err();
    } else {
      EXPECT_EQ(121, status) << err();
      EXPECT_NE(err().find("CAP_SYS_ADMIN is missing"), std::string::npos) << err();
    }
  }
}

TEST_F(Ending, NothingToRecord) {
  EXPECT_EQ(120, run(attach_words({999999}, path("a"))));
  Process sleeper({"/bin/sleep", "60"}, path("s.out"), path("s.err"));
  EXPECT_EQ(122, run(attach_words({sleeper.pid()}, path("a"))));
  EXPECT_NE(err().find("LuaJIT"), std::string::npos) << err();
  sleeper.send(SIGKILL);
  EXPECT_EQ(125, run(attach_words({getpid()}, path("a"), {"--bpf-link", "small"})));
  EXPECT_NE(err().find("multi"), std::string::npos) << err();
  EXPECT_EQ(125, run(attach_words({getpid()}, path("a"), {"--block"})));
  EXPECT_NE(err().find("--via direct"), std::string::npos) << err();
}

// It is attached to, but makes no event: the message and the status say so.
TEST_F(Ending, NoEventCame) {
  auto p = start(host(script("calls")));
  EXPECT_EQ(124, run(attach_words({p->pid()}, path("a"), {"-d", "0.2"})));
  EXPECT_NE(err().find("no event came"), std::string::npos) << err();
}

TEST_F(Ending, AFullFile) {
  auto p = busy();
  auto r = attach({p->pid()}, "bpf", {"--max-size", "1M", "--times", "events"});
  runs::sleep_ms(10);
  wait_until([&] { return messages("bpf").find("--max-size") != std::string::npos; });
  r->send(SIGINT);
  EXPECT_EQ(0, r->wait_ms(60000));
  const auto f = mini::read(path("bpf"));
  EXPECT_TRUE(f.ended());
  EXPECT_LE(std::filesystem::file_size(path("bpf")), 1u << 20);
}

}  // namespace
