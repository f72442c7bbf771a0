// SPDX-License-Identifier: MIT
#include "recorder/os/process.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace luatrace::record {
namespace {

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// The fields of /proc/PID/stat after the name, which may contain anything: "S 123 ...".
std::string stat_fields(pid_t pid) {
  const std::string stat = read_proc(pid, "stat", 4096);
  const size_t end = stat.rfind(") ");
  return end == stat.npos ? "" : stat.substr(end + 2);
}

// The innermost number in the line "NSpid:".
pid_t ns_pid_of(const std::string& status, pid_t otherwise) {
  const auto pids = status_numbers(status, "NSpid");
  return pids.empty() ? otherwise : static_cast<pid_t>(pids.back());
}

// The effective user in the line "Uid:".
uid_t user_in(const std::string& status) {
  const auto users = status_numbers(status, "Uid");
  return users.size() > 1 ? static_cast<uid_t>(users[1]) : 0;
}

bool parse_pid(const std::string& text, pid_t& pid) {
  pid = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || pid > 400000000) return false;
    pid = pid * 10 + (c - '0');
  }
  return pid > 0;
}

// member 0: there is no "@".
bool parse_spec(const std::string& spec, pid_t& pid, pid_t& member) {
  const size_t at = spec.find('@');
  member = 0;
  return parse_pid(spec.substr(0, at), pid) &&
         (at == spec.npos || parse_pid(spec.substr(at + 1), member));
}

pid_t find_in_namespace(pid_t wanted, pid_t member, std::string& why) {
  const std::string space = read_link(proc_path(member, "ns/pid"));
  if (space.empty()) {
    why = "the process namespace of " + std::to_string(member) + " cannot be seen: " +
          (process_is_gone(member) ? "no such process" : "permission denied, try as root");
    return 0;
  }
  for (const pid_t pid : all_processes())
    if (ns_pid_of(read_status(pid), pid) == wanted && read_link(proc_path(pid, "ns/pid")) == space)
      return pid;
  why = "no process " + std::to_string(wanted) + " in the process namespace of " +
        std::to_string(member);
  return 0;
}

// The process of a thread; 0 if not known.
pid_t leader_of(pid_t tid) {
  return static_cast<pid_t>(status_number(read_status(tid), "Tgid"));
}

// The kernel reads anonymous memory only, so a file that is mapped over the arguments is not waited
// for (Linux 4.17, CVE-2018-1120).
std::string cmdline_of(pid_t pid) {
  std::string text = read_proc(pid, "cmdline", 65536);
  while (!text.empty() && text.back() == 0) text.pop_back();
  return text;
}

// The auxiliary vector holds addresses that differ from exec to exec, as does the start of the
// stack. Neither the command line (a process may overwrite it) nor the program's path (the file may
// be replaced) is used.
std::string image_of(pid_t pid, const std::string& stat) {
  const auto [device, inode] = program_of(pid);
  std::string image = std::to_string(device) + ' ' + std::to_string(inode) + ' ';
  std::istringstream fields(stat);
  std::string word;
  for (int field = 3; fields >> word; field++)
    if (field == 26 || field == 28) image += word + ' ';  // startcode, startstack
  return image + read_proc(pid, "auxv", 4096);
}

}  // namespace

std::string read_title(pid_t pid, const std::string& image) {
  std::string title = cmdline_of(pid);
  return image_of(pid, stat_fields(pid)) == image ? title : "";
}

std::string read_link(const std::string& path) {
  char buffer[4096];
  const ssize_t n = readlink(path.c_str(), buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

pid_t thread_outside(pid_t pid, uint32_t inside) {
  const std::string folder = proc_path(pid, "task");
  for (const pid_t tid : numbers_in(folder))
    if (static_cast<uint32_t>(pid_inside(tid)) == inside) return tid;
  return 0;
}

bool shares_memory(pid_t a, pid_t b) {
  return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> all;
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) return all;
  while (const dirent* e = readdir(dir))
    if (e->d_name[0] >= '1' && e->d_name[0] <= '9') all.push_back(std::atoi(e->d_name));
  closedir(dir);
  return all;
}

std::vector<pid_t> all_processes() {
  return numbers_in("/proc");
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t tid : numbers_in(proc_path(pid, "task"))) {
    std::istringstream in(read_proc(pid, ("task/" + std::to_string(tid) + "/children").c_str()));
    for (pid_t child; in >> child;)
      if (!shares_memory(child, pid)) children.push_back(child);
  }
  return children;
}

bool is_process_spec(const std::string& spec) {
  pid_t pid, member;
  return parse_spec(spec, pid, member);
}

