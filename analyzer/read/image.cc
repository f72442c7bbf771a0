// SPDX-License-Identifier: MIT
#include "analyzer/read/image.h"

#include <cstddef>

#include "trace/crc32c.h"

namespace luatrace::analyze {

TraceImage::TraceImage(lt_file_header header) {
  if (!header.magic) header.magic = LT_FILE_MAGIC;
  if (!header.version) header.version = LT_FILE_VERSION;
  if (!header.header_size) header.header_size = sizeof header;
  header.crc = crc32c(&header, offsetof(lt_file_header, crc));
  append(&header, sizeof header);
}

void TraceImage::add(lt_block block, std::span<const std::byte> payload) {
  block.sync = LT_SYNC;
  block.payload_size = block.raw_size = static_cast<uint32_t>(payload.size());
  block.payload_crc = crc32c(payload.data(), payload.size());
  block.header_crc = crc32c(&block, offsetof(lt_block, header_crc));
  append(&block, sizeof block);
  append(payload.data(), payload.size());
  bytes_.resize((bytes_.size() + 7) & ~size_t{7});
  blocks_++;
}

void TraceImage::append(const void* data, size_t size) {
  auto* bytes = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
}

}  // namespace luatrace::analyze
