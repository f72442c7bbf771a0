// SPDX-License-Identifier: MIT
// luatrace-record --via bpf -- COMMAND: the recorder attaches to each process of the command before
// it runs any Lua, however it was created; and --via auto: which method is chosen, and the message
// about it.
#include <cstddef>

#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

class Command : public BpfTest {
 protected:
  int record_command(const std::string& name, const Words& options, const Words& command) {
    Words w = {RECORDER, "-v", "-o", path(name)};
    w.insert(w.end(), options.begin(), options.end());
    w.push_back("--");
    w.insert(w.end(), command.begin(), command.end());
    return run(w);
  }
};

TEST_F(Command, TheSameAsDirect) {
  for (const char* program : {"coroutines", "errors", "chunks"}) {
    for (const char* jit : {"-jon", "-joff"})
      for (const char* via : {"direct", "bpf"})
        EXPECT_EQ(0, record_command(via, {"--via", via}, {LUAJIT, jit, script(program)})) << err();
    EXPECT_EQ(calls("direct"), calls("bpf")) << program;
    EXPECT_EQ(0u, trust("bpf", "anomalies"));
  }
}

// The mappings are read before the program, which is short, has ended: C functions that differ only
// in their addresses have the names that the program's symbols give them.
TEST_F(Command, NamesOfCFunctions) {
  for (int i = 0; i < 10; i++) {
    ASSERT_EQ(0, record_command("bpf", {"--via", "bpf"}, host(script("cfunctions"), {"-j", "off"})))
        << err();
    EXPECT_EQ(std::string::npos, calls("bpf").find("C:0x"));
  }
}

TEST_F(Command, ItsStatusIsOurs) {
  EXPECT_EQ(7, record_command("bpf", {"--via", "bpf"}, {LUAJIT, "-e", "os.exit(7)"})) << err();
  EXPECT_EQ(127, record_command("bpf", {"--via", "bpf"}, {"/nowhere/luajit"})) << err();
  EXPECT_EQ(0, record_command("bpf", {"--via", "bpf"}, {"/bin/true"}));
  EXPECT_NE(err().find("no LuaJIT"), std::string::npos) << err();
  EXPECT_EQ(125, record_command("bpf", {"--via", "bpf", "--block"}, {"/bin/true"}));
  EXPECT_NE(err().find("--block"), std::string::npos) << err();
}

// It was stopped for a moment to switch the recording on, and did not survive that.
TEST_F(Command, ItsStatusIsOursIfItIsKilledWhileItIsStopped) {
  for (int i = 0; i < 5 && !HasFailure(); i++)
    EXPECT_EQ(128 + SIGKILL,
              record_command("bpf", {"--via", "bpf"}, host(script("calls"), {"-s", "-t", "2"})))
        << err();
}

// A shell that runs two programs, one after the other.
TEST_F(Command, ProcessesOfAShell) {
  const std::string one = write_script("local function f() end for i = 1, 100 do f() end");
  const std::string line = std::string(LUAJIT) + " " + one + "; " + LUAJIT + " " + one + "; exit 3";
  EXPECT_EQ(3, record_command("bpf", {"--via", "bpf"}, {"/bin/sh", "-c", line})) << err();
  EXPECT_EQ(200u, counts("bpf")[std::filesystem::path(one).filename().string() + ":1"]) << err();
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
}

// Children that go on running Lua, of children: their stacks are there from the beginning.
TEST_F(Command, ForkedChildren) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int fork(void); int waitpid(int, void*, int);') "
      "local function f() end "
      "local function grow(n) "
      "  for i = 1, 50 do f() end "
      "  if n == 0 then return end "
      "  local child = ffi.C.fork() "
      "  if child == 0 then grow(n - 1) os.exit(0) end "
      "  ffi.C.waitpid(child, nil, 0) for i = 1, 50 do f() end "
      "end grow(3)";
  const std::string name = write_script(code);
  ASSERT_EQ(0, record_command("bpf", {"--via", "bpf"}, {LUAJIT, name})) << err();
  // In each process but the last child: before and after.
  const uint64_t n = counts("bpf")[std::filesystem::path(name).filename().string() + ":1"];
  EXPECT_EQ(350u + 4u /* grow itself */, n) << calls("bpf");
  EXPECT_EQ(4u, mini::read(path("bpf")).of_type(LT_BLOCK_PROCESS).size());
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
}

