// SPDX-License-Identifier: MIT
// Strings of a traced process that the BPF program could not read because their page was not in
// memory: the recorder can read them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recorder/os/maps.h"

namespace luatrace::record::bpf {

class ProcessStrings {
 public:
  explicit ProcessStrings(pid_t pid) : pid_(pid) {}
  ~ProcessStrings();
  ProcessStrings(ProcessStrings&& other) noexcept;
  ProcessStrings& operator=(ProcessStrings&&) = delete;

  // The string at that address, cut at `max_size` bytes. Empty if it cannot be read in the process
  // or (constants of a program that has ended) in the file that was mapped there.
  std::optional<std::string> read(uint64_t address, size_t max_size);

  // Another program runs in the process now.
  void restart();

 private:
  size_t read_memory(uint64_t address, char* to, size_t size);
  size_t read_file(uint64_t address, char* to, size_t size) const;

  pid_t pid_;
  int memory_ = -1;
  std::vector<Mapping> mappings_;  // of files, at the first call
};

}  // namespace luatrace::record::bpf
