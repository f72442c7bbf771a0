// SPDX-License-Identifier: MIT
// The self test: does a BPF program of ours that is hit report it? Why: without some capabilities
// (CAP_SYS_ADMIN, in containers) everything can be attached and no event ever arrives.
#pragma once

#include "recorder/bpf/program.h"

namespace luatrace::record::bpf {

// On a loaded program that is not attached anywhere yet. What it attaches stays attached: detaching
// would wait for the kernel.
Failure run_self_test(Program& program);

}  // namespace luatrace::record::bpf
