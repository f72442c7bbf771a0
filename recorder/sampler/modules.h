// SPDX-License-Identifier: MIT
// Modules: the code of one process, and how to unwind it: what the ELF images in its memory say. No
// file is opened, so that containers, deleted files and slow file systems make no difference.
// Invariants: what is read is bounded, and kept as long as the mapping is there; rows are computed
// once for an address.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/os/guarded_memory.h"
#include "recorder/sampler/call_frame.h"
#include "recorder/sampler/vdso.h"

namespace luatrace::record::sampler {

class Modules {
 public:
  explicit Modules(pid_t pid);

  // What is known of the code at an address.
  struct Place {
    bool in_file = false;      // it is the code of a file, or of the kernel for user space
    const Row* row = nullptr;  // null: no information; valid until the next call
  };
  Place find(uint64_t pc);

  // The function of the vDSO at an address; null: that is other code. Valid
  // until the next call.
  const VdsoFunction* vdso_at(uint64_t pc);

  // Bytes of what is known. What is forgotten is read again when it is needed.
  size_t memory() const;
  void forget();

 private:
  struct Module {
    uint64_t begin = 0, end = 0;
    uint64_t header = 0, header_size = 0;        // .eh_frame_hdr in memory, or what stands for it
    uint64_t constants = 0, constants_size = 0;  // without one: the segment with .eh_frame
    bool loaded = false;
    std::string table;  // its search table, of sorted pairs
    size_t count() const { return table.size() / 8; }
  };
  Module* module_at(uint64_t pc);
  void refresh();
  void add_image(uint64_t start, uint64_t bias_limit);
  void read_vdso();
  void load(Module& m);
  void scan(Module& m);
  void forget_rows();
  std::optional<FrameEntry> entry_for(Module& m, uint64_t pc);
  bool read_entry(uint64_t address, uint64_t& body, std::string& bytes);
  bool read(uint64_t address, void* to, size_t size);

  GuardedMemory memory_;
  std::map<uint64_t, Module> modules_;    // by their begin
  std::map<uint64_t, uint64_t> unnamed_;  // executable memory of no file: begin, end
  std::unordered_map<uint64_t, std::optional<Row>> rows_;  // by address
  uint64_t vdso_ = 0, vdso_end_ = 0;
  bool vdso_read_ = false;
  std::vector<VdsoFunction> vdso_functions_;  // addresses in the process; the first is for the rest
  uint64_t refreshed_ns_ = 0, pause_ns_ = 0;
  size_t bytes_ = 0, rows_bytes_ = 0;  // of tables, of rows
};

}  // namespace luatrace::record::sampler
