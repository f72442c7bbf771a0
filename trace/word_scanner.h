// SPDX-License-Identifier: MIT
// WordScanner: walks the event words of one stream in order, run by run, and knows at each point
// the full clock, the current coroutine and its depth, which the header of an EVENTS block needs.
// Invariants: it takes whole records only; it never reads outside the run; and whatever the words
// are (they come from an untrusted process), it neither throws nor grows without bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "luatrace_format.h"
#include "trace/time_spans.h"

namespace luatrace {

// The first full clock not before reference - 2^38 whose low 40 bits are `low`: right if the word
// is older than the reference by at most that much (a writer may be delayed between reading its
// clock and storing) and younger by at most 2^39 ticks.
uint64_t unwrap_after(uint64_t reference, uint64_t low);

// Is it an entry, a return or a tail call of one word?
inline bool is_plain(uint64_t word) {
  constexpr uint32_t kPlain = 1u << LT_ENTRY | 1u << LT_RETURN | 1u << LT_TAIL;
  return (kPlain >> lt_kind(word) & 1) != 0 && lt_payload(word) != LT_PAYLOAD_BIG;
}

// Is it a segment of one word, or a word of several?
inline bool is_segment(uint64_t word) {
  return lt_kind(word) == LT_SUSPEND && lt_payload(word) >= LT_SEGMENT_FIRST;
}

// LTX_* of a record that begins with this word; 0: it is of another kind.
inline uint32_t sub_of(uint64_t word) {
  return lt_kind(word) == LT_EXT ? lt_ext_sub(lt_payload(word)) : 0;
}

class WordScanner {
 public:
  enum class Stop {
    kEnd,         // all words taken
    kZero,        // a word that is not written yet
    kIncomplete,  // a record without all of its continuation words
    kTimeJump     // the next record is 2^39 ticks or more from the last one, which would be
                  // ambiguous to a reader: a new block must begin here. tick() is already the
                  // next record's; scan() again continues.
  };
  struct Result {
    size_t words;     // taken
    uint64_t events;  // records taken
    Stop stop;
    uint64_t tick;  // full clock of the last record taken, in this call or an earlier one
  };

  // start_tick: full clock at the beginning of the stream. lost_time gets the time spans of the
  // losses, and must outlive this object; null: nobody wants them.
  explicit WordScanner(uint64_t start_tick, TimeSpans* lost_time = nullptr)
      : tick_(start_tick), lost_time_(lost_time) {}

  // Takes whole records from the run. not_before: full clock at a moment when the first word of the
  // run did not exist yet (0: unknown); it shows how often the 40-bit time has wrapped since.
  Result scan(std::span<const uint64_t> words, uint64_t not_before = 0);

  // After the words taken so far. tick() is the full clock of the last record.
  uint64_t tick() const { return tick_; }
  uint32_t coroutine() const { return current_; }
  // Open calls of the current coroutine, or LT_DEPTH_UNKNOWN.
  uint32_t depth() const { return known(here()) ? here().depth : LT_DEPTH_UNKNOWN; }
  // Something is missing between the words taken so far and the next ones.
  void forget();
  // The full clock of the record that begins at words[0] (words must not be empty).
  uint64_t tick_of(std::span<const uint64_t> words, uint64_t not_before) const;

  // Counted so far.
  uint64_t lost_events() const { return lost_events_; }        // according to LTX_LOSS records
  uint64_t lost_otherwise() const { return lost_otherwise_; }  // those not lost to a full ring
  bool lost_at_least() const { return lost_at_least_; }        // there may have been more
  uint64_t losses() const { return losses_; }
  uint64_t clock_backwards() const { return clock_backwards_; }

 private:
  struct Coroutine {
    uint32_t depth = 0;
    uint32_t epoch = 0;    // the depth is valid only in this epoch of the scanner
    uint32_t resumer = 0;  // 0: unknown, or suspended since
    uint32_t resumed = 0;  // the resumer is valid only in this epoch
  };

  size_t scan_plain(std::span<const uint64_t> words);
  void record(const uint64_t* words);
  void extension(const uint64_t* words, uint32_t payload);
  void loss(const uint64_t* words);
  void resume(uint32_t id);
  void suspend(uint32_t status);
  void unwind(uint32_t n);
  void set_known(uint32_t id, uint32_t depth);
  void forget_depth() { here().epoch = epoch_ - 1; }
  void forget(uint32_t id);
  bool known(const Coroutine& c) const { return c.epoch == epoch_; }
  Coroutine& slot(uint32_t id);
  Coroutine& here() { return slot(current_); }
  const Coroutine& here() const { return const_cast<WordScanner*>(this)->slot(current_); }

  uint64_t tick_;
  TimeSpans* lost_time_;
  uint32_t current_ = 0;          // 0: not known
  uint32_t epoch_ = 0;            // number of losses: each makes what was known before invalid
  std::vector<Coroutine> dense_;  // ids below kDense
  std::unordered_map<uint32_t, Coroutine> sparse_;  // the others
  uint64_t lost_events_ = 0;
  uint64_t lost_otherwise_ = 0;
  bool lost_at_least_ = false;
  uint64_t losses_ = 0;
  uint64_t clock_backwards_ = 0;
};

// Words of the record that begins with this word, including it; 0 for a word that is 0.
size_t record_words(uint64_t word);

}  // namespace luatrace
