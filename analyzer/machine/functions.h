// SPDX-License-Identifier: MIT
// Functions of one trace file, merged by identity over its streams and processes.
//
// Identity: Lua functions by chunk and line of definition, or a hash of their code where there are
// no lines; library functions by name; C functions by process and address, unless their name is
// certain. The first indices are not functions of the
// program: they are the roots of the call tree, and what stands for calls that are not kept
// apart.
//
// Several threads may add to the table, each for streams of its own. What it says does not depend
// on which of them comes first: of several descriptions of a function that of the lowest stream is
// taken. Only the indices do.
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

enum : uint32_t {
  kNoFunction = 0,         // The root: time with no open call ("idle").
  kUnknownFunction = 1,    // Parent of calls whose callers fell into a gap.
  kCoroutineFunction = 2,  // Between the function that resumes and the body of the coroutine.
  kFirstFunction = 3,
  kPrunedFunction = 3,  // Calls for which the call tree has no room. Like any function otherwise.
};

// Types of functions that are none of the program's, not LT_FUNC_*.
constexpr uint16_t kGroupType = 0x100;   // Stands for a group.
constexpr uint16_t kPrunedType = 0x101;  // kPrunedFunction.

struct Function {
  uint16_t type = 0;       // LT_FUNC_*, 0: undescribed.
  bool hint = false;       // The name comes from a call, not from the definition.
  uint32_t firstline = 0;  // LT_LINE_CODE and more: no line, but a hash of the code.
  uint32_t lastline = 0;
  uint32_t fileofs = 0;  // See FunctionInfo.
  uint32_t process = 0;  // Of the first description.
  uint64_t addr = 0;     // In that process.
  uint32_t id = 0;       // In the first stream that described it.
  std::string chunk;
  std::string name;
  // That the description is of (the name may be of another one), or that called it without one.
  uint32_t stream = 0;
  bool coroutine = false;  // Of a group: it stands for coroutines.
};

// `firstline` as text: "3", or "#1e83f2ab" where it is a hash of the code.
std::string line_text(uint32_t firstline);

// What a C function's description says of the file around it, for processes that ended before
// their mappings were read. Around nothing if it does not say.
inline MapInfo own_map(const Function& f) {
  return {f.process, f.addr, f.chunk.empty() ? f.addr : f.addr + 1, f.fileofs, "", f.chunk, true};
}

class FunctionTable {
 public:
  FunctionTable();

  // Index of the function with this identity, made if it is new. Remembers that this is the
  // function's description in its stream, for find().
  uint32_t add(const FunctionInfo& info, uint32_t process);
  // A new function without description.
  uint32_t add_undescribed(uint32_t stream, uint32_t id, uint32_t process);
  // A group of calls (a thread, a file ...), told apart by its name; groups that stand for
  // coroutines are others than those of the same names that do not.
  uint32_t add_group(const std::string& name, bool coroutine = false);
  // What `index` is, now that there is a description: itself, if add_undescribed() made it and it
  // has none yet; else as add(). In the first case it stays a function of that stream alone: its
  // calls so far were taken for those of an undescribed one, and other streams' are none of these.
  // So several entries may be of one identity. They are not joined here: calls that were made are
  // in trees and histograms by then. Reports join them, as they must those C functions whose names
  // are only known to symbols (report/report.cc).
  uint32_t describe(uint32_t index, const FunctionInfo& info, uint32_t process);

  // A copy of what is known of `index` so far.
  Function copy(uint32_t index) const;
  uint16_t type(uint32_t index) const;  // LT_FUNC_*, 0: undescribed.
  // What is known here of a function of another table of the same file, to which all descriptions
  // were added here: also of one that was called before its description came. Null: nothing. Like
  // operator[] only while nobody adds.
  const Function* find(const Function& other) const;

  // Only while nobody adds.
  const Function& operator[](uint32_t index) const { return functions_[index]; }
  size_t size() const { return functions_.size(); }

 private:
  uint32_t find_identity(const std::string& key) const;
  std::pair<uint32_t, bool> find_or_add(const std::string& key);
  uint32_t add_locked(const FunctionInfo& info, uint32_t process);

  mutable std::mutex mutex_;
  std::vector<Function> functions_;
  // By a hash of the identity.
  std::unordered_multimap<uint64_t, uint32_t, RandomHash> by_identity_;
  // By stream << 32 | id: what was added first.
  std::unordered_map<uint64_t, uint32_t, RandomHash> by_id_;
};

// `function`, or what is `known` of it from a first reading of the file (null: there was none).
inline const Function& best_known(const Function& function, const FunctionTable* known) {
  const Function* found = known ? known->find(function) : nullptr;
  return found ? *found : function;
}

// Function ids of one stream.
class IdMap {
 public:
  IdMap(FunctionTable& table, Trust& trust, uint32_t stream)
      : table_(table), trust_(trust), stream_(stream) {}

  void set_process(uint32_t process) { process_ = process; }
  void define(const FunctionInfo& info);
  // Index in the function table; ids without description get one of their own and are counted.
  [[gnu::always_inline]] uint32_t operator()(uint64_t id) {
    if (id < dense_.size() && dense_[id] != 0) return dense_[id];
    return slow(id);
  }
  // The same without making any: 0 if there is none (or it is far from the others).
  uint32_t known(uint64_t id) const { return id < dense_.size() ? dense_[id] : 0; }

 private:
  // The dense table has at most that many places for each known id, and those at first: a hostile
  // trace, also one of thousands of streams, cannot make it large.
  static constexpr uint64_t kMostForOne = 64, kAtFirst = 1024;
  uint32_t slow(uint64_t id);
  uint32_t* slot(uint64_t id);

  FunctionTable& table_;
  Trust& trust_;
  const uint32_t stream_;
  uint32_t process_ = 0;
  std::vector<uint32_t> dense_;  // 0: not defined.
  uint64_t seen_ = 0;            // Ids asked for and not found there.
  std::unordered_map<uint64_t, uint32_t, RandomHash> sparse_;
};

}  // namespace luatrace::analyze
