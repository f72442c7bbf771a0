// SPDX-License-Identifier: MIT
// Sinks: the outputs of `--via bpf`, and their limits. Invariant: an output that has reached its
// limit, or cannot be written, is finished immediately and takes nothing more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "recorder/bpf/attached.h"

namespace luatrace::record::bpf {

class Sinks {
 public:
  // The recording must outlive this object.
  explicit Sinks(Recording& recording) : r_(recording) {}

  Sink& of(const std::shared_ptr<Output>& output);
  // Can all of them take events now?
  bool ready() const;
  // Writes everything to the kernel, so that not much is missing if this process is killed.
  void flush();
  bool has_space(Sink& sink);
  void wait_for_space() const;
  // Events that were lost, of a process that is not known.
  void lose(uint64_t events);
  void end_all();

 private:
  void end(Sink& sink);

  Recording& r_;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace luatrace::record::bpf
