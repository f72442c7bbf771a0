// SPDX-License-Identifier: MIT
// RemoteMemory; see remote.h. process_vm_writev cannot write what the process itself cannot: the
// dispatch tables and the control structure are ordinary data, so it suffices.
#include "recorder/os/remote.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kCapSysPtrace = 1ull << 19;

std::string namespace_of(pid_t pid, const char* name) {
  return read_link("/proc/" + std::to_string(pid) + "/ns/" + name);
}

// Word: of the program that it runs.
template <class Word>
uint64_t aux_value_of(const std::string& aux, Word wanted) {
  for (size_t at = 0; at + 2 * sizeof(Word) <= aux.size(); at += 2 * sizeof(Word)) {
    Word pair[2];
    std::memcpy(pair, aux.data() + at, sizeof pair);
    if (pair[0] == wanted) return pair[1];
  }
  return 0;
}

uint64_t aux_value(pid_t pid, uint32_t wanted) {
  const std::string aux = read_proc(pid, "auxv", 8192);
  return has_32_bits(pid) ? aux_value_of<uint32_t>(aux, wanted)
                          : aux_value_of<uint64_t>(aux, wanted);
}

bool all_equal(const std::vector<uint64_t>& ids) {
  for (size_t i = 1; i < ids.size() && i < 3; i++)  // real, effective, saved
    if (ids[i] != ids[0]) return false;
  return true;
}

}  // namespace

int RemoteMemory::read(uint64_t address, void* to, size_t size) const {
  const iovec local{to, size}, remote{reinterpret_cast<void*>(address), size};
  const ssize_t n = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (n < 0) return errno;
  return static_cast<size_t>(n) == size ? 0 : EFAULT;
}

int RemoteMemory::write(uint64_t address, const void* from, size_t size) const {
  const iovec local{const_cast<void*>(from), size}, remote{reinterpret_cast<void*>(address), size};
  const ssize_t n = process_vm_writev(pid_, &local, 1, &remote, 1, 0);
  if (n < 0) return errno;
  return static_cast<size_t>(n) == size ? 0 : EFAULT;
}

AccessFacts access_facts(pid_t pid) {
  AccessFacts f;
  f.our_uid = geteuid();
  const std::string status = read_status(pid);
  const auto uids = status_numbers(status, "Uid"), gids = status_numbers(status, "Gid");
  for (size_t i = 0; i < 3; i++) {
    if (i < uids.size() && uids[i] != getuid()) f.other_ids = true;
    if (i < gids.size() && gids[i] != getgid()) f.other_ids = true;
  }
  if (uids.size() > 1) f.uid = static_cast<uint32_t>(uids[1]);
  const uint64_t ours = status_number(read_status(getpid()), "CapEff", 16);
  f.have_ptrace = (ours & kCapSysPtrace) != 0;
  f.more_capabilities = (status_number(status, "CapPrm", 16) & ~ours) != 0;
  const std::string space = namespace_of(pid, "user");
  f.same_user_ns = space.empty() || space == namespace_of(getpid(), "user");
  // The files of a process that is not dumpable belong to root.
  struct stat st {};
  const std::string files = "/proc/" + std::to_string(pid) + "/environ";
  f.dumpable = stat(files.c_str(), &st) != 0 || f.uid == 0 || st.st_uid == f.uid;
  std::ifstream yama("/proc/sys/kernel/yama/ptrace_scope");
  yama >> f.yama;
  return f;
}

std::string explain_access(const AccessFacts& f, int error) {
  if (error == ESRCH) return "no longer exists";
  if (error == EFAULT)
    return "has executed another program meanwhile, or has unloaded its LuaJIT: what was found in "
           "its memory is no longer there";
  if (error == ETIMEDOUT) return "cannot be recorded: its memory does not answer";
  if (f.yama == 3)
    return "may not be attached to: the setting kernel.yama.ptrace_scope = 3 forbids it for "
           "all users until the next boot";
  if (f.have_ptrace && !f.same_user_ns)
    return "may not be attached to: it is in another user namespace, in which we do not have the "
           "capability CAP_SYS_PTRACE";
  if (f.have_ptrace)
    return "may not be attached to: " + errno_text(error) +
           ", although we have CAP_SYS_PTRACE: a security module (SELinux, AppArmor) or a seccomp "
           "filter forbids it";
  const std::string remedy =
      f.our_uid == 0 ? "; root may only with the capability CAP_SYS_PTRACE, which is missing here"
                     : "; do it as root, or with the capability CAP_SYS_PTRACE";
  if (f.other_ids && f.uid != f.our_uid)
    return "belongs to user " + std::to_string(f.uid) + ", we are user " +
           std::to_string(f.our_uid) + remedy;
  if (f.other_ids)
    return "runs with other user or group ids than ours (/proc/PID/status shows both; a "
           "container's "
           "--user needs the group, too)" +
           remedy;
  if (f.yama == 2)
    return "may not be attached to: the setting kernel.yama.ptrace_scope = 2 allows it only with "
           "the capability CAP_SYS_PTRACE" +
           remedy;
  if (!f.dumpable)
    return "may not be attached to: it is not dumpable (prctl(PR_SET_DUMPABLE), or it has changed "
           "its user since it began)" +
           remedy;
  if (f.more_capabilities) return "has capabilities that we do not have" + remedy;
  if (f.yama == 1)
    return "may not be attached to: the setting kernel.yama.ptrace_scope = 1 allows it only to the "
           "ancestors of a process" +
           remedy + ", or sysctl kernel.yama.ptrace_scope=0";
  return "may not be attached to: " + errno_text(error) + remedy;
}

std::string explain_no_access(pid_t pid, int error) {
  return explain_access(access_facts(pid), error);
}

std::string set_id_reason(pid_t pid) {
  if (aux_value(pid, AT_SECURE) != 0)
    return "its program is setuid or setgid, or has capabilities (AT_SECURE)";
  const std::string status = read_status(pid);
  const auto uids = status_numbers(status, "Uid"), gids = status_numbers(status, "Gid");
  if (!all_equal(uids)) return "its real, effective and saved user ids differ";
  if (!all_equal(gids)) return "its real, effective and saved group ids differ";
  return "";
}

}  // namespace luatrace::record
