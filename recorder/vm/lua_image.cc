// SPDX-License-Identifier: MIT
// The head of an ELF file (its program headers) is in its first mapping; they locate its notes. Our
// note gives addresses relative to its own members, so only the load address has to be found.
#include "recorder/vm/lua_image.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "base/escape.h"
#include "luatrace_watch.h"
#include "recorder/os/clock.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/remote.h"
#include "recorder/os/run_apart.h"
#include "trace/descriptor.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxImages = 4096;           // ELF heads read per process
constexpr size_t kMaxFound = 64;              // LuaJITs
constexpr size_t kMaxAllNotes = 8 << 20;      // bytes of notes, in all
constexpr size_t kMaxRead = 64 << 20;         // of a file that may be a LuaJIT
constexpr uint64_t kMaxReadNs = 200'000'000;  // for all those files
constexpr uint64_t kMaxStep = 1u << 20;       // plausible offsets in a note
constexpr size_t kMaxCompared = 4 << 20;      // mappings compared to segments, in all

// One scan of a process: its mappings, and how much of its memory may still be read.
struct Look {
  const RemoteMemory& memory;
  const std::vector<Mapping>& all;
  LuaSearch& search;
  uint64_t asking_ns;  // left for finding out whether memory answers
  size_t bytes_left = kMaxAllNotes;
  size_t compared_left = kMaxCompared;
};

// Would reading that memory return? The process chooses the addresses: they need not be in the file
// to which they should belong.
bool answers(Look& look, uint64_t address, size_t size) {
  if (look.asking_ns == 0) return false;
  const uint64_t start = monotonic_ns();
  const bool good = memory_answers(look.memory.pid(), look.all, address, size);
  look.asking_ns -= std::min(look.asking_ns, monotonic_ns() - start);
  return good;
}

// Our notes in an image: their contents and addresses; 0: there is none.
struct FoundNotes {
  std::string text, abi;
  uint64_t here = 0, abi_at = 0;
  // Takes those in a part of the image that is at that address.
  void take(const std::string& bytes, uint64_t align, uint64_t address);
};

void FoundNotes::take(const std::string& bytes, uint64_t align, uint64_t address) {
  each_note(bytes, align, [&](const ElfNote& n) {
    if (n.owner == LT_NOTE_NAME && n.type == LT_NOTE_TYPE && here == 0) {
      text = n.text;
      here = address + n.text_offset;
    } else if (n.owner == LT_ABI_NAME && n.type == LT_ABI_TYPE && abi_at == 0) {
      abi = n.text;
      abi_at = address + n.text_offset;
    }
    return true;
  });
}

FoundNotes find_notes(Look& look, const ElfHead& head, uint64_t bias) {
  size_t parts = 0, left = kMaxNoteBytes;
  FoundNotes found;
  for (const Elf64_Phdr& p : head.segments) {
    if (p.p_type != PT_NOTE || p.p_filesz > left || p.p_filesz > look.bytes_left) continue;
    if (++parts > kMaxNoteParts) break;
    left -= p.p_filesz;
    look.bytes_left -= p.p_filesz;
    std::string bytes(p.p_filesz, 0);
    if (!answers(look, bias + p.p_vaddr, bytes.size()) ||
        look.memory.read(bias + p.p_vaddr, bytes.data(), bytes.size()) != 0)
      continue;
    found.take(bytes, p.p_align, bias + p.p_vaddr);
    if (found.here != 0 && found.abi_at != 0) break;
  }
  return found;
}

// The offset between the file's addresses and those in memory: its first mapping holds offset 0.
std::optional<uint64_t> load_bias(const ElfHead& head, const Mapping& m) {
  for (const Elf64_Phdr& p : head.segments)
    if (p.p_type == PT_LOAD && p.p_offset == 0) return m.start - p.p_vaddr;
  return std::nullopt;
}

bool is_same_file(const Mapping& a, const Mapping& b) {
  return a.inode == b.inode && a.device == b.device;
}

// Is the file's code where it would be if it was loaded? Otherwise the file was only mapped for
// reading.
bool is_loaded(Look& look, const ElfHead& head, const Mapping& first, uint64_t bias) {
  for (const Elf64_Phdr& p : head.segments) {
    if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0) continue;
    const uint64_t begin = bias + p.p_vaddr;
    for (const Mapping& m : mappings_from(look.all, begin)) {
      if (m.start >= begin + p.p_memsz || look.compared_left == 0) break;
      look.compared_left--;
      if (m.executable && is_same_file(m, first) && m.start - m.offset == begin - p.p_offset)
        return true;
    }
  }
  return false;
}

