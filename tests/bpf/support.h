// SPDX-License-Identifier: MIT
// Records a running program through BPF: the program waits for a line before it runs, so that the
// recording does not depend on when the recorder was ready. Every wait is bounded.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <map>
#include <memory>
#include <sstream>

#include "recorder/os/remote.h"
#include "recorder/vm/lua_image.h"
#include "tests/recorder/run.h"

namespace bpftest {

using runs::Words;

// A program that prints "ready" and reads a line.
class Program {
 public:
  // before: runs in the child, before it executes the program.
  Program(const Words& words, const std::string& out, const std::function<void()>& before = {}) {
    int in[2];
    if (pipe2(in, O_CLOEXEC) != 0) abort();
    out_ = out;
    pid_ = fork();
    if (pid_ < 0) abort();
    if (pid_ == 0) {
      const int o = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(in[0], 0);
      dup2(o, 1);
      if (before) before();
      std::vector<char*> argv;
      for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(99);
    }
    close(in[0]);
    in_ = in[1];
  }
  ~Program() {
    close(in_);
    if (!waited_) kill(pid_, SIGKILL), wait();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  bool ready() const { return mini::slurp(out_).find("ready\n") != std::string::npos; }
  void go() { (void)!write(in_, "go\n", 3); }
  std::string output() const { return mini::slurp(out_); }
  // Exit status, 128 + signal; -1: it has not ended.
  int wait(long limit_ms = 60000) {
    for (long i = 0; i < limit_ms && !waited_; i++) {
      if (waitpid(pid_, &status_, WNOHANG) == pid_) waited_ = true;
      if (!waited_) runs::sleep_ms(1);
    }
    if (!waited_) return -1;
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  }

  // The semaphores in its LuaJIT, that of single events and those of blocks, added up; -1: there
  // are none to be found.
  int semaphore() const { return semaphore_of(pid_); }
  static int semaphore_of(pid_t pid) {
    const auto found = luatrace::record::find_lua(pid);
    lt_control c;
    if (found.ours.empty()) return -1;
    const uint64_t at = found.ours[0].control;
    if (luatrace::record::RemoteMemory(pid).read(at, c) != 0) return -1;
    return c.semaphore + c.block + c.segments;
  }

 private:
  std::string out_;
  pid_t pid_ = -1;
  int in_ = -1, status_ = 0;
  bool waited_ = false;
};

// This process may no longer read or write the memory of others.
inline void forbid_debugging() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(99);
}

class BpfTest : public runs::RecorderTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: BPF needs root";
    const char* const missing = BPF_MISSING;
    if (*missing != 0) GTEST_SKIP() << "SKIPPED: built without BPF: " << missing;
  }

  static std::string script(const std::string& name) {
    return std::string(PROGRAMS) + "/" + name + ".lua";
  }
  // A file of this test's own.
  std::string write_script(const std::string& text) const {
    static int n = 0;
    const std::string name = path("script" + std::to_string(++n) + ".lua");
    std::ofstream(name) << text;
    return name;
  }
  Words host(const std::string& script, Words options = {}) const {
    Words w = {HOST};
    w.insert(w.end(), options.begin(), options.end());
    w.push_back(script);
    return w;
  }
  std::unique_ptr<Program> start(const Words& words, const std::function<void()>& before = {}) {
    static int n = 0;
    auto p = std::make_unique<Program>(words, path("program" + std::to_string(++n)), before);
    wait_until([&] { return p->ready(); });
    return p;
  }

  Words attach_words(const std::vector<pid_t>& pids, const std::string& trace,
                     Words options = {}) const {
    Words w = prefix_;
    w.insert(w.end(), {RECORDER, "-v", "-o", trace});
    for (const pid_t p : pids) w.insert(w.end(), {"-p", std::to_string(p)});
    if (std::find(options.begin(), options.end(), "--via") == options.end())
      options.insert(options.begin(), {"--via", "bpf"});
    w.insert(w.end(), options.begin(), options.end());
    return w;
  }
  // Starts a recorder; returns when it is attached, or has ended. Its messages: messages(name).
  std::unique_ptr<runs::Process> attach(const std::vector<pid_t>& pids, const std::string& name,
                                        const Words& options = {}) {
    auto r = std::make_unique<runs::Process>(attach_words(pids, path(name), options),
                                             path(name + ".out"), path(name + ".err"));
    wait_until([&] {
      const std::string said = messages(name);
      size_t n = 0;
      for (size_t at = 0; (at = said.find("is being recorded", at)) != said.npos; at++) n++;
      return n == pids.size() || r->wait_ms(1) >= 0;
    });
    return r;
  }
  // Lets it record for a while once there are events, however long it has to wait for a processor;
  // then sends ^C. Returns its exit status.
  int record_some(runs::Process& r, const std::string& name) {
    wait_until([&] { return said(name, "first event") || r.wait_ms(1) >= 0; });
    runs::sleep_ms(50);
    r.send(SIGINT);
    return r.wait_ms(60000);
  }
  bool said(const std::string& name, const char* what) const {
    return messages(name).find(what) != std::string::npos;
  }
  std::string messages(const std::string& name) const { return mini::slurp(path(name + ".err")); }

  // A whole run of a program under a recorder that is there before it begins.
  void record(const Words& program, const std::string& name, const Words& options = {}) {
    auto p = start(program);
    auto r = attach({p->pid()}, name, options);
    p->go();
    EXPECT_EQ(0, p->wait()) << p->output();
    output_ = p->output();
    EXPECT_EQ(0, r->wait_ms(60000)) << messages(name);
  }

  std::string analyze(const std::string& name, const Words& options) {
    Words w = {ANALYZER};
    w.insert(w.end(), options.begin(), options.end());
    w.push_back(path(name));
    runs::Process p(w, path("analyzer.out"), path("analyzer.err"));
    EXPECT_EQ(0, p.wait_ms(60000)) << mini::slurp(path("analyzer.err"));
    return mini::slurp(path("analyzer.out"));
  }
  // What happened, without times and numbers of streams.
  std::string calls(const std::string& name) { return analyze(name, {"--dump=calls"}); }
  // Lines of the text form that have that word third: "TICK STREAM entry ...".
  std::map<std::string, uint64_t> kinds(const std::string& name) {
    std::istringstream in(analyze(name, {"--dump"}));
    std::map<std::string, uint64_t> all;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string tick, stream, kind;
      words >> tick >> stream >> kind;
      if (!tick.empty() && tick[0] >= '0' && tick[0] <= '9') all[kind]++;
    }
    return all;
  }
  // Calls of functions, by name as --dump=calls has it ("calls.lua:3"), from entries.
  std::map<std::string, uint64_t> counts(const std::string& name) {
    std::istringstream in(calls(name));
    std::map<std::string, uint64_t> all;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string stream, coroutine, depth, event, what;
      words >> stream >> coroutine >> depth >> event >> what;
      if (event == "entry") all[what]++;
    }
    return all;
  }
  // The events of the last recording by the recorder's message: those that came, those that were
  // lost.
  std::pair<uint64_t, uint64_t> events(const std::string& name) const {
    std::string said = messages(name);
    std::erase(said, ',');
    const size_t end = said.find(" events came ");
    if (end == said.npos) return ADD_FAILURE() << said, std::pair<uint64_t, uint64_t>{};
    const size_t from = said.rfind(' ', end - 1) + 1;
    return {std::strtoull(said.c_str() + from, nullptr, 10),
            std::strtoull(said.c_str() + end + 13, nullptr, 10)};
  }
  // A counter of the trust line.
  uint64_t trust(const std::string& name, const std::string& counter) {
    const std::string json = analyze(name, {"--json"});
    const size_t trust = json.find("\"trust\"");
    const size_t at = json.find("\"" + counter + "\"", trust);
    if (at == json.npos) return ADD_FAILURE() << "no " << counter << " in " << json, 0;
    return std::strtoull(json.c_str() + json.find(':', at) + 1, nullptr, 10);
  }

  std::string output_;
  Words prefix_;  // a program that executes the recorder, and its arguments
};

}  // namespace bpftest
