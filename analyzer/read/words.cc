// SPDX-License-Identifier: MIT
#include "analyzer/read/words.h"

#include <algorithm>

#include "luatrace_watch.h"
#include "trace/packed_word.h"

namespace luatrace::analyze {
namespace {

// Returns how many continuation words a known sub-kind needs; 0 for unknown ones.
uint32_t needed_words(uint32_t sub) {
  switch (sub) {
    case LTX_BLOCK:
      return 3;
    case LTX_STACK:
    case LTX_LOSS:
    case LTX_START:
    case LTX_REQUEST:
      return 2;
    case LTX_UNWIND:
    case LTX_CREATE:
    case LTX_COLLECT:
    case LTX_SWITCH:
    case LTX_THREAD:
    case LTX_TIME:
    case LTX_MARK:
    case LTX_LABEL:
    case LTX_WATCH:
    case LTX_GC:
    case LTX_TRACE:
    case LTX_CPU:
    case LTX_SEGMENT:
      return 1;
    default:
      return 0;
  }
}

bool read_ext(const uint64_t* words, size_t available, Record& out) {
  uint32_t payload = lt_payload(out.word);
  out.sub = lt_ext_sub(payload);
  out.arg = lt_ext_arg(payload);
  out.nwords = lt_ext_nwords(payload);
  out.words = words + 1;
  out.length = 1 + out.nwords;
  if (out.length > available) return out.length = static_cast<uint32_t>(available), false;
  return out.sub != 0 && out.nwords >= needed_words(out.sub);
}

}  // namespace

// NULs become spaces: names cannot have any.
std::string text_of(const uint64_t* words, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t size = std::min<uint64_t>(words[i] & 0xff, LT_TEXT_BYTES);
    for (uint64_t byte = 1; byte <= size; byte++) {
      const char c = static_cast<char>(words[i] >> (8 * byte));
      text += c ? c : ' ';
    }
  }
  return text;
}

std::vector<uint64_t> words_of(std::string_view text) {
  std::vector<uint64_t> words(lt_text_words(text.size()));
  for (size_t i = 0; i < text.size(); i++) {
    const uint64_t byte = static_cast<unsigned char>(text[i]);
    words[i / LT_TEXT_BYTES] += (byte << (8 * (i % LT_TEXT_BYTES + 1))) + 1;
  }
  return words;
}

LabelRecord::LabelRecord(const Record& r) : coroutine(lt_lo(r.words[0])) {
  const uint32_t key_words = std::min(lt_hi(r.words[0]), r.nwords - 1);
  key = text_of(r.words + 1, key_words);
  value = text_of(r.words + 1 + key_words, r.nwords - 1 - key_words);
}

bool Record::full_clock(uint64_t& tick) const {
  if (kind != LT_EXT) return false;
  if (sub == LTX_BLOCK || sub == LTX_START || sub == LTX_TIME) return tick = words[0], true;
  return false;
}

bool read_record(const uint64_t* words, size_t available, Record& out) {
  out = Record{};
  out.word = words[0];
  out.kind = lt_kind(out.word);
  if (out.kind == 0) return false;
  if (out.kind == LT_EXT) return read_ext(words, available, out);
  out.value = lt_payload(out.word);
  if (out.is_packed()) return !PackedWord(out.word).is_malformed();
  if (out.value != LT_PAYLOAD_BIG || out.kind == LT_SUSPEND) return true;
  if (available < 2) return false;
  out.value = words[1];
  out.length = 2;
  return true;
}

}  // namespace luatrace::analyze
