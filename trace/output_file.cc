// SPDX-License-Identifier: MIT
#include "trace/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

namespace luatrace {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

}  // namespace

OutputBuffer::OutputBuffer(int fd) : fd_(fd), bytes_(kBufferBytes) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

// Writes out the buffer. After an error nothing more is written.
bool OutputBuffer::empty() {
  for (const char* at = pbase(); at < pptr() && error_ == 0;) {
    const ssize_t n = write(fd_, at, static_cast<size_t>(pptr() - at));
    if (n >= 0)
      at += n;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0;
}

OutputBuffer::int_type OutputBuffer::overflow(int_type c) {
  if (!empty()) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

int OutputBuffer::sync() {
  return empty() ? 0 : -1;
}

OutputFile::OutputFile(const std::string& path, const KeepReason& keep)
    : OutputFile(path, open_replacement(path, keep)) {}

OutputFile::OutputFile(const std::string& path, OpenedOutput opened)
    : std::ostream(nullptr),
      path_(path),
      opened_(std::move(opened)),
      fd_(opened_.fd),
      error_(opened_.why),
      buffer_(fd_) {
  rdbuf(&buffer_);
  if (fd_ >= 0 && !empty_output(opened_)) error_ = std::strerror(errno);
  if (!error_.empty()) setstate(badbit);
}

// What was not finished is not published: an error has ended the program's work.
OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  drop();
  close(fd_);
}

// Nothing is left of it; a file that was opened itself keeps its names.
void OutputFile::drop() {
  struct stat st {};
  if (fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) return;
  (void)!ftruncate(fd_, 0);
  remove_output(path_, opened_);
}

std::string OutputFile::finish() {
  if (fd_ < 0) return error_;
  flush();
  if (buffer_.error() != 0 && error_.empty()) error_ = std::strerror(buffer_.error());
  if (error_.empty()) error_ = publish_output(opened_);
  if (!error_.empty()) drop();
  // Over a network a file may fail only here; then it is not whole.
  if (close(fd_) != 0 && error_.empty()) {
    error_ = std::strerror(errno);
    remove_output(path_, opened_);
  }
  fd_ = -1;
  return error_;
}

StandardOutput::StandardOutput() : buffer_(STDOUT_FILENO), before_(std::cout.rdbuf(&buffer_)) {}

StandardOutput::~StandardOutput() {
  std::cout.flush();
  std::cout.rdbuf(before_);
}

int write_error(const std::ostream& out) {
  const auto* buffer = dynamic_cast<const OutputBuffer*>(out.rdbuf());
  return buffer ? buffer->error() : 0;
}

std::string error_text(int error) {
  return error != 0 ? std::strerror(error) : "";
}

}  // namespace luatrace
