// SPDX-License-Identifier: MIT
// From bytes to the contents of blocks. BlockReader finds and checks blocks: the framing of a trace
// file (part 3 of luatrace_format.h). BlockDecoder decompresses them one by one on the caller's
// thread, parses them and passes their contents to a sink.
//
// Where a block should begin and none does, or a payload's checksum is wrong, the reader searches
// for the next LT_SYNC (at any byte, as damage may have removed some) with a correct header
// checksum. Invariants: each damaged place is counted and logged once, and every byte is read a
// bounded number of times, so that no input makes the reader slow; of a malformed block the sink
// gets what was good in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/model.h"
#include "luatrace_format.h"
#include "trace/packing.h"

namespace luatrace::analyze {

struct Block {
  lt_block header;
  uint64_t offset = 0;               // Of the header, in the file.
  std::span<const uint8_t> payload;  // As in the file. Valid until next() is called, or see hold.
  bool cut = false;                  // The file ends inside the payload.
  std::shared_ptr<const void> hold;  // While a copy exists, the payload stays valid.
};

class BlockReader {
 public:
  // Reads and checks the file header. Throws Unreadable if this is no trace, or its version is
  // newer, or it requires a feature that this reader lacks.
  BlockReader(Input& input, Diagnostics& diagnostics);

  const lt_file_header& header() const { return header_; }

  // Reads the next block whose header and payload are good; a cut block only if it has EVENTS.
  // False at the end of the file. Throws Unreadable on a read error.
  bool next(Block& block);

 private:
  void read_header();
  void check_header_values(bool damaged);
  bool find_block();
  bool search();
  bool deliver(Block& block);
  bool deliver_cut(Block& block, const lt_block& header);

  Input& input_;
  Diagnostics& diag_;
  lt_file_header header_{};
  uint64_t rescanned_ = 0;
  bool searching_ = false;  // The preceding bytes were bad; that has been reported.
};

using Words = std::shared_ptr<std::vector<uint64_t>>;

// Replaces the payload of `block` with `words`, decompressed from it, and makes the block hold
// them. If `problem` is not null, decompression failed: counts and logs that, and returns false.
bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diagnostics);

// Threads that receive blocks as they are in the file (TraceSink::on_packed) need one each.
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
  bool samples(const Block& block);

  Diagnostics& diag_;
  TraceSink& sink_;
  Unpacker unpacker_;
  std::vector<Words> words_;  // The sink may still hold some of them.
  bool ended_ = false;
};

}  // namespace luatrace::analyze
