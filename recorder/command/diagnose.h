// SPDX-License-Identifier: MIT
// Diagnosis: why a command that ran never announced a Lua state.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "recorder/os/maps.h"

namespace luatrace::record {

class Diagnosis {
 public:
  // Looks at the command while it runs; cheap enough to be done often.
  void observe(pid_t pid);

  // What to say when it has ended, line by line. library_dir: where our library lies, or empty.
  // Reads the files, for 3 s at most.
  std::vector<std::string> report(const std::string& library_dir) const;

 private:
  Mapping exe_;                               // of the last program seen; its path at least
  std::map<std::string, Mapping> libraries_;  // mapped files that look like a LuaJIT, by name
};

// The directory with our libluajit beside this program (../lib), or empty.
std::string own_library_dir();

}  // namespace luatrace::record
