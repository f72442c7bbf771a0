// SPDX-License-Identifier: MIT
// Memory that is a file without a name (memfd_create, and shared anonymous mappings).
#pragma once

#include <sys/types.h>

namespace luatrace::record {

// The device number of all memfds of ordinary pages: a mount of the kernel's own, so that no file
// with a name can have it. 0: there are none here. The first call needs a free descriptor.
dev_t memfd_device();

// Is that open file a memfd of ordinary pages? Works with O_PATH descriptors, too, and asks no file
// system that may not answer.
bool is_memfd(int fd);

}  // namespace luatrace::record
