// SPDX-License-Identifier: MIT
// Facts about processes; see process.h.
#include "recorder/process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace luatrace {
namespace {

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string read_link(const std::string& path) {
  char buffer[4096];
  const ssize_t n = readlink(path.c_str(), buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

// The fields of /proc/PID/stat after the name, which may hold anything: "S 123 ...".
std::string stat_fields(pid_t pid) {
  const std::string stat = read_proc(pid, "stat", 4096);
  const size_t end = stat.rfind(") ");
  return end == stat.npos ? "" : stat.substr(end + 2);
}

}  // namespace

std::string read_proc(pid_t pid, const char* name, size_t most) {
  const int fd = open(proc_path(pid, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char buffer[16384];
  while (text.size() < most) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  if (text.size() > most) text.resize(most);
  return text;
}

ProcessFacts read_process(pid_t pid) {
  ProcessFacts f;
  f.exe = read_link(proc_path(pid, "exe"));
  f.cmdline = read_proc(pid, "cmdline", 65536);
  if (!f.cmdline.empty() && f.cmdline.back() == 0) f.cmdline.pop_back();
  const std::string fields = stat_fields(pid);
  if (fields.size() > 2) f.parent = std::atoi(fields.c_str() + 2);
  // The auxiliary vector holds addresses that differ from exec to exec.
  f.image = f.exe + '\0' + f.cmdline + '\0' + read_proc(pid, "auxv", 4096);
  return f;
}

int open_pidfd(pid_t pid, int peer) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (peer >= 0 && getsockopt(peer, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
  }
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

bool process_is_gone(pid_t pid) {
  const std::string fields = stat_fields(pid);
  return fields.empty() || fields[0] == 'Z' || fields[0] == 'X';
}

}  // namespace luatrace
