// SPDX-License-Identifier: MIT
// Prototypes: copies of the Lua functions' code, with what a traceback says of them: lines, and
// names as LuaJIT finds them (lj_debug.c; lj_ltfunc.c for the name of the definition). Invariants:
// a prototype is copied as a whole and once; everything inside is checked against the copy's size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "recorder/stack/layout.h"
#include "recorder/stack/memory.h"

namespace luatrace::record::stack {

constexpr uint32_t kNoPosition = UINT32_MAX;

struct Proto {
  uint64_t address = 0;
  std::string bytes;  // the GCproto and everything that is allocated with it
  std::string chunk;  // up to kMaxChunk bytes
  uint32_t first_line = 0, lines = 0;
  uint32_t size = 0;  // instructions
};

class Prototypes {
 public:
  // Both must outlive this object.
  Prototypes(Memory& memory, const Layout& layout) : memory_(memory), layout_(layout) {}

  // The prototype at that address, or null.
  const Proto* find(uint64_t address);
  // The one whose code has that address, which is after its first instruction; null: not found.
  const Proto* find_by_code(uint64_t pc);
  // The number of the instruction before that address, or kNoPosition.
  uint32_t position(const Proto& p, uint64_t pc) const;
  // 0: not known.
  uint32_t line(const Proto& p, uint32_t position) const;
  // The name to which a prototype's definition is assigned, as far as the code around it was read.
  std::string defined_name(const Proto& p) const;
  // The name by which the instruction calls its function; empty: it has none.
  std::string call_name(const Proto& p, uint32_t position);
  size_t memory() const;  // bytes of what is known

 private:
  std::unique_ptr<Proto> copy(uint64_t address);
  void name_definitions(const Proto& p);
  std::string definition_name(const Proto& p, uint32_t position);
  std::string slot_name(const Proto& p, uint32_t position, uint32_t slot);
  std::string local_name(const Proto& p, uint32_t position, uint32_t slot) const;
  std::string upvalue_name(const Proto& p, uint32_t index) const;
  std::string constant_name(const Proto& p, uint32_t index);
  uint64_t constant(const Proto& p, uint32_t index) const;
  std::string string_at(uint64_t address, size_t max);
  uint32_t instruction(const Proto& p, uint32_t position) const;
  uint16_t mode(uint32_t op) const { return op < layout_.modes.size() ? layout_.modes[op] : 0; }
  bool is_op(uint32_t ins, int32_t op) const { return ins_op(ins) == static_cast<uint32_t>(op); }
  // Where a pointer into the copy points, or the copy's size.
  size_t inside(const Proto& p, int32_t member) const;

  Memory& memory_;
  const Layout& layout_;
  std::unordered_map<uint64_t, std::unique_ptr<Proto>> known_;  // null: nothing valid is there
  std::unordered_map<uint64_t, std::string> names_;             // of definitions, by address
  size_t copied_ = 0;                                           // bytes
};

}  // namespace luatrace::record::stack
