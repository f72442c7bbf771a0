// SPDX-License-Identifier: MIT
// The LuaJITs that a process has mapped, whatever the names and places of their files: in a
// container, deleted, a library or the program itself. Invariant: a file is read once,
// however many recorded processes map it at a time, and open only as long.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recorder/bpf/probed_file.h"
#include "trace/descriptor.h"

namespace luatrace::record::bpf {

// A file with probes, held open: a path to it that the kernel can resolve stays valid even if the
// container ends or the file is deleted.
struct LuaFile {
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

  Descriptor fd;
  std::string name;  // path as its process sees it
  ProbedFile probed;
};

struct MappedLua {
  std::vector<std::shared_ptr<LuaFile>> files;
  std::vector<std::string> problems;  // of files that look like ours but cannot be used
  std::string unanswered;             // a file that could not be read in time
  bool readable = false;              // the process's mappings could be read
};

class MappedFiles {
 public:
  MappedLua look(pid_t pid);

 private:
  struct Known {
    std::weak_ptr<LuaFile> file;  // exists while a recorded process has it
    bool has_probes = false;
    std::string problem;
  };
  void read(Descriptor fd, const std::string& name, uint64_t device, uint64_t inode,
            MappedLua& found);

  std::map<std::pair<uint64_t, uint64_t>, Known> known_;  // by device and inode
};

}  // namespace luatrace::record::bpf
