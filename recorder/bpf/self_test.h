// SPDX-License-Identifier: MIT
// The self test: does a BPF program of ours that is hit tell of it, does the kernel make a call of
// the wide nop, and does a forked child survive that call?
// Why: without some capabilities (CAP_SYS_ADMIN, in containers) everything can be attached and no
// event ever arrives; which kernels optimise which nop is best asked by doing it; and Linux 6.18
// gives a forked child the call, but not the code that is called: it dies of SIGSEGV.
#pragma once

#include <string>

#include "recorder/bpf/program.h"

namespace luatrace::record::bpf {

struct SelfTest {
  Failure failure;              // or nothing
  bool wide = false;            // events of the wide site arrive, and it is cheaper
  bool kills_children = false;  // but see above
};

// On a loaded program to which nothing is attached yet.
SelfTest run_self_test(Program& program);

}  // namespace luatrace::record::bpf
