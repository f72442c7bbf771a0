// SPDX-License-Identifier: MIT
// The tables below list the calls of ring_map() and its neighbours in lj_ltopen.c and lj_ltring.c,
// and those of lj_ltcontext.c, with their arguments as far as a filter can know them.
#include "recorder/direct/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "luatrace_format.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"

namespace luatrace::record::direct {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArch = 0;  // filters cannot be judged
#endif
constexpr uint64_t kSysAdmin = 1ull << 21;
constexpr size_t kMaxFilters = 64, kMaxThreads = 256;
constexpr uint64_t kReadLimit = 3'000'000'000;  // ns, for the filters of all threads
constexpr uint64_t kRing = 9u << 20;            // bytes, about
constexpr int kPopulateWrite = 23;              // MADV_POPULATE_WRITE

struct Call {
  const char* name;
  int number;
  bool needed;  // without it there is no ring; of others a refusal (but not a kill) does no harm
  uint64_t args[6];
};

constexpr uint64_t kPlace = 0x7f0000000000;  // any address, any descriptor: can_call_here()
constexpr uint64_t kFd = 9;                  // replaces them
const Call kCalls[] = {
    {"memfd_create", SYS_memfd_create, true, {kPlace, MFD_CLOEXEC | MFD_ALLOW_SEALING}},
    {"fcntl", SYS_fcntl, true, {kFd, F_GETFD}},
    {"fcntl", SYS_fcntl, true, {kFd, F_DUPFD_CLOEXEC, 56}},
    {"ftruncate", SYS_ftruncate, true, {kFd, 0}},
    {"ftruncate", SYS_ftruncate, true, {kFd, kRing}},
    {"fcntl", SYS_fcntl, true, {kFd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL}},
    {"mmap",
     SYS_mmap,
     true,
     {0, kRing, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull}},
    {"mmap", SYS_mmap, true, {kPlace, kRing, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, kFd}},
    // Of no time: there is nothing at that place until the next call.
    {"clock_nanosleep", SYS_clock_nanosleep, false, {0, 0, kPlace}},
    {"newfstatat", SYS_newfstatat, true, {kFd, kPlace, kPlace, AT_EMPTY_PATH}},
    {"fstat", SYS_fstat, true, {kFd, kPlace}},  // which of these is called depends on the C library
    {"mprotect", SYS_mprotect, true, {kPlace, LT_RING_BLOCK_SIZE, PROT_READ | PROT_WRITE}},
    {"madvise", SYS_madvise, false, {kPlace, LT_RING_BLOCK_SIZE, kPopulateWrite}},
    {"prlimit64", SYS_prlimit64, false, {0, RLIMIT_FSIZE, 0, kPlace}},
    {"prlimit64", SYS_prlimit64, false, {0, RLIMIT_NOFILE, 0, kPlace}},
    {"getpid", SYS_getpid, false, {}},
    {"gettid", SYS_gettid, false, {}},
    {"munmap", SYS_munmap, false, {kPlace, kRing}},
    {"close", SYS_close, false, {kFd}},
};

constexpr uint64_t kContext = 20480;                                  // bytes, about
constexpr uint64_t kNoexecSeal = 8, kSetVma = 0x53564d41, kName = 0;  // newer than our headers
constexpr uint64_t kContextFile = MFD_CLOEXEC | MFD_ALLOW_SEALING;
const Call kContextCalls[] = {
    {"openat", SYS_openat, false, {static_cast<uint64_t>(AT_FDCWD), kPlace, O_RDONLY | O_CLOEXEC}},
    {"read", SYS_read, false, {kFd, kPlace, 1}},
    {"prlimit64", SYS_prlimit64, false, {0, RLIMIT_FSIZE, 0, kPlace}},
    {"prlimit64", SYS_prlimit64, false, {0, RLIMIT_NOFILE, 0, kPlace}},
    {"memfd_create", SYS_memfd_create, false, {kPlace, kContextFile | kNoexecSeal}},
    {"memfd_create", SYS_memfd_create, true, {kPlace, kContextFile}},
    {"fcntl", SYS_fcntl, false, {kFd, F_DUPFD_CLOEXEC, 56}},
    {"newfstatat", SYS_newfstatat, false, {kFd, kPlace, kPlace, AT_EMPTY_PATH}},
    {"fstat", SYS_fstat, false, {kFd, kPlace}},
    {"ftruncate", SYS_ftruncate, true, {kFd, kContext}},
    {"mmap", SYS_mmap, true, {0, kContext, PROT_READ | PROT_WRITE, MAP_PRIVATE, kFd}},
    {"madvise", SYS_madvise, true, {kPlace, kContext, MADV_DONTFORK}},
    {"prctl", SYS_prctl, false, {kSetVma, kName, kPlace, kContext, kPlace}},
    {"getpid", SYS_getpid, false, {}},
    {"munmap", SYS_munmap, false, {kPlace, kContext}},
    {"close", SYS_close, false, {kFd}},
};

struct Purpose {
  const char *what, *doing;
  std::span<const Call> calls;
};
const Purpose kMakeRing{"make a ring", "lets the process make a ring", kCalls};
const Purpose kPublish{"publish contexts", "lets the process publish contexts", kContextCalls};

// -- Classic BPF, the subset for seccomp (seccomp_check_filter) --

struct Machine {
  uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {};
};

uint32_t calculate(uint16_t op, uint32_t a, uint32_t v) {
  switch (op) {
    case BPF_ADD:
      return a + v;
    case BPF_SUB:
      return a - v;
    case BPF_MUL:
      return a * v;
    case BPF_DIV:
      return v == 0 ? 0 : a / v;
    case BPF_OR:
      return a | v;
    case BPF_AND:
      return a & v;
    case BPF_XOR:
      return a ^ v;
    case BPF_LSH:
      return v < 32 ? a << v : 0;
    case BPF_RSH:
      return v < 32 ? a >> v : 0;
    case BPF_NEG:
      return 0 - a;
    default:
      return a;
  }
}

bool jumps(uint16_t op, uint32_t a, uint32_t v) {
  switch (op) {
    case BPF_JEQ:
      return a == v;
    case BPF_JGT:
      return a > v;
    case BPF_JGE:
      return a >= v;
    default:
      return (a & v) != 0;  // BPF_JSET
  }
}

uint32_t load(const sock_filter& i, const Machine& m, const seccomp_data& data) {
  uint32_t v = 0;
  const auto* bytes = reinterpret_cast<const char*>(&data);
  switch (BPF_MODE(i.code)) {
    case BPF_ABS:
      if (i.k <= sizeof data - sizeof v) std::memcpy(&v, bytes + i.k, sizeof v);
      return v;
    case BPF_MEM:
      return m.memory[i.k % BPF_MEMWORDS];
    case BPF_LEN:
      return sizeof data;
    default:
      return i.k;  // BPF_IMM
  }
}

// The action, or SECCOMP_RET_KILL_PROCESS if the program is invalid.
uint32_t run(const std::vector<sock_filter>& program, const seccomp_data& data) {
  Machine m;
  for (size_t at = 0; at < program.size(); at++) {  // jumps go forwards: it ends
    const sock_filter& i = program[at];
    const uint32_t v = BPF_SRC(i.code) == BPF_X ? m.x : i.k;
    switch (BPF_CLASS(i.code)) {
      case BPF_LD:
        m.a = load(i, m, data);
        break;
      case BPF_LDX:
        m.x = load(i, m, data);
        break;
      case BPF_ST:
        m.memory[i.k % BPF_MEMWORDS] = m.a;
        break;
      case BPF_STX:
        m.memory[i.k % BPF_MEMWORDS] = m.x;
        break;
      case BPF_ALU:
        m.a = calculate(BPF_OP(i.code), m.a, v);
        break;
      case BPF_JMP:
        if (BPF_OP(i.code) == BPF_JA)
          at += i.k;
        else
          at += jumps(BPF_OP(i.code), m.a, v) ? i.jt : i.jf;
        break;
      case BPF_RET:
        return BPF_RVAL(i.code) == BPF_A ? m.a : i.k;
      default:
        (BPF_MISCOP(i.code) == BPF_TAX ? m.x : m.a) = BPF_MISCOP(i.code) == BPF_TAX ? m.a : m.x;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

seccomp_data data_of(const Call& call) {
  seccomp_data d{};
  d.nr = call.number;
  d.arch = kArch;
  for (size_t i = 0; i < 6; i++) d.args[i] = call.args[i];
  return d;
}

// -- Reading the filters --

struct Filtered {
  pid_t tid;
  uint64_t mode, filters;  // of /proc/PID/status; filters 0: an old kernel
};

Filtered own_filters() {
  const std::string status = read_status(getpid());
  return {getpid(), status_number(status, "Seccomp"), status_number(status, "Seccomp_filters")};
}

std::vector<Filtered> filtered_threads(pid_t pid) {
  std::vector<Filtered> all;
  for (const pid_t tid : threads_of(pid)) {
    const std::string name = "task/" + std::to_string(tid) + "/status";
    const std::string status = read_proc(pid, name.c_str(), 65536);
    const uint64_t mode = status_number(status, "Seccomp");
    if (mode != 0) all.push_back({tid, mode, status_number(status, "Seccomp_filters")});
  }
  return all;
}

// The kernel requires the capability in the initial user namespace, and a caller without filters.
bool can_read_filters() {
  const std::string status = read_status(getpid());
  return (status_number(status, "CapEff", 16) & kSysAdmin) != 0 &&
         status_number(status, "Seccomp") == 0;
}

// Of a stopped thread. Empty, or the reason for failure.
std::string get_filters(pid_t tid, std::vector<std::vector<sock_filter>>& all) {
  for (size_t i = 0; i < kMaxFilters; i++) {
    auto* const index = reinterpret_cast<void*>(i);
    const long n = ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), tid, index, 0);
    if (n < 0 && errno == ENOENT) return "";
    if (n <= 0 || n > BPF_MAXINSNS) return errno_text(errno);
    std::vector<sock_filter> program(static_cast<size_t>(n));
    if (ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), tid, index,
               program.data()) != n)
      return errno_text(errno);
    all.push_back(std::move(program));
  }
  return "it has more than " + std::to_string(kMaxFilters);
}

