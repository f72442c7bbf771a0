// SPDX-License-Identifier: MIT
#include "trace/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <utility>

namespace luatrace {
namespace {

// An unnamed file, which disappears with its last descriptor.
Descriptor open_temporary() {
  const char* dir = getenv("TMPDIR");
  const int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return Descriptor(fd >= 0 ? fd : memfd_create("luatrace-spool", MFD_CLOEXEC));
}

bool write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

// Moves the bytes from memory to a file.
bool Spool::spill() {
  Descriptor fd = open_temporary();
  if (fd < 0 || !write_all(fd, bytes_)) return false;
  fd_ = std::move(fd);
  bytes_ = {};
  return true;
}

ssize_t Spool::append(const iovec* parts, int count) {
  size_t size = 0;
  for (const iovec& part : std::span(parts, static_cast<size_t>(count))) size += part.iov_len;
  if (fd_ < 0 && bytes_.size() + size > memory_ && !spill()) return -1;
  if (fd_ >= 0) return writev(fd_, parts, count);
  for (const iovec& part : std::span(parts, static_cast<size_t>(count))) {
    const auto* p = static_cast<const uint8_t*>(part.iov_base);
    bytes_.insert(bytes_.end(), p, p + part.iov_len);
  }
  return static_cast<ssize_t>(size);
}

Descriptor Spool::take_file() {
  if (fd_ >= 0) lseek(fd_, 0, SEEK_SET);  // Cannot fail on a regular file.
  return std::move(fd_);
}

}  // namespace luatrace
