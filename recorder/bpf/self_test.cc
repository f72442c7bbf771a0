// SPDX-License-Identifier: MIT
// The self test; see self_test.h. The site below looks like those of LuaJIT. It is hit a few
// times: a kernel that optimises the wide nop replaces it after the first hit.
#include "recorder/bpf/self_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/os/maps.h"
#include "recorder/os/process.h"

#if defined(__x86_64__)
// A leaf without a red zone: nothing of it lies below the stack pointer.
__asm__(
    ".text\n"
    ".globl luatrace_bpf_site\n"
    ".hidden luatrace_bpf_site\n"
    ".type luatrace_bpf_site, @function\n"
    ".p2align 4\n"
    "luatrace_bpf_site:\n"
    "  nop\n"
    "  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    "  ret\n"
    ".size luatrace_bpf_site, .-luatrace_bpf_site\n");
extern "C" void luatrace_bpf_site();
#else
extern "C" __attribute__((noinline)) void luatrace_bpf_site() {
  __asm__ volatile("nop");
}
#endif

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kHits = 5;
constexpr uint32_t kSlot = LTB_SLOTS - 1;  // and the one below
constexpr unsigned char kCall = 0xe8;

// Offset of the site in this program's file, 0 if that cannot be found out.
uint64_t site_offset() {
  const auto address = reinterpret_cast<uint64_t>(&luatrace_bpf_site);
  for (const Mapping& m : parse_maps(read_proc(getpid(), "maps", 8u << 20)))
    if (address >= m.start && address < m.end) return address - m.start + m.offset;
  return 0;
}

// Hits the site `into` bytes behind its start and counts the records.
// What is attached stays: detaching would wait for the kernel.
Failure count_hits(Program& program, uint64_t into, uint64_t* records, bool* call) {
  const uint32_t slot = kSlot - static_cast<uint32_t>(into);
  if (Failure f = program.attach_self_test(site_offset() + into, slot)) return f;
  for (uint64_t i = 0; i < kHits; i++) luatrace_bpf_site();
  const auto* code = reinterpret_cast<const volatile unsigned char*>(&luatrace_bpf_site);
  *call = code[into] == kCall;
  program.consume([&](std::span<const std::byte> record) {
    const auto* hit = reinterpret_cast<const ltb_hit*>(record.data());
    *records += ltb_kind(hit->where) == LTB_TEST && ltb_slot(hit->where) == slot;
    return true;
  });
  return {};
}

// Hits the wide site in a forked child. The handler keeps the crash out of the kernel's log. Other
// threads exist: nothing but system calls in the child.
bool child_survives() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(1); };
    for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP}) sigaction(s, &action, nullptr);
    for (uint64_t i = 0; i < kHits; i++) luatrace_bpf_site();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

SelfTest run_self_test(Program& program) {
  SelfTest result;
  uint64_t narrow = 0, wide = 0;
  bool call = false;
  result.failure = count_hits(program, 0, &narrow, &call);
  if (result.failure) return result;
  if (narrow != kHits) {
    result.failure = {EPERM, "a BPF program was attached to this process, but of " +
                                 std::to_string(kHits) + " hits " + std::to_string(narrow) +
                                 " arrived"};
    return result;
  }
  if (count_hits(program, 1, &wide, &call) || wide != kHits || !call) return result;
  result.wide = true;
  result.kills_children = !child_survives();
  return result;
}

}  // namespace luatrace::record::bpf
