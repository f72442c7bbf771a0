// SPDX-License-Identifier: MIT
// Runs a command to its end and keeps what it printed. Invariant: no process
// outlives RunCommand(): the command gets a process group of its own, which is killed
// when the time limit is reached.
#pragma once

#include <sys/types.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::test {

struct RunOptions {
  std::string cwd;                                       // empty: inherit
  std::vector<std::pair<std::string, std::string>> env;  // added to ours
  int timeout_ms = 60'000;                               // wall clock, milliseconds
  size_t max_output = size_t{256} << 20;                 // bytes kept per stream
  std::function<void(pid_t)> started;                    // called once, right after fork
};

struct RunResult {
  int status = -1;         // as a shell gives it: exit status, or 128 + signal
  bool timed_out = false;  // killed by us
  std::string out;
  std::string err;
};

// Runs argv (argv[0] is searched in PATH). A command that cannot be executed
// gives status 127 and a reason in err.
RunResult RunCommand(const std::vector<std::string>& argv, const RunOptions& options = {});

// A shell line for messages: argv, quoted where needed.
std::string ShellLine(const std::vector<std::string>& argv);

// Makes a fresh directory below TMPDIR; removed with everything in it by the
// destructor.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The whole file; throws std::runtime_error naming it if it cannot be read.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

}  // namespace luatrace::test
