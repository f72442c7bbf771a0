// SPDX-License-Identifier: MIT
#include "recorder/os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace luatrace::record {

dev_t memfd_device() {
  static std::atomic<dev_t> known{0};
  if (known != 0) return known;
  struct stat st {};
  const int fd = memfd_create("luatrace", MFD_CLOEXEC);
  if (fd >= 0 && fstat(fd, &st) == 0) known = st.st_dev;
  if (fd >= 0) close(fd);
  return known;
}

// fstat() would ask the file system, and a hostile one (FUSE) need not answer. Only files in memory
// have seals; a descriptor of O_PATH (EBADF) does not show them.
bool is_memfd(int fd) {
  struct statx st {};
  if (fcntl(fd, F_GET_SEALS) < 0 && errno != EBADF) return false;
  return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
         S_ISREG(st.stx_mode) && memfd_device() != 0 &&
         makedev(st.stx_dev_major, st.stx_dev_minor) == memfd_device();
}

}  // namespace luatrace::record
