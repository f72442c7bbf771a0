// SPDX-License-Identifier: MIT
// The file belongs to the traced program: nothing in it is trusted, and the amount read does not
// depend on what it claims (elf_file.h).
#include "recorder/bpf/probed_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "luatrace_format.h"
#include "recorder/bpf/site_args.h"
#include "recorder/os/elf_file.h"

namespace luatrace::record::bpf {
namespace {

constexpr const char* kProvider = "luajit";
constexpr std::string_view kSwitch = "block__switch", kSegments = "segments",
                           kSegmentsSwitch = "segments__switch", kAuto = "segments__auto";
constexpr uint32_t kNoteType = 3;   // NT_STAPSDT
constexpr size_t kMaxNamed = 4096;  // sections whose names are read
constexpr size_t kMaxProbes = 1024;
constexpr const char* kNoBlocks =
    "it has no probe `block`: build it with a newer luajit-usdt, or use probes/lua-calls.bt";

// The nop of kMachine, for which the BPF program was compiled, too.
#if defined(__aarch64__)
constexpr std::array<unsigned char, 4> kNop{0x1f, 0x20, 0x03, 0xd5};
#else
constexpr std::array<unsigned char, 1> kNop{0x90};
#endif

// The segments and the base section of the file.
struct Places {
  struct Segment {
    uint64_t address, offset, size;
  };
  std::vector<Segment> segments;
  uint64_t base = 0;  // address of .stapsdt.base, 0: none

