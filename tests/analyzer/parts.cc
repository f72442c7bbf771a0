// SPDX-License-Identifier: MIT
#include "parts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "analyzer/read/image.h"
#include "support.h"
#include "trace/crc32c.h"
#include "trace/packing.h"

namespace luatrace::analyze {

Parts parts_of(const std::vector<uint8_t>& bytes) {
  Parts parts;
  memcpy(&parts.header, bytes.data(), sizeof parts.header);
  for (size_t at = sizeof parts.header; at < bytes.size();) {
    lt_block b;
    memcpy(&b, &bytes[at], sizeof b);
    auto* payload = &bytes[at] + sizeof b;
    parts.blocks.emplace_back(b, std::vector<uint8_t>(payload, payload + b.payload_size));
    at += sizeof b + ((b.payload_size + 7) & ~7u);
  }
  return parts;
}

std::vector<uint8_t> join(Parts parts) {
  parts.header.required |= LT_FEATURE_ZSTD;
  TraceImage image(parts.header);
  std::vector<uint8_t> out = image.take();
  for (auto& [b, payload] : parts.blocks) {
    b.payload_size = static_cast<uint32_t>(payload.size());
    if (!(b.flags & LT_BLOCK_F_ZSTD)) b.raw_size = b.payload_size;
    b.payload_crc = crc32c(payload.data(), payload.size());
    b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
    auto* p = reinterpret_cast<const uint8_t*>(&b);
    out.insert(out.end(), p, p + sizeof b);
    out.insert(out.end(), payload.begin(), payload.end());
    out.resize((out.size() + 7) & ~size_t{7});
  }
  return out;
}

Parts packed_parts(const std::string& text) {
  Parts parts = parts_of(to_binary(text));
  Packer packer(1);
  int count = 0;
  for (auto& [b, payload] : parts.blocks) {
    auto packed = packer.pack(b, std::as_bytes(std::span(payload)));
    if (packed.empty()) continue;
    auto* p = reinterpret_cast<const uint8_t*>(packed.data());
    payload.assign(p, p + packed.size());
    count++;
  }
  EXPECT_GT(count, 0);
  return parts;
}

}  // namespace luatrace::analyze
