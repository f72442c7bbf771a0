// SPDX-License-Identifier: MIT
// Notes of a LuaJIT file; see probed_file.h. The file belongs to the traced program: nothing in it
// is trusted, and the amount read does not depend on what it claims (elf_file.h).
#include "recorder/bpf/probed_file.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "luatrace_format.h"
#include "recorder/os/elf_file.h"

namespace luatrace::record::bpf {
namespace {

constexpr const char* kProvider = "luajit";
constexpr uint32_t kNoteType = 3;   // NT_STAPSDT
constexpr size_t kMaxNamed = 4096;  // sections whose names are read
constexpr size_t kMaxProbes = 1024;

// struct pt_regs of x86-64, in words.
constexpr std::array<std::array<const char*, 4>, 21> kRegisters = {{
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
  size_t asked = 0;
  for (const Elf64_Shdr& s : all) {
    if (s.sh_type != SHT_PROGBITS || (s.sh_flags & SHF_ALLOC) == 0 || asked == kMaxNamed) continue;
    asked++;
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
             note.text.size() >= sizeof(lt_note)) {
    notes.about.emplace();
    std::memcpy(&*notes.about, note.text.data(), sizeof(lt_note));
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

// Fills in one site. False: the note cannot be used.
bool take_note(const ReadAt& read, const Places& places, const Note& note, ProbeSite& site,
               std::string& why) {
  const auto offset = places.offset_of(note.location);
  unsigned char code = 0;
  if (!offset || !read(*offset, &code, sizeof code) || code != 0x90)
    why = "there is no nop at its address";
  else if (!parse_site_args(note.args, site.args))
    why = "its arguments (" + note.args + ") are of a kind that this recorder cannot read";
  else if (site.offset != 0)
    why = "it has several sites";
  else
    site.offset = *offset;
  if (!why.empty()) why = "probe " + note.probe + ": " + why;
  return why.empty();
}

// The contents of our own note. The semaphore is the first member of the control structure.
bool take_about(const ReadAt& read, const Places& places, const Notes& notes, ProbedFile& file,
                std::string& why) {
  const uint64_t address = notes.probes[0].semaphore;
  const auto offset = places.offset_of(address);
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
  if (!why.empty()) return false;
  file.semaphore = *offset;
  file.glref_offset = static_cast<uint32_t>(notes.about->L_glref);
  file.glref_size = (notes.about->flags & LTN_GC64) != 0 ? 8 : 4;
  return true;
}

Probed read_elf(const ReadAt& read, const ElfHead& head, ProbedFile& file, std::string& why) {
  const auto sections = read_sections(read, head.header);
  const Places places = read_places(read, head, sections);
  const Notes notes = read_notes(read, sections, places);
  if (notes.probes.empty()) return Probed::kNo;
  if (head.header.e_machine != EM_X86_64) return why = "it is not for x86-64", Probed::kBad;
  if (!take_about(read, places, notes, file, why)) return Probed::kBad;
  for (const Note& note : notes.probes)
    for (size_t i = 0; i < LTB_NPROBES; i++)
      if (note.probe == probe_names()[i] && !take_note(read, places, note, file.sites[i], why))
        return Probed::kBad;
  for (const Note& note : notes.probes)
    if (note.probe == probe_names()[LTB_SWITCH])
      file.block_semaphore = places.offset_of(note.semaphore).value_or(0);
  for (const size_t needed : {LTB_ENTRY, LTB_RETURN, LTB_CLOSE})
    if (file.sites[needed].offset == 0)
      return why = std::string("it has no probe ") + probe_names()[needed], Probed::kBad;
  return Probed::kYes;
}

}  // namespace

const std::array<const char*, LTB_NPROBES>& probe_names() {
  static const std::array<const char*, LTB_NPROBES> names = {
      "function__entry",    "function__return",
      "function__tailcall", "cfunction__entry",
      "cfunction__return",  "function__unwind",
      "coroutine__create",  "coroutine__resume",
      "coroutine__yield",   "coroutine__end",
      "state__open",        "state__close",
      "coroutine__stack",   "block",
      "block__switch"};
  return names;
}

bool ProbedFile::has_blocks() const {
  return sites[LTB_BLOCK].offset != 0 && sites[LTB_SWITCH].offset != 0 && block_semaphore != 0;
}

bool ProbedFile::same_layout(const ProbedFile& other) const {
  if (glref_offset != other.glref_offset || glref_size != other.glref_size) return false;
  for (size_t i = 0; i < sites.size(); i++)
    if (std::memcmp(sites[i].args.data(), other.sites[i].args.data(), sizeof sites[i].args) != 0)
      return false;
  return true;
}

// "-4@%edi": size, then a register or a constant.
static bool parse_arg(std::string_view text, ltb_arg& arg) {
  const size_t at = text.find('@');
  int size = 0;
  const char* end = text.data() + (at == text.npos ? 0 : at);
  if (at == text.npos || std::from_chars(text.data(), end, size).ptr != end) return false;
  if (size != 4 && size != -4 && size != 8 && size != -8) return false;
  arg.size = static_cast<int8_t>(size);
  text.remove_prefix(at + 1);
  if (text.starts_with("$")) {
    arg.type = LTB_CONST;
    const char* stop = text.data() + text.size();
    const auto r = std::from_chars(text.data() + 1, stop, arg.value);
    return r.ec == std::errc() && r.ptr == stop;
  }
  if (!text.starts_with("%")) return false;
  arg.type = LTB_REG;
  for (size_t r = 0; r < kRegisters.size(); r++)
    for (const char* name : kRegisters[r])
      if (name && text.substr(1) == name) return arg.reg = static_cast<uint8_t>(r), true;
  return false;
}

bool parse_site_args(std::string_view text, std::array<ltb_arg, LTB_NARGS>& args) {
  args = {};
  size_t n = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (n == args.size() || !parse_arg(text.substr(0, end), args[n++])) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

Probed read_probed_file(const ReadAt& read, ProbedFile& file, std::string& why) {
  file = {};
  why.clear();
  const auto head = read_elf_head(read);
  return head ? read_elf(read, *head, file, why) : Probed::kNo;
}

}  // namespace luatrace::record::bpf
