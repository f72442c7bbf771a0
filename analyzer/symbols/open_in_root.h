// SPDX-License-Identifier: MIT
// Opens files whose names others chose: those in a trace, and links on the way to them.
//
// Invariants: what is not below the root is not reached, whatever the path says: ".." ends at the
// root, absolute links begin there. What is no regular file is not opened, only looked at
// (O_PATH): a FIFO would wait for ever, a device may do anything, files of the kernel (/proc, /sys)
// are no programs. Steps are bounded: links in circles, paths without end.
#pragma once

#include <string>

namespace luatrace::analyze {

// A descriptor for reading, -1 if there is no such file. root: a directory; "": that of the system.
int open_regular_in(const std::string& root, const std::string& path);

// Whether libelf can be given the file without harm: it takes memory for as many sections and
// segments as the file claims to have. (A file that is no ELF file at all is harmless.)
bool has_usual_tables(int fd);

}  // namespace luatrace::analyze
