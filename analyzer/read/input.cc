// SPDX-License-Identifier: MIT
#include "analyzer/read/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "analyzer/read/diagnostics.h"
#include "base/escape.h"
#include "base/unique_owner.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kBufferSize = 1u << 20;  // Fits the second level cache.

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Unreadable(printable(name) + ": " + what);
}

// What the Lua module passes on is named by the file that it is, if that has a name.
std::string name_of(const std::string& path) {
  if (path == "-") return "standard input";
  if (!path.starts_with("/proc/self/fd/")) return path;
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink(path, error);
  return std::filesystem::is_regular_file(file, error) ? file.string() : "luatrace";
}

}  // namespace

Input::Input(const std::string& path) : name_(name_of(path)) {
  if (path == "-") {
    fd_ = STDIN_FILENO;
  } else {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail(name_, std::string("cannot open: ") + strerror(errno));
    own_ = Descriptor(fd_);
  }
  struct stat st;
  if (fstat(fd_, &st) == 0 && S_ISDIR(st.st_mode)) fail(name_, "is a directory, not a trace");
  measure();
}

Input::Input(std::string name, int file) : name_(std::move(name)), fd_(file) {
  measure();
}

// Gets the file's size and a buffer of matching size.
void Input::measure() {
  struct stat st;
  if (fstat(fd_, &st) == 0 && S_ISREG(st.st_mode)) {
    size_ = static_cast<uint64_t>(st.st_size);
    start_ = lseek(fd_, 0, SEEK_CUR);
  }
  // A small file needs only its size, plus some bytes to see its end, unless it grows.
  take_free_buffer(size_ ? std::min<uint64_t>(kBufferSize, size_ + 4096) : kBufferSize);
}

Input::Input(std::string name, std::vector<uint8_t> bytes)
    : name_(std::move(name)),
      eof_(true),
      buffer_(std::make_shared<Buffer>(std::move(bytes))),
      end_(buffer_->size()) {
  size_ = buffer_->size();
}

Input::Input(std::string name, Spool spool) : name_(std::move(name)) {
  take(std::move(spool));
}

// Continues with the spool's contents.
void Input::take(Spool spool) {
  own_ = spool.take_file();
  fd_ = own_;
  begin_ = end_ = 0;
  eof_ = fd_ < 0;
  if (fd_ >= 0) return measure();
  buffer_ = std::make_shared<Buffer>(spool.take_memory());
  size_ = end_ = buffer_->size();
}

void Input::keep() {
  if (fd_ < 0 || start_ >= 0) return;
  Spool spool;
  while (need(1)) {
    iovec all{buffer_->data() + begin_, available()};
    const ssize_t n = spool.append(&all, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      fail(name_, std::string("cannot be copied to a temporary file for a second pass: ") +
                      strerror(errno));
    begin_ += static_cast<size_t>(n);
  }
  take(std::move(spool));
}

void Input::rewind() {
  begin_ = 0;
  offset_ = 0;
  if (fd_ < 0) return;
  end_ = 0;
  eof_ = false;
  if (lseek(fd_, start_, SEEK_SET) < 0)
    fail(name_, std::string("cannot be read a second time: ") + strerror(errno));
}

// Makes buffer_ one of at least `size` bytes that no one else holds.
void Input::take_free_buffer(size_t size) {
  buffer_ = nullptr;
  for (auto& buffer : buffers_)
    if (!buffer_ && is_unique_owner(buffer)) buffer_ = buffer;
  if (!buffer_) buffers_.push_back(buffer_ = std::make_shared<Buffer>());
  if (buffer_->size() < size) buffer_->resize(size);
}

size_t Input::need(size_t size) {
  if (available() >= size || eof_) return available();
  // Twice the required size, or each call would move everything.
  const size_t capacity = buffer_->size() < size ? 2 * size : buffer_->size();
  const std::shared_ptr<Buffer> old = buffer_;
  const uint8_t* rest = data();
  const long ours = 3;  // buffer_, buffers_ and `old`.
  if (!is_unique_owner(old, ours) || old->size() < capacity) take_free_buffer(capacity);
  memmove(buffer_->data(), rest, available());
  end_ -= begin_;
  begin_ = 0;
  while (end_ < size) {
    ssize_t n = read(fd_, buffer_->data() + end_, buffer_->size() - end_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      fail(name_,
           "read error at offset " + std::to_string(offset_ + end_) + ": " + strerror(errno));
    if (n == 0) {
      eof_ = true;
      break;
    }
    end_ += static_cast<size_t>(n);
  }
  return available();
}

}  // namespace luatrace::analyze
