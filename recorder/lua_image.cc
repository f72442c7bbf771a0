// SPDX-License-Identifier: MIT
// LuaJITs in a process; see lua_image.h. The head of an ELF file (headers, notes) lies in its first
// mapping. The note gives addresses relative to its own members, so the load address is all that
// has to be found out.
#include "recorder/lua_image.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include "recorder/process.h"
#include "recorder/text.h"

namespace luatrace {
namespace {

constexpr size_t kHead = 256 << 10;      // so much of a first mapping is read
constexpr size_t kMostRead = 64 << 20;   // of a file that may be a LuaJIT
constexpr uint64_t kMaxStep = 1u << 20;  // plausible offsets in a note

struct ElfHead {
  std::vector<char> bytes;
  Elf* elf = nullptr;
  ~ElfHead() {
    if (elf != nullptr) elf_end(elf);
  }
};

bool open_head(const RemoteMemory& memory, const Mapping& m, ElfHead& head, int& error) {
  static const bool usable = elf_version(EV_CURRENT) != EV_NONE;
  char magic[SELFMAG];
  error = memory.read(m.start, magic);
  if (!usable || error != 0 || std::memcmp(magic, ELFMAG, SELFMAG) != 0) return false;
  head.bytes.resize(std::min<size_t>(kHead, m.end - m.start));
  error = memory.read(m.start, head.bytes.data(), head.bytes.size());
  if (error != 0) return false;
  head.elf = elf_memory(head.bytes.data(), head.bytes.size());
  return head.elf != nullptr && gelf_getclass(head.elf) == ELFCLASS64;
}

// Address of the descriptor of our note within the file's own addresses; 0: there is none.
uint64_t find_note(Elf* elf, size_t head_size, std::string_view& text) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return 0;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr p;
    if (gelf_getphdr(elf, static_cast<int>(i), &p) == nullptr || p.p_type != PT_NOTE) continue;
    if (p.p_offset > head_size || p.p_filesz > head_size - p.p_offset) continue;
    const auto offset = static_cast<int64_t>(p.p_offset);
    Elf_Data* data =
        elf_getdata_rawchunk(elf, offset, p.p_filesz, p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    size_t at = 0, next, name, desc;
    GElf_Nhdr n;
    while (data != nullptr && (next = gelf_getnote(data, at, &n, &name, &desc)) > 0) {
      const auto* bytes = static_cast<const char*>(data->d_buf);
      if (n.n_type == LT_NOTE_TYPE && n.n_namesz == sizeof LT_NOTE_NAME &&
          std::memcmp(bytes + name, LT_NOTE_NAME, sizeof LT_NOTE_NAME) == 0) {
        text = {bytes + desc, n.n_descsz};
        return p.p_vaddr + desc;
      }
      at = next;
    }
  }
  return 0;
}

// What has to be added to the file's addresses: its first mapping holds offset 0.
bool load_bias(Elf* elf, const Mapping& m, uint64_t& bias) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr p;
    if (gelf_getphdr(elf, static_cast<int>(i), &p) == nullptr || p.p_type != PT_LOAD) continue;
    if (p.p_offset != 0) continue;
    return bias = m.start - p.p_vaddr, true;
  }
  return false;
}

std::string check_note(const lt_note& n, const std::string& path) {
  if (n.version != LT_NOTE_VERSION || n.size < sizeof n)
    return "the tracepoints of " + printable(path) + " have a note of version " +
           std::to_string(n.version) + ", this recorder knows version " +
           std::to_string(LT_NOTE_VERSION);
  if (n.control_version != LT_CONTROL_VERSION || n.control_size != sizeof(lt_control))
    return "the tracepoints of " + printable(path) + " are controlled by version " +
           std::to_string(n.control_version) + ", this recorder knows version " +
           std::to_string(LT_CONTROL_VERSION);
  const auto inside = [](int64_t v) { return v > -int64_t{kMaxStep} && v < int64_t{kMaxStep}; };
  bool good = n.nslots <= 1024 && n.slot_size == 8 && (n.flags & LTN_GC64) != 0;
  for (const int32_t v : {n.lt_next, n.lt_on, n.lt_stop, n.lt_seen, n.lt_ring, n.lt_fd, n.lt_rec,
                          n.lt_serial, n.lt_token})
    good = good && v >= 0 && v < 4096;
  for (const int32_t v : {n.g, n.dispatch, n.jit}) good = good && inside(v);
  return good ? "" : "the note of " + printable(path) + " makes no sense";
}

