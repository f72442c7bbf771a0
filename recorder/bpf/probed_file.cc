// SPDX-License-Identifier: MIT
// Notes of a LuaJIT file; see probed_file.h. The file is the traced program's: nothing in it is
// trusted; libelf checks the structure, this file the values.
#include "recorder/bpf/probed_file.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::bpf {
namespace {

constexpr const char* kProvider = "luajit";
constexpr uint32_t kNoteType = 3;  // NT_STAPSDT

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

Places read_places(Elf* elf) {
  Places places;
  size_t n = 0, names = 0;
  elf_getphdrnum(elf, &n);
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr p;
    if (gelf_getphdr(elf, static_cast<int>(i), &p) && p.p_type == PT_LOAD)
      places.segments.push_back({p.p_vaddr, p.p_offset, p.p_filesz});
  }
  if (elf_getshdrstrndx(elf, &names) != 0) return places;
  for (Elf_Scn* s = nullptr; (s = elf_nextscn(elf, s)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(s, &header)) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name && std::strcmp(name, ".stapsdt.base") == 0) places.base = header.sh_addr;
  }
  return places;
}

struct Note {
  uint64_t location, semaphore;  // addresses as linked
  std::string provider, probe, args;
};

// One note's description; nothing if it is not whole.
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
  std::optional<lt_note> about;  // what our own note says
};

void take_raw_note(const GElf_Nhdr& note, std::string_view owner, std::string_view text,
                   const Places& places, Notes& notes) {
  owner = owner.substr(0, owner.find('\0'));
  if (owner == "stapsdt" && note.n_type == kNoteType) {
    if (auto n = parse_note(text, places)) notes.probes.push_back(*n);
  } else if (owner == LT_NOTE_NAME && note.n_type == LT_NOTE_TYPE &&
             text.size() >= sizeof(lt_note)) {
    notes.about.emplace();
    std::memcpy(&*notes.about, text.data(), sizeof(lt_note));
  }
}

Notes read_notes(Elf* elf, const Places& places) {
  Notes notes;
  for (Elf_Scn* s = nullptr; (s = elf_nextscn(elf, s)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(s, &header) || header.sh_type != SHT_NOTE) continue;
    Elf_Data* data = elf_getdata(s, nullptr);
    if (!data) continue;
    GElf_Nhdr note;
    size_t name = 0, text = 0, at = 0;
    const char* bytes = static_cast<const char*>(data->d_buf);
    while ((at = gelf_getnote(data, at, &note, &name, &text)) > 0)
      take_raw_note(note, {bytes + name, note.n_namesz}, {bytes + text, note.n_descsz}, places,
                    notes);
  }
  return notes;
}

bool read_at(int fd, uint64_t offset, void* to, size_t size) {
  return pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// Fills in one site. False: the note cannot be used.
bool take_note(int fd, const Places& places, const Note& note, ProbeSite& site, std::string& why) {
  const auto offset = places.offset_of(note.location);
  unsigned char code[6] = {};
  constexpr unsigned char kWide[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  if (!offset || !read_at(fd, *offset, code, sizeof code) || code[0] != 0x90)
    why = "there is no nop at its place";
  else if (!parse_site_args(note.args, site.args))
    why = "its arguments (" + note.args + ") are not ones that this recorder can read";
  else if (site.offset != 0)
    why = "it has several sites";
  else
    site.offset = *offset;
  site.wide = std::memcmp(code + 1, kWide, sizeof kWide) == 0;
  if (!why.empty()) why = "probe " + note.probe + ": " + why;
  return why.empty();
}

// What our own note tells. The semaphore is the first member of the control structure.
bool take_about(int fd, const Places& places, const Notes& notes, ProbedFile& file,
                std::string& why) {
  const uint64_t address = notes.probes[0].semaphore;
  const auto offset = places.offset_of(address);
  struct {
    uint16_t semaphore, ring;
    uint32_t version;
    uint64_t magic;
  } control{};
  if (!notes.about || notes.about->version != LT_NOTE_VERSION)
    why = "its probes are of another version of luatrace; build both anew";
  else if (!offset || !read_at(fd, *offset, &control, sizeof control) ||
           control.magic != LUAJIT_USDT_MAGIC)
    why = "its probes have no semaphore of ours";
  if (!why.empty()) return false;
  file.semaphore = *offset;
  file.glref_offset = static_cast<uint32_t>(notes.about->L_glref);
  file.glref_size = (notes.about->flags & LTN_GC64) != 0 ? 8 : 4;
  file.fork_safe = (notes.about->flags & LTN_FORKSAFE) != 0;
  return true;
}

Probed read_elf(int fd, Elf* elf, ProbedFile& file, std::string& why) {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf, &header)) return Probed::kNo;
  const Places places = read_places(elf);
  Notes notes = read_notes(elf, places);
  std::erase_if(notes.probes, [](const Note& n) { return n.provider != kProvider; });
  if (notes.probes.empty()) return Probed::kNo;
  if (header.e_machine != EM_X86_64) return why = "it is not for x86-64", Probed::kBad;
  if (!take_about(fd, places, notes, file, why)) return Probed::kBad;
  for (const Note& note : notes.probes)
    for (size_t i = 0; i < LTB_NPROBES; i++)
      if (note.probe == probe_names()[i] && !take_note(fd, places, note, file.sites[i], why))
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

Probed read_probed_file(int fd, ProbedFile& file, std::string& why) {
  file = {};
  why.clear();
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  if (!elf) return Probed::kNo;
  const Probed result = elf_kind(elf) == ELF_K_ELF ? read_elf(fd, elf, file, why) : Probed::kNo;
  elf_end(elf);
  return result;
}

}  // namespace luatrace::bpf
