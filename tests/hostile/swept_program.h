// SPDX-License-Identifier: MIT
// The program of kill_sweep, programs/kill_sweep.lua, and what a killed recorder has changed in it.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hostile {

// Prints "FAIL: TEXT" and ends the test.
[[noreturn]] void fail(const std::string& text);

// Shared by the program and the test: a file that both have mapped.
class Progress {
 public:
  explicit Progress(const std::string& file);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  double rounds() const { return words_[0]; }
  bool is_wrong() const { return words_[1] != 0; }
  void end() { words_[2] = 1; }  // the program then ends by itself
  bool is_ending() const { return words_[2] != 0; }

 private:
  volatile double* words_;
};

// The state of a program that is not recorded.
struct Untouched {
  int first_descriptor = 0;  // those below are ignored
  std::set<std::string> descriptors;
  std::string code;
};

// What nothing could restore: kClaim: the claim and the settings; kSwitch: the switch for rings,
// too, on which no VM acts any more.
enum class Forgotten { kNothing, kClaim, kSwitch };

class SweptProgram {
 public:
  // Starts it; returns when it has done some rounds, unrecorded.
  SweptProgram(const std::vector<std::string>& words, const Progress& progress);
  // One that is running already.
  SweptProgram(pid_t pid, const Progress& progress, Untouched before);
  // Kills it, and waits for its end.
  ~SweptProgram();
  SweptProgram(const SweptProgram&) = delete;
  SweptProgram& operator=(const SweptProgram&) = delete;

  pid_t pid() const { return pid_; }
  const Untouched& before() const { return before_; }
  // How it differs from before, except for what may be left; empty: not at all.
  std::string disturbed(Forgotten forgotten) const;

 private:
  std::set<std::string> descriptors() const;
  std::string changed_code() const;
  std::string stopped() const;

  pid_t pid_;
  const Progress& progress_;
  Untouched before_;
};

}  // namespace hostile
