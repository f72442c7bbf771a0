// SPDX-License-Identifier: MIT
#include "analyzer/read/diagnostics.h"

#include <algorithm>

#include "base/escape.h"

namespace luatrace::analyze {

const std::array<std::pair<const char*, uint64_t Trust::*>, 19> kCounters = {
    {{"events", &Trust::events},
     {"lost", &Trust::lost},
     {"lost_at_least", &Trust::lost_at_least},
     {"unbalanced", &Trust::unbalanced},
     {"truncated", &Trust::truncated},
     {"bad_blocks", &Trust::bad_blocks},
     {"bad_block_events", &Trust::bad_block_events},
     {"missing_blocks", &Trust::missing_blocks},
     {"bad_records", &Trust::bad_records},
     {"clock_anomalies", &Trust::clock_anomalies},
     {"undescribed", &Trust::undescribed},
     {"cut", &Trust::cut},
     {"open_start", &Trust::open_start},
     {"open_end", &Trust::open_end},
     {"open_gap", &Trust::open_gap},
     {"inferred", &Trust::inferred},
     {"abandoned", &Trust::abandoned},
     {"unwound", &Trust::unwound},
     {"unknown", &Trust::unknown}}};

Trust& Trust::operator+=(const Trust& other) {
  for (const auto& [name, counter] : kCounters) this->*counter += other.*counter;
  return *this;
}

void Diagnostics::log(uint64_t offset, const std::string& reason) {
  logged_++;
  if (keeps_)
    insert(offset, reason);
  else if (logged_ <= kMaxMessages)
    print(offset, reason);
}

void Diagnostics::print(uint64_t offset, const std::string& reason) const {
  printer_(printable(file_) + ": offset " + std::to_string(offset) + ": " + reason);
}

// Keeps the message, after those of the same offset. Which messages are found first depends on how
// far the reader is ahead; which have the lowest offsets does not.
void Diagnostics::insert(uint64_t offset, const std::string& reason) {
  const auto at =
      std::upper_bound(kept_.begin(), kept_.end(), offset,
                       [](uint64_t where, const Message& m) { return where < m.offset; });
  if (kept_.size() == kMaxMessages && at == kept_.end()) return;
  kept_.insert(at, {offset, reason});
  if (kept_.size() > kMaxMessages) kept_.pop_back();
}

void Diagnostics::finish() {
  if (keeps_ || logged_ <= kMaxMessages) return;
  printer_(printable(file_) + ": " + std::to_string(logged_ - kMaxMessages) +
           " more messages of this kind");
  logged_ = 0;
}

// Each thread kept its first messages, so the first of all are among them.
void Diagnostics::add(const Diagnostics& other) {
  trust += other.trust;
  for (const Message& message : other.kept_) insert(message.offset, message.reason);
  logged_ += other.logged_;
}

void Diagnostics::release() {
  keeps_ = false;
  for (const Message& message : kept_) print(message.offset, message.reason);
  kept_.clear();
  finish();
}

}  // namespace luatrace::analyze
