// SPDX-License-Identifier: MIT
// TraceWriter. Small blocks are gathered in a buffer; a large payload goes to the kernel straight
// from the caller's memory, together with the buffer, in one writev().
#include "trace/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
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

constexpr size_t kBufferSize = 256 * 1024;
constexpr size_t kDirectSize = 16 * 1024;  // payloads from this size on are not copied

size_t padding(size_t size) {
  return (8 - size % 8) % 8;
}

bool can_rewrite(int fd) {
  struct stat st;
  const int flags = fcntl(fd, F_GETFL);
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flags >= 0 && (flags & O_APPEND) == 0 &&
         lseek(fd, 0, SEEK_CUR) == 0;
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

int TraceWriter::open_file(const std::string& path, std::string* error) {
  const OpenedOutput output = open_output(path);
  if (output.fd >= 0) empty_output(output);
  if (output.fd < 0) *error = path + ": cannot open for writing: " + output.why;
  return output.fd;
}

TraceWriter::TraceWriter(int fd, std::string name, const lt_file_header& header)
    : fd_(fd), name_(std::move(name)), seekable_(can_rewrite(fd)), header_(header) {
  buffer_.reserve(kBufferSize);
  seal_header();
  put(&header_, sizeof header_);
}

TraceWriter::~TraceWriter() {
  close();
}

TraceWriter::TraceWriter(Spool& spool, std::string name, const lt_file_header& header)
    : spool_(&spool), name_(std::move(name)), header_(header) {
  seal_header();
  put(&header_, sizeof header_);
}

void TraceWriter::seal_header() {
  header_.magic = LT_FILE_MAGIC;
  header_.version = LT_FILE_VERSION;
  header_.header_size = sizeof header_;
  header_.crc = crc32c(&header_, offsetof(lt_file_header, crc));
}

bool TraceWriter::fail(const char* what, int err) {
  if (!ok()) return false;
  error_ = name_ + ": cannot " + what + " at offset " + std::to_string(written_) + ": " +
           std::strerror(err);
  buffer_.clear();
  // A half block would be read as "cut here", which is true but needless where it can be avoided.
  if (seekable_ && ftruncate(fd_, static_cast<off_t>(good_)) == 0) written_ = good_;
  bytes_ = written_;
  return false;
}

// Everything buffered, then one more block whose parts are given, to the kernel.
bool TraceWriter::write_out(std::span<const std::byte> header, std::span<const std::byte> payload,
                            size_t pad) {
  static constexpr std::array<std::byte, 8> kZero{};
  std::array<iovec, 4> v{{{buffer_.data(), buffer_.size()},
                          {const_cast<std::byte*>(header.data()), header.size()},
                          {const_cast<std::byte*>(payload.data()), payload.size()},
                          {const_cast<std::byte*>(kZero.data()), pad}}};
  size_t first = 0;
  for (;;) {
    while (first < v.size() && v[first].iov_len == 0) first++;
    if (first == v.size()) break;
    const int parts = static_cast<int>(v.size() - first);
    const ssize_t n = spool_ ? spool_->append(&v[first], parts) : writev(fd_, &v[first], parts);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("write", n < 0 ? errno : EIO);
    written_ += static_cast<uint64_t>(n);
    for (size_t left = static_cast<size_t>(n); left > 0;) {
      const size_t take = std::min(left, v[first].iov_len);
      v[first].iov_base = static_cast<std::byte*>(v[first].iov_base) + take;
      v[first].iov_len -= take;
      left -= take;
      if (v[first].iov_len == 0) {
        if (first == 0) good_ = written_ - left;  // the buffer holds whole blocks only
        first++;
      }
    }
  }
  buffer_.clear();
  good_ = written_;
  return true;
}

bool TraceWriter::flush() {
  return ok() && (buffer_.empty() || write_out({}, {}, 0));
}

bool TraceWriter::put(const void* data, size_t size) {
  const auto* p = static_cast<const std::byte*>(data);
  buffer_.insert(buffer_.end(), p, p + size);
  bytes_ += size;
  return true;
}

bool TraceWriter::write_block(lt_block b, std::span<const std::byte> payload) {
  if (!ok()) return false;
  if (payload.size() > LT_PAYLOAD_MAX) return fail("write a block of that size", EMSGSIZE);
  if (packer_ && (b.flags & LT_BLOCK_F_ZSTD) == 0)
    if (const auto packed = packer_->pack(b, payload); !packed.empty()) payload = packed;
  b.sync = LT_SYNC;
  b.payload_size = static_cast<uint32_t>(payload.size());
  if ((b.flags & LT_BLOCK_F_ZSTD) == 0) b.raw_size = b.payload_size;
  if (b.type == LT_BLOCK_EVENTS) b.seq = seq_[b.stream]++;
  if (b.type == LT_BLOCK_STREAM) seq_.try_emplace(b.stream, 0);
  b.payload_crc = crc32c(payload.data(), payload.size());
  b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
  const size_t pad = padding(payload.size());
  const size_t size = sizeof b + payload.size() + pad;
  blocks_++;
  if (payload.size() >= kDirectSize) {
    bytes_ += size;
    return write_out(bytes_of(b), payload, pad);
  }
  if (buffer_.size() + size > kBufferSize && !flush()) return false;
  static constexpr uint64_t kZero = 0;
  return put(&b, sizeof b) && put(payload.data(), payload.size()) && put(&kZero, pad);
}

bool TraceWriter::write_events(const EventBlockInfo& info, std::span<const uint64_t> words) {
  lt_block b{};
  b.type = LT_BLOCK_EVENTS;
  b.flags = info.flags;
  b.stream = info.stream;
  b.count = info.count;
  b.base_tick = info.base_tick;
  b.end_tick = info.end_tick;
  b.coroutine = info.coroutine;
  b.depth = info.depth;
  if (!write_block(b, std::as_bytes(words))) return false;
  events_ += info.count;
  event_bytes_ += words.size_bytes();
  return true;
}

bool TraceWriter::write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records) {
  lt_block b{};
  b.type = LT_BLOCK_FUNCS;
  b.stream = stream;
  b.count = count;
  return write_block(b, records);
}

