// SPDX-License-Identifier: MIT
#include "analyzer/read/is_sampled.h"

#include <cstring>

#include "analyzer/read/text_line.h"
#include "analyzer/read/text_reader.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMostBytes = 1 << 20;  // Of the file.

// In the text form: "stream 1 ... flags=0x200 ...".
bool has_sampled_stream(std::string_view text) {
  constexpr std::string_view kStream = "\nstream ";
  const size_t at = text.find(kStream);
  if (at == text.npos) return false;
  const size_t end = std::min(text.find('\n', at + 1), text.size());
  return TextLine(text.substr(at + 1, end - at - 1), "").number("flags") & LTF_SAMPLED;
}

bool is_sampled_text(Input& input) {
  input.need(kMostBytes);
  const std::string_view text = input.text().substr(0, kMostBytes);
  try {
    return has_sampled_stream(text) || text.find("\nnote sample=") != text.npos;
  } catch (const Unreadable&) {
    return false;  // The reader says so with the number of the line.
  }
}

// Of the payload of a NOTE block.
bool notes_samples(std::string_view notes) {
  return notes.starts_with("sample=") || notes.find("\nsample=") != notes.npos;
}

}  // namespace

bool is_sampled(Input& input) {
  if (is_text_trace(input)) return is_sampled_text(input);
  size_t at = sizeof(lt_file_header);
  lt_block block;
  while (at < kMostBytes && input.need(at + sizeof block) >= at + sizeof block) {
    memcpy(&block, input.data() + at, sizeof block);
    at += sizeof block;
    if (block.sync != LT_SYNC || block.payload_size > LT_PAYLOAD_MAX) return false;
    if (block.type == LT_BLOCK_EVENTS || block.type == LT_BLOCK_SAMPLES)
      return block.type == LT_BLOCK_SAMPLES;
    if (block.type == LT_BLOCK_STREAM) {
      lt_stream_info info;
      if (block.payload_size < sizeof info || (block.flags & LT_BLOCK_F_ZSTD) ||
          input.need(at + sizeof info) < at + sizeof info)
        return false;
      memcpy(&info, input.data() + at, sizeof info);
      return info.flags & LTF_SAMPLED;
    }
    if (block.type == LT_BLOCK_NOTE &&
        input.need(at + block.payload_size) >= at + block.payload_size &&
        notes_samples({reinterpret_cast<const char*>(input.data()) + at, block.payload_size}))
      return true;  // A trace in which no sample came has no stream.
    at += (block.payload_size + size_t{7}) & ~size_t{7};
  }
  return false;
}

}  // namespace luatrace::analyze