bool is_writable(const Look& look, uint64_t address, size_t size) {
  const auto from = mappings_from(look.all, address);
  return !from.empty() && from[0].writable && address >= from[0].start &&
         from[0].end - address >= size;
}

std::string check_note(const lt_note& n, const std::string& path) {
  if (n.version != LT_NOTE_VERSION || n.size < LT_NOTE_SIZE_1)
    return "the tracepoints of " + printable(path) + " have a note of version " +
           std::to_string(n.version) + ", this recorder knows version " +
           std::to_string(LT_NOTE_VERSION);
  if (n.control_version != LT_CONTROL_VERSION || n.control_size != sizeof(lt_control))
    return "the tracepoints of " + printable(path) + " are controlled by version " +
           std::to_string(n.control_version) + ", this recorder knows version " +
           std::to_string(LT_CONTROL_VERSION);
  const auto inside = [](int64_t v) { return v > -int64_t{kMaxStep} && v < int64_t{kMaxStep}; };
  bool good = n.nslots <= 1024 && n.slot_size == 8;
  for (const int32_t v : {n.lt_next, n.lt_on, n.lt_stop, n.lt_seen, n.lt_ring, n.lt_fd, n.lt_rec,
                          n.lt_serial, n.lt_token})
    good = good && v >= 0 && v < 4096;
  for (const int32_t v : {n.g, n.dispatch, n.jit}) good = good && inside(v);
  return good ? "" : "the note of " + printable(path) + " is invalid";
}

// Is there memory for a request to watch places, where the note says? It may be on either side of
// the control structure: compilers choose the order.
bool can_watch(const Look& look, const LuaImage& image) {
  const int64_t distance = image.note.reserved, max = kMaxStep;
  return distance != 0 && distance > -max && distance < max &&
         is_writable(look, image.control + static_cast<uint64_t>(distance),
                     LT_WATCH_REQUEST_MAX + 1);
}

void look_at(Look& look, const Mapping& m) {
  const auto head = read_elf_head([&](uint64_t at, void* to, size_t size) {
    if (at > m.end - m.start || size > m.end - m.start - at) return false;
    if (!answers(look, m.start + at, size)) return false;
    const int error = look.memory.read(m.start + at, to, size);
    if (error == EPERM || error == ESRCH) look.search.error = error;
    return error == 0;
  });
  const auto bias = head ? load_bias(*head, m) : std::nullopt;
  if (!bias) return;
  const FoundNotes found = find_notes(look, *head, *bias);
  const uint64_t here = found.here;
  const std::string& text = found.text;
  if (here == 0 || !is_loaded(look, *head, m, *bias)) return;
  LuaImage image;
  image.path = m.path;
  std::memcpy(&image.note, text.data(), std::min(text.size(), sizeof image.note));
  const std::string why = check_note(image.note, m.path);
  if (!why.empty()) return look.search.unusable.push_back(why);
  image.control = here + offsetof(lt_note, control) + static_cast<uint64_t>(image.note.control);
  image.poll = here + offsetof(lt_note, poll) + static_cast<uint64_t>(image.note.poll);
  if (!is_writable(look, image.control, sizeof(lt_control)))
    return look.search.unusable.push_back("the control structure of " + printable(m.path) +
                                          " is not where its note says");
  if (!answers(look, image.control, sizeof(lt_control)))
    return look.search.unusable.push_back("the file system of the control structure of " +
                                          printable(m.path) + " does not answer");
  if (!can_watch(look, image)) image.note.reserved = 0;
  image.note_at = here;
  image.abi_at = found.abi_at;
  // Of what is not in an older note all is 0.
  lt_abi abi{};
  std::memcpy(&abi, found.abi.data(), std::min(found.abi.size(), sizeof abi));
  std::memcpy(&image.abi, &abi, std::min<size_t>(abi.size, sizeof abi));
  look.search.ours.push_back(std::move(image));
}

// Files with an executable mapping.
std::set<std::string> code_files(const std::vector<Mapping>& all) {
  std::set<std::string> files;
  for (const auto& m : all)
    if (m.executable && m.inode != 0) files.insert(m.device + ":" + std::to_string(m.inode));
  return files;
}

// "LuaJIT 2.1.0-beta3", if the whole text is there, else empty. (What is searched for is in our own
// programs, too.)
std::string version_in(std::string_view text) {
  for (size_t at = 0; (at = text.find("LuaJIT 2.", at)) != text.npos; at++) {
    size_t end = at + 7;
    while (end < text.size() && text[end] > ' ' && text[end] < 127 && end - at < 60) end++;
    if (end < text.size() && text[end] == 0 && end - at > 9)
      return std::string(text.substr(at, end - at));
  }
  return "";
}

