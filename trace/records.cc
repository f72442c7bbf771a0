// SPDX-License-Identifier: MIT
#include "trace/records.h"

#include <algorithm>
#include <cstring>

namespace luatrace {
namespace {

size_t round8(size_t n) {
  return (n + 7) & ~size_t{7};
}

}  // namespace

void append_func(std::vector<std::byte>& out, lt_func f, std::string_view chunk,
                 std::string_view name) {
  chunk = chunk.substr(0, LT_FUNC_STR_MAX);
  name = name.substr(0, LT_FUNC_STR_MAX);
  f.chunk_len = static_cast<uint16_t>(chunk.size());
  f.name_len = static_cast<uint16_t>(name.size());
  f.size = static_cast<uint32_t>(round8(sizeof f + chunk.size() + 1 + name.size() + 1));
  const size_t at = out.size();
  out.resize(at + f.size);
  std::memcpy(&out[at], &f, sizeof f);
  if (!chunk.empty()) std::memcpy(&out[at + sizeof f], chunk.data(), chunk.size());
  if (!name.empty()) std::memcpy(&out[at + sizeof f + chunk.size() + 1], name.data(), name.size());
}

void append_map(std::vector<std::byte>& out, lt_map m, std::span<const std::byte> build_id,
                std::string_view path) {
  path = path.substr(0, UINT16_MAX);
  build_id = build_id.first(std::min(build_id.size(), sizeof m.build_id));
  m.path_len = static_cast<uint16_t>(path.size());
  m.build_id_len = static_cast<uint8_t>(build_id.size());
  m.reserved = 0;
  std::memset(m.build_id, 0, sizeof m.build_id);
  if (!build_id.empty()) std::memcpy(m.build_id, build_id.data(), build_id.size());
  m.size = static_cast<uint32_t>(round8(sizeof m + path.size()));
  const size_t at = out.size();
  out.resize(at + m.size);
  std::memcpy(&out[at], &m, sizeof m);
  if (!path.empty()) std::memcpy(&out[at + sizeof m], path.data(), path.size());
}

void append_sample(std::vector<std::byte>& out, lt_sample s, std::span<const uint64_t> frames,
                   const lt_sample_code* code) {
  if (frames.size() > LT_SAMPLE_FRAMES_MAX) {
    frames = frames.first(LT_SAMPLE_FRAMES_MAX);
    s.flags |= LTS_TRUNCATED;
  }
  s.nframes = static_cast<uint16_t>(frames.size());
  const size_t size = sizeof s + frames.size_bytes();
  s.size = static_cast<uint32_t>(size + (code ? sizeof *code : 0));
  s.flags = static_cast<uint8_t>(code ? s.flags | LTS_CODE : s.flags & ~LTS_CODE);
  const size_t at = out.size();
  out.resize(at + s.size);
  std::memcpy(&out[at], &s, sizeof s);
  if (!frames.empty()) std::memcpy(&out[at + sizeof s], frames.data(), frames.size_bytes());
  if (code) std::memcpy(&out[at + size], code, sizeof *code);
}

lt_stream_info stream_info(const lt_ring& ring, uint32_t process) {
  lt_stream_info s{};
  s.process = process;
  s.flags = ring.stream_flags;
  s.state_addr = ring.state_addr;
  s.recording = ring.recording;
  s.tid = ring.tid;
  s.start_tick = ring.start_tick;
  s.event_cost_ps = ring.event_cost_ps;
  std::memcpy(s.luajit, ring.luajit, sizeof s.luajit - 1);
  return s;
}

bool segment_is_valid(const std::byte* p, size_t size) {
  lt_segment s;
  if (size < sizeof s) return false;
  std::memcpy(&s, p, sizeof s);
  const size_t need = sizeof s + size_t{4} * (size_t{s.nmarks} + s.nexits + s.nevents + s.ncosts);
  return s.type == LT_META_SEGMENT && s.size % 8 == 0 && s.size <= size && need <= s.size &&
         s.nmarks != 0 && s.nevents <= LT_SEGMENT_EVENTS_MAX && s.id != 0;
}

void append_segment(std::vector<std::byte>& out, lt_segment s, std::span<const uint32_t> places,
                    std::span<const uint32_t> events, std::span<const uint32_t> costs) {
  s.type = LT_META_SEGMENT;
  s.nevents = static_cast<uint32_t>(events.size());
  s.ncosts = static_cast<uint32_t>(costs.size());
  s.size = static_cast<uint32_t>(
      round8(sizeof s + places.size_bytes() + events.size_bytes() + costs.size_bytes()));
  size_t at = out.size();
  out.resize(at + s.size);
  std::memcpy(&out[at], &s, sizeof s);
  at += sizeof s;
  for (const auto& numbers : {places, events, costs}) {
    if (!numbers.empty()) std::memcpy(&out[at], numbers.data(), numbers.size_bytes());
    at += numbers.size_bytes();
  }
}

bool func_is_valid(const std::byte* p, size_t size) {
  lt_func f;
  if (size < sizeof f) return false;
  std::memcpy(&f, p, sizeof f);
  const size_t need = sizeof f + f.chunk_len + 1u + f.name_len + 1u;
  return f.type != LT_META_WRAP && f.size % 8 == 0 && f.size <= size && need <= f.size &&
         f.chunk_len <= LT_FUNC_STR_MAX && f.name_len <= LT_FUNC_STR_MAX && f.id != 0;
}

}  // namespace luatrace
