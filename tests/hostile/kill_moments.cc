// SPDX-License-Identifier: MIT
// When kill_sweep kills; see kill_moments.h.
#include "tests/hostile/kill_moments.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

namespace hostile {
namespace {

constexpr useconds_t kDuringUs = 300;

// Calls that change something outside the recorder's own memory, or its place among processes.
const std::set<long> kTouching = {SYS_process_vm_writev,
                                  SYS_ptrace,
                                  SYS_kill,
                                  SYS_tgkill,
                                  SYS_ioctl,
                                  SYS_bpf,
                                  SYS_perf_event_open,
                                  SYS_pidfd_open,
                                  SYS_socket,
                                  SYS_socketpair,
                                  SYS_bind,
                                  SYS_listen,
                                  SYS_connect,
                                  SYS_sendmsg,
                                  SYS_recvmsg,
                                  SYS_sendto,
                                  SYS_ftruncate,
                                  SYS_unlink,
                                  SYS_unlinkat,
                                  SYS_rmdir,
                                  SYS_mkdir,
                                  SYS_fork,
                                  SYS_vfork,
                                  SYS_clone,
                                  SYS_clone3,
                                  SYS_prctl,
                                  SYS_rt_sigprocmask,
                                  SYS_wait4,
                                  SYS_waitid,
                                  SYS_flock,
                                  SYS_dup2,
                                  SYS_write,
                                  SYS_pwrite64,
                                  SYS_setsid,
                                  SYS_memfd_create,
                                  SYS_exit_group};

// Those of them that access the program's memory, or stop it.
const std::set<long> kReaching = {SYS_process_vm_writev, SYS_ptrace, SYS_kill, SYS_tgkill};

// Calls for which the kernel works for milliseconds: links to probes are made and closed, by this
// process or by its guard.
const std::set<Call> kLong = {
    {SYS_bpf, true},   {SYS_close, true},   {SYS_perf_event_open, true},
    {SYS_ioctl, true}, {SYS_sendto, false}, {SYS_process_vm_writev, false}};

bool touches(const Call& call) {
  return call.writes || kTouching.contains(call.number);
}

}  // namespace

std::string Moment::text() const {
  const char* const words[] = {"before ", "in ", "after "};
  return words[static_cast<int>(when)] + name_of(call) + " " + std::to_string(turn);
}

void kill_at(const Moment& moment, pid_t pid) {
  if (moment.when != When::kDuring) {
    kill(pid, SIGKILL);
    return;
  }
  std::thread([pid] {
    usleep(kDuringUs);
    kill(pid, SIGKILL);
  }).detach();
}

bool Watch::is_now(const Call& call, bool after) {
  if (met_ || call != moment_.call) return false;
  if (!after) turns_++;
  return met_ = turns_ == moment_.turn && after == (moment_.when == When::kAfter);
}

bool Selection::wants(const Call& call, size_t i) const {
  if (all) return true;
  if (reaching) return kReaching.contains(call.number);
  if (kLong.contains(call)) return true;
  i += offset;
  return touches(call) ? i % one_of == 0 : sample != 0 && i % (sample * one_of) == 0;
}

std::vector<Moment> Selection::choose(const std::vector<Call>& calls) const {
  std::map<Call, size_t> turns;
  std::vector<Moment> moments;
  for (size_t i = 0; i < calls.size(); i++) {
    const size_t turn = ++turns[calls[i]];
    if (!wants(calls[i], i)) continue;
    moments.push_back({calls[i], turn, When::kBefore});
    if (calls[i].number != SYS_exit_group) moments.push_back({calls[i], turn, When::kAfter});
    if (kLong.contains(calls[i])) moments.push_back({calls[i], turn, When::kDuring});
  }
  return moments;
}

}  // namespace hostile
