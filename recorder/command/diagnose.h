// SPDX-License-Identifier: MIT
// Diagnosis: why no Lua VM of a command has connected.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "recorder/os/maps.h"

namespace luatrace::record {

class Diagnosis {
 public:
  // Examines the command while it runs; cheap enough for frequent calls.
  void observe(pid_t pid);

  // The message after its end, line by line. library_dir: the folder of our library, or empty.
  // Reads the files, for up to 3 s.
  std::vector<std::string> report(const std::string& library_dir) const;

 private:
  Mapping exe_;                               // of the last program seen; at least its path
  std::map<std::string, Mapping> libraries_;  // mapped files that look like a LuaJIT, by name
};

// The directory with our libluajit next to this program (../lib), or empty.
std::string own_library_dir();

}  // namespace luatrace::record
