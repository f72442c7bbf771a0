// SPDX-License-Identifier: MIT
// When kill_sweep kills: before, in or after the Nth system call of that name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/hostile/syscall_tracer.h"

namespace hostile {

enum class When { kBefore, kDuring, kAfter };

struct Moment {
  Call call;
  size_t turn;  // 1: the first such call
  When when;
  std::string text() const;
};

// During a call: its thread is in the kernel when the signal comes, if it takes that long.
void kill_at(const Moment& moment, pid_t pid);

// Counts calls; true when the moment has come, once.
class Watch {
 public:
  explicit Watch(const Moment& moment) : moment_(moment) {}
  bool is_now(const Call& call, bool after);
  bool met() const { return met_; }

 private:
  Moment moment_;
  size_t turns_ = 0;
  bool met_ = false;
};

// The selected calls of a recording.
struct Selection {
  bool all = false;
  bool reaching = false;  // only those that access the program's memory, or stop it
  size_t one_of = 1;      // of those that change something outside the recorder, one in this many
  size_t sample = 24;     // of the others, one in one_of * sample; 0: none
  size_t offset = 0;      // where counting begins

  std::vector<Moment> choose(const std::vector<Call>& calls) const;

 private:
  bool wants(const Call& call, size_t i) const;
};

}  // namespace hostile
