// SPDX-License-Identifier: MIT
#include "analyzer/read/block_decoder.h"

#include <string>

#include "base/unique_owner.h"

namespace luatrace::analyze {

bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diag) {
  if (problem) {
    diag.trust.bad_blocks++;
    if (block.header.type == LT_BLOCK_EVENTS) diag.trust.bad_block_events += block.header.count;
    diag.say(block.offset, "block of type " + std::to_string(block.header.type) +
                               ": its compressed payload cannot be read (" + problem +
                               "), skipped");
    return false;
  }
  block.header.flags &= static_cast<uint16_t>(~LT_BLOCK_F_ZSTD);
  block.header.payload_size = block.header.raw_size;
  block.payload = {reinterpret_cast<const uint8_t*>(words->data()), block.header.raw_size};
  block.hold = std::move(words);
  return true;
}

void BlockDecoder::open(Block block) {
  Words& words = free_words();
  const char* problem = unpacker_.unpack(block.header, block.payload, *words);
  if (set_unpacked(block, words, problem, diag_)) dispatcher_.block(block);
}

Words& BlockDecoder::free_words() {
  for (Words& words : words_) {
    if (is_unique_owner(words)) return words;
  }
  return words_.emplace_back(std::make_shared<std::vector<uint64_t>>());
}

}  // namespace luatrace::analyze
