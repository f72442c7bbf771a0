// SPDX-License-Identifier: MIT
#include "analyzer/read/block_reader.h"

#include <algorithm>
#include <cstring>

#include "base/escape.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kKnownFeatures = LT_FEATURE_ZSTD;  // Flags of lt_file_header.required.
constexpr uint64_t kRescanFree = 64u << 20;  // Bytes of bad payloads that are always searched.

// Reads a block header from the 64 bytes at `data`; false if there is none.
bool parse_header(const uint8_t* data, lt_block& block) {
  memcpy(&block, data, sizeof block);
  return block.sync == LT_SYNC && block.payload_size <= LT_PAYLOAD_MAX &&
         block.header_crc == crc32c(data, offsetof(lt_block, header_crc));
}

size_t padded(size_t size) {
  return (size + 7) & ~size_t{7};
}

}  // namespace

BlockReader::BlockReader(Input& input, Diagnostics& diagnostics)
    : input_(input), diag_(diagnostics) {
  read_header();
}

void BlockReader::read_header() {
  auto fail = [&](const std::string& why) {
    throw Unreadable(printable(diag_.file()) + ": " + why);
  };
  size_t have = input_.need(sizeof header_);
  if (have == 0) fail("the file is empty");
  memcpy(&header_, input_.data(), std::min(have, sizeof header_));
  uint64_t magic = LT_FILE_MAGIC;
  if (memcmp(&magic, input_.data(), std::min(have, sizeof magic)) != 0)
    fail("not a luatrace trace (offset 0: the first 8 bytes are not \"LUATRACE\")");
  if (have < sizeof header_)
    fail("cut inside the file header (offset " + std::to_string(have) + " of " +
         std::to_string(sizeof header_) + "): nothing can be read");
  bool damaged = header_.crc != crc32c(&header_, offsetof(lt_file_header, crc));
  if (header_.version > LT_FILE_VERSION || header_.version == 0)
    fail("trace version " + std::to_string(header_.version) + ", but this program reads up to " +
         std::to_string(LT_FILE_VERSION) +
         (damaged ? " (offset 8; the header is damaged: its checksum is wrong)"
                  : " (offset 8): use a newer luatrace-analyze"));
  if (uint64_t unknown = header_.required & ~kKnownFeatures; unknown && !damaged)
    fail(std::string("needs a feature that this program does not have (offset 16, bits ") +
         std::to_string(unknown) + "): use a newer luatrace-analyze");
  check_header_values(damaged);
}

void BlockReader::check_header_values(bool damaged) {
  if (damaged) {
    diag_.trust.bad_blocks++;
    diag_.log(0, "the file header is damaged (its checksum is wrong): times may be wrong");
  }
  if (header_.tick_shift > 63 || header_.tick_mult == 0) {
    if (!damaged) diag_.trust.bad_records++;
    diag_.log(36, "the clock's rate is invalid: times are in ticks");
    header_.tick_shift = 0;
    header_.tick_mult = 1;
  }
  size_t size = header_.header_size;
  if (size < sizeof header_ || size > 65536 || (damaged && size != sizeof header_)) {
    if (!damaged) {
      diag_.trust.bad_records++;
      diag_.log(12, "the header's size is invalid: " + std::to_string(size));
    }
    size = sizeof header_;
  }
  input_.consume(std::min(input_.need(size), size));
}

bool BlockReader::next(Block& block) {
  block.hold = nullptr;
  while (find_block())
    if (deliver(block)) return true;
  return false;
}

// Moves to the next good block header; false if there is none.
bool BlockReader::find_block() {
  size_t have = input_.need(sizeof(lt_block));
  if (have == 0) return false;
  lt_block header;
  if (have >= sizeof header && parse_header(input_.data(), header)) {
    searching_ = false;
    return true;
  }
  if (!searching_) {
    diag_.trust.bad_blocks++;
    diag_.log(input_.offset(), have < sizeof header
                                   ? "the file ends inside a block header"
                                   : "no block begins here (bad sync or header checksum): "
                                     "searching for the next one");
  }
  return search();
}

bool BlockReader::search() {
  searching_ = true;
  const uint64_t sync = LT_SYNC;
  lt_block header;
  while (input_.need(sizeof header) >= sizeof header) {
    const uint8_t* data = input_.data();
    size_t have = input_.available();
    auto* found = static_cast<const uint8_t*>(memmem(data, have, &sync, sizeof sync));
    size_t skip = found ? static_cast<size_t>(found - data) : have - (sizeof sync - 1);
    if (found && have - skip >= sizeof header && parse_header(found, header)) {
      input_.consume(skip);
      diag_.log(input_.offset(), "reading continues here");
      searching_ = false;
      return true;
    }
    // A candidate at the edge of the window is checked again when all of its header is there.
    bool whole = !found || have - skip >= sizeof header;
    input_.consume(found ? skip + whole : std::max<size_t>(skip, 1));
  }
  input_.consume(input_.available());
  return false;
}

// Reads the block at the current offset, whose header is good. False: unusable, continue.
bool BlockReader::deliver(Block& block) {
  lt_block header;
  memcpy(&header, input_.data(), sizeof header);
  size_t size = sizeof header + padded(header.payload_size);
  size_t have = input_.need(size);
  if (have < sizeof header + header.payload_size) return deliver_cut(block, header);
  const uint8_t* payload = input_.data() + sizeof header;
  if (header.payload_crc != crc32c(payload, header.payload_size)) {
    diag_.trust.bad_blocks++;
    if (header.type == LT_BLOCK_EVENTS) diag_.trust.bad_block_events += header.count;
    diag_.log(input_.offset(), "block of type " + std::to_string(header.type) + ", " +
                                   std::to_string(header.payload_size) +
                                   " bytes: wrong checksum, skipped");
    // Bytes may be missing: the next block may begin inside this payload. The budget limits the
    // cost of a file of nested false headers to a few passes.
    rescanned_ += header.payload_size;
    bool affordable = rescanned_ <= kRescanFree + 4 * input_.offset();
    input_.consume(affordable ? sizeof header : std::min(size, have));
    searching_ = true;
    return false;
  }
  block = {header, input_.offset(), {payload, header.payload_size}, false, input_.hold()};
  input_.consume(std::min(size, have));  // Now, so that what is available has not been delivered.
  return true;
}

bool BlockReader::deliver_cut(Block& block, const lt_block& header) {
  size_t have = input_.available() - sizeof header;
  diag_.trust.bad_blocks++;
  diag_.log(input_.offset(), "block of type " + std::to_string(header.type) +
                                 ": the file ends after " + std::to_string(have) + " of its " +
                                 std::to_string(header.payload_size) + " bytes");
  if (header.type != LT_BLOCK_EVENTS || (header.flags & LT_BLOCK_F_ZSTD)) {
    // A damaged length whose checksum happens to match must not hide what follows.
    input_.consume(sizeof header);
    searching_ = true;
    return false;
  }
  block = {header,
           input_.offset(),
           {input_.data() + sizeof header, have & ~size_t{7}},
           true,
           input_.hold()};
  input_.consume(input_.available());
  return true;
}

}  // namespace luatrace::analyze
