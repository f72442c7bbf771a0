// SPDX-License-Identifier: MIT
// The functions of the running kernel, from /proc/kallsyms. Invariant: an address has the function
// that begins before it, or none if the kernel hides its addresses, or the code was loaded later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace::record::sampler {

class KernelSymbols {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Reads them from the kernel, which may take 100 ms.
  void load();
  // Number of the function; kNone: not known, or nothing was loaded.
  uint32_t find(uint64_t address) const;
  std::string_view name(uint32_t number) const;
  // "" if it is in none.
  std::string_view module(uint32_t number) const;

  // For tests: the content of such a file.
  void read(std::string text);

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name, name_size, module, module_size;
  };

  std::string text_;
  std::vector<Symbol> symbols_;  // sorted
};

}  // namespace luatrace::record::sampler
