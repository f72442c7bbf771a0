// SPDX-License-Identifier: MIT
// BlockSink: a destination for the blocks of a trace: a file (FileSink), a spool (SpoolSink), or a
// queue that another thread writes (recorder/drain/write_queue.h).
// Invariant: a sink receives whole blocks, each with a note, so that it can cut a file at the end
// of a block and say what was not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "luatrace_format.h"
#include "trace/spool.h"

namespace luatrace {

// What has to be known about a block that is not written in the end.
struct BlockNote {
  uint64_t size = 0;  // bytes in the file; the file's header counts as a block of type 0
  uint32_t stream = 0;
  uint16_t type = 0;              // LT_BLOCK_*
  uint64_t events = 0, lost = 0;  // EVENTS: records, and lost events that they report
  uint64_t tick = 0, end_tick = 0;
};

// Consecutive blocks, and a note for each.
struct BlockBatch {
  std::vector<std::byte> bytes;
  std::vector<BlockNote> notes;

  bool empty() const { return bytes.empty(); }
  void clear();
  // Removes the events and the function descriptions, which are useful only together, and appends
  // their notes to `out`. Returns the number of bytes removed.
  uint64_t take_out_events(std::vector<BlockNote>& out);
};

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
  // Drops the events and function descriptions that write() took and that can still be left out.
  // Returns their notes, oldest first. After an error: notes of everything that was not written.
  virtual std::vector<BlockNote> withdraw() { return {}; }
};

// Writes to a descriptor; each call may take as long as the disk takes.
class FileSink final : public BlockSink {
 public:
  // Closes fd in the end.
  explicit FileSink(int fd);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

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
  void cut(BlockBatch& batch, uint64_t done);

  int fd_;
  bool seekable_;
  std::string error_;
  uint64_t written_ = 0;
  std::vector<BlockNote> unwritten_;
};

class SpoolSink final : public BlockSink {
 public:
  explicit SpoolSink(Spool& spool) : spool_(spool) {}

  bool seekable() const override { return false; }
  bool write(BlockBatch& batch) override;
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

}  // namespace luatrace
