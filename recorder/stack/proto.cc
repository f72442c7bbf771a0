// SPDX-License-Identifier: MIT
#include "recorder/stack/proto.h"

#include <algorithm>
#include <cstring>

namespace luatrace::record::stack {
namespace {

constexpr size_t kMaxProto = 16 << 20, kMaxCopied = 64 << 20;
constexpr size_t kMaxChunk = 256, kMaxName = 128, kMaxNames = 1 << 16;
constexpr uint32_t kMaxScan = 1 << 16;  // instructions that are read backwards
// Internal variables of loops have numbers in place of names.
constexpr uint8_t kVariableEnd = 0, kFirstCharacter = 7;

template <class T>
T at(const std::string& bytes, size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The text from there up to a NUL.
std::string text_at(const std::string& bytes, size_t offset) {
  if (offset >= bytes.size()) return "";
  const char* const text = bytes.data() + offset;
  return std::string(text, strnlen(text, std::min(bytes.size() - offset, kMaxName)));
}

// Reads an LEB128 number, and moves `offset` after it.
uint32_t number_at(const std::string& bytes, size_t& offset) {
  uint32_t value = 0;
  for (int shift = 0; offset < bytes.size() && shift < 35; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[offset++]);
    value |= static_cast<uint32_t>(uint64_t{byte & 0x7fu} << shift);
    if (byte < 0x80) break;
  }
  return value;
}

}  // namespace

std::string Prototypes::string_at(uint64_t address, size_t max) {
  const lt_note& n = layout_.note;
  uint8_t type = 0;
  uint32_t size = 0;
  if (!memory_.read(address + kType, type) || type != kString ||
      !memory_.read(address + static_cast<uint64_t>(n.str_len), size))
    return "";
  return memory_.bytes(address + static_cast<uint64_t>(n.str_size), std::min<size_t>(size, max));
}

size_t Prototypes::memory() const {
  constexpr size_t kNode = 64;  // of an entry of a map, beside its value
  return copied_ + known_.size() * (kNode + sizeof(Proto) + kMaxChunk) +
         names_.size() * (kNode + kMaxName);
}

std::unique_ptr<Proto> Prototypes::copy(uint64_t address) {
  const lt_note& n = layout_.note;
  uint8_t type = 0;
  uint32_t size = 0;
  const auto head = static_cast<size_t>(n.pt_size);
  if (!memory_.read(address + kType, type) || type != kPrototype ||
      !memory_.read(address + static_cast<uint64_t>(n.pt_sizept), size) || size < head ||
      size > kMaxProto || size > kMaxCopied - copied_)
    return nullptr;
  auto p = std::make_unique<Proto>();
  p->address = address;
  p->bytes = memory_.bytes(address, size);
  p->size = at<uint32_t>(p->bytes, static_cast<size_t>(n.pt_sizebc));
  if (p->bytes.empty() || p->size == 0 || p->size > (size - head) / sizeof(uint32_t))
    return nullptr;
  copied_ += size;
  p->first_line = at<uint32_t>(p->bytes, static_cast<size_t>(n.pt_firstline));
  p->lines = at<uint32_t>(p->bytes, static_cast<size_t>(n.pt_numline));
  p->chunk = string_at(at<uint64_t>(p->bytes, static_cast<size_t>(n.pt_chunkname)), kMaxChunk);
  return p;
}

const Proto* Prototypes::find(uint64_t address) {
  if (const auto known = known_.find(address); known != known_.end()) return known->second.get();
  auto p = copy(address);
  if (p != nullptr) name_definitions(*p);
  if (memory_.is_late()) return nullptr;  // what was not read in time may be missing in it
  return (known_[address] = std::move(p)).get();
}

const Proto* Prototypes::find_by_code(uint64_t pc) {
  const lt_note& n = layout_.note;
  uint32_t ins = 0;
  for (uint32_t i = 0; i < kMaxScan && memory_.read(pc -= sizeof ins, ins); i++)
    if (ins_op(ins) >= static_cast<uint32_t>(n.op_funcf) && ins_op(ins) < layout_.modes.size())
      return find(pc - static_cast<uint64_t>(n.pt_size));
  return nullptr;
}

uint32_t Prototypes::position(const Proto& p, uint64_t pc) const {
  const uint64_t code = p.address + static_cast<uint64_t>(layout_.note.pt_size);
  const uint64_t number = (pc - code) / sizeof(uint32_t);
  return pc <= code || number > p.size ? kNoPosition : static_cast<uint32_t>(number - 1);
}

size_t Prototypes::inside(const Proto& p, int32_t member) const {
  const uint64_t offset = at<uint64_t>(p.bytes, static_cast<size_t>(member)) - p.address;
  return std::min<uint64_t>(offset, p.bytes.size());
}

uint32_t Prototypes::line(const Proto& p, uint32_t position) const {
  const size_t lines = inside(p, layout_.note.pt_lineinfo);
  if (lines == p.bytes.size() || position >= p.size) return 0;
  if (position == 0) return p.first_line;
  const size_t i = position - 1;
  if (p.lines < 256) return p.first_line + at<uint8_t>(p.bytes, lines + i);
  if (p.lines < 65536) return p.first_line + at<uint16_t>(p.bytes, lines + 2 * i);
  return p.first_line + at<uint32_t>(p.bytes, lines + 4 * i);
}

uint32_t Prototypes::instruction(const Proto& p, uint32_t position) const {
  if (position >= p.size) return 0;
  return at<uint32_t>(p.bytes, static_cast<size_t>(layout_.note.pt_size) + 4ull * position);
}

// Constants of the collector are before the place to which `k` points.
uint64_t Prototypes::constant(const Proto& p, uint32_t index) const {
  const size_t middle = inside(p, layout_.note.pt_k), distance = 8ull * (index + 1);
  if (middle == p.bytes.size() || distance > middle) return 0;
  return at<uint64_t>(p.bytes, middle - distance);
}

std::string Prototypes::constant_name(const Proto& p, uint32_t index) {
  return string_at(constant(p, index), kMaxName);
}

std::string Prototypes::upvalue_name(const Proto& p, uint32_t index) const {
  size_t offset = inside(p, layout_.note.pt_uvinfo);
  if (offset == p.bytes.size()) return "";
  for (; index > 0; index--) {
    const size_t end = p.bytes.find('\0', offset);
    if (end == p.bytes.npos) return "";
    offset = end + 1;
  }
  return text_at(p.bytes, offset);
}

// "(for)": an internal variable, which has no name.
std::string Prototypes::local_name(const Proto& p, uint32_t position, uint32_t slot) const {
  size_t offset = inside(p, layout_.note.pt_varinfo);
  uint32_t start = 0;
  while (offset < p.bytes.size()) {
    const size_t name = offset;
    const auto kind = static_cast<uint8_t>(p.bytes[offset]);
    if (kind == kVariableEnd) break;
    if (kind >= kFirstCharacter) offset = p.bytes.find('\0', offset);
    if (offset == p.bytes.npos) break;
    offset++;
    start += number_at(p.bytes, offset);
    if (start > position) break;
    const uint32_t end = start + number_at(p.bytes, offset);
    if (position < end && slot-- == 0)
      return kind >= kFirstCharacter ? text_at(p.bytes, name) : "(for)";
  }
  return "";
}

std::string Prototypes::slot_name(const Proto& p, uint32_t position, uint32_t slot) {
  const lt_note& n = layout_.note;
  for (uint32_t steps = 0; steps < kMaxScan && !memory_.is_late(); steps++) {
    if (std::string name = local_name(p, position, slot); !name.empty())
      return name[0] == '(' ? "" : name;
    for (;; steps++) {
      if (position <= 1 || steps >= kMaxScan) return "";
      const uint32_t ins = instruction(p, --position), a = ins_a(ins);
      const int mode_of_a = mode_a(mode(ins_op(ins)));
      if (mode_of_a == kModeBase && slot >= a && (!is_op(ins, n.op_knil) || slot <= ins_d(ins)))
        return "";
      if (mode_of_a != kModeTarget || a != slot) continue;
      if (is_op(ins, n.op_gget)) return constant_name(p, ins_d(ins));
      if (is_op(ins, n.op_tgets)) return constant_name(p, ins_c(ins));
      if (is_op(ins, n.op_uget)) return upvalue_name(p, ins_d(ins));
      if (!is_op(ins, n.op_mov)) return "";
      slot = ins_d(ins);
      break;
    }
  }
  return "";
}

std::string Prototypes::call_name(const Proto& p, uint32_t position) {
  const uint32_t ins = instruction(p, position);
  if (position == 0 || mode_metamethod(mode(ins_op(ins))) != layout_.note.mm_call) return "";
  const uint32_t iterator = is_op(ins, layout_.note.op_iterc) ? 3 : 0;
  return ins_a(ins) < iterator ? "" : slot_name(p, position, ins_a(ins) - iterator);
}

// The variable or field to which the next instruction stores the function.
std::string Prototypes::definition_name(const Proto& p, uint32_t position) {
  const lt_note& n = layout_.note;
  const uint32_t slot = ins_a(instruction(p, position)), next = instruction(p, position + 1);
  if (std::string name = local_name(p, position + 1, slot); !name.empty())
    return name[0] == '(' ? "" : name;
  if (is_op(next, n.op_gset) && ins_a(next) == slot) return constant_name(p, ins_d(next));
  if (is_op(next, n.op_tsets) && ins_a(next) == slot) return constant_name(p, ins_c(next));
  if (is_op(next, n.op_usetv) && ins_d(next) == slot) return upvalue_name(p, ins_a(next));
  return "";
}

void Prototypes::name_definitions(const Proto& p) {
  for (uint32_t i = 1; i + 1 < p.size && names_.size() < kMaxNames; i++) {
    const uint32_t ins = instruction(p, i);
    if (!is_op(ins, layout_.note.op_fnew)) continue;
    if (memory_.is_late()) return;
    if (const uint64_t inner = constant(p, ins_d(ins)); inner != 0)
      if (std::string name = definition_name(p, i); !name.empty()) names_[inner] = std::move(name);
  }
}

std::string Prototypes::defined_name(const Proto& p) const {
  const auto name = names_.find(p.address);
  return name == names_.end() ? "" : name->second;
}

}  // namespace luatrace::record::stack