// The version of the LuaJIT in a file, else empty. limit_ns: when to give up.
std::string luajit_version(int fd, uint64_t limit_ns) {
  // A message of lj_errmsg.h; the library has no copyright notice.
  constexpr std::string_view kMessage = "attempt to yield across C-call boundary";
  constexpr size_t kOverlap = 64;
  std::vector<char> buffer(65536 + kOverlap);
  bool message = false;
  std::string version;
  size_t kept = 0, all = 0;  // bytes kept from the last read; all bytes read
  for (ssize_t n; all < kMaxRead && monotonic_ns() < limit_ns &&
                  (n = read(fd, &buffer[kept], buffer.size() - kept)) > 0;) {
    const std::string_view text(buffer.data(), kept + static_cast<size_t>(n));
    message = message || text.find(kMessage) != text.npos;
    if (version.empty()) version = version_in(text);
    all += static_cast<size_t>(n);
    kept = std::min(kOverlap, text.size());
    std::memmove(buffer.data(), text.data() + text.size() - kept, kept);
  }
  return message ? version : "";
}

}  // namespace

LuaSearch find_lua(pid_t pid, uint64_t asking_ns) {
  LuaSearch search;
  const auto all = mappings_of(pid);
  const auto code = code_files(all);
  const RemoteMemory memory(pid);
  Look look{memory, all, search, asking_ns};
  if (all.empty()) search.error = process_is_ending(pid) ? ESRCH : EPERM;
  size_t images = 0;
  for (const auto& m : all) {
    const std::string file = m.device + ":" + std::to_string(m.inode);
    // The same file may be there twice (dlmopen), so it is identified by address, not by name.
    if (m.offset != 0 || !code.contains(file)) continue;
    look_at(look, m);
    if (search.error != 0 || ++images == kMaxImages || look.compared_left == 0 ||
        search.ours.size() + search.unusable.size() == kMaxFound)
      break;
  }
  if (look.asking_ns == 0)
    search.unusable.push_back("the file systems of its files answer too slowly");
  if (look.compared_left == 0)
    search.unusable.push_back("the segments of its files overlap too many of its mappings");
  return search;
}

std::vector<OtherLua> find_other_lua(pid_t pid) {
  std::vector<OtherLua> found;
  std::set<std::string> seen;
  const uint64_t limit = monotonic_ns() + kMaxReadNs;
  const auto all = mappings_of(pid);
  const auto code = code_files(all);
  for (const auto& m : all) {
    const std::string file = m.device + ":" + std::to_string(m.inode);
    if (m.inode == 0 || monotonic_ns() > limit || may_not_answer(pid, m)) continue;
    if (!seen.insert(file).second) continue;
    const Descriptor fd(open_mapping(pid, m));
    if (fd < 0) continue;
    const uint16_t machine = machine_of(reader_of(fd));
    const bool emulated = !code.contains(file);
    if (emulated && (machine == 0 || machine == kMachine)) continue;
    const std::string version = luajit_version(fd, limit);
    if (!version.empty()) found.push_back({m.path, version, machine, emulated});
  }
  return found;
}

// Of one for another processor: the rest of a sentence about its process.
std::string explain_other_machine(const OtherLua& lua) {
  return "has a LuaJIT for " + machine_name(lua.machine) + " in it, " + printable(lua.path) +
         "; this recorder is for " + machine_name(kMachine) +
         (lua.emulated ? " and can record what an emulator runs only directly and from its start "
                         "(--via direct "
                         "-- COMMAND)"
                       : ": use one for " + machine_name(lua.machine));
}

std::string explain_other_lua(pid_t pid) {
  const auto others = find_other_lua(pid);
  if (others.empty()) return "";
  for (const OtherLua& lua : others)
    if (lua.machine != kMachine) return explain_other_machine(lua);
  const ProcessFacts facts = read_process(pid);
  std::string text = "has no LuaJIT with tracepoints; it has:";
  for (const auto& o : others) {
    const bool program = o.path == facts.exe;
    text += " " + printable(o.path) + ": " + printable(o.version) + ", " +
            (program ? "part of the program itself" : "a library") + ", without tracepoints;";
  }
  return text + " replace it by a LuaJIT with tracepoints and restart the program";
}

std::string explain_no_lua(pid_t pid, const LuaSearch& search) {
  if (search.error != 0) return explain_no_access(pid, search.error);
  if (!search.unusable.empty()) return "cannot be recorded: " + search.unusable[0];
  const std::string others = explain_other_lua(pid);
  if (!others.empty()) return others;
  return "has no LuaJIT in it: its program is " + printable(read_process(pid).exe) +
         " (to check: grep -i lua /proc/" + std::to_string(pid) + "/maps)";
}

}  // namespace luatrace::record
