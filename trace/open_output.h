// SPDX-License-Identifier: MIT
// Opening the files that a user has named, for writing: traces, pages, tables, profiles.
// Invariants: what is created is for its owner alone (mode 0600); nothing is written, emptied or
// removed through a name that another user could have put there: a symbolic link anywhere in the
// path is followed only if it, and the directory that holds it, belong to this user or to root and
// nobody else may exchange it; an existing file is taken only if it is this user's own (and has one
// name), or if nobody else may put files where it lies. Devices are always taken. This is more than
// fs.protected_symlinks asks for, and does not depend on that setting.
#pragma once

#include <sys/types.h>

#include <string>

namespace luatrace {

struct OpenedOutput {
  int fd = -1;           // for writing, at the beginning; -1: see why
  bool created = false;  // it was not there before
  dev_t device = 0;      // what was opened
  ino_t inode = 0;
  std::string why;  // the reason, as strerror(3) or a sentence says it
};

// Opens a file, which is made if it is not there and never emptied. May wait, as open(2) does, if
// it is a FIFO that nobody reads.
OpenedOutput open_output(const std::string& path);

// Empties what was opened, if it is a regular file. False: errno says why.
bool empty_output(const OpenedOutput& output);

// Removes a file that open_output() has made, if that name still means it.
void remove_output(const std::string& path, const OpenedOutput& output);

}  // namespace luatrace
