// SPDX-License-Identifier: MIT
// Gives each block to the right parser and what comes out to a sink.
// Invariant: a malformed block is counted and said; what was good in it has been given.
#pragma once

#include "analyzer/read/block_reader.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class Dispatcher {
 public:
  Dispatcher(Diagnostics& diagnostics, TraceSink& sink) : diag_(diagnostics), sink_(sink) {}

  // Of which the payload is not packed.
  void block(const Block& block);
  bool ended() const { return ended_; }  // The end block was there.

 private:
  bool parse(const Block& block);
  template <class T>
  bool one(const Block& block, bool (*parser)(const Block&, T&), void (TraceSink::*give)(const T&));
  bool functions(const Block& block);
  bool maps(const Block& block);
  bool note(const Block& block);
  bool events(const Block& block);

  Diagnostics& diag_;
  TraceSink& sink_;
  bool ended_ = false;
};

}  // namespace luatrace::analyze
