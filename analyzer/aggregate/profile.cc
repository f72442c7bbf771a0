// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/profile.h"

namespace luatrace {

// Parents come before their children, so each node's place is known when its children ask for it.
void Profile::add(const Profile& other) {
  std::vector<uint32_t> place(other.tree_.size());
  for (uint32_t i = 0; i < other.tree_.size(); i++) {
    const CallNode& from = other.tree_[i];
    if (i) place[i] = tree_.enter(place[from.parent], from.function);
    CallNode& to = tree_[place[i]];
    to.self += from.self;
    to.calls += from.calls;
    if (uint64_t ticks = other.suspended_at(i)) suspended(place[i], ticks);
    if (uint64_t calls = other.charged_at(i)) charged(place[i], calls);
  }
  stats_.resize(std::max(stats_.size(), other.stats_.size()));
  for (size_t f = 0; f < other.stats_.size(); f++) {
    stats_[f].min = std::min(stats_[f].min, other.stats_[f].min);
    stats_[f].max = std::max(stats_[f].max, other.stats_[f].max);
    stats_[f].sum += other.stats_[f].sum;
    stats_[f].complete += other.stats_[f].complete;
  }
}

}  // namespace luatrace
