// SPDX-License-Identifier: MIT
// The running chain of a stream: the current coroutine, its resumer, and so on; and which of them
// have open calls. A resume or suspension changes only the inner end, so its cost does not depend
// on the length of the chain; anything else rebuilds the chain (reset()).
//
// Invariants: a place is an index, 0 is the outermost; places_ has each coroutine once; callers_ is
// in rising order and has every place whose lane has calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/read/model.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

// Lane: the data of a coroutine; has bool has_calls() const.
template <class Lane>
class RunningChain {
 public:
  static constexpr size_t kNone = SIZE_MAX;
  struct Link {
    CoroutineId coroutine;
    Lane* lane = nullptr;  // Null: the coroutine has none.
  };

  bool empty() const { return links_.empty(); }
  size_t size() const { return links_.size(); }
  const Link& operator[](size_t place) const { return links_[place]; }
  size_t last() const { return links_.size() - 1; }
  const Link& current() const { return links_.back(); }
  // The place of a coroutine; kNone if it is not in the chain.
  size_t place(CoroutineId coroutine) const {
    auto it = places_.find(coroutine);
    return it == places_.end() ? kNone : it->second;
  }

  // The current coroutine has resumed another one.
  void push(Link link) {
    places_[link.coroutine] = links_.size();
    links_.push_back(link);
    update(last());
  }
  // The current coroutine was suspended; it must have a resumer.
  void pop() {
    if (!callers_.empty() && callers_.back() == last()) callers_.pop_back();
    places_.erase(current().coroutine);
    links_.pop_back();
  }
  // Replaces the chain by `links`, the outermost first.
  void reset(std::vector<Link> links) {
    links_ = std::move(links);
    places_.clear();
    callers_.clear();
    for (size_t i = 0; i < links_.size(); i++) {
      places_[links_[i].coroutine] = i;
      update(i);
    }
  }
  // Sets the lane of a coroutine, if it is in the chain; null: it has none now.
  void set_lane(CoroutineId coroutine, Lane* lane) {
    if (const size_t at = place(coroutine); at != kNone) links_[at].lane = lane;
  }
  // Must be called when the lane at `place` may have got its first call.
  void update(size_t place) {
    if (!has_calls(place)) return;
    auto at = std::lower_bound(callers_.begin(), callers_.end(), place);
    if (at == callers_.end() || *at != place) callers_.insert(at, place);
  }
  // The innermost place with calls, or kNone.
  size_t caller() {
    while (!callers_.empty() && !has_calls(callers_.back())) callers_.pop_back();
    return callers_.empty() ? kNone : callers_.back();
  }

 private:
  bool has_calls(size_t place) const {
    return links_[place].lane && links_[place].lane->has_calls();
  }

  std::vector<Link> links_;
  std::unordered_map<CoroutineId, size_t, RandomHash> places_;
  std::vector<size_t> callers_;  // May also have places without calls by now.
};

}  // namespace luatrace::analyze
