// SPDX-License-Identifier: MIT
// SampledProcess: from the records of one process to its stream in the file: which functions are on
// the stack, C and Lua frames in the order in which they called each other. Invariants: between
// two C frames of the VM only what was found there is listed; what is not known is
// LT_FRAME_UNKNOWN; every record is written, or counted as lost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "recorder/drain/output.h"
#include "recorder/sampler/c_stack.h"
#include "recorder/sampler/functions.h"
#include "recorder/sampler/modules.h"
#include "recorder/sampler/wire.h"
#include "trace/sample_blocks.h"

namespace luatrace::record::sampler {

// What a sample shows.
struct Shown {
  bool lua = true, user = true, kernel = true;
  uint32_t max_stack = LT_SAMPLE_FRAMES_MAX;
};

class SampledProcess {
 public:
  // number: of the process in its output.
  SampledProcess(pid_t pid, uint32_t number, std::shared_ptr<Output> output,
                 const KernelSymbols& kernel, const Shown& shown);

  // A LuaJIT of the process: number `mapped` of its records.
  void add_image(const LuaImage& image, const smp_mapped& mapped);
  // Takes a record of the ring buffer, whose parts are inside it (see well_formed()).
  void add(const smp_record& record, std::span<const std::byte> parts);
  void begin_batch() { functions_.begin_batch(); }
  // Writes what has been collected.
  void flush();

  // Bytes of what is known of the process. What is forgotten is read again when it is needed.
  size_t memory() const;
  void forget();

  // Are there several Lua VMs on one C stack? Then the BPF program must look for them.
  bool is_nested() const { return nested_; }

  uint64_t samples() const { return samples_; }
  uint64_t lost() const { return lost_; }  // not written
  // Has it ever run Lua?
  bool has_lua() const { return !mapped_.empty(); }
  const std::shared_ptr<Output>& output() const { return output_; }

 private:
  void begin_stream(const smp_record& record);
  void add_kernel(std::span<const uint64_t> addresses, bool off_cpu);
  bool add_top(const smp_record& record, const StackCopy& stack);
  void add_lua(const smp_record& record, const StackCopy& stack);
  void add_part(const smp_record& record, uint64_t c_frame, const StackCopy& stack, bool last);
  bool is_others(uint64_t c_frame, const lt_abi& abi, const StackCopy& stack) const;
  void add_native(const std::vector<NativeFrame>& frames);
  void add_unknown();
  void add_labels(std::span<const lt_abi_label> labels);
  void drop_c_function(const LuaFrame& f);
  const smp_mapped* mapped(const smp_record& record) const;
  bool write(const smp_record& record);

  const uint32_t number_;
  std::shared_ptr<Output> output_;
  const Shown shown_;
  Functions functions_;
  Modules modules_;
  std::vector<smp_mapped> mapped_;
  std::vector<lt_abi> abis_;
  std::optional<SampleBlocks> blocks_;  // of the stream, when it has begun
  uint32_t stream_ = 0;
  std::vector<LuaFrame> lua_;              // of the sample
  std::vector<uint64_t> frames_, labels_;  // of the sample, as in the file
  std::vector<uint64_t> coroutines_;       // whose functions are in lua_
  std::vector<NativeFrame> part_;
  bool nested_ = false;
  uint64_t samples_ = 0, lost_ = 0;
  uint64_t write_ns_ = 0;  // when what has come is to be written next
};

// Are the parts of that record inside it?
bool well_formed(std::span<const std::byte> record);

}  // namespace luatrace::record::sampler
