// SPDX-License-Identifier: MIT
// Program, if the BPF program could not be built: start() fails with the reason.
#include <cerrno>

#include "recorder/sampler/program.h"

namespace luatrace::record::sampler {

Program::~Program() = default;

std::string Program::not_built() {
  return LUATRACE_NO_SAMPLER;
}

bpf::Failure Program::start() {
  return {ENOSYS, "this luatrace-record was built without --sample: " + not_built()};
}

void Program::stop() {}

bool Program::set_image(uint32_t, const lt_abi&, std::span<const uint8_t>) {
  return false;
}

bool Program::set_process(pid_t, const smp_process&) {
  return false;
}

void Program::update_process(pid_t, const smp_process&) {}
void Program::remove_process(pid_t) {}

bool Program::take_samples(const Take&) {
  return true;
}

void Program::take_execs(const TakeExec&) {}

uint64_t Program::lost() const {
  return 0;
}

}  // namespace luatrace::record::sampler
