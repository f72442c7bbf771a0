// SPDX-License-Identifier: MIT
// Decompresses blocks one by one on the caller's thread, parses them and passes their contents to a
// sink. Threads that receive blocks as they are in the file (TraceSink::on_packed) need a decoder
// each.
// Invariant: a malformed block is counted and logged; the sink gets what was good in it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analyzer/read/block_reader.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "trace/packing.h"

namespace luatrace::analyze {

using Words = std::shared_ptr<std::vector<uint64_t>>;

// Replaces the payload of `block` with `words`, decompressed from it, and makes the block hold
// them. If `problem` is not null, decompression failed: counts and logs that, and returns false.
bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diagnostics);

class BlockDecoder {
 public:
  BlockDecoder(Diagnostics& diagnostics, TraceSink& sink) : diag_(diagnostics), sink_(sink) {}

  // Passes the contents to the sink, which may keep events (EventBlock::hold).
  void decode(Block block);
  // The same for a block that is not compressed.
  void parse(const Block& block);
  bool ended() const { return ended_; }  // The end block was found.

 private:
  Words& free_words();
  bool contents(const Block& block);
  template <class T>
  bool one(const Block& block, bool (*parser)(const Block&, T&), void (TraceSink::*give)(const T&));
  template <class Raw, class T>
  bool each(const Block& block,
            bool (*parser)(const Block&, std::span<const uint8_t>, const Raw&, T&),
            void (TraceSink::*give)(const T&));
  bool events(const Block& block);

  Diagnostics& diag_;
  TraceSink& sink_;
  Unpacker unpacker_;
  std::vector<Words> words_;  // The sink may still hold some of them.
  bool ended_ = false;
};

}  // namespace luatrace::analyze
