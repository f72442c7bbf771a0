// SPDX-License-Identifier: MIT
// Program: the loaded BPF program of --sample, with its perf events. Invariants: however this
// process ends, the kernel removes both; the constants of the program are those of the settings.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "recorder/bpf/program.h"
#include "recorder/sampler/wire.h"

struct luatrace_sampler;
struct ring_buffer;

namespace luatrace::record::sampler {

struct Settings {
  uint32_t hertz = 99;
  std::vector<uint32_t> threads;  // only these; empty: all
  bool lua = true, kernel = true, user = true;
  bool only_kernel_mode = false;  // no samples of user mode
  bool off_cpu = false;           // blocked time in place of CPU time
  uint64_t ring_bytes = 32u << 20;
};

class Program {
 public:
  explicit Program(Settings settings) : settings_(std::move(settings)) {}
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Loads the program, and begins to sample the processes that are set.
  bpf::Failure start();
  void stop();

  // Sets a LuaJIT: what its note says, and the rules of its interpreter's code. That number was
  // never used before; what has had its place (see smp_mapped) is no longer used.
  bool set_image(uint32_t number, const lt_abi& abi, std::span<const uint8_t> rules);
  bool set_process(pid_t pid, const smp_process& process);
  // The same for one that is set, unless it has executed another program since.
  void update_process(pid_t pid, const smp_process& process);
  void remove_process(pid_t pid);

  using Take = std::function<bool(std::span<const std::byte>)>;
  using TakeExec = std::function<void(uint32_t)>;
  // Passes on the samples that have come, until `take` returns false. Returns whether these were
  // all.
  bool take_samples(const Take& take);
  // Passes on the serial numbers of processes that have executed another program: they are no
  // longer set.
  void take_execs(const TakeExec& take);
  uint64_t lost() const;  // samples, so far

  // What was missing when this was compiled; empty: nothing.
  static std::string not_built();

 private:
  bpf::Failure load();
  bpf::Failure open_events();
  bpf::Failure follow_scheduler();
  void choose_programs();
  bpf::Failure open_rings();
  static int on_sample(void* self, void* data, size_t size);
  static int on_exec(void* self, void* data, size_t size);

  Settings settings_;
  luatrace_sampler* skeleton_ = nullptr;
  ring_buffer *samples_ = nullptr, *execs_ = nullptr;
  std::vector<void*> links_;
  const Take* take_ = nullptr;
  const TakeExec* take_exec_ = nullptr;
};

}  // namespace luatrace::record::sampler
