// SPDX-License-Identifier: MIT
// Finds the debug information of a stripped file by its build-id or .gnu_debuglink, in the same
// places as gdb, and in DIR itself:
//
//   DIR/.build-id/ab/cdef.debug            DIR: each --debug-dir, then SYSROOT/usr/lib/debug
//   next to the file, .debug/ next to it, DIR/path/of/the/file/, DIR/    for a debuglink
//   DIR/.build-id/..., the path it names, DIR/.dwz/                   for an alternate file of dwz
//
// Invariant: a file is used only if it has the wanted build-id or, if there is none, the checksum
// of the debuglink. Only regular files are opened, and look-ups in a sysroot never leave it, since
// a path may come from a trace (symbols/open_in_root.h).
#pragma once

#include <string>
#include <vector>

struct Elf;
struct Dwarf;

namespace luatrace::analyze {

struct SymbolPaths {
  std::string sysroot;                  // "": the root directory.
  std::vector<std::string> debug_dirs;  // Searched before SYSROOT/usr/lib/debug.

  // A folder and the root that look-ups of files in it cannot leave.
  struct Folder {
    std::string root, path;
  };
  // Returns all debug folders in search order.
  std::vector<Folder> debug_folders() const;
};

// A descriptor and the path by which it was opened; fd is -1 if there is no such file.
struct OpenFile {
  int fd = -1;
  std::string path;
};

// Opens a regular file below `root` that is safe for libelf.
OpenFile open_regular(const std::string& root, const std::string& path);
std::string build_id_of(Elf* elf);  // "" if it has none.

// Opens the file with that build-id in the debug folders: the program itself (`debug` false) or its
// debug information.
OpenFile find_by_build_id(const SymbolPaths& paths, const std::string& build_id, bool debug);
// Opens the file named in the .gnu_debuglink of `elf`, whose path without sysroot is `recorded`.
OpenFile find_by_debuglink(const SymbolPaths& paths, Elf* elf, const std::string& recorded);
// Opens the file named in the .gnu_debugaltlink of `dwarf`, which was read from debug_file.
// may_search becomes false if no other search is allowed: the named file exists but is not regular,
// or there is a sysroot, which another search would leave.
OpenFile find_alternate(const SymbolPaths& paths, Dwarf* dwarf, const std::string& debug_file,
                        bool& may_search);

}  // namespace luatrace::analyze
