// SPDX-License-Identifier: MIT
// BlockSink: where the blocks of a trace go: a file (FileSink), a spool (SpoolSink), or a queue
// that another thread writes (recorder/drain/write_queue.h).
// Invariant: a sink is given whole blocks only, with a note about each, so that it can cut a file
// at the end of a block and say what was not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "luatrace_format.h"
#include "trace/spool.h"

namespace luatrace {

// What the accounts must know about a block that is not written after all.
struct BlockNote {
  uint64_t size = 0;  // bytes in the file; also of the file's header, which comes with type 0
  uint32_t stream = 0;
  uint16_t type = 0;              // LT_BLOCK_*
  uint64_t events = 0, lost = 0;  // records, and events whose loss they tell (EVENTS)
  uint64_t tick = 0, end_tick = 0;
};

// Blocks that lie back to back, and a note for each.
struct Chunk {
  std::vector<std::byte> bytes;
  std::vector<BlockNote> notes;

  bool empty() const { return bytes.empty(); }
  void clear();
  // Takes out the events and the descriptions of functions, which are of use only together; their
  // notes are appended to `out`. Returns the bytes that went.
  uint64_t take_out_events(std::vector<BlockNote>& out);
};

class BlockSink {
 public:
  virtual ~BlockSink() = default;

  // Can the header be rewritten, and everything be begun again?
  virtual bool seekable() const = 0;
  // Takes the chunk's content; the chunk is empty afterwards. False: it failed, or is late().
  virtual bool write(Chunk& chunk) = 0;
  // Writes the file's header over the first one.
  virtual bool rewrite(const lt_file_header& header) = 0;
  // Forgets everything that was written.
  virtual bool restart() = 0;
  // Everything is written after it, or error() says why not. A queue may still be at it.
  virtual bool close() = 0;

  // False after the first error; error() says what could not be done ("cannot write at offset N:
  // reason"). Then nothing more is written.
  virtual bool ok() const = 0;
  virtual std::string error() const = 0;
  // Bytes that are there for good (after an error: of whole blocks, where that can be had).
  virtual uint64_t written() const = 0;

  // There was no time left for the last write(), which took nothing. Not an error.
  virtual bool late() const { return false; }
  // From now on nothing is late: what comes is little, and the last of it.
  virtual void take_all() {}
  // Events and descriptions of functions that were taken by write() and can still be left out are
  // left out; their notes, oldest first. After an error: notes of all that was not written.
  virtual std::vector<BlockNote> withdraw() { return {}; }
};

// What is done with a descriptor; each call may take as long as the disk wants.
class FileSink final : public BlockSink {
 public:
  // Closes fd in the end.
  explicit FileSink(int fd);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  bool seekable() const override { return seekable_; }
  bool write(Chunk& chunk) override;
  bool rewrite(const lt_file_header& header) override;
  bool restart() override;
  bool close() override;
  bool ok() const override { return error_.empty(); }
  std::string error() const override { return error_; }
  uint64_t written() const override { return written_; }
  std::vector<BlockNote> withdraw() override { return std::move(unwritten_); }

 private:
  bool fail(const char* what, int err);
  void cut(Chunk& chunk, uint64_t done);

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
  bool write(Chunk& chunk) override;
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
