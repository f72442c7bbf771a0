// SPDX-License-Identifier: MIT
// EventBlocks: collects the words of one stream and writes them as EVENTS blocks of up to 64 KB.
// Each begins at a record; its header holds the clock, coroutine and depth at its start.
// Invariant: words are written in the order in which they arrive, each exactly once.
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

  // `writer` must outlive this object. start_tick: full clock at the beginning of the stream.
  // lost_time: see WordScanner.
  EventBlocks(TraceWriter& writer, uint32_t stream, uint64_t start_tick,
              TimeSpans* lost_time = nullptr);

  // Takes as many whole records as there are and returns how many words that was: fewer than
  // words.size() if a record is incomplete or a word is 0. not_before: see WordScanner::scan(). A
  // run may be longer than a block. Errors are the writer's.
  size_t append(std::span<const uint64_t> words, uint64_t not_before = 0);

  // Something between the last append() and the next one is missing.
  void mark_gap();

  // Writes what has been collected, if anything.
  void flush();

  // The same; nothing, or very little, will follow: releases memory.
  void rest();

  size_t pending_words() const { return used_; }
  uint64_t events() const { return events_; }  // records taken, written or not
  uint64_t words() const { return words_; }
  const WordScanner& scanner() const { return scanner_; }

 private:
  void begin_block(std::span<const uint64_t> words, uint64_t not_before);

  TraceWriter& writer_;
  WordScanner scanner_;
  EventBlockInfo info_;           // of the block being collected
  std::vector<uint64_t> buffer_;  // up to kMaxWords; used_ of them hold words
  size_t used_ = 0;
  bool gap_ = false;
  uint64_t lost_ = 0;  // in the blocks written, by the scanner's count
  uint64_t events_ = 0;
  uint64_t words_ = 0;
};

}  // namespace luatrace
