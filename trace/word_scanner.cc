// SPDX-License-Identifier: MIT
// WordScanner. Nearly all words are entries and returns whose id fits into the word: scan_plain()
// takes runs of them with three well-predicted branches per word; everything else goes through
// record().
#include "trace/word_scanner.h"

#include <algorithm>

namespace luatrace {
namespace {

constexpr uint32_t kDense = 1u << 16;
constexpr size_t kSparseMax = 1u << 20;  // beyond it everything is forgotten, which bounds memory
constexpr uint64_t kLowMask = (uint64_t{1} << LT_TIME_BITS) - 1;
constexpr uint64_t kHalf = uint64_t{1} << (LT_TIME_BITS - 1);

// Full clock of a record with the low bits `low` that follows one at `last`; it may be earlier by
// less than half a turn.
uint64_t unwrap_next(uint64_t last, uint64_t low) {
  const uint64_t ahead = (low - last) & kLowMask;
  if (ahead < kHalf) return last + ahead;
  const uint64_t back = kLowMask + 1 - ahead;
  return last >= back ? last - back : last + ahead;
}

// The full clock in a record's continuation word, or 0.
uint64_t carried_clock(const uint64_t* w) {
  if (lt_kind(w[0]) != LT_EXT) return 0;
  const uint32_t p = lt_payload(w[0]);
  const uint32_t sub = lt_ext_sub(p);
  const bool carries = sub == LTX_BLOCK || sub == LTX_TIME || sub == LTX_START;
  return carries && lt_ext_nwords(p) >= 1 ? w[1] : 0;
}

}  // namespace

uint64_t unwrap_after(uint64_t reference, uint64_t low) {
  const uint64_t first = reference - std::min(reference, kHalf / 2);
  return first + ((low - first) & kLowMask);
}

size_t record_words(uint64_t word) {
  const uint32_t kind = lt_kind(word);
  if (word == 0) return 0;
  if (kind == LT_EXT) return 1 + lt_ext_nwords(lt_payload(word));
  const bool has_id = kind != LT_SUSPEND && kind != 0;
  return has_id && lt_payload(word) == LT_PAYLOAD_BIG ? 2 : 1;
}

WordScanner::Coroutine& WordScanner::slot(uint32_t id) {
  if (id >= kDense) {
    if (sparse_.size() >= kSparseMax && !sparse_.contains(id)) {
      sparse_.clear();
      epoch_++;
    }
    return sparse_.try_emplace(id).first->second;
  }
  if (id >= dense_.size()) dense_.resize(std::max<size_t>(id + 1, dense_.size() * 2));
  return dense_[id];
}

void WordScanner::set_known(uint32_t id, uint32_t depth) {
  Coroutine& c = slot(id);
  c.depth = depth;
  c.epoch = epoch_;
}

void WordScanner::forget(uint32_t id) {
  if (id < kDense)
    set_known(id, 0);
  else
    sparse_.erase(id);
}

void WordScanner::forget() {
  epoch_++;
  current_ = 0;
}

void WordScanner::resume(uint32_t id) {
  if (id != current_) {
    Coroutine& c = slot(id);
    c.resumer = current_;
    c.resumed = epoch_;
  }
  current_ = id;
}

void WordScanner::suspend(uint32_t status) {
  const uint32_t id = current_;
  Coroutine& c = here();
  current_ = c.resumed == epoch_ ? c.resumer : 0;
  c.resumer = 0;
  if (status != LTS_YIELD) forget(id);
}

// Removes n calls. If there are fewer, the depth was wrong.
void WordScanner::unwind(uint32_t n) {
  Coroutine& c = here();
  if (n > c.depth) c.epoch = epoch_ - 1;
  c.depth -= std::min(n, c.depth);
}

// The coroutine in LTX_BLOCK is that at the end of the loss, but LTX_BLOCK may come after the loss.
void WordScanner::loss(const uint64_t* w) {
  forget();
  if (lt_ext_nwords(lt_payload(w[0])) < 2) return;
  losses_++;
  lost_events_ += w[1] - 1;
  const uint32_t why = lt_ext_arg(lt_payload(w[0]));
  if (why & LT_LOSS_OTHER) lost_otherwise_ += w[1] - 1;
  if (why & LT_LOSS_LEAST) lost_at_least_ = true;
  if (lost_time_ != nullptr) lost_time_->add(w[2], tick_);
}

void WordScanner::extension(const uint64_t* w, uint32_t p) {
  const uint32_t nwords = lt_ext_nwords(p);
  const uint32_t sub = lt_ext_sub(p);
  if (sub == LTX_LOSS) return loss(w);
  if (nwords == 0) return;
  const uint32_t id = lt_lo(w[1]);
  switch (sub) {
    case LTX_BLOCK:
      if (nwords >= 2) current_ = lt_lo(w[2]) == LT_ID_NONE ? 0 : lt_lo(w[2]);
      break;
    case LTX_UNWIND:
      if (lt_ext_arg(p) == 1)
        set_known(current_, id - 1);  // all but the id - 1 lowest
      else
        unwind(id);
      break;
    case LTX_SEGMENT:
      forget_depth();
      break;
    case LTX_CREATE:
      set_known(id, 0);
      break;
    case LTX_COLLECT:
      forget(id);
      break;
    case LTX_SWITCH:
      current_ = id;
      break;
    case LTX_STACK:
      current_ = id;
      set_known(id, 0);  // its frames follow
      break;
    default:
      break;
  }
}

// One whole record; tick_ is already its time.
void WordScanner::record(const uint64_t* w) {
  const uint32_t p = lt_payload(w[0]);
  switch (lt_kind(w[0])) {
    case LT_ENTRY:
    case LT_FRAME:
      here().depth++;
      break;
    case LT_RETURN:
    case LT_TAIL:
      unwind(1);
      break;
    case LT_RESUME:
      resume(p == LT_PAYLOAD_BIG ? lt_lo(w[1]) : p);
      break;
    case LT_SUSPEND:
      if (p >= LT_SEGMENT_FIRST)
        forget_depth();
      else
        suspend(p);
      break;
    case LT_EXT:
      extension(w, p);
      break;
    default:
      break;
  }
}

// Takes one-word entries, returns, tail calls and segments whose time does not go backwards.
size_t WordScanner::scan_plain(std::span<const uint64_t> words) {
  constexpr uint32_t kPlain = 1u << LT_ENTRY | 1u << LT_RETURN | 1u << LT_TAIL;
  static_assert((LT_ENTRY & 2) == 0 && (LT_RETURN & 2) != 0 && (LT_TAIL & 2) != 0);
  constexpr uint32_t kBig = LT_PAYLOAD_BIG << LT_KIND_BITS;
  const uint64_t* const begin = words.data();
  const uint64_t* const end = begin + words.size();
  const uint64_t* p = begin;
  uint64_t last = tick_ & kLowMask;
  const uint64_t first = last;
  int64_t depth = 0, lowest = 0;
  bool segments = false;
  for (; p != end; p++) {
    const uint64_t w = *p;
    const uint32_t kind = lt_kind(w);
    const uint64_t time = lt_time(w);
    // time < last gives a large difference, too
    if ((kPlain >> kind & 1) == 0 || (w & kBig) == kBig || time - last >= kHalf) {
      const bool packed = lt_is_packed(w);  // Has no time.
      if (!is_segment(w) || (!packed && time - last >= kHalf)) break;
      segments = true;
      if (!packed) last = time;
      continue;
    }
    last = time;
    // +1 for LT_ENTRY, else -1; as arithmetic, because a branch here would be unpredictable.
    depth += 1 - static_cast<int64_t>(kind & 2);
    lowest = depth < lowest ? depth : lowest;
  }
  if (p == begin) return 0;
  tick_ += last - first;
  Coroutine& c = here();
  const int64_t before = c.depth;
  // The events for which a segment stands are not known here.
  if (segments || before + lowest < 0) c.epoch = epoch_ - 1;
  c.depth = static_cast<uint32_t>(std::max<int64_t>(0, before + depth));
  return static_cast<size_t>(p - begin);
}

uint64_t WordScanner::tick_of(std::span<const uint64_t> words, uint64_t not_before) const {
  if (lt_is_packed(words[0])) return tick_;
  const uint64_t low = lt_time(words[0]);
  const uint64_t carried = words.size() > 1 ? carried_clock(words.data()) : 0;
  if (carried != 0) return unwrap_next(carried, low);
  const uint64_t next = unwrap_next(tick_, low);
  return not_before <= tick_ ? next : std::max(next, unwrap_after(not_before, low));
}

WordScanner::Result WordScanner::scan(std::span<const uint64_t> words, uint64_t not_before) {
  Result r{0, 0, Stop::kEnd, tick_};
  while (r.words < words.size()) {
    const auto rest = words.subspan(r.words);
    if (not_before <= tick_ || r.words > 0) {
      const size_t plain = scan_plain(rest);
      r.words += plain;
      r.events += plain;
      r.tick = tick_;
      if (plain > 0) continue;
    }
    const size_t n = record_words(rest[0]);
    if (n == 0) return r.stop = Stop::kZero, r;
    if (n > rest.size() || std::find(&rest[0], &rest[0] + n, 0u) != &rest[0] + n)
      return r.stop = Stop::kIncomplete, r;
    const uint64_t tick = tick_of(rest, r.words == 0 ? not_before : 0);
    const uint64_t apart = tick > tick_ ? tick - tick_ : tick_ - tick;
    if (apart >= kHalf) {
      tick_ = tick;  // the next call continues from here
      return r.stop = Stop::kTimeJump, r;
    }
    if (tick < tick_) clock_backwards_++;
    r.tick = tick_ = tick;
    record(rest.data());
    r.words += n;
    r.events++;
  }
  return r;
}

}  // namespace luatrace
