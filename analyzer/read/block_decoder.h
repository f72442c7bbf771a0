// SPDX-License-Identifier: MIT
// Undoes compressed blocks one by one, on the thread of the caller, and parses them. For those who
// take them as they are in the file (TraceSink::on_packed), each thread with one of its own.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/read/dispatcher.h"
#include "trace/packing.h"

namespace luatrace::analyze {

using Words = std::shared_ptr<std::vector<uint64_t>>;

// Makes `block` what it was before it was compressed; `words` has been undone of it, and is held by
// it from now on. `problem`: that could not be done, which is counted and said, and false.
bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diagnostics);

class BlockDecoder {
 public:
  BlockDecoder(Diagnostics& diagnostics, TraceSink& sink)
      : diag_(diagnostics), dispatcher_(diagnostics, sink) {}

  // What comes out goes to the sink, and may be kept there (EventBlock::hold).
  void open(Block block);

 private:
  Words& free_words();

  Diagnostics& diag_;
  Dispatcher dispatcher_;
  Unpacker unpacker_;
  std::vector<Words> words_;  // Some may still be held by others.
};

}  // namespace luatrace::analyze
