// SPDX-License-Identifier: MIT
#include "recorder/sampler/kernel_symbols.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace luatrace::record::sampler {

void KernelSymbols::load() {
  std::ostringstream text;
  text << std::ifstream("/proc/kallsyms").rdbuf();
  read(std::move(text).str());
}

// "ffffffff81000000 T name\t[module]"
void KernelSymbols::read(std::string text) {
  text_ = std::move(text);
  symbols_.clear();
  for (size_t at = 0; at < text_.size();) {
    const size_t end = std::min(text_.find('\n', at), text_.size());
    const std::string_view line = std::string_view(text_).substr(at, end - at);
    Symbol s{};
    const auto [rest, error] =
        std::from_chars(line.data(), line.data() + line.size(), s.address, 16);
    const auto type = static_cast<size_t>(rest - line.data()) + 1, name = type + 2;
    if (error == std::errc() && s.address != 0 && name < line.size() &&
        std::string_view("tTwW").find(line[type]) != std::string_view::npos) {
      const size_t tab = line.find('\t', name), stop = std::min(tab, line.size());
      s.name = static_cast<uint32_t>(at + name);
      s.name_size = static_cast<uint32_t>(stop - name);
      if (tab != line.npos && line.size() > tab + 3 && line.back() == ']') {
        s.module = static_cast<uint32_t>(at + tab + 2);
        s.module_size = static_cast<uint32_t>(line.size() - tab - 3);
      }
      symbols_.push_back(s);
    }
    at = end + 1;
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
}

uint32_t KernelSymbols::find(uint64_t address) const {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](uint64_t a, const Symbol& s) { return a < s.address; });
  if (after == symbols_.begin()) return kNone;
  // What is beyond the kernel's own code was loaded later: a module, or a BPF program.
  if (name(static_cast<uint32_t>(std::prev(after) - symbols_.begin())) == "_einittext")
    return kNone;
  // Of several names of one address the first one.
  const auto first = std::lower_bound(symbols_.begin(), after, std::prev(after)->address,
                                      [](const Symbol& s, uint64_t a) { return s.address < a; });
  return static_cast<uint32_t>(first - symbols_.begin());
}

std::string_view KernelSymbols::name(uint32_t number) const {
  if (number >= symbols_.size()) return "[kernel]";
  const Symbol& s = symbols_[number];
  return std::string_view(text_).substr(s.name, s.name_size);
}

std::string_view KernelSymbols::module(uint32_t number) const {
  if (number >= symbols_.size()) return "";
  const Symbol& s = symbols_[number];
  return std::string_view(text_).substr(s.module, s.module_size);
}

}  // namespace luatrace::record::sampler
