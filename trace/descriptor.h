// SPDX-License-Identifier: MIT
// A file descriptor that its last owner closes; errno stays as it is. It converts to its number,
// for system calls; -1: there is none.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace luatrace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    errno = error;
  }
  operator int() const& { return fd_; }
  operator int() && = delete;               // it would be closed at once
  explicit operator bool() const = delete;  // 0 is a descriptor
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace luatrace
