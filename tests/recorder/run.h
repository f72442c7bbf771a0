// SPDX-License-Identifier: MIT
// Runs luatrace-record in tests: its output, its status, its files; every wait is bounded.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/trace/mini_reader.h"

namespace runs {

using Words = std::vector<std::string>;

inline void sleep_ms(long ms) {
  const timespec t{ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
}

// A process of the test's. If it does not end in time, it is killed and the status is -1.
class Process {
 public:
  Process(const Words& words, const std::string& out, const std::string& err) {
    std::vector<char*> argv;
    for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    // Before the fork, so that what the process before this one wrote is gone when we return.
    const int o = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int e = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_ = fork();
    if (pid_ == 0) {
      if (dup2(o, 1) < 0 || dup2(e, 2) < 0) _exit(98);
      execv(argv[0], argv.data());
      _exit(99);
    }
    close(o);
    close(e);
  }
  ~Process() {
    if (!waited_) send(SIGKILL), wait_ms(5000);
  }
  void send(int signal) {
    if (pid_ > 0) kill(pid_, signal);  // kill(-1) would reach every process
  }
  pid_t pid() const { return pid_; }
  // Exit status, 128 + signal; -1: it has not ended.
  int wait_ms(long limit) {
    for (long i = 0; i < limit; i++) {
      int status;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        waited_ = true;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      }
      sleep_ms(1);
    }
    return -1;
  }

 private:
  pid_t pid_;
  bool waited_ = false;
};

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    std::string name = ::testing::TempDir() + "recorder.XXXXXX";
    dir_ = mkdtemp(name.data());
    chmod(dir_.c_str(), 0711);                   // else root's recorder looks for another place
    setenv("XDG_RUNTIME_DIR", dir_.c_str(), 1);  // a killed recorder leaves its socket there
  }
  ~RecorderTest() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string trace() const { return path("trace.bin"); }
  std::string out() const { return mini::slurp(path("out")); }
  std::string err() const { return mini::slurp(path("err")); }
  mini::File file() const { return mini::read(trace()); }

  Words recorder(const Words& options, const Words& command) const {
    Words w = {RECORDER};
    w.insert(w.end(), options.begin(), options.end());
    w.push_back("--");
    w.insert(w.end(), command.begin(), command.end());
    return w;
  }
  Words fake(const Words& script) const {
    Words w = {FAKE_VM};
    w.insert(w.end(), script.begin(), script.end());
    return w;
  }
  int run(const Words& words) {
    Process p(words, path("out"), path("err"));
    return p.wait_ms(90000);
  }
  // luatrace-record -o trace.bin [options] -- fake_vm script
  int record(const Words& script, Words options = {}) {
    options.insert(options.begin(), {"-o", trace()});
    return run(recorder(options, fake(script)));
  }
  void wait_until(const std::function<bool()>& good) {
    bool met = good();
    for (int i = 0; i < 20000 && !met; i++, met = good()) sleep_ms(1);
    ASSERT_TRUE(met);
  }

  std::string log_text(const std::string& name) const { return mini::slurp(path(name)); }
  std::vector<uint64_t> log(const std::string& name = "log") const {
    const std::string s = log_text(name);
    std::vector<uint64_t> w(s.size() / 8);
    if (!w.empty()) std::memcpy(w.data(), s.data(), w.size() * 8);
    return w;
  }
  // The stream whose ring had that number.
  static uint32_t stream(const mini::File& f, uint32_t recording) {
    for (const auto* b : f.of_type(LT_BLOCK_STREAM))
      if (b->as<lt_stream_info>().recording == recording) return b->head.stream;
    ADD_FAILURE() << "no stream with recording " << recording;
    return 0;
  }

  std::string dir_;
};

}  // namespace runs
