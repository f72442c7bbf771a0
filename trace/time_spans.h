// SPDX-License-Identifier: MIT
// TimeSpans: the union of spans of time, for example of losses, which may overlap and come in any
// order. Invariant: it keeps up to kMax separate spans, whatever is added; if there are more, the
// shortest gaps between them count as covered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace luatrace {

class TimeSpans {
 public:
  static constexpr size_t kMax = 4096;

  // From `since` to before `until`, in ticks. until <= since: nothing.
  void add(uint64_t since, uint64_t until);
  // How many of the ticks from `from` to before `to` they cover.
  uint64_t covered(uint64_t from, uint64_t to) const;
  size_t size() const { return spans_.size(); }  // separate spans

 private:
  void join_nearest();
  void close_gaps();

  std::map<uint64_t, uint64_t> spans_;  // since, until; they neither overlap nor touch
  uint64_t gap_ = 0;                    // gaps up to that are closed if there are too many spans
};

}  // namespace luatrace
