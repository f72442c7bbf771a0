// SPDX-License-Identifier: MIT
#include "analyzer/read/payload.h"

#include <cstring>

namespace luatrace::analyze {
namespace {

// Copies the struct at the front of `bytes`; false if there are too few bytes.
template <class T>
bool take(std::span<const uint8_t> bytes, T& out) {
  if (bytes.size() < sizeof out) return false;
  memcpy(&out, bytes.data(), sizeof out);
  return true;
}

std::string text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> split_nul(const std::string& all) {
  std::vector<std::string> parts;
  if (all.empty()) return parts;
  size_t from = 0;
  for (size_t at; (at = all.find('\0', from)) != std::string::npos; from = at + 1)
    parts.push_back(all.substr(from, at - from));
  parts.push_back(all.substr(from));
  return parts;
}

bool parse_function(std::span<const uint8_t> record, const lt_func& raw, FunctionInfo& out) {
  size_t strings = size_t{raw.chunk_len} + 1 + raw.name_len + 1;
  if (record.size() - sizeof raw < strings || raw.id == 0) return false;
  if (raw.type < LT_FUNC_LUA || raw.type > LT_FUNC_FF) return false;
  auto tail = record.subspan(sizeof raw);
  out.id = raw.id;
  out.type = raw.type;
  out.hint = raw.flags & LT_FUNC_HINT;
  out.firstline = raw.firstline;
  out.lastline = raw.lastline;
  out.ffid = raw.ffid;
  out.fileofs = raw.fileofs;
  out.addr = raw.addr;
  out.chunk = text(tail.first(raw.chunk_len));
  out.name = text(tail.subspan(raw.chunk_len + size_t{1}, raw.name_len));
  return true;
}

// Iterates over records {u32 size, ...} of at least sizeof(T); `each` gets the bytes and the T.
template <class T, class F>
bool each_record(std::span<const uint8_t> bytes, F each) {
  while (!bytes.empty()) {
    T raw;
    if (!take(bytes, raw) || raw.size < sizeof raw || raw.size % 8 || raw.size > bytes.size())
      return false;
    if (!each(bytes.first(raw.size), raw)) return false;
    bytes = bytes.subspan(raw.size);
  }
  return true;
}

}  // namespace

bool parse_process(const Block& block, ProcessInfo& out) {
  lt_process_info raw;
  if (!take(block.payload, raw)) return false;
  auto tail = block.payload.subspan(sizeof raw);
  if (raw.exe_len > tail.size() || raw.cmd_len > tail.size() - raw.exe_len) return false;
  out = {block.header.stream, raw.pid, raw.ns_pid, raw.parent, raw.uid, raw.start_tick, {}, {}};
  out.exe = text(tail.first(raw.exe_len));
  out.cmdline = split_nul(text(tail.subspan(raw.exe_len, raw.cmd_len)));
  return block.header.stream != 0;
}

bool parse_stream(const Block& block, StreamInfo& out) {
  lt_stream_info raw;
  if (!take(block.payload, raw)) return false;
  out = {block.header.stream, raw.process,       raw.flags, raw.state_addr, raw.recording, raw.tid,
         raw.start_tick,      raw.event_cost_ps, {}};
  out.luajit.assign(raw.luajit, strnlen(raw.luajit, sizeof raw.luajit));
  return block.header.stream != 0;
}

bool parse_functions(const Block& block, std::vector<FunctionInfo>& out) {
  return each_record<lt_func>(block.payload, [&](auto record, const lt_func& raw) {
    FunctionInfo info;
    info.stream = block.header.stream;
    if (!parse_function(record, raw, info)) return false;
    out.push_back(std::move(info));
    return true;
  });
}

bool parse_maps(const Block& block, std::vector<MapInfo>& out) {
  return each_record<lt_map>(block.payload, [&](auto record, const lt_map& raw) {
    if (raw.build_id_len > sizeof raw.build_id || raw.path_len > record.size() - sizeof raw)
      return false;
    MapInfo info{block.header.stream, raw.start, raw.end, raw.offset, {}, {}, false};
    info.build_id.assign(reinterpret_cast<const char*>(raw.build_id), raw.build_id_len);
    info.path = text(record.subspan(sizeof raw, raw.path_len));
    out.push_back(std::move(info));
    return true;
  });
}

bool parse_clock(const Block& block, lt_clock_info& out) {
  return take(block.payload, out);
}

bool parse_end(const Block& block, EndInfo& out) {
  lt_end_info raw;
  if (!take(block.payload, raw)) return false;
  out = {raw.events, raw.lost, raw.blocks, raw.streams, raw.reason, raw.exit_status};
  return true;
}

}  // namespace luatrace::analyze