pid_t find_process(const std::string& spec, std::string& why) {
  pid_t pid = 0, member = 0;
  if (!parse_spec(spec, pid, member)) {
    why = "'" + spec + "' is not a process id, nor PID@HOSTPID";
    return 0;
  }
  if (member != 0) return find_in_namespace(pid, member, why);
  if (!process_is_gone(pid)) {
    const pid_t leader = leader_of(pid);
    if (leader == 0 || leader == pid) return pid;
    why = "that is a thread of process " + std::to_string(leader) + ": use -p " +
          std::to_string(leader);
    return 0;
  }
  why = "no such process";
  for (const pid_t p : all_processes())
    if (p != pid && ns_pid_of(read_proc(p, "status", 65536), p) == pid)
      why += "; process " + std::to_string(p) + " of this machine is process " +
             std::to_string(pid) + " in its container: use -p " + std::to_string(p) + ", or -p " +
             std::to_string(pid) + "@" + std::to_string(p);
  return 0;
}

std::string read_proc(pid_t pid, const char* name, size_t max_size) {
  const int fd = open(proc_path(pid, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char buffer[16384];
  while (text.size() < max_size) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  if (text.size() > max_size) text.resize(max_size);
  return text;
}

std::string read_status(pid_t pid) {
  return read_proc(pid, "status", 65536);
}

std::vector<uint64_t> status_numbers(const std::string& status, const std::string& name, int base) {
  std::vector<uint64_t> all;
  const size_t at = status.find('\n' + name + ':');
  if (at == status.npos) return all;
  const size_t from = at + name.size() + 2;
  std::istringstream line(status.substr(from, status.find('\n', from) - from));
  for (std::string word; line >> word;) all.push_back(std::strtoull(word.c_str(), nullptr, base));
  return all;
}

uint64_t status_number(const std::string& status, const std::string& name, int base) {
  const auto all = status_numbers(status, name, base);
  return all.empty() ? 0 : all[0];
}

ProcessFacts read_process(pid_t pid) {
  ProcessFacts f;
  f.exe = read_link(proc_path(pid, "exe"));
  f.cmdline = cmdline_of(pid);
  const std::string fields = stat_fields(pid);
  if (fields.size() > 2) f.parent = std::atoi(fields.c_str() + 2);
  const std::string status = read_status(pid);
  f.ns_pid = ns_pid_of(status, pid);
  f.uid = user_in(status);
  f.image = image_of(pid, fields);
  return f;
}

uid_t user_of(pid_t pid) {
  return user_in(read_status(pid));
}

// proc_pid_stat(5): after the name come 11 fields, and then utime and stime.
uint64_t cpu_time_of(pid_t pid) {
  constexpr int kBefore = 11;
  std::istringstream fields(stat_fields(pid));
  std::string skipped;
  for (int i = 0; i < kBefore; i++) fields >> skipped;
  uint64_t user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
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

pid_t pid_inside(pid_t pid) {
  return ns_pid_of(read_status(pid), pid);
}

Birth read_birth(pid_t pid) {
  Birth b;
  const std::string fields = stat_fields(pid);
  // Fields 4 and 22: the state is the third.
  std::sscanf(fields.c_str(),
              "%*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
              &b.parent, &b.start);
  return b;
}

std::pair<uint64_t, uint64_t> program_of(pid_t pid) {
  struct statx st {};  // cached attributes of the file: the file system is not asked
  if (statx(AT_FDCWD, proc_path(pid, "exe").c_str(), AT_STATX_DONT_SYNC, STATX_INO, &st) != 0)
    return {0, 0};
  return {makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino};
}

bool has_32_bits(pid_t pid) {
  unsigned char ident[EI_NIDENT] = {};
  const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
  const int fd = open(exe.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is = pread(fd, ident, sizeof ident, 0) == EI_NIDENT &&
                  std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
  close(fd);
  return is;
}

bool is_kernel_thread(pid_t pid) {
  constexpr unsigned long kThread = 0x00200000;  // PF_KTHREAD
  unsigned long flags = 0;
  std::sscanf(stat_fields(pid).c_str(), "%*c %*d %*d %*d %*d %*d %lu", &flags);
  return (flags & kThread) != 0;
}

bool process_is_gone(pid_t pid) {
  const std::string fields = stat_fields(pid);
  // Without a free descriptor nothing can be read of any process.
  if (fields.empty()) return kill(pid, 0) != 0 && errno == ESRCH;
  return fields[0] == 'Z' || fields[0] == 'X';
}

// A link that cannot be read for lack of permission looks like that of a process that was just
// reaped, so the state is read last.
bool process_is_ending(pid_t pid) {
  char byte;
  const bool program =
      readlink(proc_path(pid, "exe").c_str(), &byte, 1) > 0 || (errno != ENOENT && errno != ESRCH);
  return !program || process_is_gone(pid);
}

}  // namespace luatrace::record
