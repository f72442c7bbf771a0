// SPDX-License-Identifier: MIT
// The reader of ELF headers and notes on damaged files and files that claim too much: it ends,
// reads no more than its limits, and returns nothing outside its input.
#include "recorder/os/elf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace luatrace::record {
namespace {

void append_note(std::string& bytes, const std::string& owner, uint32_t type,
                 const std::string& text) {
  const Elf64_Nhdr n{static_cast<Elf64_Word>(owner.size() + 1),
                     static_cast<Elf64_Word>(text.size()), type};
  bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
  for (const std::string& part : {owner + '\0', text}) {
    bytes += part;
    bytes.resize((bytes.size() + 3) / 4 * 4);
  }
}

std::string some_notes() {
  std::string bytes;
  append_note(bytes, "GNU", NT_GNU_BUILD_ID, "12345678901234567890");
  append_note(bytes, "luatrace", 1, std::string(248, 'x'));
  append_note(bytes, "", 7, "");
  return bytes;
}

std::string file_of(const Elf64_Ehdr& h) {
  return {reinterpret_cast<const char*>(&h), sizeof h};
}

Elf64_Ehdr good_header(uint16_t segments) {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_phoff = sizeof h;
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phnum = segments;
  return h;
}

ReadAt reader_of(const std::string& file, size_t& largest_read) {
  return [&](uint64_t at, void* to, size_t size) {
    largest_read = std::max(largest_read, size);
    if (at > file.size() || size > file.size() - at) return false;
    std::memcpy(to, file.data() + at, size);
    return true;
  };
}

TEST(ElfFile, NotesInOrder) {
  const std::string bytes = some_notes();
  std::string seen;
  EXPECT_TRUE(each_note(bytes, 4, [&](const ElfNote& n) {
    EXPECT_EQ(bytes.substr(n.text_offset, n.text.size()), n.text);
    seen += std::string(n.owner) + ":" + std::to_string(n.type) + ":" +
            std::to_string(n.text.size()) + " ";
    return true;
  }));
  EXPECT_EQ("GNU:3:20 luatrace:1:248 :7:0 ", seen);
  EXPECT_FALSE(each_note(bytes, 4, [](const ElfNote& n) { return n.owner != "luatrace"; }));
}

TEST(ElfFile, DamagedNotesStayInside) {
  const std::string good = some_notes();
  std::mt19937 random(1);
  size_t notes = 0;
  for (int i = 0; i < 20000; i++) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (int k = 0; k < 4 && !bytes.empty(); k++)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    each_note(bytes, random() % 2 == 0 ? 4 : 8, [&](const ElfNote& n) {
      EXPECT_LE(n.text_offset + n.text.size(), bytes.size());
      EXPECT_LE(n.owner.data() + n.owner.size(), bytes.data() + bytes.size());
      return ++notes > 0;
    });
  }
  EXPECT_GT(notes, 1000u);
}

TEST(ElfFile, HeadsThatClaimTooMuch) {
  size_t largest_read = 0;
  std::string file = file_of(good_header(1)) + std::string(sizeof(Elf64_Phdr), 0);
  EXPECT_TRUE(read_elf_head(reader_of(file, largest_read)).has_value());
  for (const uint16_t segments : {uint16_t{0}, uint16_t{kMaxSegments + 1}, uint16_t{PN_XNUM}})
    EXPECT_FALSE(read_elf_head(
        reader_of(file_of(good_header(segments)) + std::string(1 << 20, 0), largest_read)));
  Elf64_Ehdr h = good_header(kMaxSegments);
  h.e_phoff = ~0ull - 7;
  EXPECT_FALSE(read_elf_head(reader_of(file = file_of(h), largest_read)));
  h.e_phentsize = 1;
  EXPECT_FALSE(read_elf_head(reader_of(file = file_of(h), largest_read)));
  EXPECT_LE(largest_read, kMaxSegments * sizeof(Elf64_Phdr));
}

}  // namespace
}  // namespace luatrace::record