// A child reports the stack that it was created with once, not at every poll.
TEST_F(Command, AForkedChildReportsItsStackOnce) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int fork(void); int waitpid(int, void*, int);') "
      "local function f() end local function burst(n) for i = 1, n do f() end end burst(1000) "
      "local child = FORK and ffi.C.fork() or 0 "
      "if child == 0 then for k = 1, 20 do burst(5000) end os.exit(0) end "
      "ffi.C.waitpid(child, nil, 0)";
  uintmax_t sizes[2];
  for (const bool forks : {false, true}) {
    const std::string name =
        write_script(std::string("local FORK = ") + (forks ? "true " : "false ") + code);
    ASSERT_EQ(0, record_command("bpf", {"--via", "bpf", "--times", "events"}, {LUAJIT, name}))
        << err();
    sizes[forks] = std::filesystem::file_size(path("bpf"));
  }
  EXPECT_LT(sizes[1], sizes[0] + sizes[0] / 2);
}

// -- Which method --

class Auto : public Command {};

TEST_F(Auto, DirectWhereItCan) {
  auto p = start(host(script("calls")));
  auto r = attach({p->pid()}, "a", {"--via", "auto"});
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  EXPECT_NE(messages("a").find("--via auto: direct"), std::string::npos) << messages("a");
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]);
}

// The recorder may not read the memory of other processes, as in a container.
TEST_F(Auto, BpfWhereDebuggersAreForbidden) {
  auto p = start(host(script("calls")));
  const Words w = attach_words({p->pid()}, path("a"), {"--via", "auto"});
  const pid_t recorder = fork();
  if (recorder == 0) {
    bpftest::forbid_debugging();
    const int e = open(path("a.err").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(e, 2);
    std::vector<char*> argv;
    for (const auto& x : w) argv.push_back(const_cast<char*>(x.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(98);
  }
  wait_until([&] { return messages("a").find("is being recorded") != std::string::npos; });
  p->go();
  EXPECT_EQ(0, p->wait());
  int status = 0;
  bool ended = false;
  wait_until([&] { return ended = ended || waitpid(recorder, &status, WNOHANG) == recorder; });
  EXPECT_EQ(0, status) << messages("a");
  EXPECT_NE(messages("a").find("recording directly is not possible"), std::string::npos)
      << messages("a");
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]);
}

// A library whose control structure this recorder does not know: its probes still work.
TEST_F(Auto, BpfWhereTheControlStructureIsAnother) {
  std::filesystem::create_directory(path("lib"));
  const std::string library = path("lib") + "/libluajit-5.1.so.2";
  std::string bytes = mini::slurp(LIBRARY);
  const std::string name("luatrace\0\0\0\0", 12);
  const size_t note = bytes.find(name);
  ASSERT_NE(note, bytes.npos);
  bytes[note + name.size() + offsetof(lt_note, control_version)] = 77;
  std::ofstream(library) << bytes;
  const std::string directory = path("lib");
  auto p = start(host(script("calls")),
                 [directory] { setenv("LD_LIBRARY_PATH", directory.c_str(), 1); });
  EXPECT_EQ(122, run(attach_words({p->pid()}, path("d"), {"--via", "direct"}))) << err();
  auto r = attach({p->pid()}, "a", {"--via", "auto"});
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("a");
  EXPECT_NE(messages("a").find("version 77"), std::string::npos) << messages("a");
  EXPECT_EQ(4001u, counts("a")["calls.lua:3"]);
}

}  // namespace
