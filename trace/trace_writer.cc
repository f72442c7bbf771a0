// SPDX-License-Identifier: MIT
// Blocks are collected in a batch, which goes to the sink when it is full or flushed. EventBlocks
// copies words before it examines them: an untrusted process may change the source at any time, and
// what is written must be what was checked.
#include "trace/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool has_events(uint16_t type) {
  return type == LT_BLOCK_EVENTS || type == LT_BLOCK_SAMPLES;
}

// Of a block, or a note of one.
template <class Block>
bool is_of_events(const Block& b) {
  return has_events(b.type) || b.type == LT_BLOCK_FUNCS || b.type == LT_BLOCK_SEGMENTS;
}

void seal(lt_file_header& header) {
  header.magic = LT_FILE_MAGIC;
  header.version = LT_FILE_VERSION;
  header.header_size = sizeof header;
  header.crc = crc32c(&header, offsetof(lt_file_header, crc));
}

// Adds the events of a block that is not written.
void add_events(std::map<uint32_t, Discarded>& discarded, const BlockNote& note) {
  if (!has_events(note.type) || note.events == 0) return;
  const auto [it, first] = discarded.try_emplace(note.stream);
  Discarded& d = it->second;
  if (first) d.since = note.tick;
  d.until = std::max(d.until, note.end_tick);
  d.samples = note.type == LT_BLOCK_SAMPLES;
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

std::string write_error_text(const char* what, uint64_t offset, int err) {
  return std::string("cannot ") + what + " at offset " + std::to_string(offset) + ": " +
         std::strerror(err);
}

class SpoolSink final : public BlockSink {
 public:
  explicit SpoolSink(Spool& spool) : spool_(spool) {}

  bool seekable() const override { return false; }
  bool write(BlockBatch& batch) override {
    size_t done = 0;
    while (ok() && done < batch.bytes.size()) {
      const iovec rest{batch.bytes.data() + done, batch.bytes.size() - done};
      const ssize_t n = spool_.append(&rest, 1);
      if (n > 0) done += static_cast<size_t>(n);
      if (n == 0 || (n < 0 && errno != EINTR))
        error_ = write_error_text("write", written_ + done, n < 0 ? errno : EIO);
    }
    written_ += done;
    batch.clear();
    return ok();
  }
  bool rewrite(const lt_file_header&) override { return true; }
  bool restart() override { return false; }
  bool close() override { return ok(); }
  bool ok() const override { return error_.empty(); }
  std::string error() const override { return error_; }
  uint64_t written() const override { return written_; }

 private:
  Spool& spool_;
  std::string error_;
  uint64_t written_ = 0;
};

}  // namespace

bool can_rewrite(int fd) {
  struct stat st;
  const int flags = fcntl(fd, F_GETFL);
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flags >= 0 && (flags & O_APPEND) == 0 &&
         lseek(fd, 0, SEEK_CUR) == 0;
}

// -- Destinations --

void BlockBatch::clear() {
  bytes.clear();
  notes.clear();
}

void BlockBatch::append(const void* data, size_t size) {
  const auto* p = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), p, p + size);
}

uint64_t BlockBatch::take_out_events(std::vector<BlockNote>& out) {
  std::vector<BlockNote> kept;
  size_t from = 0, to = 0;
  for (const BlockNote& note : notes) {
    if (is_of_events(note)) {
      out.push_back(note);
    } else {
      std::memmove(bytes.data() + to, bytes.data() + from, note.size);
      to += note.size;
      kept.push_back(note);
    }
    from += note.size;
  }
  bytes.resize(to);
  notes = std::move(kept);
  return from - to;
}

FileSink::FileSink(OpenedOutput output, Publish when)
    : output_(std::move(output)),
      when_(when),
      fd_(output_.fd),
      seekable_(can_rewrite(output_.fd)) {}

FileSink::FileSink(int fd) : FileSink(OpenedOutput{fd}, Publish::kFirstWrite) {}

bool FileSink::fail(const char* what, int err) {
  if (ok()) error_ = write_error_text(what, written_, err);
  return false;
}

bool FileSink::publish(Publish now) {
  if (now != when_ || !ok()) return ok();
  const std::string why = publish_output(output_);
  if (!why.empty()) error_ = "cannot replace the file: " + why;
  return ok();
}

// Cuts the file after a write that was cut short. A reader takes half a block for the end of a cut
// file, which is right but can be avoided here.
void FileSink::cut(BlockBatch& batch, uint64_t done) {
  uint64_t good = 0;
  for (const BlockNote& note : batch.notes) {
    if (good + note.size > done || !unwritten_.empty())
      unwritten_.push_back(note);
    else
      good += note.size;
  }
  if (good < done && seekable_ && ftruncate(fd_, static_cast<off_t>(written_ + good)) == 0)
    done = good;
  written_ += done;
}

bool FileSink::write(BlockBatch& batch) {
  if (!ok()) return batch.clear(), false;
  uint64_t done = 0;
  int err = 0;
  while (done < batch.bytes.size() && err == 0) {
    const ssize_t n = ::write(fd_, batch.bytes.data() + done, batch.bytes.size() - done);
    if (n > 0) done += static_cast<uint64_t>(n);
    if (n == 0 || (n < 0 && errno != EINTR)) err = n < 0 ? errno : EIO;
  }
  if (err == 0) {
    written_ += done;
  } else {
    written_ += done;
    fail("write", err);  // before the write: its offset is in the message
    written_ -= done;
    cut(batch, done);
  }
  batch.clear();
  return err == 0 && publish(Publish::kFirstWrite);
}

