// SPDX-License-Identifier: MIT
#include "analyzer/decode/diagnostics.h"

#include <algorithm>

#include "analyzer/decode/escape.h"

namespace luatrace {

Trust& Trust::operator+=(const Trust& other) {
  events += other.events;
  lost += other.lost;
  unbalanced += other.unbalanced;
  truncated += other.truncated;
  bad_blocks += other.bad_blocks;
  bad_block_events += other.bad_block_events;
  missing_blocks += other.missing_blocks;
  bad_records += other.bad_records;
  clock_anomalies += other.clock_anomalies;
  inferred += other.inferred;
  undescribed += other.undescribed;
  cut += other.cut;
  open_start += other.open_start;
  open_end += other.open_end;
  abandoned += other.abandoned;
  unwound += other.unwound;
  unknown += other.unknown;
  return *this;
}

void Diagnostics::say(uint64_t offset, const std::string& reason) {
  if (++said_ > kMaxMessages) return;
  if (keeps_)
    kept_.push_back({offset, reason});
  else
    printer_(printable(file_) + ": offset " + std::to_string(offset) + ": " + reason);
}

void Diagnostics::finish() {
  if (keeps_ || said_ <= kMaxMessages) return;
  printer_(printable(file_) + ": " + std::to_string(said_ - kMaxMessages) +
           " more messages of this kind");
  said_ = 0;
}

void Diagnostics::add(const Diagnostics& other) {
  trust += other.trust;
  kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
  said_ += other.said_;
}

// Each of those that were added kept its first ones, so the first of all are among them.
void Diagnostics::release() {
  keeps_ = false;
  std::stable_sort(kept_.begin(), kept_.end(),
                   [](const Message& a, const Message& b) { return a.offset < b.offset; });
  const uint64_t all = said_;
  said_ = 0;
  for (const Message& message : kept_) say(message.offset, message.reason);
  said_ = all;
  kept_.clear();
  finish();
}

}  // namespace luatrace