  std::optional<uint64_t> offset_of(uint64_t address) const {
    for (const Segment& s : segments)
      if (address >= s.address && address - s.address < s.size)
        return address - s.address + s.offset;
    return std::nullopt;
  }
};

// No segment contains the probes' notes, so their sections are needed: up to the number that the
// header itself can hold (an ELF file may claim more).
std::vector<Elf64_Shdr> read_sections(const ReadAt& read, const Elf64_Ehdr& h) {
  std::vector<Elf64_Shdr> sections;
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum >= SHN_LORESERVE) return sections;
  sections.resize(h.e_shnum);
  if (!read(h.e_shoff, sections.data(), sections.size() * sizeof sections[0])) sections.clear();
  return sections;
}

bool has_name(const ReadAt& read, const std::vector<Elf64_Shdr>& all, const Elf64_Ehdr& h,
              const Elf64_Shdr& section, std::string_view name) {
  char text[32] = {};
  if (h.e_shstrndx >= all.size() || name.size() + 1 > sizeof text) return false;
  const Elf64_Shdr& names = all[h.e_shstrndx];
  return section.sh_name < names.sh_size &&
         read(names.sh_offset + section.sh_name, text, name.size() + 1) && name == text;
}

Places read_places(const ReadAt& read, const ElfHead& head, const std::vector<Elf64_Shdr>& all) {
  Places places;
  for (const Elf64_Phdr& p : head.segments)
    if (p.p_type == PT_LOAD) places.segments.push_back({p.p_vaddr, p.p_offset, p.p_filesz});
  size_t looked_up = 0;
  for (const Elf64_Shdr& s : all) {
    if (s.sh_type != SHT_PROGBITS || (s.sh_flags & SHF_ALLOC) == 0 || looked_up == kMaxNamed)
      continue;
    looked_up++;
    if (has_name(read, all, head.header, s, ".stapsdt.base")) places.base = s.sh_addr;
  }
  return places;
}

struct Note {
  uint64_t location, semaphore;  // addresses as linked
  std::string provider, probe, args;
};

// The description of a note; empty if it is incomplete.
std::optional<Note> parse_note(std::string_view text, const Places& places) {
  uint64_t words[3];  // location, base, semaphore
  if (text.size() < sizeof words) return std::nullopt;
  std::memcpy(words, text.data(), sizeof words);
  text.remove_prefix(sizeof words);
  std::string strings[3];
  for (std::string& s : strings) {
    const size_t end = text.find('\0');
    if (end == text.npos) return std::nullopt;
    s = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  const uint64_t moved = places.base != 0 ? places.base - words[1] : 0;
  return Note{words[0] + moved, words[2] == 0 ? 0 : words[2] + moved, strings[0], strings[1],
              strings[2]};
}

struct Notes {
  std::vector<Note> probes;
  std::optional<lt_note> about;  // the contents of our own note
};

void take_raw_note(const ElfNote& note, const Places& places, Notes& notes) {
  if (note.owner == "stapsdt" && note.type == kNoteType) {
    const auto n = parse_note(note.text, places);
    if (n && n->provider == kProvider && notes.probes.size() < kMaxProbes)
      notes.probes.push_back(*n);
  } else if (note.owner == LT_NOTE_NAME && note.type == LT_NOTE_TYPE &&
             note.text.size() >= LT_NOTE_SIZE_1) {
    notes.about.emplace();
    std::memcpy(&*notes.about, note.text.data(), std::min(note.text.size(), sizeof(lt_note)));
  }
}

Notes read_notes(const ReadAt& read, const std::vector<Elf64_Shdr>& all, const Places& places) {
  Notes notes;
  size_t parts = 0;
  for (const Elf64_Shdr& s : all) {
    if (s.sh_type != SHT_NOTE || s.sh_size > kMaxNoteBytes || ++parts > kMaxNoteParts) continue;
    std::string bytes(s.sh_size, 0);
    if (!read(s.sh_offset, bytes.data(), bytes.size())) continue;
    each_note(bytes, s.sh_addralign, [&](const ElfNote& n) {
      take_raw_note(n, places, notes);
      return true;
    });
  }
  return notes;
}

// The offset in the file of the site of a probe; 0: there is no such probe, or it cannot be used
// (see why).
uint64_t site_of(const ReadAt& read, const Places& places, const Notes& notes,
                 std::string_view probe, std::array<ltb_arg, LTB_NARGS>& args, std::string& why) {
  uint64_t site = 0;
  for (const Note& note : notes.probes) {
    if (note.probe != probe) continue;
    const auto offset = places.offset_of(note.location);
    auto code = kNop;
    code.fill(0);
    if (!offset || !read(*offset, code.data(), code.size()) || code != kNop)
      why = "there is no nop at its address";
    else if (!parse_site_args(kMachine, note.args, args))
      why = "its arguments (" + note.args + ") are of a kind that this recorder cannot read";
    else if (site != 0)
      why = "it has several sites";
    if (!why.empty()) return why = "probe " + note.probe + ": " + why, 0;
    site = *offset;
  }
  return site;
}

// Is it a LuaJIT of this version? The semaphore of the other probes is the first member of the
// control structure.
bool is_ours(const ReadAt& read, const Places& places, const Notes& notes, std::string& why) {
  const auto offset = places.offset_of(notes.probes[0].semaphore);
  struct {
    uint16_t semaphore, ring;
    uint32_t version;
    uint64_t magic;
  } control{};
  if (!notes.about || notes.about->version != LT_NOTE_VERSION)
    why = "its probes belong to another version of luatrace; rebuild both";
  else if (!offset || !read(*offset, &control, sizeof control) ||
           control.magic != LUAJIT_USDT_MAGIC)
    why = "its probes have no semaphore of ours";
  return why.empty();
}

uint64_t semaphore_of(const Places& places, const Notes& notes, std::string_view probe) {
  uint64_t semaphore = 0;
  for (const Note& note : notes.probes)
    if (note.probe == probe) semaphore = places.offset_of(note.semaphore).value_or(0);
  return semaphore;
}

// Where they cannot be used, the file is like one that has none.
void read_segments(const ReadAt& read, const Places& places, const Notes& notes, ProbedFile& file) {
  std::string why;
  ProbedFile f = file;
  std::array<ltb_arg, LTB_NARGS> none;
  f.segments = site_of(read, places, notes, kSegments, f.args, why);
  if (why.empty()) f.segments_switch = site_of(read, places, notes, kSegmentsSwitch, none, why);
  if (why.empty()) f.auto_switch = site_of(read, places, notes, kAuto, none, why);
  f.segments_semaphore = semaphore_of(places, notes, kSegmentsSwitch);
  f.auto_semaphore = semaphore_of(places, notes, kAuto);
  if (why.empty() && f.segments != 0 && f.segments_switch != 0 && f.auto_switch != 0 &&
      f.segments_semaphore != 0 && f.auto_semaphore != 0 && f.same_layout(file))
    file = f;
}

Probed read_elf(const ReadAt& read, const ElfHead& head, ProbedFile& file, std::string& why) {
  const auto sections = read_sections(read, head.header);
  const Places places = read_places(read, head, sections);
  const Notes notes = read_notes(read, sections, places);
  if (notes.probes.empty()) return Probed::kNo;
  if (head.header.e_machine != kMachine)
    return why = "it is for " + machine_name(head.header.e_machine) + ", not for " +
                 machine_name(kMachine),
           Probed::kBad;
  if (!is_ours(read, places, notes, why)) return Probed::kBad;
  std::array<ltb_arg, LTB_NARGS> none;
  file.block = site_of(read, places, notes, "block", file.args, why);
  if (why.empty()) file.block_switch = site_of(read, places, notes, kSwitch, none, why);
  if (!why.empty()) return Probed::kBad;
  file.semaphore = semaphore_of(places, notes, kSwitch);
  read_segments(read, places, notes, file);
  const bool all = file.block != 0 && file.block_switch != 0 && file.semaphore != 0;
  return all ? Probed::kYes : (why = kNoBlocks, Probed::kBad);
}

}  // namespace

Probed read_probed_file(const ReadAt& read, ProbedFile& file, std::string& why) {
  file = {};
  why.clear();
  const auto head = read_elf_head(read);
  return head ? read_elf(read, *head, file, why) : Probed::kNo;
}

}  // namespace luatrace::record::bpf
