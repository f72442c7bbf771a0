// SPDX-License-Identifier: MIT
// Opens the files that a user names for writing: traces, pages, tables, profiles.
// Invariants: a new file has mode 0600. Nothing is written, emptied or removed through a name that
// another user could have created: a symbolic link anywhere in the path is followed only if it and
// the directory that holds it belong to this user or to root and nobody else may replace it. An
// existing file is taken only if it belongs to this user (and has one name), or if nobody else may
// create files in its directory. Devices are always taken. This is more than fs.protected_symlinks
// asks for, and does not depend on that setting.
#pragma once

#include <sys/types.h>

#include <string>

namespace luatrace {

struct OpenedOutput {
  int fd = -1;           // for writing, at the beginning; -1: see why
  bool created = false;  // the file did not exist before
  dev_t device = 0;      // what was opened
  ino_t inode = 0;
  std::string why;  // the reason, from strerror(3) or as a sentence
};

// Opens a file and creates it if necessary, but never empties it. A FIFO without a reader blocks,
// as in open(2).
OpenedOutput open_output(const std::string& path);

// Empties the file if it is a regular one. False: see errno.
bool empty_output(const OpenedOutput& output);

// Removes a file if open_output() created it and the name still refers to it.
void remove_output(const std::string& path, const OpenedOutput& output);

}  // namespace luatrace
