// SPDX-License-Identifier: MIT
// Source: what the drainer's thread does for --sample: the BPF program, its records, and the
// processes to which they belong. Invariant: used only in jobs of the drainer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "recorder/sampler/program.h"
#include "recorder/sampler/sampled_process.h"

namespace luatrace::record::sampler {

// A LuaJIT that was found, with the rules of its interpreter's code.
struct FoundImage {
  LuaImage image;
  smp_mapped mapped{};
  std::vector<uint8_t> code, rules;
};

class Source {
 public:
  Source(Settings settings, Shown shown) : program_(std::move(settings)), shown_(shown) {}

  bpf::Failure start() { return program_.start(); }
  // Begins to sample a process; or, if it was sampled without a LuaJIT so far, samples it with
  // those from now on. False: there are too many processes.
  bool add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
           std::vector<FoundImage> images);
  // It has ended: takes what has come.
  void remove(pid_t pid);
  // Takes all records, and writes them.
  void drain();
  // The recording ends.
  void stop();

  // Processes that have executed another program since the last call.
  std::set<pid_t> take_execs();
  uint64_t samples() const { return samples_; }

 private:
  struct Entry {
    uint32_t serial = 0;
    std::unique_ptr<SampledProcess> process;
  };
  int number_of(const FoundImage& image);
  void take(std::span<const std::byte> bytes);
  void count_lost(Output& output, uint64_t samples);

  Program program_;
  const Shown shown_;
  KernelSymbols kernel_;
  std::map<pid_t, Entry> processes_;
  std::vector<std::pair<std::vector<uint8_t>, lt_abi>> images_;  // by number: code, note
  std::set<pid_t> execs_;
  std::shared_ptr<Output> first_output_;
  uint32_t next_serial_ = 1;
  uint64_t samples_ = 0;
};

}  // namespace luatrace::record::sampler
