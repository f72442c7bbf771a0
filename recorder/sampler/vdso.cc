// SPDX-License-Identifier: MIT
#include "recorder/sampler/vdso.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace luatrace::record::sampler {
namespace {

constexpr size_t kMaxFunctions = 256, kMaxName = 128;

template <class T>
bool take(const std::string& image, uint64_t at, T& to) {
  if (at > image.size() || image.size() - at < sizeof to) return false;
  std::memcpy(&to, image.data() + at, sizeof to);
  return true;
}

std::string name_at(const std::string& image, const Elf64_Shdr& names, uint64_t at) {
  if (at >= names.sh_size || names.sh_offset >= image.size() ||
      at >= image.size() - names.sh_offset)
    return "";
  const char* const text = image.data() + names.sh_offset + at;
  return std::string(
      text, strnlen(text, std::min<uint64_t>(image.size() - names.sh_offset - at, kMaxName)));
}

void add_functions(const std::string& image, const Elf64_Shdr& symbols, const Elf64_Shdr& names,
                   std::vector<VdsoFunction>& out) {
  Elf64_Sym s;
  for (uint64_t at = 0;
       at < symbols.sh_size && take(image, symbols.sh_offset + at, s) && out.size() < kMaxFunctions;
       at += sizeof s) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const VdsoFunction& f) { return f.begin == s.st_value; });
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_size == 0 || known) continue;
    std::string name = name_at(image, names, s.st_name);
    if (!name.empty()) out.push_back({s.st_value, s.st_value + s.st_size, std::move(name)});
  }
}

}  // namespace

std::vector<VdsoFunction> vdso_functions(const std::string& image) {
  std::vector<VdsoFunction> found;
  Elf64_Ehdr head;
  if (!take(image, 0, head) || head.e_shentsize != sizeof(Elf64_Shdr)) return found;
  for (uint64_t i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr symbols, names;
    if (!take(image, head.e_shoff + i * sizeof symbols, symbols)) break;
    if (symbols.sh_type == SHT_DYNSYM && symbols.sh_link < head.e_shnum &&
        take(image, head.e_shoff + symbols.sh_link * sizeof names, names))
      add_functions(image, symbols, names, found);
  }
  return found;
}

}  // namespace luatrace::record::sampler
