// SPDX-License-Identifier: MIT
// Reads one trace, binary or text, and passes its contents to a TraceSink in file order.
#pragma once

#include <memory>

#include "analyzer/read/blocks.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/model.h"
#include "analyzer/read/unpack_queue.h"

namespace luatrace::analyze {

// Returns the clock that a file header describes.
Clock clock_of(const lt_file_header& header);

// Returns the binary form of a text trace or an import, all of which is read here; null for a
// binary trace. `progress` is called for an import, and then cleared.
std::unique_ptr<Input> to_binary(Input& input, Diagnostics& diagnostics, Progress& progress);

// Reads a trace step by step. Several threads may do the steps, one at a time, if each sees the
// effects of the step before.
class TraceReader {
 public:
  // Detects the format of `input` by its first bytes; imports are converted here. Damage goes to
  // `diagnostics`, and reading continues. Throws Unreadable if the trace cannot be read at all.
  TraceReader(Input& input, Diagnostics& diagnostics, TraceSink& sink, Progress progress = {});

  // Passes some of the contents to the sink (about one block of the file). False if nothing is
  // left. Throws what the sink throws, and Unreadable on a read error.
  bool step();

 private:
  bool pass_packed();
  void finish();

  Diagnostics& diag_;
  TraceSink& sink_;
  const bool takes_packed_;
  Progress progress_;
  const std::unique_ptr<Input> converted_;  // Null for a binary trace.
  Input& input_;
  BlockReader reader_;
  BlockDecoder decoder_;
  UnpackQueue queue_;
  Block block_;
};

// Reads everything in one call. Throws what TraceReader throws.
void read_trace(Input& input, Diagnostics& diagnostics, TraceSink& sink,
                const Progress& progress = {});

}  // namespace luatrace::analyze
