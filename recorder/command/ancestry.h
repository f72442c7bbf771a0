// SPDX-License-Identifier: MIT
// Ancestry: which processes descend from the recorder, or from another root. Invariants: if a
// process does not, it is read once more, but its ancestors are not (its start time distinguishes
// it from a later process of the same number); any other answer is valid for one pass only, because
// a descendant's number may be re-used. A pass begins no walk after a number of reads of /proc:
// what any user's processes can cost is bounded, however deep they are nested.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace luatrace::record {

class Ancestry {
 public:
  static constexpr size_t kReads = 1024;
  // root: the recorder.
  explicit Ancestry(size_t reads_per_pass = kReads, pid_t root = getpid())
      : limit_(reads_per_pass), root_(root) {}

  // What descends from that process is included, too. start: Birth::start.
  void add_root(pid_t pid, uint64_t start);
  void begin_pass();
  // Has this pass read enough? The rest is for the next one.
  bool is_exhausted() const { return reads_ >= limit_; }
  // Does that process descend from a root? False also if /proc does not show it (any more).
  bool includes(pid_t pid);
  size_t reads() const { return reads_; }  // of /proc in this pass

 private:
  enum class Answer { kYes, kNo, kChanged };
  Answer walk(pid_t pid);
  bool is_unrelated(pid_t pid, uint64_t start) const;
  void remember(const std::vector<std::pair<pid_t, uint64_t>>& path);

  size_t limit_, reads_ = 0;
  pid_t root_;
  std::map<pid_t, uint64_t> more_roots_;  // start times
  std::map<pid_t, bool> known_;           // in this pass
  std::map<pid_t, uint64_t> unrelated_;   // start times of processes that do not descend from it
};

}  // namespace luatrace::record
