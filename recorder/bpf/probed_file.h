// SPDX-License-Identifier: MIT
// The probe sites of a LuaJIT file (library or program), from its notes (.note.stapsdt). Invariant:
// the result matches the BPF program: every site is in the file and has the right instructions, and
// its arguments are registers or constants that wire.h can express.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recorder/bpf/wire.h"
#include "recorder/os/elf_file.h"

namespace luatrace::record::bpf {

struct ProbeSite {
  uint64_t offset = 0;  // of the one-byte nop, in the file; 0: this LuaJIT has no such probe
  std::array<ltb_arg, LTB_NARGS> args{};
};

struct ProbedFile {
  std::array<ProbeSite, LTB_NPROBES> sites;
  uint64_t semaphore = 0;                     // offset in the file of luajit_usdt_control
  uint64_t block_semaphore = 0;               // of the probe luajit:block
  uint32_t glref_offset = 0, glref_size = 0;  // of the pointer to the global_State in a lua_State

  // Does it have the probe luajit:block?
  bool has_blocks() const;
  // Can one loaded copy of the BPF program serve both?
  bool same_layout(const ProbedFile& other) const;
};

enum class Probed {
  kYes,
  kNo,  // no LuaJIT, or one without probes
  kBad  // has probes that we cannot use, for the reason in *why
};

// read: by offset in the file.
Probed read_probed_file(const ReadAt& read, ProbedFile& file, std::string& why);

// "luajit" probe names in the order of wire.h.
const std::array<const char*, LTB_NPROBES>& probe_names();

// Parses the argument text of a note ("8@%rax -4@$-1"). False: wire.h cannot express it.
bool parse_site_args(std::string_view text, std::array<ltb_arg, LTB_NARGS>& args);

}  // namespace luatrace::record::bpf
