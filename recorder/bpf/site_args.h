// SPDX-License-Identifier: MIT
// The arguments of a probe, from the text of its note.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "recorder/bpf/wire.h"

namespace luatrace::record::bpf {

// machine: EM_X86_64 ("8@%rax -4@$-1") or EM_AARCH64 ("8@x0 -4@-1"). False: wire.h cannot express
// it.
bool parse_site_args(uint16_t machine, std::string_view text, std::array<ltb_arg, LTB_NARGS>& args);

}  // namespace luatrace::record::bpf
