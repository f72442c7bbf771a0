// SPDX-License-Identifier: MIT
// ELF, as far as a recorder needs it; see elf_file.h. libelf is not used: it allocates a structure
// for each section that a file claims to have before anything of it is examined.
#include "recorder/os/elf_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace luatrace::record {
namespace {

size_t aligned(size_t n, size_t align) {
  return (n + align - 1) & ~(align - 1);
}

}  // namespace

ReadAt reader_of(int fd) {
  return [fd](uint64_t at, void* to, size_t size) {
    if (at > static_cast<uint64_t>(INT64_MAX) - size) return false;
    return pread(fd, to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  };
}

uint16_t machine_of(const ReadAt& read) {
  unsigned char ident[EI_NIDENT], machine[2];
  if (!read(0, ident, sizeof ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0 ||
      !read(offsetof(Elf64_Ehdr, e_machine), machine, sizeof machine))
    return 0;
  const bool swapped = ident[EI_DATA] == ELFDATA2MSB;
  return static_cast<uint16_t>(machine[swapped ? 1 : 0] | machine[swapped ? 0 : 1] << 8);
}

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "arm64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC:
      return "ppc";
    case EM_PPC64:
      return "ppc64";
    case EM_MIPS:
      return "mips";
    case EM_S390:
      return "s390x";
    default:
      return "another processor (ELF machine " + std::to_string(machine) + ")";
  }
}

std::optional<ElfHead> read_elf_head(const ReadAt& read) {
  ElfHead head;
  Elf64_Ehdr& h = head.header;
  if (!read(0, &h, sizeof h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
      h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
      h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0 || h.e_phnum > kMaxSegments)
    return std::nullopt;
  head.segments.resize(h.e_phnum);
  if (!read(h.e_phoff, head.segments.data(), h.e_phnum * sizeof(Elf64_Phdr))) return std::nullopt;
  return head;
}

bool each_note(std::string_view bytes, uint64_t align,
               const std::function<bool(const ElfNote&)>& take) {
  const size_t step = align == 8 ? 8 : 4;
  for (size_t at = 0; bytes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr n;
    std::memcpy(&n, bytes.data() + at, sizeof n);
    const size_t owner = at + sizeof n;
    if (n.n_namesz > bytes.size() - owner) return true;
    const size_t text = aligned(owner + n.n_namesz, step);
    if (text > bytes.size() || n.n_descsz > bytes.size() - text) return true;
    std::string_view name = bytes.substr(owner, n.n_namesz);
    name = name.substr(0, name.find('\0'));
    if (!take({name, n.n_type, bytes.substr(text, n.n_descsz), text})) return false;
    at = std::min(aligned(text + n.n_descsz, step), bytes.size());
  }
  return true;
}

std::vector<std::byte> read_build_id(const ReadAt& read) {
  std::vector<std::byte> id;
  const auto head = read_elf_head(read);
  if (!head) return id;
  size_t parts = 0, left = kMaxNoteBytes;
  for (const Elf64_Phdr& p : head->segments) {
    if (p.p_type != PT_NOTE || p.p_filesz > left || ++parts > kMaxNoteParts) continue;
    left -= p.p_filesz;
    std::string bytes(p.p_filesz, 0);
    if (!read(p.p_offset, bytes.data(), bytes.size())) continue;
    const bool none = each_note(bytes, p.p_align, [&](const ElfNote& n) {
      if (n.owner != ELF_NOTE_GNU || n.type != NT_GNU_BUILD_ID) return true;
      const auto* text = reinterpret_cast<const std::byte*>(n.text.data());
      if (!n.text.empty() && n.text.size() <= 32) id.assign(text, text + n.text.size());
      return false;
    });
    if (!none) break;
  }
  return id;
}

}  // namespace luatrace::record
