// SPDX-License-Identifier: MIT
// --dump=calls: one line per event without times, for comparing runs:
// `S<stream> C<coroutine> D<depth> <event> <what>`; docs/semantics.md defines the words.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "analyzer/machine/streams.h"

namespace luatrace::analyze {

// A Sink of the stack machines that prints their notes and measures nothing.
class CallsSink {
 public:
  static constexpr bool kNotes = true;
  static constexpr bool kFrames = false;
  // Takes an index of the function table; returns the function's name.
  using Namer = std::function<std::string(FunctionId)>;

  explicit CallsSink(std::ostream& out) : out_(out) {}
  void set_namer(Namer namer) { namer_ = std::move(namer); }

  void stream(StreamId number) { stream_ = number; }
  void note(const Note& n);

  uint32_t enter(uint32_t, FunctionId) { return 0; }
  uint32_t enter_base(uint32_t, FunctionId) { return 0; }
  uint32_t enter_again(uint32_t, uint32_t, FunctionId) { return 0; }
  void call(uint32_t) {}
  void add_self_time(uint32_t, uint64_t) {}
  void ended(uint32_t, FunctionId, uint64_t) {}
  void suspended(uint32_t, uint64_t) {}

 private:
  std::string what(const Note& n) const;

  std::ostream& out_;
  Namer namer_;
  StreamId stream_;
};

// `basename:line` of a Lua function, `C:name` of a C function; escaped. `symbol` names C functions
// for which the VM had no name; "" if unknown.
std::string call_name(const Function& function, const std::string& symbol);

}  // namespace luatrace::analyze
