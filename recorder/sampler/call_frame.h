// SPDX-License-Identifier: MIT
// Call frame information of C code (.eh_frame, DWARF 5 section 6.4, LSB): how a function's caller
// is found. x86-64. The data belongs to the traced process and may be hostile. Invariant:
// everything is bounded by its own size and by the constants below; what is not understood gives no
// row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace::record::sampler {

// Registers by DWARF's numbers.
enum : uint8_t { kRbx = 3, kRbp = 6, kRsp = 7, kRip = 16, kRegisters = 17 };

struct Registers {
  std::array<uint64_t, kRegisters> value{};
  uint32_t known = 0;  // bits
  void set(size_t number, uint64_t v) {
    value[number] = v;
    known |= 1u << number;
  }
  bool has(size_t number) const { return number < kRegisters && (known >> number & 1) != 0; }
};

// A copy of a part of a C stack.
class StackCopy {
 public:
  StackCopy(uint64_t address, std::string_view bytes) : address_(address), bytes_(bytes) {}
  bool read(uint64_t address, uint64_t& value) const;

 private:
  uint64_t address_;
  std::string_view bytes_;
};

// How to find a register of the caller. For the canonical frame address (CFA): kOffset is from the
// register `cfa_register`.
struct Rule {
  enum Kind : uint8_t {
    kSame,
    kUndefined,
    kOffset,      // at CFA + value
    kValOffset,   // CFA + value
    kRegister,    // in register `value`
    kExpression,  // at the address that expression `value` computes
    kValExpression
  } kind = kSame;
  int64_t value = 0;
};

// The rules at one address.
struct Row {
  Rule cfa;
  uint8_t cfa_register = kRsp;
  bool signal = false;  // a signal handler returns to it: the address is that of an instruction
  uint64_t begin = 0;   // of its function
  std::array<Rule, kRegisters> rules;
  std::vector<std::string> expressions;

  // From a function's registers to its caller's. False: not known.
  bool step(Registers& r, const StackCopy& stack) const;
  size_t memory() const;  // bytes
  // Is it the outermost function?
  bool is_outermost() const { return rules[kRip].kind == Rule::kUndefined; }
};

// An entry of .eh_frame, and the common one to which it refers, each without its length.
struct FrameEntry {
  uint64_t address = 0, common_address = 0;  // of the bytes
  std::string bytes, common;
};
constexpr size_t kMaxEntry = 64 << 10;  // bytes of an entry

// Empty: the entry has none for that address, or is not understood.
std::optional<Row> row_of(const FrameEntry& entry, uint64_t pc);

}  // namespace luatrace::record::sampler
