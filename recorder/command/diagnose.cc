// SPDX-License-Identifier: MIT
// Diagnosis; see diagnose.h. A LuaJIT of ours contains the name of the environment variable that it
// reads: that tells it from others even when it is stripped or linked into a program.
#include "recorder/command/diagnose.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "luatrace_format.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxRead = 64 << 20, kMaxLibraries = 16;

// fd is closed; -1: nothing is read.
std::string read_file(int fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t n; fd >= 0 && text.size() < kMaxRead && (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  if (fd >= 0) close(fd);
  return text;
}

bool is_static(const std::string& image) {
  Elf64_Ehdr h;
  if (image.size() < sizeof h) return false;
  std::memcpy(&h, image.data(), sizeof h);
  if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  for (size_t i = 0; i < h.e_phnum; i++) {
    Elf64_Phdr p;
    const uint64_t at = h.e_phoff + i * sizeof p;
    if (at > image.size() || image.size() - at < sizeof p) return false;
    std::memcpy(&p, &image[at], sizeof p);
    if (p.p_type == PT_INTERP) return false;
  }
  return true;
}

bool has_tracepoints(const std::string& image) {
  return image.find(LT_ENV_SOCKET) != image.npos;
}

bool is_set_id(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
}

}  // namespace

void Diagnosis::observe(pid_t pid) {
  const ProcessFacts facts = read_process(pid);
  if (!facts.exe.empty()) exe_ = facts.exe;
  for (const auto& m : parse_maps(read_proc(pid, "maps"))) {
    const std::string name = m.path.substr(m.path.rfind('/') + 1);
    if (m.executable && (name.starts_with("libluajit") || name.starts_with("liblua5.1")))
      if (libraries_.size() < kMaxLibraries) libraries_.try_emplace(m.path, m);
  }
}

std::vector<std::string> Diagnosis::report(const std::string& library_dir) const {
  std::vector<std::string> lines = {
      "no LuaJIT with tracepoints was seen, so there are no events in the trace."};
  const auto add = [&](std::string line) { lines.push_back("  " + std::move(line)); };
  const std::string hint =
      library_dir.empty() ? "" : ", for example with LD_LIBRARY_PATH=" + shell_word(library_dir);
  for (const auto& [path, mapping] : libraries_) {
    if (has_tracepoints(read_file(open_former_mapping(mapping))))
      add("It used " + path + ", which has tracepoints, but no Lua state was announced: did it " +
          "run Lua code, and did " LT_ENV_SOCKET " reach it?");
    else
      add("It used " + path + ", which has no tracepoints: put ours in its place" + hint + ".");
  }
  const std::string image = read_file(open_regular(exe_));
  const bool own = !image.empty() && has_tracepoints(image);
  if (is_set_id(exe_)) add(exe_ + " is setuid or setgid: such programs are never traced.");
  if (libraries_.empty() && own) {
    add(exe_ + " has tracepoints, but no Lua state was announced: did it run Lua code, and did " +
        LT_ENV_SOCKET " reach it?");
  } else if (libraries_.empty() && is_static(image)) {
    add(exe_ + " is statically linked: a LuaJIT inside it cannot be replaced from outside.");
  } else if (libraries_.empty()) {
    add((exe_.empty() ? std::string("The command") : exe_) +
        " was not seen to use a libluajit; one linked into it cannot be replaced from outside.");
    add("To look for yourself, while it runs: grep -i luajit /proc/PID/maps");
  }
  return lines;
}

std::string own_library_dir() {
  char buffer[4096];
  const ssize_t n = readlink("/proc/self/exe", buffer, sizeof buffer);
  if (n <= 0) return "";
  std::string dir(buffer, static_cast<size_t>(n));
  for (int i = 0; i < 2; i++) dir.resize(std::min(dir.size(), dir.rfind('/')));
  for (const char* sub : {"/lib", "/lib/luatrace"})
    if (access((dir + sub + "/libluajit-5.1.so.2").c_str(), R_OK) == 0) return dir + sub;
  return "";
}

}  // namespace luatrace::record
