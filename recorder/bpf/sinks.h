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
  // The same for one sink; called for each hit and checked from time to time.
  bool may_take(Sink& sink);
  void wait_for_space() const;
  // Hits that were lost and whose VM is not known.
  void lose(uint64_t hits);
  void end_all();

 private:
  void end(Sink& sink);

  Recording& r_;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace luatrace::record::bpf
