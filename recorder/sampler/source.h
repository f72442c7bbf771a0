// SPDX-License-Identifier: MIT
// Source: what the drainer's thread does for --sample: the BPF program, its records, and the
// processes to which they belong. Invariants: used only in jobs of the drainer; what is known of
// all processes takes kKnownMax bytes or less after each record.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "recorder/sampler/backend.h"
#include "recorder/sampler/program.h"
#include "recorder/sampler/sampled_process.h"

namespace luatrace::record::sampler {

// A LuaJIT that was found, with the rules of its interpreter's code.
struct FoundImage {
  LuaImage image;
  smp_mapped mapped{};
  std::vector<uint8_t> code, rules;
};

// What became of a process that was to be sampled.
enum class Added {
  kSampled,
  kNoPlace,  // without its LuaJIT: there are SMP_IMAGES others at the moment
  kTooMany   // not at all: there are SMP_PROCESSES others
};

class Source {
 public:
  Source(Settings settings, Shown shown) : program_(std::move(settings)), shown_(shown) {}

  bpf::Failure start() { return program_.start(); }
  // Begins to sample a process; or, if it was sampled without a LuaJIT so far, samples it with
  // those from now on.
  Added add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
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
    smp_process known{};    // to the BPF program
    bool executed = false;  // another program since
    std::unique_ptr<SampledProcess> process;
    std::vector<uint32_t> images;  // numbers
  };
  // A LuaJIT. It keeps its place when no process has it any more, until another one needs that.
  struct Place {
    uint32_t generation = 0;  // each LuaJIT has another number
    size_t users = 0;
    std::vector<uint8_t> code;
    lt_abi abi{};
  };
  Place* place_for(const FoundImage& image);
  uint32_t number_of(const Place& place) const;
  void add_images(Entry& e, std::vector<FoundImage>& images, smp_process& p);
  void make_space();
  void take(std::span<const std::byte> bytes);
  void count_lost(Output& output, uint64_t samples);

  Program program_;
  const Shown shown_;
  KernelSymbols kernel_;
  std::map<pid_t, Entry> processes_;
  std::array<Place, SMP_IMAGES> places_;
  std::set<pid_t> execs_;
  std::shared_ptr<Output> first_output_;
  uint32_t next_serial_ = 1;
  uint64_t samples_ = 0;
  size_t known_ = 0;  // bytes
};

}  // namespace luatrace::record::sampler
