// SPDX-License-Identifier: MIT
// HitWords: collects the words of one stream and the descriptions of its functions for the
// TraceWriter.
//
// Invariant: a function that is described before a word names it is also described first in the
// file.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/hits/hit.h"
#include "trace/trace_writer.h"

namespace luatrace {

class HitWords {
 public:
  // Writes the STREAM block.
  HitWords(TraceWriter& writer, uint32_t stream, const lt_stream_info& info);

  // A record, in the order of time.
  void put(uint64_t time, uint32_t payload, uint32_t kind);
  void put_id(uint64_t time, uint32_t id, uint32_t kind);
  void put_ext(uint64_t time, uint32_t sub, uint32_t arg, uint64_t first);
  void put_ext(uint64_t time, uint32_t sub, uint32_t arg, uint64_t first, uint64_t second);
  uint64_t last() const { return last_; }  // Time of the last record, or of the stream's start.

  // Function ids; 0: this key has none yet.
  uint32_t id_of(uint64_t key) const;
  uint32_t new_id(uint64_t key);
  void describe(uint32_t id, const HitFunction& function);

  // Passes everything to the TraceWriter.
  void flush();
  // The same at the end of the process: only losses can follow.
  void rest();

 private:
  void prepare(uint64_t time);
  void flush_words();

  TraceWriter& writer_;
  uint32_t stream_;
  EventBlocks blocks_;
  std::vector<uint64_t> words_;   // Not yet in blocks_.
  uint64_t words_time_ = 0;       // Full clock of the first word.
  std::vector<std::byte> funcs_;  // Descriptions not yet written.
  uint32_t nfuncs_ = 0;
  std::unordered_map<uint64_t, uint32_t> ids_;
  uint32_t next_id_ = 1;
  uint64_t last_ = 0;
};

}  // namespace luatrace
