// SPDX-License-Identifier: MIT
#include "analyzer/collect/profile.h"

namespace luatrace::analyze {

// Parents come before their children, so a parent's place is known when its children need it.
void Profile::add(const Profile& other, const std::vector<uint32_t>* same) {
  tree_.limit(nullptr);  // The nodes of both trees were counted when they were made.
  std::vector<uint32_t> place(other.tree_.size());
  for (uint32_t i = 0; i < other.tree_.size(); i++) {
    const CallNode& from = other.tree_[i];
    const uint32_t function = same ? (*same)[from.function] : from.function;
    if (i) place[i] = tree_.enter(place[from.parent], function);
    CallNode& to = tree_[place[i]];
    to.self += from.self;
    to.calls += from.calls;
    if (uint64_t ticks = other.suspended_at(i)) suspended(place[i], ticks);
    if (other.has_charges()) charged(place[i], other.charged_at(i));
  }
  stats_.resize(std::max(stats_.size(), other.stats_.size()));
  for (size_t f = 0; f < other.stats_.size(); f++) stats_[f] += other.stats_[f];
}

}  // namespace luatrace::analyze
