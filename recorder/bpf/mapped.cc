// SPDX-License-Identifier: MIT
// LuaJITs mapped in a process; see mapped.h.
#include "recorder/bpf/mapped.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "recorder/os/file_apart.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record::bpf {
namespace {

constexpr size_t kMaxFiles = 4096, kMaxFound = 64;  // of a process

// Can the parts of the file that a recorder reads be read without blocking?
bool file_answers(pid_t pid, const Mapping& m) {
  if (!may_not_answer(pid, m)) return true;
  FileApart file(m, [&] { return open_mapping(pid, m); });
  ProbedFile probed;
  std::string why;
  if (file.is_open()) read_probed_file(file.reader(), probed, why);
  return file.answers();
}

}  // namespace

LuaFile::~LuaFile() {
  close(fd_);
}

const MappedFiles::Known& MappedFiles::read(int fd, const std::string& name, uint64_t device,
                                            uint64_t inode) {
  const auto [it, fresh] = known_.try_emplace({device, inode});
  Known& known = it->second;
  if (!fresh) return close(fd), known;
  ProbedFile probed;
  std::string why;
  const Probed result = read_probed_file(reader_of(fd), probed, why);
  if (result == Probed::kYes) {
    known.file = std::make_shared<LuaFile>(fd, name, probed, inode);
    return known;
  }
  if (result == Probed::kBad) known.problem = name + ": " + why;
  close(fd);
  return known;
}

MappedLua MappedFiles::look(pid_t pid) {
  MappedLua found;
  std::set<std::pair<std::string, uint64_t>> seen;
  const std::string text = read_proc(pid, "maps", 8u << 20);
  found.readable = !text.empty();
  for (const Mapping& m : parse_maps(text)) {
    if (!m.executable || m.path.empty() || m.path[0] != '/' ||
        !seen.emplace(m.device, m.inode).second)
      continue;
    if (seen.size() > kMaxFiles || found.files.size() + found.problems.size() == kMaxFound) break;
    if (!file_answers(pid, m)) continue;
    const int fd = open_mapping(pid, m);
    struct stat st {};
    if (fd < 0) continue;
    if (fstat(fd, &st) != 0) {
      close(fd);
      continue;
    }
    const Known& known = read(fd, m.path, st.st_dev, st.st_ino);
    if (known.file) found.files.push_back(known.file);
    if (!known.problem.empty()) found.problems.push_back(known.problem);
  }
  return found;
}

}  // namespace luatrace::record::bpf
