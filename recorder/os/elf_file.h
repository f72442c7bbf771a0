// SPDX-License-Identifier: MIT
// The parts of ELF that a recorder needs: program headers and notes, of a file or of an image in
// the memory of a process. The data belongs to the traced program and may be hostile. Invariant:
// whatever the file claims, a bounded number of bytes is read and kept (the constants below);
// anything beyond is ignored. 64-bit little-endian files only, as on x86-64
// and arm64.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace::record {

constexpr size_t kMaxSegments = 256;  // more: not an ELF file for us
constexpr size_t kMaxNoteParts = 32;  // segments or sections of notes of a file that are read
constexpr size_t kMaxNoteBytes = 256 << 10;  // of each, and of all segments together

// Reads that many bytes from an offset (or address). False if they do not all exist.
using ReadAt = std::function<bool(uint64_t at, void* to, size_t size)>;

// From a descriptor, which is neither moved nor closed.
ReadAt reader_of(int fd);

// The processor that this recorder is for, an e_machine.
#if defined(__aarch64__)
inline constexpr uint16_t kMachine = EM_AARCH64;
#else
inline constexpr uint16_t kMachine = EM_X86_64;
#endif

// That of an ELF file, of either size and byte order; 0: it is none.
uint16_t machine_of(const ReadAt& read);
// "arm64"; for a reader.
std::string machine_name(uint16_t machine);

struct ElfHead {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
};

// Empty if it is not such a file. read: by offset in the file.
std::optional<ElfHead> read_elf_head(const ReadAt& read);

struct ElfNote {
  std::string_view owner;  // without the NUL
  uint32_t type = 0;
  std::string_view text;
  size_t text_offset = 0;  // in the bytes that were given
};

// Calls `take` for each note until it returns false. align: of the segment or section, 8 or
// anything else, which means 4. Returns false if `take` did.
bool each_note(std::string_view bytes, uint64_t align,
               const std::function<bool(const ElfNote&)>& take);

// The build-id of a file; empty if it has none of up to 32 bytes.
std::vector<std::byte> read_build_id(const ReadAt& read);

}  // namespace luatrace::record