bool FileSink::rewrite(const lt_file_header& header) {
  if (!seekable_ || !ok()) return ok();
  const ssize_t n = pwrite(fd_, &header, sizeof header, 0);
  return n == static_cast<ssize_t>(sizeof header) ||
         fail("rewrite the header", n < 0 ? errno : EIO);
}

bool FileSink::restart() {
  if (!seekable_ || !ok()) return false;
  if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return fail("restart", errno);
  written_ = 0;
  return true;
}

bool FileSink::close() {
  publish(Publish::kClose);
  if (fd_ >= 0 && ::close(fd_.release()) != 0 && errno != EINTR) fail("close", errno);
  return ok();
}

// -- The writer --

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

void TraceWriter::put_header() {
  seal(header_);
  BlockNote note;
  note.size = sizeof header_;
  batch_.notes.push_back(note);
  batch_.append(&header_, sizeof header_);
  bytes_ += note.size;
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
  if (!has_events(note.type)) return;
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
    if (d.samples) continue;
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
      if (!d.samples && discarded_.contains(stream))
        d.events -= std::min<uint64_t>(d.events, kLossRecords);
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
  if (has_events(b.type)) b.seq = seq_[b.stream]++;
  if (b.type == LT_BLOCK_STREAM) seq_.try_emplace(b.stream, 0);
  b.payload_crc = crc32c(payload.data(), payload.size());
  b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
  blocks_++;
  events_ += note.events;
  lost_ += note.lost;
  batch_.notes.push_back(note);
  static constexpr uint64_t kZero = 0;
  batch_.append(&b, sizeof b);
  batch_.append(payload.data(), payload.size());
  batch_.append(&kZero, pad);
  bytes_ += note.size;
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

bool TraceWriter::write_samples(const SampleBlockInfo& info, std::span<const std::byte> records) {
  lt_block b = block_of(LT_BLOCK_SAMPLES, info.stream, info.count);
  b.base_tick = info.base_tick;
  b.end_tick = info.end_tick;
  BlockNote note;
  note.events = info.count;
  note.tick = info.base_tick;
  note.end_tick = info.end_tick;
  return write_block(b, records, note);
}

bool TraceWriter::write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records,
                              uint16_t type) {
  return write_block(block_of(type, stream, count), records);
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

bool TraceWriter::set_clock_rate(uint64_t tick_mult, uint32_t tick_shift, uint64_t not_needed) {
  header_.required &= ~not_needed;
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

// -- The words of a stream --

EventBlocks::EventBlocks(TraceWriter& writer, uint32_t stream, uint64_t start_tick,
                         TimeSpans* lost_time)
    : writer_(writer), scanner_(start_tick, lost_time) {
  info_.stream = stream;
}

void EventBlocks::mark_gap() {
  flush();
  gap_ = true;
  scanner_.forget();
}

// A block's header holds the state before its first record, and that record's time.
void EventBlocks::begin_block(std::span<const uint64_t> words, uint64_t not_before) {
  info_.count = 0;
  info_.base_tick = info_.end_tick = scanner_.tick_of(words, not_before);
  info_.coroutine = scanner_.coroutine();
  info_.depth = info_.coroutine == 0 ? LT_DEPTH_UNKNOWN : scanner_.depth();
  info_.flags = gap_ ? LT_BLOCK_F_GAP : 0;
}

void EventBlocks::flush() {
  if (used_ == 0) return;
  info_.lost = scanner_.lost_events() - std::exchange(lost_, scanner_.lost_events());
  writer_.write_events(info_, std::span(buffer_).first(used_));
  used_ = 0;
  gap_ = false;
}

void EventBlocks::rest() {
  flush();
  buffer_ = decltype(buffer_)();
}

size_t EventBlocks::append(std::span<const uint64_t> words, uint64_t not_before) {
  size_t taken = 0;
  while (taken < words.size()) {
    // A run that fits into a block is not split: the rest of a ring block makes one block.
    const size_t want = std::min(words.size() - taken, kMaxWords);
    if (used_ + want > kMaxWords) flush();
    if (used_ + want > buffer_.size()) buffer_.resize(used_ + want);
    const std::span<uint64_t> run(&buffer_[used_], want);
    std::memcpy(run.data(), &words[taken], run.size_bytes());
    if (run[0] == 0) break;
    const bool fresh = used_ == 0;
    if (fresh) begin_block(run, not_before);
    const auto r = scanner_.scan(run, not_before);
    used_ += r.words;
    taken += r.words;
    events_ += r.events;
    words_ += r.words;
    info_.count += static_cast<uint32_t>(r.events);
    if (r.words > 0) info_.end_tick = std::max(info_.base_tick, r.tick);
    if (r.stop == WordScanner::Stop::kTimeJump) {
      flush();
    } else if (r.stop == WordScanner::Stop::kZero || r.words == 0) {
      break;
    }
    if (r.words > 0) not_before = 0;
  }
  return taken;
}

}  // namespace luatrace
