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

#include <functional>
#include <memory>
#include <string>

namespace luatrace {

class NewFile;

struct OpenedOutput {
  int fd = -1;           // for writing, at the beginning; -1: see why
  bool created = false;  // the file did not exist before
  dev_t device = 0;      // what was opened
  ino_t inode = 0;
  std::string why{};  // the reason, from strerror(3) or as a sentence
  // Of open_replacement(): the file that publish_output() gives its name; shared by all copies.
  // Null: there is nothing to publish.
  std::shared_ptr<NewFile> beside{};
};

// Opens a file and creates it if necessary, but never empties it. A FIFO without a reader blocks,
// as in open(2).
OpenedOutput open_output(const std::string& path);

// Why an existing regular file with contents must stay; empty: it may be replaced. fd: for reading,
// at the beginning; -1: it cannot be read. May be null.
using KeepReason = std::function<std::string(int fd)>;

// The same for an output that is written as a whole: what the name refers to stays as it is until
// publish_output() replaces it by a new file, with the mode and owner of the old one. Until then
// the new file has no name where the file system can do that, so nothing is left of it if this
// process is killed. Devices, FIFOs, files behind /proc, files with several names and files whose
// directory takes no new ones are opened themselves, as by open_output(), and emptied.
OpenedOutput open_replacement(const std::string& path, const KeepReason& keep);
// Gives the new file its name. Empty, or the reason why not; then the old file is as it was. Does
// nothing the second time, and after remove_output(). From any thread.
std::string publish_output(const OpenedOutput& output);

// Empties the file if it is a regular one. False: see errno.
bool empty_output(const OpenedOutput& output);

// Removes a file if open_output() or open_replacement() created it and the name still refers to it;
// also one that was not published.
void remove_output(const std::string& path, const OpenedOutput& output);

}  // namespace luatrace