RingCalls unknown(const Purpose& purpose, const std::string& why) {
  return {RingCalls::kUnknown,
          std::string("has a seccomp filter, and it is not known whether that ") + purpose.doing +
              ", or kills it for that: " + why};
}

RingCalls judge(const Purpose& purpose, std::span<const std::vector<sock_filter>> filters) {
  if (kArch == 0) return unknown(purpose, "not on this architecture");
  for (const Call& call : purpose.calls) {
    for (const auto& program : filters) {
      const uint32_t action = run(program, data_of(call)) & SECCOMP_RET_ACTION_FULL;
      if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG) continue;
      const bool kills = action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
                         action == SECCOMP_RET_TRAP;
      if (!kills && !call.needed) continue;
      return {RingCalls::kForbidden,
              std::string("may not ") + purpose.what + ": its seccomp filter " +
                  (kills ? "would kill it for " : "does not allow it ") + call.name + "()"};
    }
  }
  return {};
}

RingCalls judge_thread(const Purpose& purpose, pid_t pid, pid_t tid) {
  StoppedThreads stopped;
  std::string why;
  if (!stopped.stop(pid, tid, why)) return unknown(purpose, why);
  std::vector<std::vector<sock_filter>> filters;
  why = get_filters(tid, filters);
  return why.empty() ? judge(purpose, filters)
                     : unknown(purpose, "the filter cannot be read: " + why);
}

