// SPDX-License-Identifier: MIT
// Decompresses blocks one by one on the caller's thread and parses them. For threads that receive
// blocks as they are in the file (TraceSink::on_packed); each needs its own decoder.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/read/dispatcher.h"
#include "trace/packing.h"

namespace luatrace::analyze {

using Words = std::shared_ptr<std::vector<uint64_t>>;

// Replaces the payload of `block` with `words`, decompressed from it, and makes the block hold
// them. If `problem` is not null, decompression failed: counts and logs that, and returns false.
bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diagnostics);

class BlockDecoder {
 public:
  BlockDecoder(Diagnostics& diagnostics, TraceSink& sink)
      : diag_(diagnostics), dispatcher_(diagnostics, sink) {}

  // Passes the contents to the sink, which may keep them (EventBlock::hold).
  void open(Block block);

 private:
  Words& free_words();

  Diagnostics& diag_;
  Dispatcher dispatcher_;
  Unpacker unpacker_;
  std::vector<Words> words_;  // The sink may still hold some of them.
};

}  // namespace luatrace::analyze
