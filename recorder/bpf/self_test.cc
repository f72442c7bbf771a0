// SPDX-License-Identifier: MIT
// The site below looks like those of LuaJIT.
#include "recorder/bpf/self_test.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "recorder/os/maps.h"
#include "recorder/os/process.h"

#if defined(__x86_64__)
// A leaf without a red zone: it has nothing below the stack pointer.
__asm__(
    ".text\n"
    ".globl luatrace_bpf_site\n"
    ".hidden luatrace_bpf_site\n"
    ".type luatrace_bpf_site, @function\n"
    ".p2align 4\n"
    "luatrace_bpf_site:\n"
    "  nop\n"
    "  .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
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
constexpr uint32_t kSlot = LTB_SLOTS - 1;

// Offset of the site in this program's file, 0 if unknown.
uint64_t site_offset() {
  const auto address = reinterpret_cast<uint64_t>(&luatrace_bpf_site);
  for (const Mapping& m : parse_maps(read_proc(getpid(), "maps", 8u << 20)))
    if (address >= m.start && address < m.end) return address - m.start + m.offset;
  return 0;
}

}  // namespace

Failure run_self_test(Program& program) {
  uint64_t records = 0;
  if (Failure f = program.attach_self_test(site_offset(), kSlot)) return f;
  for (uint64_t i = 0; i < kHits; i++) luatrace_bpf_site();
  program.consume([&](std::span<const std::byte> record) {
    const auto* hit = reinterpret_cast<const ltb_hit*>(record.data());
    records += hit->kind == LTB_TEST && hit->slot == kSlot;
    return true;
  });
  program.detach(kSlot);
  if (records == kHits) return {};
  return {EPERM, "a BPF program was attached to this process, but of " + std::to_string(kHits) +
                     " hits " + std::to_string(records) + " arrived"};
}

}  // namespace luatrace::record::bpf
