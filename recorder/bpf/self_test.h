// SPDX-License-Identifier: MIT
// The self test: does a BPF program of ours that is hit tell of it, and does the kernel make a
// call of the wide nop?
// Why: without some capabilities (CAP_SYS_ADMIN, in containers) everything can be attached and no
// event ever arrives; and which kernels optimise which nop is best asked by doing it.
#pragma once

#include <string>

#include "recorder/bpf/program.h"

namespace luatrace::bpf {

struct SelfTest {
  Failure failure;               // or nothing
  Width width = Width::kNarrow;  // the cheaper site that works here
};

// On a loaded program to which nothing is attached yet.
SelfTest run_self_test(Program& program);

}  // namespace luatrace::bpf
