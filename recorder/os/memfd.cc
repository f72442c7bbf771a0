// SPDX-License-Identifier: MIT
// memfd_device; see memfd.h.
#include "recorder/os/memfd.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace luatrace::record {

dev_t memfd_device() {
  static const dev_t device = [] {
    struct stat st {};
    const auto fd = static_cast<int>(syscall(SYS_memfd_create, "luatrace", MFD_CLOEXEC));
    if (fd < 0 || fstat(fd, &st) != 0) st.st_dev = 0;
    if (fd >= 0) close(fd);
    return st.st_dev;
  }();
  return device;
}

}  // namespace luatrace::record
