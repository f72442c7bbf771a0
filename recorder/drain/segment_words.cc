// SPDX-License-Identifier: MIT
#include "recorder/drain/segment_words.h"

#include <cstring>

#include "luatrace_format.h"
#include "trace/packed_word.h"
#include "trace/word_scanner.h"

namespace luatrace::record {
namespace {

constexpr uint32_t kMaxGap = 1u << 16;  // ids of descriptions for which the VM found no space

}  // namespace

void SegmentWords::describe(std::span<const std::byte> record) {
  lt_segment d;
  std::memcpy(&d, record.data(), sizeof d);
  const size_t size = size_t{d.nmarks} + d.nexits;
  if (d.id < places_.size() || d.id > places_.size() + kMaxGap || d.id + size > LT_SEGMENT_IDS)
    return;
  const Place from = d.parent != 0 && d.parent < places_.size() ? places_[d.parent] : Place{};
  const auto index = static_cast<uint32_t>(traces_.size());
  const uint32_t outside = traces_[from.trace].counter;
  const bool counts = (d.flags & LT_SEGMENT_COUNTS) != 0;
  traces_.push_back({d.nevents, d.level, counts ? index : outside, outside});
  places_.resize(d.id);
  for (size_t i = 0; i < size; i++) {
    uint32_t place;
    std::memcpy(&place, &record[sizeof d + i * sizeof place], sizeof place);
    places_.push_back({index, (from.events + (place & 0xffff)) & INT32_MAX, i < d.nmarks});
  }
}

// Returns the index of its trace.
uint32_t SegmentWords::count(uint32_t id) {
  const Place place = id < places_.size() ? places_[id] : Place{};
  events_ += place.events > told_ ? place.events - told_ : 0;
  told_ = place.goes_on ? place.events : 0;
  return place.trace;
}

// iterations: by level, as in LTX_SEGMENT.
void SegmentWords::count_iterations(const Trace& innermost, std::span<const uint64_t> iterations) {
  uint32_t level = LT_SEGMENT_LEVELS + 1;
  for (const Trace* t = &traces_[innermost.counter]; t->level != 0 && t->level < level;
       t = &traces_[t->outside]) {
    level = t->level;
    if (level <= iterations.size()) events_ += (iterations[level - 1] - 1) * t->events;
  }
}

void SegmentWords::count_packed(uint64_t word) {
  const PackedWord packed(word);
  for (const auto& place : packed.places())
    count_iterations(traces_[count(place.id)], place.counts);
}

void SegmentWords::run(std::span<uint64_t> words) {
  for (size_t at = 0; at < words.size();) {
    uint64_t& w = words[at];
    if (lt_is_packed(w)) {
      words_++;
      count_packed(w);
      at++;
      continue;
    }
    const bool one_word = is_segment(w);
    const size_t n = one_word || is_plain(w) ? 1 : record_words(w);
    if (n == 0 || n > words.size() - at) return;
    const uint32_t sub = sub_of(w);
    const bool segment = one_word || (sub == LTX_SEGMENT && n > 1);
    if (segment && lt_time(w) == 0)
      w |= last_time_ << LT_TIME_SHIFT;
    else if (sub != LTX_PAD)
      last_time_ = lt_time(w);
    words_ += segment;
    if (one_word)
      count(lt_payload(w) - LT_SEGMENT_FIRST);
    else if (segment)
      count_iterations(traces_[count(lt_lo(words[at + 1]) - 1)], words.subspan(at + 2, n - 2));
    else if (sub == LTX_LOSS)
      told_ = 0;
    at += n;
  }
}

}  // namespace luatrace::record
