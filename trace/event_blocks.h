// SPDX-License-Identifier: MIT
// EventBlocks: gathers the words of one stream and writes them as EVENTS blocks of at most 64 KB,
// each beginning at a record and headed by the clock, coroutine and depth at its start.
// Invariant: the words come out in the order in which they went in, none twice, none left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace_writer.h"
#include "trace/word_scanner.h"

namespace luatrace {

class EventBlocks {
 public:
  static constexpr size_t kMaxWords = 8192;

  // Writes to writer, which must live longer. start_tick: full clock when the stream began.
  EventBlocks(TraceWriter& writer, uint32_t stream, uint64_t start_tick);

  // Takes as many whole records as there are and returns how many words that was: less than
  // words.size() if a record is incomplete or a word is 0. not_before: as WordScanner::scan().
  // A run may be longer than a block. Errors show in the writer.
  size_t append(std::span<const uint64_t> words, uint64_t not_before = 0);

  // Says that something between the last append() and the next one was left out.
  void mark_gap();

  // Writes what was gathered. Does nothing if that is nothing.
  void flush();

  size_t pending_words() const { return used_; }
  uint64_t events() const { return events_; }  // records taken, written or not
  uint64_t words() const { return words_; }
  const WordScanner& scanner() const { return scanner_; }

 private:
  void begin_block(std::span<const uint64_t> words, uint64_t not_before);

  TraceWriter& writer_;
  WordScanner scanner_;
  EventBlockInfo info_;           // of the block that is being gathered
  std::vector<uint64_t> buffer_;  // at most kMaxWords; used_ of them hold words
  size_t used_ = 0;
  bool gap_ = false;
  uint64_t lost_ = 0;  // of what was written, as the scanner counts
  uint64_t events_ = 0;
  uint64_t words_ = 0;
};

}  // namespace luatrace
