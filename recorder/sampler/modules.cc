// SPDX-License-Identifier: MIT
#include "recorder/sampler/modules.h"

#include <algorithm>
#include <cstring>

#include "recorder/os/clock.h"
#include "recorder/os/elf_file.h"
#include "recorder/os/maps.h"
#include "recorder/sampler/frame_scan.h"

namespace luatrace::record::sampler {
namespace {

constexpr uint64_t kLookingNs = 10 * kMillisecond;  // for mappings of pages that are not in memory
constexpr uint64_t kMinPause = 20 * kMillisecond, kMaxPause = kSecond;
constexpr uint64_t kShare = 50;  // looking takes one of so many parts of the time
constexpr size_t kMaxModules = 4096, kMaxUnnamed = 4096;
constexpr size_t kMaxTable = 8 << 20, kMaxTables = 64 << 20;  // bytes
constexpr size_t kMaxRows = 1 << 16;
constexpr size_t kNode = 64;        // bytes of an entry of a map, beside its value
constexpr size_t kHeaderHead = 12;  // bytes of .eh_frame_hdr before its table
// Encodings that all linkers use for the table and the number of its entries.
constexpr uint8_t kTableEncoding = 0x3b, kCountEncoding = 0x03, kPointerEncoding = 0x1b;

template <class T>
T at(const std::string& bytes, size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Modules::Modules(pid_t pid) : memory_(pid, kLookingNs) {}

bool Modules::read(uint64_t address, void* to, size_t size) {
  return memory_.read(address, to, size) == 0;
}

// -- Which images there are --

void Modules::refresh() {
  std::map<uint64_t, Module> old;
  old.swap(modules_);
  unnamed_.clear();
  for (const Mapping& m : mappings_of(memory_.pid())) {
    const bool image = m.inode != 0 || m.path == "[vdso]";
    if (m.path == "[vdso]") vdso_ = m.start, vdso_end_ = m.end;
    if (image && m.offset == 0) add_image(m.start, m.end);
    if (!image && m.executable && unnamed_.size() < kMaxUnnamed) unnamed_[m.start] = m.end;
  }
  for (auto& [begin, m] : modules_) {
    const auto same = old.find(begin);
    if (same == old.end() || same->second.end != m.end || same->second.constants != m.constants ||
        (m.header != 0 && same->second.header != m.header))
      continue;
    m = std::move(same->second);
    old.erase(same);
  }
  if (!old.empty()) forget_rows();
  for (const auto& [begin, m] : old) bytes_ -= m.table.size();
}

// The image whose head is at that address.
void Modules::add_image(uint64_t start, uint64_t end) {
  const auto head = read_elf_head([&](uint64_t at, void* to, size_t size) {
    return at <= end - start && size <= end - start - at && read(start + at, to, size);
  });
  if (!head) return;
  uint64_t bias = 0;
  bool found = false;
  Module m;
  for (const Elf64_Phdr& p : head->segments)
    if (p.p_type == PT_LOAD && p.p_offset == 0 && !found) bias = start - p.p_vaddr, found = true;
  if (!found) return;
  for (const Elf64_Phdr& p : head->segments)
    if (p.p_type == PT_GNU_EH_FRAME) m.header = bias + p.p_vaddr, m.header_size = p.p_memsz;
  for (const Elf64_Phdr& p : head->segments)  // constants: where .eh_frame is
    if (p.p_type == PT_LOAD && m.header == 0 && (p.p_flags & PF_W) == 0 &&
        (m.constants == 0 || p.p_flags == PF_R))
      m.constants = bias + p.p_vaddr, m.constants_size = p.p_filesz;
  for (const Elf64_Phdr& p : head->segments) {
    if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0 || modules_.size() >= kMaxModules) continue;
    m.begin = bias + p.p_vaddr;
    m.end = m.begin + p.p_memsz;
    modules_[m.begin] = m;
  }
}

// Other code of the vDSO, which has no symbol, is "[vdso]".
void Modules::read_vdso() {
  vdso_read_ = true;
  std::string image(std::min<uint64_t>(vdso_end_ - vdso_, kMaxVdso), 0);
  if (!read(vdso_, image.data(), image.size())) image.clear();
  vdso_functions_ = {{vdso_, vdso_end_, "[vdso]"}};
  for (VdsoFunction& f : vdso_functions(image))
    vdso_functions_.push_back({vdso_ + f.begin, vdso_ + f.end, std::move(f.name)});
}

const VdsoFunction* Modules::vdso_at(uint64_t pc) {
  if (pc < vdso_ || pc >= vdso_end_) return nullptr;
  if (!vdso_read_) read_vdso();
  for (size_t i = vdso_functions_.size(); i-- > 1;)
    if (pc >= vdso_functions_[i].begin && pc < vdso_functions_[i].end) return &vdso_functions_[i];
  return &vdso_functions_[0];
}

// Libraries that are loaded while the process runs are found when their code is; other code, such
// as LuaJIT's, must not make us look again each time.
Modules::Module* Modules::module_at(uint64_t pc) {
  for (int i = 0; i < 2; i++) {
    if (const auto after = modules_.upper_bound(pc); after != modules_.begin())
      if (const auto m = std::prev(after); pc < m->second.end) return &m->second;
    if (const auto after = unnamed_.upper_bound(pc); after != unnamed_.begin())
      if (pc < std::prev(after)->second) return nullptr;
    const uint64_t now = monotonic_ns();
    if (i == 1 || now < refreshed_ns_ + pause_ns_) return nullptr;
    refresh();
    refreshed_ns_ = monotonic_ns();
    // A process with very many mappings is looked at less often.
    pause_ns_ =
        std::max(std::clamp(pause_ns_ * 2, kMinPause, kMaxPause), kShare * (refreshed_ns_ - now));
  }
  return nullptr;
}

// -- Entries --

// Without a search table.
void Modules::scan(Module& m) {
  if (m.constants_size > kMaxTable) return;
  std::string bytes(m.constants_size, 0);
  if (!read(m.constants, bytes.data(), bytes.size())) return;
  std::string table = scan_frames(bytes, m.constants, m.begin, m.end);
  if (bytes_ + table.size() > kMaxTables) return;
  m.header = m.constants;
  m.table = std::move(table);
  bytes_ += m.table.size();
}

void Modules::load(Module& m) {
  m.loaded = true;
  if (m.header == 0) return scan(m);
  if (m.header_size < kHeaderHead || m.header_size > kMaxTable) return;
  std::string head(kHeaderHead, 0);
  if (!read(m.header, head.data(), head.size()) || at<uint8_t>(head, 0) != 1 ||
      at<uint8_t>(head, 1) != kPointerEncoding || at<uint8_t>(head, 2) != kCountEncoding ||
      at<uint8_t>(head, 3) != kTableEncoding)
    return;
  const size_t size =
      std::min<size_t>(size_t{at<uint32_t>(head, 8)} * 8, m.header_size - kHeaderHead) & ~size_t{7};
  if (bytes_ + size > kMaxTables) return;
  m.table.resize(size);
  if (!read(m.header + kHeaderHead, m.table.data(), size)) m.table.clear();
  bytes_ += m.table.size();
}

// The bytes after an entry's length, and where they are.
bool Modules::read_entry(uint64_t address, uint64_t& body, std::string& bytes) {
  uint32_t size = 0;
  if (!read(address, &size, sizeof size) || size < 4 || size > kMaxEntry) return false;
  body = address + sizeof size;
  bytes.resize(size);
  return read(body, bytes.data(), size);
}

std::optional<FrameEntry> Modules::entry_for(Module& m, uint64_t pc) {
  if (!m.loaded) load(m);
  const auto begin_of = [&](size_t i) {
    return m.header + static_cast<uint64_t>(int64_t{at<int32_t>(m.table, 8 * i)});
  };
  size_t low = 0, high = m.count();
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (begin_of(middle) <= pc ? low : high) = middle;
  }
  if (high == 0 || begin_of(low) > pc) return std::nullopt;
  FrameEntry e;
  const uint64_t entry =
      m.header + static_cast<uint64_t>(int64_t{at<int32_t>(m.table, 8 * low + 4)});
  if (!read_entry(entry, e.address, e.bytes)) return std::nullopt;
  const uint64_t common = e.address - at<uint32_t>(e.bytes, 0);
  if (!read_entry(common, e.common_address, e.common)) return std::nullopt;
  return e;
}

void Modules::forget_rows() {
  rows_ = {};
  rows_bytes_ = 0;
}

size_t Modules::memory() const {
  return bytes_ + rows_bytes_ + modules_.size() * (kNode + sizeof(Module)) +
         unnamed_.size() * (kNode + 8) + vdso_functions_.capacity() * sizeof(VdsoFunction);
}

// It looks at once which images there are.
void Modules::forget() {
  forget_rows();
  modules_.clear();
  unnamed_.clear();
  vdso_read_ = false;
  vdso_functions_ = {};
  bytes_ = 0;
  refreshed_ns_ = 0;
}

Modules::Place Modules::find(uint64_t pc) {
  Module* const m = module_at(pc);
  if (m == nullptr) return {};
  const auto known = rows_.find(pc);
  if (known != rows_.end()) return {true, known->second ? &*known->second : nullptr};
  if (rows_.size() >= kMaxRows) forget_rows();
  std::optional<Row>& row = rows_[pc];
  if (const auto entry = entry_for(*m, pc)) row = row_of(*entry, pc);
  rows_bytes_ += kNode + (row ? row->memory() : sizeof row);
  return {true, row ? &*row : nullptr};
}

}  // namespace luatrace::record::sampler
