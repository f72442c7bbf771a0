// SPDX-License-Identifier: MIT
// Passes each block to its parser and the contents to a sink. Invariant: a malformed block is
// counted and logged; the sink gets what was good in it.
#pragma once

#include "analyzer/read/block_reader.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"

namespace luatrace::analyze {

class Dispatcher {
 public:
  Dispatcher(Diagnostics& diagnostics, TraceSink& sink) : diag_(diagnostics), sink_(sink) {}

  // `block` must not be compressed.
  void block(const Block& block);
  bool ended() const { return ended_; }  // The end block was found.

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
