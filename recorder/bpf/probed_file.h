// SPDX-License-Identifier: MIT
// The probe sites of a LuaJIT file (library or program), from its notes (.note.stapsdt).
// Invariant: what is returned fits the BPF program: every site lies in the file, has the
// instructions it should have, and its arguments are registers or constants that wire.h can say.
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
  uint64_t block_semaphore = 0;               // of the probe that hands over blocks
  uint32_t glref_offset = 0, glref_size = 0;  // of the pointer to the state in a lua_State

  // Has it the probe that hands over blocks?
  bool has_blocks() const;
  // May both be served by one loaded copy of the BPF program?
  bool same_layout(const ProbedFile& other) const;
};

enum class Probed {
  kYes,
  kNo,  // no LuaJIT, or one without probes
  kBad  // has probes that we cannot use: *why says what is wrong with them
};

// read: by offset in the file.
Probed read_probed_file(const ReadAt& read, ProbedFile& file, std::string& why);

// "luajit" probe names in the order of wire.h.
const std::array<const char*, LTB_NPROBES>& probe_names();

// Parses the argument text of a note ("8@%rax -4@$-1"). False: something that wire.h cannot say.
bool parse_site_args(std::string_view text, std::array<ltb_arg, LTB_NARGS>& args);

}  // namespace luatrace::record::bpf
