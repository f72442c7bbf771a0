// SPDX-License-Identifier: MIT
// Where the debug information of a stripped file is: by its build-id, by its .gnu_debuglink, in the
// places where gdb looks too.
//
//   DIR/.build-id/ab/cdef.debug            DIR: each --debug-dir, then SYSROOT/usr/lib/debug
//   beside the file, in .debug/ beside it, DIR/path/of/the/file/     for a debuglink
//   DIR/.build-id/..., where it is said to be, DIR/.dwz/              for what dwz has put aside
//
// Invariant: a file is taken only if it has the build-id wanted or, where there is none, the
// checksum that the debuglink names. Only regular files are opened, and of a sysroot none outside
// of it: a path may come from a trace (symbols/open_in_root.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Elf;
struct Dwarf;

namespace luatrace::analyze {

struct SymbolPaths {
  std::string sysroot;                  // "": the root directory.
  std::vector<std::string> debug_dirs;  // Looked into before SYSROOT/usr/lib/debug.

  // A folder, with the root that files in it are looked for in.
  struct Folder {
    std::string root, path;
  };
  // All of them, in the order in which they are looked into.
  std::vector<Folder> debug_folders() const;
};

// A descriptor and the path it was opened by; fd -1 if there is no such file.
struct OpenFile {
  int fd = -1;
  std::string path;
};

// A file that libelf may be given, found below the root.
OpenFile open_regular(const std::string& root, const std::string& path);
std::string build_id_of(Elf* elf);               // "" if it has none.
std::string hex_text(const std::string& bytes);  // "00ff..."

// The file with that build-id in the debug folders: the program itself (`debug` false) or its debug
// information.
OpenFile find_by_build_id(const SymbolPaths& paths, const std::string& build_id, bool debug);
// What `elf` names in its .gnu_debuglink. `recorded` is its path without the sysroot.
OpenFile find_by_debuglink(const SymbolPaths& paths, Elf* elf, const std::string& recorded);
// What `dwarf`, which was read from debug_file, names in its .gnu_debugaltlink. may_ask becomes
// false if others must not look for it: what it names is there but no regular file, or there is a
// sysroot, which they would leave.
OpenFile find_alternate(const SymbolPaths& paths, Dwarf* dwarf, const std::string& debug_file,
                        bool& may_ask);

}  // namespace luatrace::analyze
