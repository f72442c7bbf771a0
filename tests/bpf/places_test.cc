// SPDX-License-Identifier: MIT
// Wherever the LuaJIT is: stripped, deleted, in a mount namespace of its own, static; several
// processes, several threads, VMs that open and close; a program that executes another one.
#include <sched.h>

#include <filesystem>

#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using bpftest::Program;
using runs::Words;

class Places : public BpfTest {
 protected:
  // A stripped copy of the library, under its soname.
  std::string stripped_library() {
    std::filesystem::create_directory(path("lib"));
    const std::string to = path("lib") + "/libluajit-5.1.so.2";
    EXPECT_EQ(0, run({"/usr/bin/env", "strip", "-o", to, LIBRARY})) << err();
    return to;
  }
  static std::function<void()> with_library(const std::string& directory) {
    return [directory] { setenv("LD_LIBRARY_PATH", directory.c_str(), 1); };
  }
  void expect_calls(const std::string& name, uint64_t runs = 1) {
    const auto n = counts(name);
    EXPECT_EQ(runs * 4001u, n.contains("calls.lua:3") ? n.at("calls.lua:3") : 0) << messages(name);
    EXPECT_EQ(0u, trust(name, "anomalies"));
  }
};

TEST_F(Places, AStrippedLibrary) {
  const std::string library = stripped_library();
  auto p = start(host(script("calls")), with_library(path("lib")));
  auto r = attach({p->pid()}, "bpf");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  EXPECT_NE(messages("bpf").find("attached through BPF"), std::string::npos);
  expect_calls("bpf");
}

TEST_F(Places, ADeletedLibrary) {
  const std::string library = stripped_library();
  auto p = start(host(script("calls")), with_library(path("lib")));
  std::filesystem::remove(library);
  auto r = attach({p->pid()}, "bpf");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  expect_calls("bpf");
}

// The library is in a file system that only the process sees.
TEST_F(Places, AMountNamespaceOfItsOwn) {
  stripped_library();
  const std::string from = path("lib"), to = path("hidden");
  std::filesystem::create_directory(to);
  const auto hide = [&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", to.c_str(), "tmpfs", 0, nullptr) != 0)
      _exit(77);
    std::filesystem::copy(from + "/libluajit-5.1.so.2", to + "/libluajit-5.1.so.2");
    setenv("LD_LIBRARY_PATH", to.c_str(), 1);
  };
  auto p = start(host(script("calls")), hide);
  std::filesystem::remove_all(from);
  auto r = attach({p->pid()}, "bpf");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  expect_calls("bpf");
}

TEST_F(Places, AStaticProgram) {
  // The VM notices the tracer in a step of the collector: that is what the first loop is for.
  const std::string code =
      "io.write('ready\\n') io.flush() io.read() "
      "for i = 1, 300000 do local t = {i} end "
      "local function f() end for i = 1, 1000 do f() end";
  const std::string name = write_script(code);
  record({LUAJIT, name}, "bpf");
  const std::string file = std::filesystem::path(name).filename().string();
  EXPECT_EQ(1000u, counts("bpf")[file + ":1"]) << calls("bpf").substr(0, 1000);
}

// Nothing in this loop looks at the semaphore: the recorder must force a poll. The loop counts in
// between, so that a recorder that has little of the processor keeps up.
TEST_F(Places, ALoopThatOnlyInterprets) {
  const std::string code =
      "io.write('ready\\n') io.flush() local function f(x) return x end "
      "local x = 0 while x >= 0 do for i = 1, 300 do end x = f(x) + 1 end";
  auto p = start({LUAJIT, "-joff", write_script(code)});
  auto r = attach({p->pid()}, "bpf", {});
  EXPECT_EQ(0, record_some(*r, "bpf")) << messages("bpf");
  EXPECT_GT(kinds("bpf")["entry"], 100u);
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
  EXPECT_EQ(0, p->semaphore());
}

TEST_F(Places, SeveralProcesses) {
  auto a = start(host(script("calls"))), b = start(host(script("calls"), {"-j", "off"}));
  auto r = attach({a->pid(), b->pid()}, "bpf");
  a->go();
  b->go();
  EXPECT_EQ(0, a->wait());
  EXPECT_EQ(0, b->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  expect_calls("bpf", 2);
  EXPECT_EQ(2u, mini::read(path("bpf")).of_type(LT_BLOCK_PROCESS).size());
}

TEST_F(Places, SeveralProcessesWithFilesOfTheirOwn) {
  auto a = start(host(script("calls"))), b = start(host(script("coroutines")));
  auto r = attach({a->pid(), b->pid()}, "bpf.%p");
  a->go();
  b->go();
  EXPECT_EQ(0, a->wait());
  EXPECT_EQ(0, b->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  std::filesystem::rename(path("bpf." + std::to_string(a->pid())), path("a"));
  expect_calls("a");
  EXPECT_EQ(0u, trust("bpf." + std::to_string(b->pid()), "anomalies"));
}

// Each VM has its own function ids, and its own coroutine ids.
TEST_F(Places, SeveralThreads) {
  record(host(script("calls"), {"-t", "4"}), "bpf");
  expect_calls("bpf", 4);
  EXPECT_EQ(4u, mini::read(path("bpf")).of_type(LT_BLOCK_STREAM).size());
}

// A VM is often at the address of the previous one, and gives the same ids to other functions.
TEST_F(Places, VmsComeAndGo) {
  const std::string code =
      "local n = (... or 0) local a, b = function() end, function() end "
      "local order = tonumber(tostring(a):match('0x(%x+)'), 16) % 2 "
      "for i = 1, 5 do if (i + order) % 2 == 0 then a() b() else b() a() end end";
  const std::string name = write_script(code);
  record(host(name, {"-r", "20"}), "bpf");
  const auto n = counts("bpf");
  const std::string file = std::filesystem::path(name).filename().string();
  EXPECT_EQ(200u, n.at(file + ":1")) << calls("bpf").substr(0, 2000);
  EXPECT_EQ(20u, n.at(file + ":0"));
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
}

// The program becomes another one, in the same process.
TEST_F(Places, Exec) {
  const std::string second = script("calls");
  const std::string code =
      "local ffi = require('ffi') ffi.cdef('int execl(const char*, const char*, ...);') "
      "local function before() end before() "
      "ffi.C.execl('" HOST "', '" HOST "', '" +
      second + "', ffi.cast('char*', nil))";
  auto p = start(host(write_script(code)));
  auto r = attach({p->pid()}, "bpf");
  p->go();
  wait_until([&] { return p->output().find("ready\nready\n") != std::string::npos; });
  // The program's name can be read only while the process exists.
  wait_until([&] { return mini::read(path("bpf")).of_type(LT_BLOCK_PROCESS).size() == 2; });
  p->go();
  EXPECT_EQ(0, p->wait()) << p->output();
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("bpf");
  EXPECT_EQ(4001u, counts("bpf")["calls.lua:3"]) << messages("bpf");
  EXPECT_EQ(0u, trust("bpf", "lost")) << messages("bpf");
  EXPECT_EQ(2u, mini::read(path("bpf")).of_type(LT_BLOCK_PROCESS).size());
}

}  // namespace
