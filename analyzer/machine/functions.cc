// SPDX-License-Identifier: MIT
#include "analyzer/machine/functions.h"

#include <cstdio>
#include <string_view>
#include <tuple>
#include <utility>

#include "luatrace_work.h"

namespace luatrace::analyze {
namespace {

// Parts of LuaJIT's library are bytecode (LJLIB_LUA in lib_*.c). For the VM these are prototypes
// without lines whose chunk name is the function's name (lib_read_lfunc() in lj_lib.c); for users
// they are library functions like the others.
constexpr uint32_t kNoLine = UINT32_MAX;
constexpr std::pair<std::string_view, std::string_view> kInBytecode[] = {
    {"deg", "math."},   {"rad", "math."},       {"len", "string."}, {"foreach", "table."},
    {"move", "table."}, {"foreachi", "table."}, {"getn", "table."}, {"remove", "table."}};

Function make(const FunctionInfo& info, ProcessId process) {
  Function f{info, process};
  if (f.type != LT_FUNC_LUA || f.firstline != kNoLine) return f;
  f.type = LT_FUNC_FF;
  f.name = std::exchange(f.chunk, {});
  f.hint = false;
  f.firstline = f.lastline = 0;
  for (const auto& [name, library] : kInBytecode)
    if (f.name == name) return f.name.insert(0, library), f;
  return f;
}

// Returns a string that is equal for equal identities only (NUL cannot occur in chunk or name). It
// contains nothing that became known later (names from calls).
std::string identity(const Function& f) {
  if (f.type == kGroupType) return (f.coroutine ? "G" : "g") + f.name;
  if (f.type == kUnknownFrameType) return "u";
  std::string key(1, static_cast<char>('0' + f.type));
  if (f.type == LT_FUNC_LUA) return key + std::to_string(f.firstline) + ':' + f.chunk;
  if (!f.name.empty() && !f.hint) return key + 'n' + f.chunk + '\0' + f.name;
  if (f.addr == 0)  // Called by FFI through a pointer: only the VM's id tells such functions apart.
    return key + 'i' + std::to_string(f.stream) + ':' + std::to_string(f.id);
  return key + 'a' + std::to_string(f.process) + ':' + std::to_string(f.addr);
}

// Merges another description of the same function. A name from the definition beats one from a
// call; among equals the alphabetically first wins, as in reports (take_name()).
void take_better(Function& f, const Function& other) {
  if (!other.name.empty() &&
      (f.name.empty() || std::tie(other.hint, other.name) < std::tie(f.hint, f.name))) {
    f.name = other.name;
    f.hint = other.hint;
  }
  if (other.stream >= f.stream) return;
  Function lower = other;
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
  std::lock_guard lock(mutex_);
  const FunctionId index = add_locked(make(info, process));
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

// Returns the index of the function with the identity of `f`, and whether it was added.
std::pair<FunctionId, bool> FunctionTable::find_or_add(const Function& f) {
  const std::string key = identity(f);
  if (const FunctionId found = find_identity(key)) return {found, false};
  const FunctionId next(static_cast<uint32_t>(functions_.size()));
  by_identity_.emplace(std::hash<std::string>()(key), next);
  functions_.push_back(f);
  return {next, true};
}

FunctionId FunctionTable::add_locked(const Function& f) {
  const auto [index, fresh] = find_or_add(f);
  if (!fresh) take_better(functions_[index], f);
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
  return find_or_add(f).first;
}

FunctionId FunctionTable::add_unknown_frame() {
  std::lock_guard lock(mutex_);
  Function f;
  f.type = kUnknownFrameType;
  f.name = "[unknown]";
  return find_or_add(f).first;
}

FunctionId FunctionTable::describe(FunctionId index, const FunctionInfo& info, ProcessId process) {
  const Function described = make(info, process);
  std::lock_guard lock(mutex_);
  if (index == kNoFunction) return add_locked(described);
  Function& known = functions_[index];
  if (known.type == 0) return known = described, index;
  if (identity(known) != identity(described)) return add_locked(described);
  take_better(known, described);
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
  if (info.type == LT_FUNC_FF && info.ffid == LT_FF_REASON) return;  // Never called.
  FunctionId* known = slot(info.id);
  *known = table_.describe(*known, info, process_);
}

// Not clear(), whose time grows with the largest number of ids that there ever was: a trace may
// have many recordings.
void IdMap::forget() {
  dense_.clear();
  seen_ = 0;
  decltype(sparse_)().swap(sparse_);
}

// A section is described as the main chunk of its name.
VmFunctionId IdMap::section(const std::string& name) {
  constexpr size_t kMax = kEarlierSection - 4;  // The names after it are one section.
  const bool fits = sections_.size() < kMax;
  const auto [it, fresh] = sections_.try_emplace(fits ? name : "...");
  if (fresh) it->second = VmFunctionId(kFirstSection + static_cast<uint32_t>(sections_.size()));
  if (sparse_.contains(it->second)) return it->second;
  FunctionInfo info;
  info.stream = stream_;
  info.id = it->second;
  info.type = LT_FUNC_LUA;
  info.chunk = kSectionChunk + it->first;
  const FunctionId index = table_.add(info, process_);
  for (const uint32_t kind : {uint32_t{0}, kEndedSection, kEarlierSection})
    sparse_[VmFunctionId(it->second | kind)] = index;
  return it->second;
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
