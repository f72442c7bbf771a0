// SPDX-License-Identifier: MIT
// From the event words of a stream to a trace file: EventBlocks collects words, TraceWriter builds
// blocks (part 3 of luatrace_format.h), a BlockSink takes them.
//
// Invariants: words are written in the order in which they arrive, each exactly once; what has
// reached the sink is a header and whole blocks, except for the last block if a write was cut
// short; after the first error nothing more is written, and a regular file is cut back to its last
// whole block; every event passed to write_events() is in the file, in forget_unwritten() after an
// error, or in discarded(). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "luatrace_format.h"
#include "trace/descriptor.h"
#include "trace/open_output.h"
#include "trace/packing.h"
#include "trace/spool.h"
#include "trace/word_scanner.h"

namespace luatrace {

// -- Destinations --

// What has to be known about a block that is not written in the end.
struct BlockNote {
  uint64_t size = 0;  // bytes in the file; the file's header counts as a block of type 0
  uint32_t stream = 0;
  uint16_t type = 0;              // LT_BLOCK_*
  uint64_t events = 0, lost = 0;  // EVENTS: records, and lost events that they report; SAMPLES: the
                                  // records
  uint64_t tick = 0, end_tick = 0;
};

// Consecutive blocks, and a note for each.
struct BlockBatch {
  std::vector<std::byte> bytes;
  std::vector<BlockNote> notes;

  bool empty() const { return bytes.empty(); }
  void clear();
  void append(const void* data, size_t size);
  // Removes events, samples and function descriptions, which are useful only together, and appends
  // their notes to `out`. Returns the number of bytes removed.
  uint64_t take_out_events(std::vector<BlockNote>& out);
};

// A destination for the blocks of a trace: a file (FileSink), a spool, or a queue that another
// thread writes (recorder/drain/write_queue.h). It receives whole blocks, each with a note, so that
// it can cut a file at the end of a block and say what was not written.
class BlockSink {
 public:
  virtual ~BlockSink() = default;

  // Can the header be rewritten, and the file be started again?
  virtual bool seekable() const = 0;
  // Takes the batch's content and leaves the batch empty. False: it failed, or is late().
  virtual bool write(BlockBatch& batch) = 0;
  // Overwrites the file's header.
  virtual bool rewrite(const lt_file_header& header) = 0;
  // Discards everything that was written.
  virtual bool restart() = 0;
  // Afterwards everything is written, or error() says why not. A queue may still be writing.
  virtual bool close() = 0;

  // False after the first error, which error() describes ("cannot write at offset N: reason").
  // Nothing is written after an error.
  virtual bool ok() const = 0;
  virtual std::string error() const = 0;
  // Bytes that stay in the file (after an error: of whole blocks only, if the file can be cut).
  virtual uint64_t written() const = 0;

  // The last write() took nothing, because time has run out. This is not an error.
  virtual bool late() const { return false; }
  // From now on nothing is late: only little data follows.
  virtual void take_all() {}
  // What is not written by now counts as not written, although it may still be: an error.
  virtual void give_up() {}
  // Drops the events, samples and function descriptions that write() took and that can still be
  // left out. Returns their notes, oldest first. After an error: notes of everything that was not
  // written.
  virtual std::vector<BlockNote> withdraw() { return {}; }
};

// When an output of open_replacement() gets its name (publish_output()): as soon as something is
// written, or when everything is.
enum class Publish { kFirstWrite, kClose };

// Is it a regular file, at its beginning and not open for appending? Others are written once.
bool can_rewrite(int fd);

// Writes to a descriptor; each call may take as long as the disk takes.
class FileSink final : public BlockSink {
 public:
  // Closes fd in the end.
  explicit FileSink(int fd);
  // The same of output.fd. After an error before its time the output is never published.
  FileSink(OpenedOutput output, Publish when);

  bool seekable() const override { return seekable_; }
  bool write(BlockBatch& batch) override;
  bool rewrite(const lt_file_header& header) override;
  bool restart() override;
  bool close() override;
  bool ok() const override { return error_.empty(); }
  std::string error() const override { return error_; }
  uint64_t written() const override { return written_; }
  std::vector<BlockNote> withdraw() override { return std::move(unwritten_); }

