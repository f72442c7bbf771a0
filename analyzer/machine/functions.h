// SPDX-License-Identifier: MIT
// The functions of one trace file, merged by identity over its streams and processes.
//
// Identity: Lua functions by chunk name and line of definition, or a hash of their code where there
// are no lines; library functions by name; C functions by process and address, unless their name is
// certain. The first indices are not functions of the program: they are the roots of the call tree
// and placeholders for calls that are not kept apart.
//
// Several threads may add to the table, each for its own streams. Only the indices depend on their
// order: of several descriptions of a function the one of the lowest stream is used.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

// Indices of the table.
using FunctionId = Id<struct FunctionsOfFile>;
constexpr FunctionId kNoFunction{0};         // The root: time with no open call ("idle").
constexpr FunctionId kUnknownFunction{1};    // Parent of calls whose callers a gap hides.
constexpr FunctionId kCoroutineFunction{2};  // Between the resuming function and the body.
constexpr FunctionId kFirstFunction{3};
// Calls for which the call tree has no space. Otherwise an ordinary entry.
constexpr FunctionId kPrunedFunction{3};

// Types beyond LT_FUNC_*, for entries that are not functions of the program.
constexpr uint16_t kGroupType = 0x100;         // A group of calls, see add_group().
constexpr uint16_t kPrunedType = 0x101;        // kPrunedFunction.
constexpr uint16_t kUnknownFrameType = 0x102;  // Frames of samples that are not known.

// The description of the lowest stream, except that the name may come from another one. Without a
// description (type 0), `stream` and `id` are those of the first call.
struct Function : FunctionInfo {
  ProcessId process;       // Of the stream.
  bool coroutine = false;  // Group that stands for coroutines.
};

// Returns `firstline` as text: "3", or "#1e83f2ab" where it is a hash of the code.
std::string line_text(uint32_t firstline);

class FunctionTable {
 public:
  FunctionTable();

  // Returns the index of the function with this identity; adds it if it is new. Also records that
  // this is the function's description in its stream, for find().
  FunctionId add(const FunctionInfo& info, ProcessId process);
  // Adds a function without a description and returns its index.
  FunctionId add_undescribed(StreamId stream, VmFunctionId id, ProcessId process);
  // Returns the index of the group of calls (a thread, a file ...) with this name; adds it if it is
  // new. Groups of coroutines are distinct from other groups of the same name.
  FunctionId add_group(const std::string& name, bool coroutine = false);
  // Returns the index of the function `[unknown]` that stands for unknown frames of samples.
  FunctionId add_unknown_frame();
  // Adds a description for `index` (kNoFunction: none yet) and returns the index to use from now
  // on. That is `index` itself if add_undescribed() made it and it has no description yet;
  // otherwise the result is that of add(). In the first case the entry stays private to that
  // stream: its calls so far were counted as those of an undescribed function, so other streams
  // must not share it. Several entries may therefore have one identity; reports merge them, as
  // calls are in trees and histograms by then, along with C functions whose names come only from
  // symbols (report/report.cc).
  FunctionId describe(FunctionId index, const FunctionInfo& info, ProcessId process);

  // Returns a copy of the current entry.
  Function copy(FunctionId index) const;
  uint16_t type(FunctionId index) const;  // LT_FUNC_*, 0: undescribed.
  // Looks up a function of another table of the same file, also one that was called before its
  // description came; all descriptions must have been added here. Null if there is none. Like
  // operator[], must not run while a thread adds.
  const Function* find(const Function& other) const;

  // Must not run while a thread adds.
  const Function& operator[](FunctionId index) const { return functions_[index]; }
  size_t size() const { return functions_.size(); }

 private:
  FunctionId find_identity(const std::string& key) const;
  std::pair<FunctionId, bool> find_or_add(const Function& f);
  FunctionId add_locked(const Function& f);

  mutable std::mutex mutex_;
  std::vector<Function> functions_;
  // By a hash of the identity.
  std::unordered_multimap<uint64_t, FunctionId, RandomHash> by_identity_;
  // By stream and id; the first entry added wins.
  std::unordered_map<uint64_t, FunctionId, RandomHash> by_id_;
};

// A section of the program is described as the main chunk of this name, followed by its own.
constexpr const char* kSectionChunk = "=[section] ";

// Returns the entry in `known`, a table from a first pass over the file (may be null), or
// `function` if there is none.
inline const Function& best_known(const Function& function, const FunctionTable* known) {
  const Function* found = known ? known->find(function) : nullptr;
  return found ? *found : function;
}

// Ids in a stream of what is no function: sections that the program has named. Each has three: the
// second for a section that has ended while a call in it was open (StackMachine::mark()), the third
// for one that began before the recording.
constexpr uint32_t kFirstSection = 0xff000000, kEndedSection = 0x00800000;
constexpr uint32_t kEarlierSection = 0x00400000;
inline bool is_section(VmFunctionId id) {
  return id >= kFirstSection && id < LT_ID_NONE;
}
inline bool is_ended_section(VmFunctionId id) {
  return is_section(id) && (id & kEndedSection);
}
inline bool is_earlier_section(VmFunctionId id) {
  return is_section(id) && (id & kEarlierSection);
}

// Maps the function ids of one stream to indices of the function table.
class IdMap {
 public:
  IdMap(FunctionTable& table, Trust& trust, StreamId stream)
      : table_(table), trust_(trust), stream_(stream) {}

  void set_process(ProcessId process) { process_ = process; }
  void define(const FunctionInfo& info);
  // Returns the index of `id`; an id without a description gets its own entry and is counted.
  [[gnu::always_inline]] FunctionId operator()(VmFunctionId id) {
    if (id < dense_.size() && dense_[id] != kNoFunction) return dense_[id];
    return look_up_or_add(id);
  }
  // Another recording of the Lua VM begins: it describes its functions again.
  void forget();
  // The id of the section with this name.
  VmFunctionId section(const std::string& name);
  // The same without adding an entry: kNoFunction if there is none, or none in the dense table.
  FunctionId known(VmFunctionId id) const { return id < dense_.size() ? dense_[id] : kNoFunction; }

 private:
  // The dense table has up to kSlotsPerId slots per known id, plus kInitialSlots, so that a hostile
  // trace, even one with thousands of streams, cannot make it large.
  static constexpr uint64_t kSlotsPerId = 64, kInitialSlots = 1024;
  FunctionId look_up_or_add(VmFunctionId id);
  FunctionId* slot(uint64_t id);

  FunctionTable& table_;
  Trust& trust_;
  const StreamId stream_;
  ProcessId process_;
  std::vector<FunctionId> dense_;  // kNoFunction: not defined.
  uint64_t seen_ = 0;              // Ids looked up that were not in dense_.
  std::unordered_map<uint64_t, FunctionId, RandomHash> sparse_;
  std::unordered_map<std::string, VmFunctionId> sections_;
};

}  // namespace luatrace::analyze
