// SPDX-License-Identifier: MIT
// An independent trace file reader for the tests: as plain as possible, strict, sharing no code
// with the library or the analyzer (not even the checksum), so that a mistake in either shows.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "luatrace_format.h"

namespace mini {

// Words to write: n entries of 100 functions, from tick 1000 on, a tick apart.
inline std::vector<uint64_t> entries(size_t n) {
  std::vector<uint64_t> w(n);
  for (size_t i = 0; i < n; i++) w[i] = lt_word(1000 + i, 1 + i % 100, LT_ENTRY);
  return w;
}

inline uint32_t crc(const char* p, size_t n) {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> t(256);
    for (uint32_t i = 0; i < 256; i++) {
      t[i] = i;
      for (int bit = 0; bit < 8; bit++) t[i] = (t[i] >> 1) ^ ((t[i] & 1) ? 0x82f63b78u : 0u);
    }
    return t;
  }();
  uint32_t c = 0xffffffffu;
  for (size_t i = 0; i < n; i++) c = (c >> 8) ^ table[(c ^ static_cast<unsigned char>(p[i])) & 255];
  return ~c;
}

struct Block {
  lt_block head;
  std::string payload;
  std::vector<uint64_t> words() const {
    std::vector<uint64_t> w(payload.size() / 8);
    if (!w.empty()) std::memcpy(w.data(), payload.data(), w.size() * 8);
    return w;
  }
  template <class T>
  T as() const {
    T t{};
    if (payload.size() < sizeof t) throw std::runtime_error("payload too short");
    std::memcpy(&t, payload.data(), sizeof t);
    return t;
  }
};

struct File {
  lt_file_header header{};
  std::vector<Block> blocks;
  bool cut = false;   // it ended inside a block
  size_t cut_at = 0;  // where that block began

  std::vector<const Block*> of_type(uint16_t type, uint32_t stream = 0) const {
    std::vector<const Block*> r;
    for (const auto& b : blocks)
      if (b.head.type == type && (stream == 0 || b.head.stream == stream)) r.push_back(&b);
    return r;
  }
  std::vector<uint64_t> words(uint32_t stream) const {
    std::vector<uint64_t> all;
    for (const auto* b : of_type(LT_BLOCK_EVENTS, stream)) {
      const auto w = b->words();
      all.insert(all.end(), w.begin(), w.end());
    }
    return all;
  }
  bool ended() const { return !blocks.empty() && blocks.back().head.type == LT_BLOCK_END; }
};

inline void need(bool good, const std::string& what, size_t at) {
  if (!good) throw std::runtime_error(what + " at offset " + std::to_string(at));
}

inline void check_block(const Block& b, std::map<uint32_t, uint32_t>& seq, size_t at) {
  const lt_block& h = b.head;
  need(h.header_crc == crc(reinterpret_cast<const char*>(&h), sizeof h - 4), "header crc", at);
  need(h.payload_crc == crc(b.payload.data(), b.payload.size()), "payload crc", at);
  need(h.payload_size <= LT_PAYLOAD_MAX && h.raw_size == h.payload_size, "sizes", at);
  if (h.type == LT_BLOCK_STREAM) seq.try_emplace(h.stream, 0);
  const bool samples = h.type == LT_BLOCK_SAMPLES;
  if (h.type != LT_BLOCK_EVENTS && h.type != LT_BLOCK_FUNCS && !samples) return;
  need(seq.count(h.stream) == 1, "stream used before STREAM block", at);
  if (h.type == LT_BLOCK_FUNCS) return;
  need(h.seq == seq[h.stream]++, "sequence number", at);
  need(h.payload_size > 0 && h.payload_size % 8 == 0, "words", at);
  need(h.end_tick >= h.base_tick, "end before base", at);
  if (samples) return;
  const uint64_t low = lt_time(b.words()[0]);
  need(((low - h.base_tick) & ((1ull << 40) - 1)) < (1ull << 39), "first word before base", at);
}

// Throws for anything that is wrong, except that the last block may be cut.
inline File parse(const std::string& s) {
  File f;
  need(s.size() >= sizeof f.header, "no header", 0);
  std::memcpy(&f.header, s.data(), sizeof f.header);
  need(f.header.magic == LT_FILE_MAGIC && f.header.version == 1, "magic", 0);
  need(f.header.crc == crc(s.data(), sizeof f.header - 4), "file header crc", 0);
  std::map<uint32_t, uint32_t> seq;
  for (size_t at = sizeof f.header; at < s.size();) {
    Block b;
    f.cut_at = at;
    if (s.size() - at < sizeof b.head) return f.cut = true, f;
    std::memcpy(&b.head, &s[at], sizeof b.head);
    need(b.head.sync == LT_SYNC, "sync", at);
    const size_t padded = (size_t{b.head.payload_size} + 7) / 8 * 8;
    if (s.size() - at - sizeof b.head < padded) return f.cut = true, f;
    b.payload = s.substr(at + sizeof b.head, b.head.payload_size);
    check_block(b, seq, at);
    f.blocks.push_back(std::move(b));
    at += sizeof f.blocks.back().head + padded;
  }
  return f;
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline File read(const std::string& path) {
  return parse(slurp(path));
}

}  // namespace mini