bool TraceWriter::write_stream(uint32_t stream, const lt_stream_info& info) {
  lt_block b{};
  b.type = LT_BLOCK_STREAM;
  b.stream = stream;
  return write_block(b, bytes_of(info));
}

bool TraceWriter::write_process(uint32_t process, lt_process_info info, std::string_view exe,
                                std::string_view cmdline) {
  lt_block b{};
  b.type = LT_BLOCK_PROCESS;
  b.stream = process;
  info.exe_len = static_cast<uint32_t>(exe.size());
  info.cmd_len = static_cast<uint32_t>(cmdline.size());
  std::string payload(reinterpret_cast<const char*>(&info), sizeof info);
  payload.append(exe).append(cmdline);
  return write_block(b, std::as_bytes(std::span(payload)));
}

bool TraceWriter::write_maps(uint32_t process, uint32_t count, std::span<const std::byte> records) {
  lt_block b{};
  b.type = LT_BLOCK_MAPS;
  b.stream = process;
  b.count = count;
  return write_block(b, records);
}

bool TraceWriter::write_clock(const lt_clock_info& info) {
  lt_block b{};
  b.type = LT_BLOCK_CLOCK;
  return write_block(b, bytes_of(info));
}

bool TraceWriter::write_note(std::string_view text) {
  lt_block b{};
  b.type = LT_BLOCK_NOTE;
  return write_block(b, std::as_bytes(std::span(text)));
}

bool TraceWriter::write_end(lt_end_info info) {
  lt_block b{};
  b.type = LT_BLOCK_END;
  info.events = events_;
  info.blocks = blocks_;
  info.streams = static_cast<uint32_t>(seq_.size());
  return write_block(b, bytes_of(info));
}

bool TraceWriter::set_clock_rate(uint64_t tick_mult, uint32_t tick_shift) {
  header_.tick_mult = tick_mult;
  header_.tick_shift = tick_shift;
  seal_header();
  if (!seekable_ || !flush()) return ok();
  const ssize_t n = pwrite(fd_, &header_, sizeof header_, 0);
  return n == static_cast<ssize_t>(sizeof header_) ||
         fail("rewrite the header", n < 0 ? errno : EIO);
}

bool TraceWriter::restart(const lt_file_header& header) {
  if (!seekable_ || !ok()) return false;
  buffer_.clear();
  if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return fail("restart", errno);
  bytes_ = written_ = good_ = events_ = event_bytes_ = blocks_ = 0;
  seq_.clear();
  header_ = header;
  seal_header();
  return put(&header_, sizeof header_);
}

bool TraceWriter::close() {
  if (fd_ < 0 && !spool_) return ok();
  flush();
  if (std::exchange(spool_, nullptr)) return ok();
  const int rc = ::close(fd_);
  if (rc != 0 && errno != EINTR) fail("close", errno);
  fd_ = -1;
  return ok();
}

}  // namespace luatrace
