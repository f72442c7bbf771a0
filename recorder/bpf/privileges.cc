// SPDX-License-Identifier: MIT
// Found out by checking, not by guessing from the errno alone: the kernel returns EPERM for a dozen
// reasons.
#include "recorder/bpf/privileges.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/escape.h"
#include "recorder/os/process.h"
#include "recorder/os/remote.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record::bpf {
namespace {

constexpr int kSysAdmin = 21, kPerfmon = 38, kBpf = 39;

std::string first_word(const char* path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

bool has_capability(int number) {
  return (status_number(read_status(getpid()), "CapEff", 16) >> number & 1) != 0;
}

// The active lockdown mode is in brackets: "none [integrity] confidentiality".
std::string lockdown() {
  std::ifstream in("/sys/kernel/security/lockdown");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t from = text.find('['), to = text.find(']');
  return from == text.npos || to == text.npos ? "" : text.substr(from + 1, to - from - 1);
}

bool kernel_older_than(int major, int minor) {
  utsname u{};
  int a = 0, b = 0;
  if (uname(&u) != 0 || std::sscanf(u.release, "%d.%d", &a, &b) != 2) return false;
  return a < major || (a == major && b < minor);
}

}  // namespace

std::vector<std::string> missing_for_bpf() {
  std::vector<std::string> all;
  if (!has_capability(kSysAdmin))
    all.push_back(
        "the capability CAP_SYS_ADMIN is missing" +
        std::string(has_capability(kBpf) && has_capability(kPerfmon)
                        ? " (CAP_BPF and CAP_PERFMON are not enough: events would not arrive)"
                        : "") +
        ": run as root; in a container with --privileged");
  if (kernel_older_than(5, 15)) all.push_back("the kernel is older than Linux 5.15");
  if (first_word("/sys/bus/event_source/devices/uprobe/type").empty())
    all.push_back(
        access("/sys/bus/event_source", F_OK) != 0
            ? "/sys is not mounted here"
            : "the kernel has no uprobes for perf events (CONFIG_UPROBE_EVENTS is not set)");
  if (lockdown() == "confidentiality")
    all.push_back("the kernel is locked down (confidentiality): no BPF program may read memory");
  return all;
}

Attached explain(const Failure& failure) {
  std::string text = failure.text;
  if (!failure) return {};
  if (failure.error == ESRCH) return {Refusal::kNoProcess, "no longer exists"};
  if (!Program::not_built().empty()) return {Refusal::kOther, text};
  const bool denied = failure.error == EPERM || failure.error == EACCES;
  const auto missing = missing_for_bpf();
  // libbpf's guess is then neither needed nor true.
  if (denied && !missing.empty()) text = text.substr(0, text.find(" (libbpf: "));
  for (const std::string& line : missing) text += "; " + line;
  return {denied ? Refusal::kNoPermission : Refusal::kOther, text};
}

Attached nothing_to_attach(pid_t pid, const MappedLua& lua) {
  if (process_is_gone(pid)) return {Refusal::kNoProcess, "no longer exists"};
  if (!lua.readable) {
    std::string text = "cannot be examined: its memory map is not readable";
    for (const std::string& line : missing_for_bpf()) text += "; " + line;
    return {Refusal::kNoPermission, text};
  }
  if (!lua.problems.empty()) return {Refusal::kNoLuaJIT, "cannot be recorded: " + lua.problems[0]};
  const LuaSearch search = find_lua(pid);
  // Its files are opened with the permissions of a debugger.
  if (search.error == EPERM || search.error == EACCES)
    return {Refusal::kNoPermission, explain_no_access(pid, search.error)};
  if (!search.ours.empty() && !lua.unanswered.empty())
    return {Refusal::kOther,
            "cannot be recorded through BPF: " + printable(lua.unanswered) +
                " could not be read in time (it is on a file system that may never answer); try "
                "again, or use --via direct"};
  return {Refusal::kNoLuaJIT, explain_no_lua(pid, search)};
}

}  // namespace luatrace::record::bpf
