// SPDX-License-Identifier: MIT
#include "recorder/drain/segment_words.h"

#include <cstring>

#include "luatrace_format.h"
#include "trace/packed_word.h"
#include "trace/word_scanner.h"

namespace luatrace::record {
namespace {

constexpr uint32_t kMaxGap = 1u << 16;  // ids of descriptions that are missing

// Of a segment that is one record.
uint64_t segment_id(std::span<const uint64_t> r) {
  return is_segment(r[0]) ? lt_payload(r[0]) - LT_SEGMENT_FIRST : lt_lo(r[1]) - uint64_t{1};
}

}  // namespace

SegmentWords::Place SegmentWords::place_of(uint64_t id) const {
  return id >= first_ && id - first_ < places_.size() ? places_[id - first_] : Place{};
}

void SegmentWords::describe(std::span<const std::byte> record) {
  lt_segment d;
  std::memcpy(&d, record.data(), sizeof d);
  const size_t size = size_t{d.nmarks} + d.nexits;
  const size_t end = first_ + places_.size();
  if (d.id < end || d.id + size > LT_SEGMENT_IDS) return;
  if (d.id > end + kMaxGap) {
    first_ = d.id;
    places_.clear();
  }
  const Place from = d.parent != 0 ? place_of(d.parent) : Place{};
  const auto index = static_cast<uint32_t>(traces_.size());
  const uint32_t outside = traces_[from.trace].counter;
  const bool counts = (d.flags & LT_SEGMENT_COUNTS) != 0;
  const bool whole = d.parent == 0 || traces_[from.trace].whole;
  traces_.push_back({d.nevents, d.level, counts ? index : outside, outside, whole});
  places_.resize(d.id - first_);
  for (size_t i = 0; i < size; i++) {
    uint32_t place;
    std::memcpy(&place, &record[sizeof d + i * sizeof place], sizeof place);
    places_.push_back({index, (from.events + (place & 0xffff)) & INT32_MAX, i < d.nmarks});
  }
}

// Returns the index of its trace.
uint32_t SegmentWords::count(uint32_t id) {
  const Place place = place_of(id);
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

bool SegmentWords::is_one(std::span<const uint64_t> r) {
  return is_segment(r[0]) || (sub_of(r[0]) == LTX_SEGMENT && r.size() > 1);
}

bool SegmentWords::knows(std::span<const uint64_t> r) const {
  const auto whole = [this](uint64_t id) { return traces_[place_of(id).trace].whole; };
  if (!lt_is_packed(r[0])) return whole(segment_id(r));
  const PackedWord packed(r[0]);
  for (const auto& place : packed.places())
    if (!whole(place.id)) return false;
  return true;
}

bool SegmentWords::goes_on(std::span<const uint64_t> r) const {
  return !lt_is_packed(r[0]) && place_of(segment_id(r)).goes_on != 0;
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
