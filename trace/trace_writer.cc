// SPDX-License-Identifier: MIT
// TraceWriter. Blocks are collected in a batch, which goes to the sink when it is full or flushed.
#include "trace/trace_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/crc32c.h"
#include "trace/open_output.h"

namespace luatrace {
namespace {

constexpr size_t kBatchSize = 256 * 1024;
constexpr uint32_t kLossRecords = 2;  // of a stream, by write_discarded()

size_t padding(size_t size) {
  return (8 - size % 8) % 8;
}

bool is_of_events(const lt_block& b) {
  return b.type == LT_BLOCK_EVENTS || b.type == LT_BLOCK_FUNCS;
}

void seal(lt_file_header& header) {
  header.magic = LT_FILE_MAGIC;
  header.version = LT_FILE_VERSION;
  header.header_size = sizeof header;
  header.crc = crc32c(&header, offsetof(lt_file_header, crc));
}

// Adds the events of a block that is not written.
void add_events(std::map<uint32_t, Discarded>& discarded, const BlockNote& note) {
  if (note.type != LT_BLOCK_EVENTS || note.events == 0) return;
  const auto [it, first] = discarded.try_emplace(note.stream);
  Discarded& d = it->second;
  if (first) d.since = note.tick;
  d.until = std::max(d.until, note.end_tick);
  d.events += note.events;
  d.lost += note.lost;
}

lt_block block_of(uint16_t type, uint32_t stream = 0, uint32_t count = 0) {
  lt_block b{};
  b.type = type;
  b.stream = stream;
  b.count = count;
  return b;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

lt_file_header make_file_header() {
  lt_file_header h{};
  h.magic = LT_FILE_MAGIC;
  h.version = LT_FILE_VERSION;
  h.header_size = sizeof h;
  h.clock = LT_CLOCK_MONOTONIC;
  h.tick_mult = 1;
  return h;
}

int open_trace(const std::string& path, std::string* error) {
  const OpenedOutput output = open_output(path);
  if (output.fd >= 0) empty_output(output);
  if (output.fd < 0) *error = path + ": cannot open for writing: " + output.why;
  return output.fd;
}

TraceWriter::TraceWriter(std::unique_ptr<BlockSink> sink, std::string name,
                         const lt_file_header& header)
    : sink_(std::move(sink)), name_(std::move(name)), header_(header) {
  batch_.bytes.reserve(kBatchSize);
  put_header();
}

TraceWriter::TraceWriter(int fd, std::string name, const lt_file_header& header)
    : TraceWriter(std::make_unique<FileSink>(fd), std::move(name), header) {}

TraceWriter::TraceWriter(Spool& spool, std::string name, const lt_file_header& header)
    : TraceWriter(std::make_unique<SpoolSink>(spool), std::move(name), header) {}

TraceWriter::~TraceWriter() {
  close();
}

void TraceWriter::put_header() {
  seal(header_);
  BlockNote note;
  note.size = sizeof header_;
  batch_.notes.push_back(note);
  put(&header_, sizeof header_);
}

std::string TraceWriter::error() const {
  if (!error_.empty()) return error_;
  return sink_->ok() ? "" : name_ + ": " + sink_->error();
}

// -- Blocks that are not written --

// Takes the block out of the counts. Such blocks are the last of their streams, so the numbering
// stays without gaps.
void TraceWriter::take_back(const BlockNote& note) {
  bytes_ -= note.size;
  if (note.type == 0) return;
  blocks_--;
  if (note.type != LT_BLOCK_EVENTS) return;
  events_ -= note.events;
  lost_ -= note.lost;
  seq_[note.stream]--;
}

void TraceWriter::discard() {
  if (std::exchange(discarding_, true) || !ok()) return;
  std::vector<BlockNote> notes = sink_->withdraw();
  batch_.take_out_events(notes);
  for (const BlockNote& note : notes) {
    take_back(note);
    add_events(discarded_, note);
  }
}

void TraceWriter::write_discarded() {
  if (!std::exchange(discarding_, false)) return;
  recorded_discarded_ = true;
  sink_->take_all();
  for (const auto& [stream, d] : discarded_) {
    const std::array<uint64_t, 4> words = {
        lt_word(d.until, lt_ext(LTX_LOSS, 2, 1), LT_EXT), d.events + d.lost + 1, d.since,
        lt_word(d.until, lt_ext(LTX_STOP, 0, LTE_DETACH), LT_EXT)};
    EventBlockInfo info;
    info.stream = stream;
    info.count = kLossRecords;
    info.base_tick = info.end_tick = d.until;
    write_events(info, words);
  }
}

std::map<uint32_t, Discarded> TraceWriter::forget_unwritten() {
  std::map<uint32_t, Discarded> missing;
  if (ok()) sink_->give_up();
  if (ok()) return missing;
  std::vector<BlockNote> notes = sink_->withdraw();
  notes.insert(notes.end(), batch_.notes.begin(), batch_.notes.end());
  for (const BlockNote& note : notes) {
    take_back(note);
    add_events(missing, note);
  }
  batch_.clear();
  bytes_ = sink_->written();
  // A stream's record of what was discarded is its last block.
  if (recorded_discarded_)
    for (auto& [stream, d] : missing)
      if (discarded_.contains(stream)) d.events -= std::min<uint64_t>(d.events, kLossRecords);
  std::erase_if(missing, [](const auto& entry) { return entry.second.events == 0; });
  return missing;
}

// -- Blocks --

bool TraceWriter::flush() {
  if (!ok()) return false;
  if (batch_.empty() || sink_->write(batch_)) return true;
  if (!sink_->late()) return false;
  discard();
  return batch_.empty() || sink_->write(batch_);
}

void TraceWriter::put(const void* data, size_t size) {
  const auto* p = static_cast<const std::byte*>(data);
  batch_.bytes.insert(batch_.bytes.end(), p, p + size);
  bytes_ += size;
}

bool TraceWriter::write_block(lt_block b, std::span<const std::byte> payload) {
  return write_block(b, payload, {});
}

bool TraceWriter::write_block(lt_block b, std::span<const std::byte> payload, BlockNote note) {
  if (!ok()) return false;
  if (payload.size() > LT_PAYLOAD_MAX) {
    if (ok()) error_ = name_ + ": cannot write a block of that size";
    return false;
  }
  note.stream = b.stream;
  note.type = b.type;
  if (discarding_ && is_of_events(b)) return add_events(discarded_, note), true;
  if (packer_ && (b.flags & LT_BLOCK_F_ZSTD) == 0)
    if (const auto packed = packer_->pack(b, payload); !packed.empty()) payload = packed;
  const size_t pad = padding(payload.size());
  note.size = sizeof b + payload.size() + pad;
  if (batch_.bytes.size() + note.size > kBatchSize && !flush()) return false;
  if (discarding_ && is_of_events(b))
    return add_events(discarded_, note), true;  // discarding_ since just now
  b.sync = LT_SYNC;
  b.payload_size = static_cast<uint32_t>(payload.size());
  if ((b.flags & LT_BLOCK_F_ZSTD) == 0) b.raw_size = b.payload_size;
  if (b.type == LT_BLOCK_EVENTS) b.seq = seq_[b.stream]++;
  if (b.type == LT_BLOCK_STREAM) seq_.try_emplace(b.stream, 0);
  b.payload_crc = crc32c(payload.data(), payload.size());
  b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
  blocks_++;
  events_ += note.events;
  lost_ += note.lost;
  batch_.notes.push_back(note);
  static constexpr uint64_t kZero = 0;
  put(&b, sizeof b);
  put(payload.data(), payload.size());
  put(&kZero, pad);
  return true;
}

bool TraceWriter::write_events(const EventBlockInfo& info, std::span<const uint64_t> words) {
  lt_block b = block_of(LT_BLOCK_EVENTS, info.stream, info.count);
  b.flags = info.flags;
  b.base_tick = info.base_tick;
  b.end_tick = info.end_tick;
  b.coroutine = info.coroutine;
  b.depth = info.depth;
  BlockNote note;
  note.events = info.count;
  note.lost = info.lost;
  note.tick = info.base_tick;
  note.end_tick = info.end_tick;
  return write_block(b, std::as_bytes(words), note);
}

bool TraceWriter::write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records) {
  return write_block(block_of(LT_BLOCK_FUNCS, stream, count), records);
}

bool TraceWriter::write_stream(uint32_t stream, const lt_stream_info& info) {
  return write_block(block_of(LT_BLOCK_STREAM, stream), bytes_of(info));
}

bool TraceWriter::write_process(uint32_t process, lt_process_info info, std::string_view exe,
                                std::string_view cmdline) {
  info.exe_len = static_cast<uint32_t>(exe.size());
  info.cmd_len = static_cast<uint32_t>(cmdline.size());
  std::string payload(reinterpret_cast<const char*>(&info), sizeof info);
  payload.append(exe).append(cmdline);
  return write_block(block_of(LT_BLOCK_PROCESS, process), std::as_bytes(std::span(payload)));
}

bool TraceWriter::write_maps(uint32_t process, uint32_t count, std::span<const std::byte> records) {
  return write_block(block_of(LT_BLOCK_MAPS, process, count), records);
}

bool TraceWriter::write_clock(const lt_clock_info& info) {
  return write_block(block_of(LT_BLOCK_CLOCK), bytes_of(info));
}

bool TraceWriter::write_note(std::string_view text) {
  return write_block(block_of(LT_BLOCK_NOTE), std::as_bytes(std::span(text)));
}

bool TraceWriter::write_end(lt_end_info info) {
  info.events = events_;
  info.blocks = blocks_;
  info.streams = static_cast<uint32_t>(seq_.size());
  return write_block(block_of(LT_BLOCK_END), bytes_of(info));
}

bool TraceWriter::set_clock_rate(uint64_t tick_mult, uint32_t tick_shift) {
  header_.tick_mult = tick_mult;
  header_.tick_shift = tick_shift;
  seal(header_);
  return seekable() && flush() ? sink_->rewrite(header_) : ok();
}

bool TraceWriter::restart(const lt_file_header& header) {
  if (!ok() || !sink_->restart()) return false;
  batch_.clear();
  bytes_ = events_ = lost_ = blocks_ = 0;
  seq_.clear();
  header_ = header;
  put_header();
  return true;
}

bool TraceWriter::close() {
  flush();
  if (batch_.empty()) batch_ = {};  // the object may live on, without the memory
  packer_.reset();
  return sink_->close() && ok();
}

}  // namespace luatrace
