// SPDX-License-Identifier: MIT
#include "recorder/bpf/mapped.h"

#include <sys/stat.h>

#include <set>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/file_apart.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record::bpf {
namespace {

constexpr size_t kMaxFiles = 4096, kMaxFound = 65;  // of a process; more than Source records
constexpr size_t kMaxKnown = 65536;
constexpr uint64_t kAskingNs = 2'000'000'000;  // for files that may not answer, in all

// Can the parts of the file that a recorder reads be read without blocking? limit_ns: no file is
// asked later.
bool file_answers(pid_t pid, const Mapping& m, uint64_t limit_ns) {
  if (!may_not_answer(pid, m)) return true;
  if (monotonic_ns() >= limit_ns) return false;
  FileApart file(m, [&] { return open_mapping(pid, m); });
  ProbedFile probed;
  std::string why;
  if (file.is_open()) read_probed_file(file.reader(), probed, why);
  return file.answers();
}

}  // namespace

void MappedFiles::read(Descriptor fd, const std::string& name, uint64_t device, uint64_t inode,
                       MappedLua& found) {
  if (known_.size() >= kMaxKnown)
    std::erase_if(known_, [](const auto& k) { return k.second.file.expired(); });
  const auto [it, fresh] = known_.try_emplace({device, inode});
  Known& known = it->second;
  std::shared_ptr<LuaFile> file = known.file.lock();
  if (fresh || (known.has_probes && file == nullptr)) {
    ProbedFile probed;
    std::string why;
    const Probed result = read_probed_file(reader_of(fd), probed, why);
    known.has_probes = result == Probed::kYes;
    if (known.has_probes)
      known.file = file = std::make_shared<LuaFile>(LuaFile{std::move(fd), name, probed});
    else if (result == Probed::kBad)
      known.problem = name + ": " + why;
  }
  if (file) found.files.push_back(file);
  if (!known.problem.empty()) found.problems.push_back(known.problem);
}

MappedLua MappedFiles::look(pid_t pid) {
  MappedLua found;
  std::set<std::pair<std::string, uint64_t>> seen;
  const std::vector<Mapping> all = mappings_of(pid);
  const uint64_t limit = monotonic_ns() + kAskingNs;
  found.readable = !all.empty();
  for (const Mapping& m : all) {
    if (!m.executable || m.path.empty() || m.path[0] != '/' ||
        !seen.emplace(m.device, m.inode).second)
      continue;
    if (seen.size() > kMaxFiles || found.files.size() + found.problems.size() == kMaxFound) break;
    if (!file_answers(pid, m, limit)) {
      if (found.unanswered.empty()) found.unanswered = m.path;
      continue;
    }
    Descriptor fd(open_mapping(pid, m));
    struct stat st {};
    if (fd >= 0 && fstat(fd, &st) == 0) read(std::move(fd), m.path, st.st_dev, st.st_ino, found);
  }
  return found;
}

}  // namespace luatrace::record::bpf
