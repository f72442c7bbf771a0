// SPDX-License-Identifier: MIT
// --dump=calls: one line per event without times, for comparing runs:
// `S<stream> C<coroutine> D<depth> <event> <what>`; docs/semantics.md defines the words. Calls of
// the collector and the compiler are left out, and not counted in depths: where they run depends on
// addresses and on what is hot. What finalizers call is shown as called by what was interrupted.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
  // Takes an index of the function table; returns whether its calls are left out.
  void set_hider(std::function<bool(FunctionId)> hider) { hider_ = std::move(hider); }

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
  bool hides(const Note& n);

  std::ostream& out_;
  Namer namer_;
  std::function<bool(FunctionId)> hider_ = [](FunctionId) { return false; };
  StreamId stream_;
  // Depths of hidden calls that are open, by stream and coroutine.
  std::map<std::pair<StreamId, CoroutineId>, std::vector<uint32_t>> hidden_;
};

// `basename:line` of a Lua function, `C:name` of a C function; escaped. `symbol` names C functions
// for which the VM had no name; "" if unknown.
std::string call_name(const Function& function, const std::string& symbol);

}  // namespace luatrace::analyze
