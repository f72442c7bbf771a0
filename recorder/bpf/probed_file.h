// SPDX-License-Identifier: MIT
// The probes of a LuaJIT file (library or program) that we use, from its notes (.note.stapsdt).
// Invariant: the result matches the BPF program: every site is in the file and has the right
// instructions, and its arguments are registers or constants that wire.h can express.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "recorder/bpf/wire.h"
#include "recorder/os/elf_file.h"

namespace luatrace::record::bpf {

struct ProbedFile {
  // Offsets in the file: of the nops of the probes `block` and `block__switch`, and of the
  // semaphore. The latter probe is never hit: it is a place for raising the semaphore.
  uint64_t block = 0, block_switch = 0, semaphore = 0;
  // The same of the probe `segments`, with the same arguments, and where to raise the semaphore
  // that asks for LTC_AUTO. All 0: an older LuaJIT.
  uint64_t segments = 0, segments_switch = 0, segments_semaphore = 0;
  uint64_t auto_switch = 0, auto_semaphore = 0;
  std::array<ltb_arg, LTB_NARGS> args{};  // of `block`

  // Can one loaded copy of the BPF program serve both?
  bool same_layout(const ProbedFile& other) const {
    return std::memcmp(args.data(), other.args.data(), sizeof args) == 0;
  }
};

enum class Probed {
  kYes,
  kNo,  // no LuaJIT, or one without probes
  kBad  // has probes that we cannot use, for the reason in *why
};

// read: by offset in the file.
Probed read_probed_file(const ReadAt& read, ProbedFile& file, std::string& why);

}  // namespace luatrace::record::bpf