 private:
  bool fail(const char* what, int err);
  bool publish(Publish now);
  void cut(BlockBatch& batch, uint64_t done);

  const OpenedOutput output_;
  const Publish when_;
  Descriptor fd_;
  bool seekable_;
  std::string error_;
  uint64_t written_ = 0;
  std::vector<BlockNote> unwritten_;
};

// -- Blocks --

// A header with all fields that have only one sensible value. The clock is up to the caller: it is
// LT_CLOCK_MONOTONIC with one tick per nanosecond unless changed.
lt_file_header make_file_header();

// What an EVENTS block says about its words (see struct lt_block).
struct EventBlockInfo {
  uint32_t stream = 0;
  uint32_t count = 0;  // records
  uint64_t base_tick = 0;
  uint64_t end_tick = 0;
  uint32_t coroutine = 0;
  uint32_t depth = LT_DEPTH_UNKNOWN;
  uint16_t flags = 0;  // LT_BLOCK_F_*
  uint64_t lost = 0;   // lost events that the records report; not written
};

// What a SAMPLES block says about its records.
struct SampleBlockInfo {
  uint32_t stream = 0;
  uint32_t count = 0;
  uint64_t base_tick = 0, end_tick = 0;  // of the earliest and the latest sample
};

// Events or samples of a stream that were not written for lack of time.
struct Discarded {
  uint64_t events = 0;            // records
  uint64_t lost = 0;              // lost events that these records reported
  uint64_t since = 0, until = 0;  // full clock
  bool samples = false;           // the stream has samples
};

// Opens (creates, empties) the file by the rules of open_output.h. On failure -1, and the reason in
// *error.
int open_trace(const std::string& path, std::string* error);

class TraceWriter {
 public:
  // Writes to fd and closes it in the end; `name` is for messages. Fills in checksum, magic,
  // version and size of the header. A descriptor that is not a regular file, not at its beginning,
  // or open for appending, counts as not seekable.
  TraceWriter(int fd, std::string name, const lt_file_header& header);
  // Writes to the spool, which must outlive this object and is not seekable. It has everything once
  // close() returns true.
  TraceWriter(Spool& spool, std::string name, const lt_file_header& header);
  TraceWriter(std::unique_ptr<BlockSink> sink, std::string name, const lt_file_header& header);
  ~TraceWriter() { close(); }  // ignoring errors

  // From now on payloads are compressed if that makes them smaller (levels of zstd from
  // kMinCompression to kMaxCompression). The header must require LT_FEATURE_ZSTD.
  void compress(int level) { packer_.emplace(level); }

  // One block. Fills in sync, sizes and checksums; seq is counted per stream for EVENTS and
  // SAMPLES. The payload must not be longer than LT_PAYLOAD_MAX. False: error() says why.
  bool write_block(lt_block block, std::span<const std::byte> payload, BlockNote note = {});

  // Blocks of each type, by write_block(). FUNCS, SEGMENTS, MAPS and SAMPLES take consecutive
  // records in the layout of the format (see records.h; SampleBlocks collects samples).
  bool write_events(const EventBlockInfo& info, std::span<const uint64_t> words);
  bool write_samples(const SampleBlockInfo& info, std::span<const std::byte> records);
  // type: FUNCS or SEGMENTS.
  bool write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records,
                   uint16_t type = LT_BLOCK_FUNCS);
  bool write_stream(uint32_t stream, const lt_stream_info& info);
  bool write_process(uint32_t process, lt_process_info info, std::string_view exe,
                     std::string_view cmdline);
  bool write_maps(uint32_t process, uint32_t count, std::span<const std::byte> records);
  bool write_clock(const lt_clock_info& info);
  bool write_note(std::string_view text);
  // Fills in events, blocks and streams from what was written.
  bool write_end(lt_end_info info);

  // Passes everything to the sink: if that is a file, to the kernel, so that a crash of this
  // process loses nothing.
  bool flush();