void look_at(const RemoteMemory& memory, const Mapping& m, LuaSearch& search) {
  ElfHead head;
  int error = 0;
  if (!open_head(memory, m, head, error)) {
    if (error == EPERM || error == ESRCH) search.error = error;
    return;
  }
  std::string_view text;
  uint64_t bias = 0;
  const uint64_t at = find_note(head.elf, head.bytes.size(), text);
  if (at == 0 || !load_bias(head.elf, m, bias)) return;
  LuaImage image;
  image.path = m.path;
  std::memcpy(&image.note, text.data(), std::min(text.size(), sizeof image.note));
  const std::string why = check_note(image.note, m.path);
  if (!why.empty()) return search.unusable.push_back(why);
  const uint64_t here = at + bias;
  image.control = here + offsetof(lt_note, control) + static_cast<uint64_t>(image.note.control);
  image.poll = here + offsetof(lt_note, poll) + static_cast<uint64_t>(image.note.poll);
  search.ours.push_back(std::move(image));
}

// Files of which something is mapped executable.
std::set<std::string> code_files(const std::vector<Mapping>& all) {
  std::set<std::string> files;
  for (const auto& m : all)
    if (m.executable && m.inode != 0) files.insert(m.device + ":" + std::to_string(m.inode));
  return files;
}

std::string read_some(int fd) {
  std::string text;
  char buffer[65536];
  ssize_t n;
  while (text.size() < kMostRead && (n = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

// "LuaJIT 2.1.0-beta3" if the file contains a LuaJIT, else empty.
std::string luajit_version(const std::string& file) {
  // A message of lj_errmsg.h; the library has no copyright notice.
  if (file.find("attempt to yield across C-call boundary") == file.npos) return "";
  for (size_t at = 0; (at = file.find("LuaJIT 2.", at)) != file.npos; at++) {
    size_t end = at + 7;
    while (end < file.size() && file[end] > ' ' && file[end] < 127 && end - at < 60) end++;
    if (end < file.size() && file[end] == 0) return file.substr(at, end - at);
  }
  return "";
}

}  // namespace

LuaSearch find_lua(pid_t pid) {
  LuaSearch search;
  const std::string text = read_proc(pid, "maps", 8u << 20);
  const auto all = parse_maps(text);
  const auto code = code_files(all);
  const RemoteMemory memory(pid);
  std::set<std::string> seen;
  if (all.empty()) search.error = process_is_ending(pid) ? ESRCH : EPERM;
  for (const auto& m : all) {
    const std::string file = m.device + ":" + std::to_string(m.inode);
    // The same file may be there twice (dlmopen): by address, not by name.
    if (m.offset != 0 || !code.contains(file)) continue;
    look_at(memory, m, search);
    if (search.error != 0) break;
  }
  return search;
}

std::vector<OtherLua> find_other_lua(pid_t pid) {
  std::vector<OtherLua> found;
  std::set<std::string> seen;
  for (const auto& m : parse_maps(read_proc(pid, "maps", 8u << 20))) {
    if (!m.executable || m.inode == 0) continue;
    if (!seen.insert(m.device + ":" + std::to_string(m.inode)).second) continue;
    const int fd = open_mapping(pid, m);
    if (fd < 0) continue;
    const std::string version = luajit_version(read_some(fd));
    close(fd);
    if (!version.empty()) found.push_back({m.path, version});
  }
  return found;
}

std::string explain_no_lua(pid_t pid, const LuaSearch& search) {
  if (search.error != 0) return explain_no_access(pid, search.error);
  if (!search.unusable.empty()) return "cannot be recorded: " + search.unusable[0];
  const ProcessFacts facts = read_process(pid);
  const auto others = find_other_lua(pid);
  if (others.empty())
    return "has no LuaJIT in it: its program is " + printable(facts.exe) +
           " (to look for yourself: grep -i lua /proc/" + std::to_string(pid) + "/maps)";
  std::string text = "has no LuaJIT with tracepoints; what it has:";
  for (const auto& o : others) {
    const bool program = o.path == facts.exe;
    text += " " + printable(o.path) + ": " + printable(o.version) + ", " +
            (program ? "part of the program itself" : "a library") + ", without tracepoints;";
  }
  return text + " put a LuaJIT with tracepoints in its place and start the program again";
}

}  // namespace luatrace
