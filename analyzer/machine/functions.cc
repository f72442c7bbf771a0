// SPDX-License-Identifier: MIT
#include "analyzer/machine/functions.h"

#include <cstdio>
#include <string_view>
#include <tuple>
#include <utility>

namespace luatrace::analyze {
namespace {

// Parts of LuaJIT's library are bytecode (LJLIB_LUA in lib_*.c). For the VM these are prototypes
// without lines whose chunk name is the function's name (lib_read_lfunc() in lj_lib.c); for users
// they are library functions like the others.
constexpr uint32_t kNoLine = UINT32_MAX;
constexpr std::pair<std::string_view, std::string_view> kInBytecode[] = {
    {"deg", "math."},   {"rad", "math."},       {"len", "string."}, {"foreach", "table."},
    {"move", "table."}, {"foreachi", "table."}, {"getn", "table."}, {"remove", "table."}};

bool is_in_bytecode(const FunctionInfo& info) {
  return info.type == LT_FUNC_LUA && info.firstline == kNoLine;
}

FunctionInfo as_library_function(FunctionInfo info) {
  info.type = LT_FUNC_FF;
  info.name = std::exchange(info.chunk, {});
  info.hint = false;
  info.firstline = info.lastline = 0;
  for (const auto& [name, library] : kInBytecode)
    if (info.name == name) return info.name.insert(0, library), info;
  return info;
}

// Returns a string that is equal for equal identities only (NUL cannot occur in chunk or name). It
// contains nothing that became known later (names from calls).
template <class Info>
std::string identity(const Info& info, ProcessId process) {
  std::string key(1, static_cast<char>('0' + info.type));
  if (info.type == LT_FUNC_LUA) return key + std::to_string(info.firstline) + ':' + info.chunk;
  if (!info.name.empty() && !info.hint) return key + 'n' + info.chunk + '\0' + info.name;
  if (info.addr == 0)  // Called by FFI through a pointer: only the VM's id says which it is.
    return key + 'i' + std::to_string(info.stream) + ':' + std::to_string(info.id);
  return key + 'a' + std::to_string(process) + ':' + std::to_string(info.addr);
}

std::string identity(const Function& f) {
  if (f.type == kGroupType) return (f.coroutine ? "G" : "g") + f.name;
  return identity(f, f.process);
}

Function make(const FunctionInfo& info, ProcessId process) {
  return {info.type, info.hint, info.firstline, info.lastline, info.fileofs, process,
          info.addr, info.id,   info.chunk,     info.name,     info.stream,  false};
}

// Merges another description of the same function. A name from the definition beats one from a
// call; among equals the alphabetically first wins, as in reports (take_name()).
void take_better(Function& f, const FunctionInfo& info, ProcessId process) {
  if (!info.name.empty() &&
      (f.name.empty() || std::tie(info.hint, info.name) < std::tie(f.hint, f.name))) {
    f.name = info.name;
    f.hint = info.hint;
  }
  if (info.stream >= f.stream) return;
  Function lower = make(info, process);
  lower.name = std::move(f.name);
  lower.hint = f.hint;
  f = std::move(lower);
}

}  // namespace

std::string line_text(uint32_t firstline) {
  if (!(firstline & LT_LINE_CODE)) return std::to_string(firstline);
  char text[16];
  std::snprintf(text, sizeof text, "#%08x", firstline & ~LT_LINE_CODE);
  return text;
}

FunctionTable::FunctionTable() : functions_(kPrunedFunction + 1) {
  functions_[kPrunedFunction].type = kPrunedType;
  functions_[kPrunedFunction].name = "[pruned]";
}

FunctionId FunctionTable::add(const FunctionInfo& info, ProcessId process) {
  if (is_in_bytecode(info)) return add(as_library_function(info), process);
  std::lock_guard lock(mutex_);
  const FunctionId index = add_locked(info, process);
  by_id_.try_emplace(pair_key(info.stream, info.id), index);
  return index;
}

// Returns kNoFunction if there is none.
FunctionId FunctionTable::find_identity(const std::string& key) const {
  const auto [begin, end] = by_identity_.equal_range(std::hash<std::string>()(key));
  for (auto it = begin; it != end; ++it)
    if (identity(functions_[it->second]) == key) return it->second;
  return kNoFunction;
}

// Returns the function with this identity and false, or the next index, at which the caller must
// add it, and true.
std::pair<FunctionId, bool> FunctionTable::find_or_add(const std::string& key) {
  if (const FunctionId found = find_identity(key)) return {found, false};
  const FunctionId next(static_cast<uint32_t>(functions_.size()));
  by_identity_.emplace(std::hash<std::string>()(key), next);
  return {next, true};
}

FunctionId FunctionTable::add_locked(const FunctionInfo& info, ProcessId process) {
  const auto [index, fresh] = find_or_add(identity(info, process));
  if (fresh)
    functions_.push_back(make(info, process));
  else
    take_better(functions_[index], info, process);
  return index;
}

FunctionId FunctionTable::add_undescribed(StreamId stream, VmFunctionId id, ProcessId process) {
  std::lock_guard lock(mutex_);
  Function f;
  f.stream = stream;
  f.id = id;
  f.process = process;
  functions_.push_back(f);
  return FunctionId(static_cast<uint32_t>(functions_.size() - 1));
}

FunctionId FunctionTable::add_group(const std::string& name, bool coroutine) {
  std::lock_guard lock(mutex_);
  Function f;
  f.type = kGroupType;
  f.coroutine = coroutine;
  f.name = name;
  const auto [index, fresh] = find_or_add(identity(f));
  if (fresh) functions_.push_back(std::move(f));
  return index;
}

FunctionId FunctionTable::describe(FunctionId index, const FunctionInfo& info, ProcessId process) {
  if (is_in_bytecode(info)) return describe(index, as_library_function(info), process);
  std::lock_guard lock(mutex_);
  if (index == kNoFunction) return add_locked(info, process);
  Function& known = functions_[index];
  if (known.type == 0) return known = make(info, process), index;
  if (identity(known) != identity(info, process)) return add_locked(info, process);
  take_better(known, info, process);
  return index;
}

Function FunctionTable::copy(FunctionId index) const {
  std::lock_guard lock(mutex_);
  return functions_[index];
}

uint16_t FunctionTable::type(FunctionId index) const {
  std::lock_guard lock(mutex_);
  return functions_[index].type;
}

const Function* FunctionTable::find(const Function& other) const {
  if (other.type == 0) {
    auto it = by_id_.find(pair_key(other.stream, other.id));
    return it == by_id_.end() ? nullptr : &functions_[it->second];
  }
  const FunctionId found = find_identity(identity(other));
  return found ? &functions_[found] : nullptr;
}

void IdMap::define(const FunctionInfo& info) {
  FunctionId* known = slot(info.id);
  *known = table_.describe(*known, info, process_);
}

// Returns the slot for the index of `id`.
FunctionId* IdMap::slot(uint64_t id) {
  if (id < dense_.size()) return &dense_[id];
  if (!sparse_.contains(id)) seen_++;
  if (id < kInitialSlots + kSlotsPerId * seen_) {
    size_t old = dense_.size();
    dense_.resize(id + 1 + id / 2);
    for (auto it = sparse_.begin(); it != sparse_.end();) {
      bool moves = it->first >= old && it->first < dense_.size();
      if (moves) dense_[it->first] = it->second;
      it = moves ? sparse_.erase(it) : std::next(it);
    }
  }
  return id < dense_.size() ? &dense_[id] : &sparse_[id];
}

FunctionId IdMap::look_up_or_add(VmFunctionId id) {
  FunctionId* known = slot(id);
  if (*known == kNoFunction) {
    *known = table_.add_undescribed(stream_, id, process_);
    trust_.undescribed++;
  }
  return *known;
}

}  // namespace luatrace::analyze