  // Time has run out: events, samples and functions that the sink has not begun to write are left
  // out, and so are all later ones; discarded() counts them. Other blocks are still written.
  void discard();
  const std::map<uint32_t, Discarded>& discarded() const { return discarded_; }
  // Records them in the file: one LTX_LOSS for each stream, and the stream's end. Once, at the end.
  // Of samples only the end block has the number that is missing.
  void write_discarded();

  // Sets the clock's rate, and rewrites the header if the output is seekable. not_needed: features
  // (LT_FEATURE_*) that it does not require of readers after all.
  bool set_clock_rate(uint64_t tick_mult, uint32_t tick_shift, uint64_t not_needed = 0);
  // Starts again with another header, discarding all blocks. False if not seekable.
  bool restart(const lt_file_header& header);
  // Flushes and closes. False: error() gives the reason (of the first error).
  bool close();

  bool ok() const { return error_.empty() && sink_->ok(); }
  std::string error() const;  // "FILE: cannot write ...: reason"
  // After close(), when nothing is waited for any more: takes out of the counts below what is not
  // in the file, and returns the events among it, by stream (not the records of write_discarded()).
  // If there is anything that the sink has not written by now, that is an error.
  std::map<uint32_t, Discarded> forget_unwritten();
  const std::string& name() const { return name_; }
  bool seekable() const { return sink_->seekable(); }
  uint64_t bytes() const { return bytes_; }  // header and blocks, including those not yet written
  uint64_t unflushed() const { return batch_.bytes.size(); }  // of them, not passed to the sink yet
  uint64_t written() const { return sink_->written(); }       // of them
  uint64_t events() const { return events_; }                 // and samples
  uint64_t lost() const { return lost_; }  // events, as far as the events written report it

 private:
  void put_header();
  void take_back(const BlockNote& note);

  std::unique_ptr<BlockSink> sink_;
  std::optional<Packer> packer_;
  std::string name_;
  std::string error_;  // the writer's own, not the sink's
  lt_file_header header_;
  BlockBatch batch_;  // not yet passed to the sink
  bool discarding_ = false, recorded_discarded_ = false;
  std::map<uint32_t, Discarded> discarded_;  // by stream
  uint64_t bytes_ = 0;
  uint64_t events_ = 0, lost_ = 0;
  uint64_t blocks_ = 0;
  std::unordered_map<uint32_t, uint32_t> seq_;  // next sequence number of each stream
};

// Collects the words of one stream and writes them as EVENTS blocks of up to 64 KB. Each begins at
// a record; its header holds the clock, coroutine and depth at its start.
class EventBlocks {
 public:
  static constexpr size_t kMaxWords = 8192;

  // `writer` must outlive this object. start_tick: full clock at the beginning of the stream.
  // lost_time: see WordScanner.
  EventBlocks(TraceWriter& writer, uint32_t stream, uint64_t start_tick,
              TimeSpans* lost_time = nullptr);

  // Takes as many whole records as there are and returns how many words that was: fewer than
  // words.size() if a record is incomplete or a word is 0. not_before: see WordScanner::scan(). A
  // run may be longer than a block. Errors are the writer's.
  size_t append(std::span<const uint64_t> words, uint64_t not_before = 0);

  // Something between the last append() and the next one is missing.
  void mark_gap();

  // Writes what has been collected, if anything.
  void flush();
  // The same; nothing, or very little, will follow: releases memory.
  void rest();

  size_t pending_words() const { return used_; }
  uint64_t events() const { return events_; }  // records taken, written or not
  uint64_t words() const { return words_; }
  const WordScanner& scanner() const { return scanner_; }

 private:
  void begin_block(std::span<const uint64_t> words, uint64_t not_before);

  TraceWriter& writer_;
  WordScanner scanner_;
  EventBlockInfo info_;           // of the block being collected
  std::vector<uint64_t> buffer_;  // up to kMaxWords; used_ of them hold words
  size_t used_ = 0;
  bool gap_ = false;
  uint64_t lost_ = 0;  // in the blocks written, by the scanner's count
  uint64_t events_ = 0;
  uint64_t words_ = 0;
};

}  // namespace luatrace
