// SPDX-License-Identifier: MIT
// EventBlocks. The words are copied before they are examined: an untrusted process may change the
// source at any time, and what is written must be what was checked.
#include "trace/event_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace luatrace {

EventBlocks::EventBlocks(TraceWriter& writer, uint32_t stream, uint64_t start_tick,
                         TimeSpans* lost_time)
    : writer_(writer), scanner_(start_tick, lost_time) {
  info_.stream = stream;
}

void EventBlocks::mark_gap() {
  flush();
  gap_ = true;
  scanner_.forget();
}

// A block's header holds the state before its first record, and that record's time.
void EventBlocks::begin_block(std::span<const uint64_t> words, uint64_t not_before) {
  info_.count = 0;
  info_.base_tick = info_.end_tick = scanner_.tick_of(words, not_before);
  info_.coroutine = scanner_.coroutine();
  info_.depth = info_.coroutine == 0 ? LT_DEPTH_UNKNOWN : scanner_.depth();
  info_.flags = gap_ ? LT_BLOCK_F_GAP : 0;
}

void EventBlocks::flush() {
  if (used_ == 0) return;
  info_.lost = scanner_.lost_events() - std::exchange(lost_, scanner_.lost_events());
  writer_.write_events(info_, std::span(buffer_).first(used_));
  used_ = 0;
  gap_ = false;
}

void EventBlocks::rest() {
  flush();
  buffer_ = decltype(buffer_)();
}

size_t EventBlocks::append(std::span<const uint64_t> words, uint64_t not_before) {
  size_t taken = 0;
  while (taken < words.size()) {
    // A run that fits into a block is not split: the rest of a ring block makes one block.
    const size_t want = std::min(words.size() - taken, kMaxWords);
    if (used_ + want > kMaxWords) flush();
    if (used_ + want > buffer_.size()) buffer_.resize(used_ + want);
    const std::span<uint64_t> run(&buffer_[used_], want);
    std::memcpy(run.data(), &words[taken], run.size_bytes());
    if (run[0] == 0) break;
    const bool fresh = used_ == 0;
    if (fresh) begin_block(run, not_before);
    const auto r = scanner_.scan(run, not_before);
    used_ += r.words;
    taken += r.words;
    events_ += r.events;
    words_ += r.words;
    info_.count += static_cast<uint32_t>(r.events);
    if (r.words > 0) info_.end_tick = std::max(info_.base_tick, r.tick);
    if (r.stop == WordScanner::Stop::kTimeJump) {
      flush();
    } else if (r.stop == WordScanner::Stop::kZero || r.words == 0) {
      break;
    }
    if (r.words > 0) not_before = 0;
  }
  return taken;
}

}  // namespace luatrace
