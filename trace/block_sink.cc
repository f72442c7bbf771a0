// SPDX-License-Identifier: MIT
// Sinks that write immediately; see block_sink.h.
#include "trace/block_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace luatrace {
namespace {

bool can_rewrite(int fd) {
  struct stat st;
  const int flags = fcntl(fd, F_GETFL);
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flags >= 0 && (flags & O_APPEND) == 0 &&
         lseek(fd, 0, SEEK_CUR) == 0;
}

std::string text(const char* what, uint64_t offset, int err) {
  return std::string("cannot ") + what + " at offset " + std::to_string(offset) + ": " +
         std::strerror(err);
}

bool is_withdrawn(const BlockNote& note) {
  return note.type == LT_BLOCK_EVENTS || note.type == LT_BLOCK_FUNCS;
}

}  // namespace

void BlockBatch::clear() {
  bytes.clear();
  notes.clear();
}

uint64_t BlockBatch::take_out_events(std::vector<BlockNote>& out) {
  std::vector<BlockNote> kept;
  size_t from = 0, to = 0;
  for (const BlockNote& note : notes) {
    if (is_withdrawn(note)) {
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

FileSink::FileSink(int fd) : fd_(fd), seekable_(can_rewrite(fd)) {}

FileSink::~FileSink() {
  close();
}

bool FileSink::fail(const char* what, int err) {
  if (ok()) error_ = text(what, written_, err);
  return false;
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
  return err == 0;
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
  if (fd_ < 0) return ok();
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail("close", errno);
  return ok();
}

bool SpoolSink::write(BlockBatch& batch) {
  size_t done = 0;
  while (ok() && done < batch.bytes.size()) {
    const iovec rest{batch.bytes.data() + done, batch.bytes.size() - done};
    const ssize_t n = spool_.append(&rest, 1);
    if (n > 0) done += static_cast<size_t>(n);
    if (n == 0 || (n < 0 && errno != EINTR))
      error_ = text("write", written_ + done, n < 0 ? errno : EIO);
  }
  written_ += done;
  batch.clear();
  return ok();
}

}  // namespace luatrace
