// SPDX-License-Identifier: MIT
// From bytes to checked blocks: the framing of a trace file (part 3 of luatrace_format.h).
//
// Where a block should begin and none does, or where a payload's checksum is wrong, the reader
// looks for the next LT_SYNC (at any byte: damage may have removed some) whose header checksum is
// right. Invariant: each damaged place is counted once and said once, and every byte is looked at
// a bounded number of times, so that no input makes the reader slow.
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
  uint64_t offset = 0;               // Of the header in the file.
  std::span<const uint8_t> payload;  // As in the file. Lives until the next call of next().
  bool cut = false;                  // The file ends inside the payload.
  std::shared_ptr<const void> hold;  // As long as a copy lives, the payload does.
};

class BlockReader {
 public:
  // Reads and checks the file header. Throws Unreadable if this is no trace, or one of a newer
  // version, or one that requires a feature that this reader does not have.
  BlockReader(Input& input, Diagnostics& diagnostics);

  const lt_file_header& header() const { return header_; }

  // The next block whose header and payload are good; a cut one only if it has EVENTS. False at
  // the end of the file. Throws Unreadable on a read error.
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
  size_t behind_ = 0;  // Bytes of the block delivered last.
  uint64_t rescanned_ = 0;
  bool searching_ = false;  // The place before was bad and has been reported.
};

}  // namespace luatrace::analyze
