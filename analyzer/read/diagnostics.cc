// SPDX-License-Identifier: MIT
#include "analyzer/read/diagnostics.h"

#include <algorithm>

#include "base/escape.h"

namespace luatrace::analyze {

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
  open_gap += other.open_gap;
  abandoned += other.abandoned;
  unwound += other.unwound;
  unknown += other.unknown;
  return *this;
}

void Diagnostics::say(uint64_t offset, const std::string& reason) {
  said_++;
  if (keeps_)
    keep(offset, reason);
  else if (said_ <= kMaxMessages)
    print(offset, reason);
}

void Diagnostics::print(uint64_t offset, const std::string& reason) const {
  printer_(printable(file_) + ": offset " + std::to_string(offset) + ": " + reason);
}

// Inserts after messages of the same offset. Which messages are found first depends on how far the
// reader is ahead; which have the lowest offsets does not.
void Diagnostics::keep(uint64_t offset, const std::string& reason) {
  const auto at =
      std::upper_bound(kept_.begin(), kept_.end(), offset,
                       [](uint64_t where, const Message& m) { return where < m.offset; });
  if (kept_.size() == kMaxMessages && at == kept_.end()) return;
  kept_.insert(at, {offset, reason});
  if (kept_.size() > kMaxMessages) kept_.pop_back();
}

void Diagnostics::finish() {
  if (keeps_ || said_ <= kMaxMessages) return;
  printer_(printable(file_) + ": " + std::to_string(said_ - kMaxMessages) +
           " more messages of this kind");
  said_ = 0;
}

// Each thread kept its first messages, so the first of all are among them.
void Diagnostics::add(const Diagnostics& other) {
  trust += other.trust;
  for (const Message& message : other.kept_) keep(message.offset, message.reason);
  said_ += other.said_;
}

void Diagnostics::release() {
  keeps_ = false;
  for (const Message& message : kept_) print(message.offset, message.reason);
  kept_.clear();
  finish();
}

}  // namespace luatrace::analyze
