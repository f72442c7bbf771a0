// SPDX-License-Identifier: MIT
// The recorder of a process is found by the pidfd that it holds of it, whatever its way of
// recording (--via, a command, from inside).
#include "recorder/ask_snapshot.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <set>

#include "recorder/os/text.h"
#include "recorder/vm/attached.h"
#include "trace/descriptor.h"

namespace luatrace::record {
namespace {

// Calls f(name) for each entry that begins with a digit, until it returns true.
template <class F>
bool any_entry(const std::string& path, F f) {
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) return false;
  bool found = false;
  while (const dirent* const e = found ? nullptr : readdir(dir))
    if (e->d_name[0] >= '0' && e->d_name[0] <= '9') found = f(std::string(e->d_name));
  closedir(dir);
  return found;
}

std::string field(const std::string& path, const std::string& name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "";
}

// SIGUSR1 is blocked: a thread of it reads the signal.
bool is_flight_recorder(const std::string& process) {
  const std::string status = "/proc/" + process + "/status";
  const std::string blocked = field(status, "SigBlk");
  uint64_t mask = 0;
  std::from_chars(blocked.data(), blocked.data() + blocked.size(), mask, 16);
  return field(status, "Name") == "luatrace-record" && (mask >> (SIGUSR1 - 1) & 1) != 0;
}

bool holds(const std::string& recorder, const std::string& pid) {
  const std::string fds = "/proc/" + recorder + "/fdinfo";
  return any_entry(fds, [&](const std::string& fd) { return field(fds + "/" + fd, "Pid") == pid; });
}

// The number of the flight recorder of that process, or 0.
int recorder_of(const std::string& pid) {
  int found = 0;
  any_entry("/proc", [&](const std::string& process) {
    if (!is_flight_recorder(process) || !holds(process, pid)) return false;
    found = std::stoi(process);
    return true;
  });
  return found;
}

// By pidfd: the number may be another process's by now.
bool ask(int recorder, const std::string& pid) {
  const Descriptor fd(static_cast<int>(syscall(SYS_pidfd_open, recorder, 0)));
  const std::string process = std::to_string(recorder);
  if (fd < 0 || !is_flight_recorder(process) || !holds(process, pid)) return false;
  return syscall(SYS_pidfd_send_signal, static_cast<int>(fd), SIGUSR1, nullptr, 0) == 0;
}

}  // namespace

int ask_snapshot(const std::vector<std::string>& pids) {
  int status = 0;
  std::set<int> asked;
  for (const std::string& pid : pids) {
    const int recorder = kill(std::stoi(pid), 0) == 0 || errno == EPERM ? recorder_of(pid) : -1;
    if (recorder > 0 && !asked.contains(recorder) && ask(recorder, pid)) {
      asked.insert(recorder);
      log("process " + std::to_string(recorder) + ", which records process " + pid +
          ", was asked for a snapshot");
    } else if (!asked.contains(recorder)) {
      log("process " + pid +
          (recorder < 0 ? ": no such process"
                        : ": no luatrace-record --flight records it (or permission denied)"));
      status = static_cast<int>(recorder < 0 ? Refusal::kNoProcess : Refusal::kNoLuaJIT);
    }
  }
  return status;
}

}  // namespace luatrace::record
