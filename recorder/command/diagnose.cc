// SPDX-License-Identifier: MIT
// A LuaJIT of ours contains the name of the environment variable that it reads, which identifies it
// even if it is stripped or linked into a program.
#include "recorder/command/diagnose.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "luatrace_format.h"
#include "recorder/os/clock.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/file_apart.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxRead = 64 << 20, kMaxLibraries = 16;
constexpr const char* kNotAnnounced =
    "no Lua VM has connected: did it run Lua code, and did " LT_ENV_SOCKET " reach it?";
constexpr uint64_t kMaxReadNs = 3000 * kMillisecond;  // for all files

bool is_static(const ReadAt& read) {
  const auto head = read_elf_head(read);
  return head && std::none_of(head->segments.begin(), head->segments.end(),
                              [](const Elf64_Phdr& p) { return p.p_type == PT_INTERP; });
}

// The relevant facts about a file. Its file system may be the one on which the command was blocked.
struct Contents {
  bool read = false, tracepoints = false, linked_static = false, set_id = false;
};

Contents look_at(const Mapping& m, uint64_t limit_ns) {
  const uint64_t now = monotonic_ns();
  const int left = limit_ns > now ? static_cast<int>((limit_ns - now) / kMillisecond) : 0;
  const auto open = [&] { return m.inode != 0 ? open_former_mapping(m) : open_regular(m.path); };
  FileApart file(m, open, {.answer_ms = left, .all_ms = left});
  std::string image(std::min<uint64_t>(file.size(), kMaxRead), 0);
  Contents c;
  c.read = file.reader()(0, image.data(), image.size());
  if (!c.read) return c;
  c.tracepoints = image.find(LT_ENV_SOCKET) != image.npos;
  c.linked_static = is_static(file.reader());
  c.set_id = (file.mode() & (S_ISUID | S_ISGID)) != 0;
  return c;
}

std::string about(const Contents& library, const std::string& library_dir) {
  if (!library.read) return "could not be read now.";
  if (library.tracepoints) return std::string("has tracepoints, but ") + kNotAnnounced;
  const std::string hint =
      library_dir.empty() ? "" : ", for example with LD_LIBRARY_PATH=" + shell_word(library_dir);
  return "has no tracepoints: replace it by ours" + hint + ".";
}

}  // namespace

void Diagnosis::observe(pid_t pid) {
  const ProcessFacts facts = read_process(pid);
  if (!facts.exe.empty() && facts.exe != exe_.path) {
    exe_ = {};
    exe_.path = facts.exe;
  }
  for (const auto& m : parse_maps(read_proc(pid, "maps"))) {
    if (!m.executable) continue;
    if (m.path == exe_.path) exe_ = m;
    const std::string name = m.path.substr(m.path.rfind('/') + 1);
    if (name.starts_with("libluajit") || name.starts_with("liblua5.1"))
      if (libraries_.size() < kMaxLibraries) libraries_.try_emplace(m.path, m);
  }
}

std::vector<std::string> Diagnosis::report(const std::string& library_dir) const {
  const uint64_t limit = monotonic_ns() + kMaxReadNs;
  std::vector<std::string> lines = {
      "no LuaJIT with tracepoints was seen, so there are no events in the trace."};
  for (const auto& [path, mapping] : libraries_)
    lines.push_back("  It used " + path + ", which " + about(look_at(mapping, limit), library_dir));
  const Contents program = look_at(exe_, limit);
  const std::string& exe = exe_.path;
  if (program.set_id)
    lines.push_back("  " + exe + " is setuid or setgid: such programs are never traced.");
  if (!libraries_.empty()) return lines;
  if (program.tracepoints) {
    lines.push_back("  " + exe + " has tracepoints, but " + kNotAnnounced);
  } else if (program.linked_static) {
    lines.push_back("  " + exe +
                    " is statically linked: a LuaJIT inside it cannot be replaced from outside.");
  } else {
    lines.push_back("  " + (exe.empty() ? "The command" : exe) +
                    " was not seen to use a libluajit; one linked into it cannot be replaced from "
                    "outside.");
    lines.push_back("  To check, while it runs: grep -i luajit /proc/PID/maps");
  }
  return lines;
}

std::string own_library_dir() {
  std::string dir = read_link("/proc/self/exe");
  for (int i = 0; i < 2; i++) dir.resize(std::min(dir.size(), dir.rfind('/')));
  for (const char* sub : {"/lib", "/lib/luatrace"})
    if (access((dir + sub + "/libluajit-5.1.so.2").c_str(), R_OK) == 0) return dir + sub;
  return "";
}

}  // namespace luatrace::record
