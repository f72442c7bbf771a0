// SPDX-License-Identifier: MIT
// Opens files under untrusted names: from a trace, and of symbolic links on the way.
//
// Invariants: nothing outside of the root is reached, whatever the path: ".." stops at the root,
// absolute links begin there. Only regular files are opened for reading; anything else is opened
// with O_PATH at most: a FIFO would block forever, a device may do anything, and kernel files
// (/proc, /sys) are not programs. Steps are bounded, despite link cycles and endless paths.
#pragma once

#include <string>

namespace luatrace::analyze {

// Returns a descriptor for reading, -1 if there is no such file. root: a directory; "": "/".
int open_regular_in(const std::string& root, const std::string& path);

// Whether the file is safe for libelf, which allocates memory for as many sections and segments as
// the file claims to have. (A file that is not ELF is safe.)
bool has_usual_tables(int fd);

}  // namespace luatrace::analyze
