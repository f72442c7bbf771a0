// SPDX-License-Identifier: MIT
// Reads one trace, binary or text, and hands its contents to a TraceSink in the file's order.
#pragma once

#include <functional>
#include <memory>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

// Called after each block with the offset reached.
using Progress = std::function<void(uint64_t offset)>;

// The clock that a file header tells of.
Clock clock_of(const lt_file_header& header);

// Reads a trace bit by bit. The steps may be done by several threads, one at a time, with what one
// did before the next begins.
class TraceReader {
 public:
  // Recognises `input` by its first bytes; an import is made here. Damage goes to `diagnostics`,
  // reading goes on. Throws Unreadable if it cannot be read at all.
  TraceReader(Input& input, Diagnostics& diagnostics, TraceSink& sink, Progress progress = {});
  ~TraceReader();

  // Some of the contents for the sink (about one block of the file). False if that was the last of
  // it. Throws what the sink does, and Unreadable on a read error.
  bool step();

 private:
  class Binary;
  std::unique_ptr<Input> made_;  // If it is not the input itself that is read.
  std::unique_ptr<Binary> binary_;
};

// All of it at once.
void read_trace(Input& input, Diagnostics& diagnostics, TraceSink& sink,
                const Progress& progress = {});

}  // namespace luatrace::analyze
