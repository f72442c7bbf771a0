// SPDX-License-Identifier: MIT
// Source: what the drainer's thread does for --sample: the BPF program, its records, and the
// processes to which they belong. Invariants: used only in jobs of the drainer; what is known of
// all processes takes kKnownMax bytes or less after each record; no job but the last takes much
// longer than kPassNs, however many records wait and however long each of them takes, so that new
// processes are found meanwhile.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "recorder/sampler/backend.h"
#include "recorder/sampler/coverage.h"
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
  kNoPlace,   // without its LuaJIT: there are SMP_IMAGES others at the moment
  kTooMany,   // not at all: there are SMP_PROCESSES others
  kExecuted,  // not at all: it has executed another program meanwhile, see take_execs()
};

class Source {
 public:
  Source(Settings settings, Shown shown);

  bpf::Failure start();
  // Begins to sample a process; or, if it was sampled without a LuaJIT so far, samples it with
  // those from now on.
  Added add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
            std::vector<FoundImage> images);
  // It has ended: nothing comes from it any more, but records of it may wait.
  void remove(pid_t pid);
  // It has executed another program: it is among take_execs().
  void executed(pid_t pid);
  // Takes records for up to kPassNs, and writes them. Returns whether more may wait.
  bool drain();
  // The recording ends.
  void stop();

  // Processes that have executed another program since the last call.
  std::set<pid_t> take_execs();
  uint64_t samples() const { return samples_; }

 private:
  static constexpr uint64_t kPassNs = 20'000'000;
  static constexpr uint64_t kLookNs = 100'000'000;  // between looks at CPU times
  // A process, from one exec to the next.
  struct Entry {
    pid_t pid = 0;
    smp_process known{};    // to the BPF program
    uint64_t ended_ns = 0;  // when it ended, or executed another program; 0: it has not
    std::unique_ptr<SampledProcess> process;
    Coverage coverage{0};
    uint64_t weight_ns = 0, looked_ns = 0;  // of its samples, and of those at the last look
    std::vector<uint32_t> images, serials;  // numbers
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
  Entry& entry_of(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output);
  void take(std::span<const std::byte> bytes);
  void see_execs();
  void begin_pass();
  void end_pass(uint64_t before_ns);
  void end(Entry& e);
  void finish(Entry& e);
  void look(Entry& e);
  void look_at_all(uint64_t now);
  void count_lost(Output& output, uint64_t samples);
  void count_unstored();

  Program program_;
  const Shown shown_;
  const uint64_t period_ns_;  // of CPU time for a sample; 0: not each process has a sample for it
  KernelSymbols kernel_;
  std::list<Entry> entries_;
  std::map<pid_t, Entry*> live_;
  std::map<uint32_t, Entry*> by_serial_;
  std::array<Place, SMP_IMAGES> places_;
  std::set<pid_t> execs_;
  std::shared_ptr<Output> first_output_;
  uint32_t next_serial_ = 1;
  uint64_t samples_ = 0;
  uint64_t skipped_ = 0;   // by the kernel's timer
  uint64_t look_ns_ = 0;   // when CPU times are looked at next
  uint64_t taken_ns_ = 0;  // the time of the last record
  size_t known_ = 0;       // bytes
};

}  // namespace luatrace::record::sampler
