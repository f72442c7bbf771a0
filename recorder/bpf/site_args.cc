// SPDX-License-Identifier: MIT
// A register is the number of its word in what the kernel passes to a BPF program: struct pt_regs
// of x86-64, struct user_pt_regs of arm64.
#include "recorder/bpf/site_args.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace luatrace::record::bpf {
namespace {

constexpr std::array<std::array<const char*, 4>, 15> kX64 = {{
    {"r15", "r15d", "r15w", "r15b"},
    {"r14", "r14d", "r14w", "r14b"},
    {"r13", "r13d", "r13w", "r13b"},
    {"r12", "r12d", "r12w", "r12b"},
    {"rbp", "ebp", "bp", "bpl"},
    {"rbx", "ebx", "bx", "bl"},
    {"r11", "r11d", "r11w", "r11b"},
    {"r10", "r10d", "r10w", "r10b"},
    {"r9", "r9d", "r9w", "r9b"},
    {"r8", "r8d", "r8w", "r8b"},
    {"rax", "eax", "ax", "al"},
    {"rcx", "ecx", "cx", "cl"},
    {"rdx", "edx", "dx", "dl"},
    {"rsi", "esi", "si", "sil"},
    {"rdi", "edi", "di", "dil"},
}};

template <class T>
bool parse_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value);
  return r.ec == std::errc() && r.ptr == end;
}

std::optional<uint8_t> x64_register(std::string_view name) {
  for (size_t r = 0; r < kX64.size(); r++)
    for (const char* known : kX64[r])
      if (name == known) return static_cast<uint8_t>(r);
  return std::nullopt;
}

std::optional<uint8_t> arm64_register(std::string_view name) {
  constexpr uint8_t kLast = 30;
  uint8_t number = 0;
  if (!name.starts_with('x') && !name.starts_with('w')) return std::nullopt;
  if (!parse_number(name.substr(1), number) || number > kLast) return std::nullopt;
  return number;
}

// What follows the @: a register or a constant.
bool parse_place(uint16_t machine, std::string_view text, ltb_arg& arg) {
  const bool x64 = machine == EM_X86_64;
  const bool has_sign = x64 && (text.starts_with('%') || text.starts_with('$'));
  const std::string_view name = text.substr(has_sign ? 1 : 0);
  arg.type = LTB_CONST;
  if ((!x64 || text.starts_with('$')) && parse_number(name, arg.value)) return true;
  arg.type = LTB_REG;
  const auto number = !x64                    ? arm64_register(name)
                      : text.starts_with('%') ? x64_register(name)
                                              : std::nullopt;
  arg.reg = number.value_or(0);
  return number.has_value();
}

// "-4@%edi": size, then the place.
bool parse_arg(uint16_t machine, std::string_view text, ltb_arg& arg) {
  const size_t at = text.find('@');
  int size = 0;
  if (at == text.npos || !parse_number(text.substr(0, at), size)) return false;
  if (size != 4 && size != -4 && size != 8 && size != -8) return false;
  arg.size = static_cast<int8_t>(size);
  return parse_place(machine, text.substr(at + 1), arg);
}

}  // namespace

bool parse_site_args(uint16_t machine, std::string_view text,
                     std::array<ltb_arg, LTB_NARGS>& args) {
  args = {};
  size_t n = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (n == args.size() || !parse_arg(machine, text.substr(0, end), args[n++])) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace luatrace::record::bpf
