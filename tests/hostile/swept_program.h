// SPDX-License-Identifier: MIT
// The program of kill_sweep: programs/kill_sweep.lua, and what is wrong with it after a recorder
// was killed.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hostile {

// Prints "FAIL: TEXT" and ends the test.
[[noreturn]] void fail(const std::string& text);

// What the program and the test tell each other: a file that both have mapped.
class Told {
 public:
  explicit Told(const std::string& file);
  ~Told();
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  double rounds() const { return words_[0]; }
  bool is_wrong() const { return words_[1] != 0; }
  void end() { words_[2] = 1; }  // it shall end by itself
  bool is_ending() const { return words_[2] != 0; }

 private:
  volatile double* words_;
};

// How a program looks that nobody records.
struct Untouched {
  int first_descriptor = 0;  // those below are of no interest
  std::set<std::string> descriptors;
  std::string code;
};

// What nobody could take back: kClaim: the claim and the settings; kSwitch: the switch for rings,
// too, which no state acts upon any more.
enum class Forgotten { kNothing, kClaim, kSwitch };

class SweptProgram {
 public:
  // Starts it; returns when it has done some rounds, unrecorded.
  SweptProgram(const std::vector<std::string>& words, const Told& told);
  // One that runs already.
  SweptProgram(pid_t pid, const Told& told, Untouched before);
  // Kills it, and waits for its end.
  ~SweptProgram();
  SweptProgram(const SweptProgram&) = delete;
  SweptProgram& operator=(const SweptProgram&) = delete;

  pid_t pid() const { return pid_; }
  const Untouched& before() const { return before_; }
  // What is wrong with it now; empty: it is as it was before, but for what may be there.
  std::string disturbed(Forgotten forgotten) const;

 private:
  std::set<std::string> descriptors() const;
  std::string changed_code() const;
  std::string stopped() const;

  pid_t pid_;
  const Told& told_;
  Untouched before_;
};

}  // namespace hostile
