// SPDX-License-Identifier: MIT
// Processes with ELF files that make a search for LuaJITs expensive, or let it wait.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "recorder/vm/lua_image.h"
#include "tests/recorder/child.h"
#include "tests/recorder/silent_files.h"

namespace luatrace::record {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kFile = 5 * kPage, kNoteAt = 4 * kPage;
constexpr uint64_t kBase = 0x200000000000, kOther = 0x210000000000;  // in the child

Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
                   uint64_t size) {
  Elf64_Phdr p{};
  p.p_type = type;
  p.p_flags = flags;
  p.p_offset = offset;
  p.p_vaddr = address;
  p.p_filesz = p.p_memsz = size;
  p.p_align = 4;
  return p;
}

// The contents of an ELF file with our note at kNoteAt.
std::vector<char> elf_file(const std::vector<Elf64_Phdr>& segments) {
  std::vector<char> bytes(kFile);
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_version = EV_CURRENT;
  head.e_phoff = head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = static_cast<Elf64_Half>(segments.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(&bytes[sizeof head], segments.data(), segments.size() * sizeof segments[0]);
  const Elf64_Nhdr note{sizeof LT_NOTE_NAME, sizeof(lt_note), LT_NOTE_TYPE};
  std::memcpy(&bytes[kNoteAt], &note, sizeof note);
  std::memcpy(&bytes[kNoteAt + sizeof note], LT_NOTE_NAME, sizeof LT_NOTE_NAME);
  return bytes;
}

// In a child: maps that file at kBase, as code.
void map_elf(const std::vector<Elf64_Phdr>& segments) {
  const auto bytes = elf_file(segments);
  const int fd = memfd_create("elf", 0);
  if (write(fd, bytes.data(), bytes.size()) < 0) _exit(1);
  mmap(reinterpret_cast<void*>(kBase), kFile, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
       0);
}

TEST(LuaImage, ANoteInASilentFileIsNotWaitedFor) {
  SilentFiles files("/bin/sleep");
  if (!files.works()) GTEST_SKIP() << "no FUSE here";
  const Child child([&] {
    map_elf({segment(PT_LOAD, PF_R | PF_X, 0, 0, kFile),
             segment(PT_NOTE, PF_R, kNoteAt, kOther - kBase, 256)});
    const int fd = open(files.file().c_str(), O_RDONLY);
    mmap(reinterpret_cast<void*>(kOther), kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
    close(fd);  // later that would wait
  });
  files.stop_answering();
  EXPECT_TRUE(find_lua(child.pid()).ours.empty());
}

TEST(LuaImage, SlowFileSystemsAreNotWaitedForWithoutEnd) {
  const Child child([] {});
  EXPECT_TRUE(find_lua(child.pid()).unusable.empty());
  const LuaSearch search = find_lua(child.pid(), 0);
  ASSERT_EQ(1u, search.unusable.size());
  EXPECT_NE(std::string::npos, search.unusable[0].find("too slowly")) << search.unusable[0];
}

// 250 segments, each of which overlaps 40,000 mappings: 10,000,000 comparisons for one file.
TEST(LuaImage, SegmentsThatOverlapManyMappings) {
  constexpr size_t kMany = 40'000 * kPage;
  std::vector<Elf64_Phdr> segments = {segment(PT_LOAD, PF_R, 0, 0, kFile),
                                      segment(PT_NOTE, PF_R, kNoteAt, kNoteAt, 512)};
  segments.resize(252, segment(PT_LOAD, PF_X, kPage, kOther - kBase, kMany));
  const Child child([&] {
    map_elf(segments);
    mmap(reinterpret_cast<void*>(kOther), kMany, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    for (uint64_t at = 0; at < kMany; at += 2 * kPage)
      mprotect(reinterpret_cast<void*>(kOther + at), kPage, PROT_READ);
  });
  const LuaSearch search = find_lua(child.pid());
  ASSERT_EQ(1u, search.unusable.size());
  EXPECT_NE(std::string::npos, search.unusable[0].find("too many")) << search.unusable[0];
}

}  // namespace
}  // namespace luatrace::record
