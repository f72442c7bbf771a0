// SPDX-License-Identifier: MIT
// Program, if the BPF program could not be built: everything fails with the reason.
#include <cerrno>

#include "recorder/bpf/program.h"

struct luatrace_bpf {};
struct ring_buffer {};

namespace luatrace::record::bpf {

Program::~Program() = default;

std::string Program::not_built() {
  return LUATRACE_NO_BPF;
}

Failure Program::load(const ProbedFile&, Mechanism, uint64_t) {
  return {ENOSYS, "this luatrace-record was built without BPF: " + not_built()};
}

Failure Program::attach(const LuaFile&, pid_t, uint32_t, uint32_t) {
  return {ENOSYS, "no BPF"};
}

Failure Program::self_test() {
  return {ENOSYS, "no BPF"};
}

void Program::lower() {}
void Program::detach(uint32_t) {}
void Program::detach_all() {}

uint64_t Program::consume(const Take&) {
  return 0;
}

void Program::leftover_losses(uint32_t, const TakeLoss&) {}

uint64_t Program::unattributed() const {
  return 0;
}

}  // namespace luatrace::record::bpf
