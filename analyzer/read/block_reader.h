// SPDX-License-Identifier: MIT
// Turns bytes into checked blocks: the framing of a trace file (part 3 of luatrace_format.h).
//
// Where a block should begin and none does, or a payload's checksum is wrong, the reader searches
// for the next LT_SYNC (at any byte, as damage may have removed some) with a correct header
// checksum. Invariant: each damaged place is counted and logged once, and every byte is read a
// bounded number of times, so that no input makes the reader slow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "luatrace_format.h"

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

}  // namespace luatrace::analyze
