// SPDX-License-Identifier: MIT
// What differs between LuaJITs comes from the note (struct lt_note); what all of version 2.1 with
// GC64 have in common is here. Everything that is read by these numbers is untrusted.
#pragma once

#include <cstdint>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::record::stack {

struct Layout {
  lt_note note{};
  std::vector<uint16_t> modes;  // operands of each instruction
  uint64_t vm_begin = 0;        // code of the interpreter, at that address
};

// Members of each object of the collector: the next one, and its type.
constexpr uint64_t kNext = 0, kType = 9;
enum ObjectType : uint8_t {
  kString = 4,
  kThread = 6,
  kPrototype = 7,
  kFunction = 8,
  kTrace = 9,
  kLastType = 12
};

// A slot of a stack: the type above the address.
constexpr int kTagShift = 47;
constexpr uint64_t kAddressMask = (1ull << kTagShift) - 1;
constexpr uint64_t kSlot = 8, kFrameSlots = 2;
constexpr bool is_tagged(uint64_t slot, ObjectType type) {
  return slot >> kTagShift == (~uint64_t{type} & 0x1ffff);
}

// Instructions: operands.
constexpr uint32_t ins_op(uint32_t ins) {
  return ins & 0xff;
}
constexpr uint32_t ins_a(uint32_t ins) {
  return ins >> 8 & 0xff;
}
constexpr uint32_t ins_b(uint32_t ins) {
  return ins >> 24;
}
constexpr uint32_t ins_c(uint32_t ins) {
  return ins >> 16 & 0xff;
}
constexpr uint32_t ins_d(uint32_t ins) {
  return ins >> 16;
}
// A mode: what operand A is, and the metamethod.
enum OperandMode { kModeTarget = 1, kModeBase = 2 };
constexpr int mode_a(uint16_t mode) {
  return mode & 7;
}
constexpr int mode_metamethod(uint16_t mode) {
  return mode >> 11;
}

}  // namespace luatrace::record::stack