// Makes the calls of the table, each with the results of earlier ones.
bool make_calls(std::span<const Call> calls) {
  alignas(8) char start[64] = LT_RING_NAME;
  uint64_t place = reinterpret_cast<uint64_t>(start), fd = kFd;
  for (const Call& call : calls) {
    uint64_t a[6];
    for (size_t i = 0; i < 6; i++)
      a[i] = call.args[i] == kPlace ? place : call.args[i] == kFd ? fd : call.args[i];
    const long n = syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (n < 0 && call.needed) return false;
    if (call.number == SYS_memfd_create) fd = static_cast<uint64_t>(n);
    if (call.number == SYS_mmap) place = static_cast<uint64_t>(n);
  }
  return true;
}

// Do the filters of this process allow them? Tried in a child: it may be killed.
bool can_call_here(std::span<const Call> calls) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    _exit(make_calls(calls) ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

RingCalls may_call(const Purpose& purpose, pid_t pid) {
  const auto threads = filtered_threads(pid);
  if (threads.empty()) return {};
  if (threads.size() > kMaxThreads) return unknown(purpose, "it has too many threads");
  const bool readable = can_read_filters();
  const uint64_t limit = monotonic_ns() + kReadLimit;
  for (const Filtered& t : threads) {
    if (t.mode == SECCOMP_MODE_STRICT)
      return {RingCalls::kForbidden,
              std::string("may not ") + purpose.what + ": strict seccomp would kill it"};
    if (!readable) continue;
    if (monotonic_ns() > limit) return unknown(purpose, "its threads take too long to stop");
    if (const RingCalls calls = judge_thread(purpose, pid, t.tid);
        calls.verdict != RingCalls::kAllowed)
      return calls;
  }
  if (readable) return {};
  // In a container next to it: both have the filters that the container's engine gives to all.
  const Filtered own = own_filters();
  bool alike = own.mode == SECCOMP_MODE_FILTER && own.filters != 0;
  for (const Filtered& t : threads) alike = alike && t.filters == own.filters;
  if (alike && can_call_here(purpose.calls)) return {};
  return unknown(
      purpose,
      own.mode != 0
          ? "we may not read it, being under a filter ourselves, and cannot assume that it is "
            "the same"
          : "reading it takes the capability CAP_SYS_ADMIN, outside of containers");
}

}  // namespace

RingCalls judge_filters(std::span<const std::vector<sock_filter>> filters) {
  return judge(kMakeRing, filters);
}

RingCalls may_make_ring(pid_t pid) {
  return may_call(kMakeRing, pid);
}
RingCalls may_publish_context(pid_t pid) {
  return may_call(kPublish, pid);
}

}  // namespace luatrace::record::direct
