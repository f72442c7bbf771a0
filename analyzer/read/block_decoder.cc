// SPDX-License-Identifier: MIT
#include "analyzer/read/block_decoder.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/unique_owner.h"

namespace luatrace::analyze {
namespace {

// Parsers for the payloads of blocks other than EVENTS, or for one record of them. Each checks
// every length, and returns false if something is malformed.

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

bool parse_process(const Block& block, ProcessInfo& out) {
  lt_process_info raw;
  if (!take(block.payload, raw)) return false;
  auto tail = block.payload.subspan(sizeof raw);
  if (raw.exe_len > tail.size() || raw.cmd_len > tail.size() - raw.exe_len) return false;
  const ProcessId number(block.header.stream);
  out = {number, raw.pid, raw.ns_pid, raw.parent, raw.uid, raw.start_tick, {}, {}};
  out.exe = text(tail.first(raw.exe_len));
  out.cmdline = split_nul(text(tail.subspan(raw.exe_len, raw.cmd_len)));
  return number != kNoProcess;
}

bool parse_stream(const Block& block, StreamInfo& out) {
  lt_stream_info raw;
  if (!take(block.payload, raw)) return false;
  const StreamId number(block.header.stream);
  const ProcessId process(raw.process);
  out = {number,         process,           raw.flags, raw.state_addr, raw.recording, raw.tid,
         raw.start_tick, raw.event_cost_ps, {}};
  out.luajit.assign(raw.luajit, strnlen(raw.luajit, sizeof raw.luajit));
  return number != kNoStream;
}

bool parse_function(const Block& block, std::span<const uint8_t> record, const lt_func& raw,
                    FunctionInfo& out) {
  size_t strings = size_t{raw.chunk_len} + 1 + raw.name_len + 1;
  if (record.size() - sizeof raw < strings || raw.id == 0) return false;
  if (raw.type < LT_FUNC_LUA || raw.type > LT_FUNC_FF) return false;
  auto tail = record.subspan(sizeof raw);
  out.stream = StreamId(block.header.stream);
  out.id = VmFunctionId(raw.id);
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

bool parse_map(const Block& block, std::span<const uint8_t> record, const lt_map& raw,
               MapInfo& out) {
  if (raw.build_id_len > sizeof raw.build_id || raw.path_len > record.size() - sizeof raw)
    return false;
  out = {ProcessId(block.header.stream), raw.start, raw.end, raw.offset, {}, {}, false};
  out.build_id = text({raw.build_id, raw.build_id_len});
  out.path = text(record.subspan(sizeof raw, raw.path_len));
  return true;
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

}  // namespace

bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diag) {
  if (problem) {
    diag.trust.bad_blocks++;
    if (block.header.type == LT_BLOCK_EVENTS) diag.trust.bad_block_events += block.header.count;
    diag.log(block.offset, "block of type " + std::to_string(block.header.type) +
                               ": its payload cannot be decompressed (" + problem + "), skipped");
    return false;
  }
  block.header.flags &= static_cast<uint16_t>(~LT_BLOCK_F_ZSTD);
  block.header.payload_size = block.header.raw_size;
  block.payload = {reinterpret_cast<const uint8_t*>(words->data()), block.header.raw_size};
  block.hold = std::move(words);
  return true;
}

void BlockDecoder::decode(Block block) {
  Words& words = free_words();
  const char* problem = unpacker_.unpack(block.header, block.payload, *words);
  if (set_unpacked(block, words, problem, diag_)) parse(block);
}

Words& BlockDecoder::free_words() {
  for (Words& words : words_) {
    if (is_unique_owner(words)) return words;
  }
  return words_.emplace_back(std::make_shared<std::vector<uint64_t>>());
}

void BlockDecoder::parse(const Block& block) {
  if (!contents(block)) {
    diag_.trust.bad_records++;
    diag_.log(block.offset,
              "malformed record in a block of type " + std::to_string(block.header.type));
  }
}

template <class T>
bool BlockDecoder::one(const Block& block, bool (*parser)(const Block&, T&),
                       void (TraceSink::*give)(const T&)) {
  T info{};
  if (!parser(block, info)) return false;
  (sink_.*give)(info);
  return true;
}

// Parses records {u32 size, ...} of at least sizeof(Raw), and passes on those before the first
// malformed one.
template <class Raw, class T>
bool BlockDecoder::each(const Block& block,
                        bool (*parser)(const Block&, std::span<const uint8_t>, const Raw&, T&),
                        void (TraceSink::*give)(const T&)) {
  for (auto rest = block.payload; !rest.empty();) {
    Raw raw;
    if (!take(rest, raw) || raw.size < sizeof raw || raw.size % 8 || raw.size > rest.size())
      return false;
    T info;
    if (!parser(block, rest.first(raw.size), raw, info)) return false;
    (sink_.*give)(info);
    rest = rest.subspan(raw.size);
  }
  return true;
}

bool BlockDecoder::contents(const Block& block) {
  switch (block.header.type) {
    case LT_BLOCK_EVENTS:
      return events(block);
    case LT_BLOCK_FUNCS:
      return each(block, parse_function, &TraceSink::on_function);
    case LT_BLOCK_STREAM:
      return one(block, parse_stream, &TraceSink::on_stream);
    case LT_BLOCK_PROCESS:
      return one(block, parse_process, &TraceSink::on_process);
    case LT_BLOCK_MAPS:
      return each(block, parse_map, &TraceSink::on_map);
    case LT_BLOCK_CLOCK:
      return one(block, parse_clock, &TraceSink::on_clock);
    case LT_BLOCK_NOTE:
      return sink_.on_note(text(block.payload)), true;
    case LT_BLOCK_END:
      return ended_ = one(block, parse_end, &TraceSink::on_end);
    default:
      diag_.trust.unknown++;
      return true;
  }
}

bool BlockDecoder::events(const Block& block) {
  const lt_block& h = block.header;
  const StreamId stream(h.stream);
  if (stream == kNoStream) return false;
  EventBlock out{
      stream,  h.seq,     h.flags,      h.count, h.base_tick, h.end_tick, CoroutineId(h.coroutine),
      h.depth, block.cut, block.offset, {},      block.hold};
  size_t words = block.payload.size() / 8;
  auto* data = block.payload.data();
  if (reinterpret_cast<uintptr_t>(data) % 8) {  // Only if bytes are missing before it.
    auto copy = std::make_shared<std::vector<uint64_t>>(words);
    if (words) memcpy(copy->data(), data, words * 8);
    out.words = *copy;
    out.hold = copy;
  } else {
    out.words = {reinterpret_cast<const uint64_t*>(data), words};
  }
  sink_.on_events(out);
  return block.payload.size() % 8 == 0;
}

}  // namespace luatrace::analyze
