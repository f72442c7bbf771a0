// SPDX-License-Identifier: MIT
#include "recorder/sampler/functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "luatrace_builtin.h"
#include "luatrace_work.h"
#include "recorder/os/clock.h"
#include "recorder/os/remote.h"
#include "recorder/sample/frames.h"
#include "trace/records.h"

namespace luatrace::record::sampler {
namespace {

constexpr size_t kMaxFunctions = 1 << 17;  // known at a time
constexpr size_t kMaxKept = 64 << 20;      // bytes of code
constexpr size_t kMaxChunk = 1 << 20;      // bytes of a chunk name
constexpr size_t kMaxInstructions = 256;
constexpr size_t kMaxOuter = 32;  // callers that may define a new function
constexpr int32_t kMaxBuiltins = 1024;
constexpr size_t kMaxBuiltinText = 16 << 10, kPage = 4096;

const std::vector<std::string> kNoNames;

// So much of the memory as can be read.
std::string read_text(pid_t pid, uint64_t at, size_t size) {
  const RemoteMemory memory(pid);
  std::string text;
  while (text.size() < size) {
    char part[kPage];
    const size_t n = std::min<uint64_t>(kPage - at % kPage, size - text.size());
    if (memory.read(at, part, n) != 0) break;
    text.append(part, n);
    at += n;
  }
  return text;
}

// The names of the builtins, from the memory of the process.
std::vector<std::string> builtin_names(pid_t pid, const LuaImage& image) {
  const lt_abi& abi = image.abi;
  std::vector<std::string> names;
  if (abi.nbuiltins <= 0 || abi.nbuiltins > kMaxBuiltins) return names;
  const uint64_t at =
      image.abi_at + offsetof(lt_abi, builtins) + static_cast<uint64_t>(abi.builtins);
  const std::string text = read_text(pid, at, kMaxBuiltinText);
  size_t from = 0;
  for (int32_t i = 0; i < abi.nbuiltins; i++) {
    const size_t end = text.find('\0', from);
    char shown[64];
    if (end == text.npos) return {};
    const char* const name = lt_builtin_name(text.c_str() + from, shown, sizeof shown);
    names.emplace_back(name != nullptr ? name : "");
    from = end + 1;
  }
  return names;
}

uint64_t key_of(uint64_t address, uint32_t check) {
  return (address >> 3) << 20 | (check & 0xfffff);
}

// As the VM shortens chunk names (lj_ltfunc.c).
std::string short_chunk(const std::string& full) {
  size_t n = std::min(full.find('\0'), full.size());
  if (n == full.size() && n <= LT_FUNC_STR_MAX) return full;
  uint32_t hash = 0x811c9dc5u;
  for (const char c : full) hash = (hash ^ static_cast<uint8_t>(c)) * 0x01000193u;
  char end[16];
  std::snprintf(end, sizeof end, "...#%08x", hash);
  n = std::min<size_t>(n, LT_FUNC_STR_MAX - 12);
  return full.substr(0, n) + end;
}

}  // namespace

// The memory of the process in a batch of samples.
struct Functions::Reader {
  const uint64_t begun_ns = monotonic_ns();  // what it has is that old at most
  stack::Memory memory;
  stack::Prototypes protos;
  Reader(pid_t pid, const stack::Layout& layout, const ReadingTime& time)
      : memory(pid, [&time] { return time.is_over(); }), protos(memory, layout) {}
};

Functions::Functions(pid_t pid, const KernelSymbols& kernel) : pid_(pid), kernel_(kernel) {}

Functions::~Functions() = default;

void Functions::begin_batch() {
  reader_.reset();
}

size_t Functions::memory() const {
  constexpr size_t kNode = 64;  // of an entry of a map, with its value
  size_t bytes = kept_ + descriptions_.capacity() + others_.size() * kNode +
                 lua_.size() * (kNode + sizeof(stack::Proto));
  if (reader_ != nullptr)
    bytes += sizeof(Reader) + reader_->memory.cached() + reader_->protos.memory();
  return bytes;
}

// Also descriptions that were not written: their ids are known to nobody else.
void Functions::forget() {
  reader_.reset();
  lua_ = {};
  others_ = {};
  descriptions_ = {};
  described_ = 0;
  kept_ = 0;
}

void Functions::add_image(const LuaImage& image) {
  auto i = std::make_unique<Image>();
  i->layout.note = image.note;
  i->abi = image.abi;
  if (image.note.size >= LT_NOTE_STACKS) {
    const lt_note& n = image.note;
    i->layout.modes.resize(
        std::min(static_cast<size_t>(std::max(n.op_funcf, 0)) + 8, kMaxInstructions));
    const uint64_t modes =
        image.note_at + offsetof(lt_note, bc_mode) + static_cast<uint64_t>(n.bc_mode);
    if (RemoteMemory(pid_).read(modes, i->layout.modes.data(), i->layout.modes.size() * 2) != 0)
      i->layout.modes.clear();
  }
  i->builtins = builtin_names(pid_, image);
  i->no_memory = std::make_unique<stack::Memory>(pid_, 0);
  i->lines = std::make_unique<stack::Prototypes>(*i->no_memory, i->layout);
  images_.push_back(std::move(i));
}

Functions::Reader& Functions::reader(size_t image) {
  if (reader_ == nullptr || reader_image_ != image)
    reader_ = std::make_unique<Reader>(pid_, images_[image]->layout, time_);
  reader_image_ = image;
  return *reader_;
}

// -- Lua functions --

const stack::Proto* Functions::proto_of(size_t image, const LuaFrame& frame) {
  stack::Prototypes& protos = reader(image).protos;
  if (frame.kind == WALK_LUA_CODE) return protos.find_by_code(frame.pc);
  return frame.kind == WALK_LUA ? protos.find(frame.what) : nullptr;
}

// The note's distance may be anything, and so may the size of a prototype.
std::optional<uint64_t> Functions::chunk_address(const Image& image, const stack::Proto& p) {
  uint64_t name = 0;
  const auto at = static_cast<size_t>(image.abi.pt_chunkname);
  if (p.bytes.size() < sizeof name || at > p.bytes.size() - sizeof name) return std::nullopt;
  std::memcpy(&name, p.bytes.data() + at, sizeof name);
  return name;
}

uint32_t Functions::check_of(size_t image, const stack::Proto& p) {
  const Image& im = *images_[image];
  const uint64_t name = chunk_address(im, p).value_or(0);
  uint32_t hash = 0;
  if (im.abi.str_hash != 0)
    reader(image).memory.read(name + static_cast<uint64_t>(im.abi.str_hash), hash);
  return walk_mix(name, hash, p.first_line, p.size);
}

FunctionLine Functions::lua(size_t image, std::span<const LuaFrame> stack, size_t i,
                            uint64_t taken_ns) {
  const LuaFrame& frame = stack[i];
  if (image >= images_.size()) return {};
  const Image& im = *images_[image];
  if (frame.kind == WALK_LUA)
    if (const auto known = lua_.find(key_of(frame.what, frame.check)); known != lua_.end())
      return {known->second.id, line_of(im, known->second, frame.pc)};
  time_.begin();
  const FunctionLine found = read_function(image, stack, i, taken_ns);
  time_.end();
  return found;
}

// Null: it has been freed since, and there may be another one now.
const stack::Proto* Functions::same_proto(size_t image, const LuaFrame& frame) {
  const stack::Proto* const p = proto_of(image, frame);
  const bool same = p != nullptr && (frame.kind != WALK_LUA || check_of(image, *p) == frame.check);
  return same ? p : nullptr;
}

FunctionLine Functions::read_function(size_t image, std::span<const LuaFrame> stack, size_t i,
                                      uint64_t taken_ns) {
  const stack::Proto* p = same_proto(image, stack[i]);
  // It may be newer than what was read.
  if (p == nullptr && reader(image).begun_ns < taken_ns && !time_.is_over()) {
    reader_.reset();
    p = same_proto(image, stack[i]);
  }
  if (p == nullptr) return {};
  const Image& im = *images_[image];
  const auto known = lua_.find(key_of(p->address, check_of(image, *p)));
  const LuaFunction* const f = known != lua_.end() ? &known->second : describe(image, *p, stack, i);
  if (f == nullptr) return {};
  return {f->id, line_of(im, *f, stack[i].pc)};
}

uint32_t Functions::line_of(const Image& image, const LuaFunction& f, uint64_t pc) const {
  if (f.code == nullptr || pc == 0) return 0;
  const uint32_t position = image.lines->position(*f.code, pc);
  return position == stack::kNoPosition ? 0 : image.lines->line(*f.code, position);
}

std::string Functions::chunk_name(size_t image, const stack::Proto& p) {
  const lt_abi& abi = images_[image]->abi;
  stack::Memory& memory = reader(image).memory;
  const auto name = chunk_address(*images_[image], p);
  uint32_t size = 0;
  if (!name || !memory.read(*name + static_cast<uint64_t>(abi.str_len), size) || size > kMaxChunk)
    return short_chunk(p.chunk);
  return short_chunk(memory.bytes(*name + static_cast<uint64_t>(abi.str_size), size));
}

// The name is that of the definition, if the function that contains it is on the stack; otherwise
// that of the call.
std::string Functions::lua_name(size_t image, const stack::Proto& p,
                                std::span<const LuaFrame> stack, size_t i, lt_func& f) {
  stack::Prototypes& protos = reader(image).protos;
  const stack::Proto* caller = nullptr;
  for (size_t k = i + 1; k < stack.size() && k <= i + kMaxOuter; k++) {
    const stack::Proto* const outer = proto_of(image, stack[k]);
    if (k == i + 1) caller = outer;
  }
  std::string name = protos.defined_name(p);
  if (!name.empty() || caller == nullptr || p.first_line == 0) return name;
  const uint32_t position = protos.position(*caller, stack[i + 1].pc);
  if (position != stack::kNoPosition) name = protos.call_name(*caller, position);
  if (!name.empty()) f.flags = LT_FUNC_HINT;
  return name;
}

// Null: the time was over before all of it was read. A later sample may tell.
const Functions::LuaFunction* Functions::describe(size_t image, const stack::Proto& p,
                                                  std::span<const LuaFrame> stack, size_t i) {
  lt_func f{};
  f.type = LT_FUNC_LUA;
  f.firstline = p.first_line;
  f.lastline = p.first_line + p.lines;
  f.addr = p.address;
  if (p.first_line == 0 && p.lines == 0) f.firstline = f.lastline = LT_LINE_CODE | (p.size + 1);
  const std::string name = lua_name(image, p, stack, i, f), chunk = chunk_name(image, p);
  if (time_.is_over()) return nullptr;
  f.id = next_id_++;
  append_func(descriptions_, f, chunk, name);
  described_++;
  if (lua_.size() >= kMaxFunctions) lua_.clear(), kept_ = 0;
  LuaFunction& known = lua_[key_of(p.address, check_of(image, p))];
  known.id = f.id;
  if (kept_ + p.bytes.size() <= kMaxKept) {
    kept_ += p.bytes.size();
    known.code = std::make_shared<const stack::Proto>(p);
  }
  return &known;
}

// -- Others --

uint32_t Functions::number_of(uint64_t key, lt_func f, std::string_view chunk,
                              std::string_view name) {
  if (others_.size() >= kMaxFunctions) others_.clear();
  uint32_t& id = others_[key];
  if (id != 0) return id;
  id = f.id = next_id_++;
  append_func(descriptions_, f, chunk, name);
  described_++;
  return id;
}

namespace {

uint64_t other_key(uint16_t type, uint64_t number) {
  return uint64_t{type} << 60 | (number & ((uint64_t{1} << 60) - 1));
}

}  // namespace

uint32_t Functions::c_function(uint64_t address, std::string_view name) {
  lt_func f{};
  f.type = LT_FUNC_C;
  f.addr = address;
  return number_of(other_key(LT_FUNC_C, address), f, "", name);
}

uint32_t Functions::builtin(size_t image, uint32_t number) {
  lt_func f{};
  f.type = LT_FUNC_FF;
  f.ffid = number;
  const auto& names = image < images_.size() ? images_[image]->builtins : kNoNames;
  const bool known = number < names.size() && !names[number].empty();
  return number_of(other_key(LT_FUNC_FF, uint64_t{image} << 32 | number), f, "",
                   known ? names[number] : "builtin#" + std::to_string(number));
}

// Of equal numbers in all likelihood the text is equal.
uint32_t Functions::label(std::string_view key, std::string_view value) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](char c) { hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u; };
  for (const char c : key) add(c);
  add(0);
  for (const char c : value) add(c);
  lt_func f{};
  f.type = LT_FUNC_LABEL;
  return number_of(other_key(LT_FUNC_LABEL, hash), f, key, value);
}

uint32_t Functions::kernel(uint64_t address) {
  const uint32_t symbol = kernel_.find(address);
  lt_func f{};
  f.type = LT_FUNC_KERNEL;
  return number_of(other_key(LT_FUNC_KERNEL, symbol), f, kernel_.module(symbol),
                   kernel_.name(symbol));
}

bool Functions::is_switch(uint64_t address) const {
  const std::string_view name = kernel_.name(kernel_.find(address));
  return name == "__schedule" || name.starts_with("bpf_") || name.starts_with("__bpf_") ||
         name.starts_with("__traceiter_");
}

uint32_t Functions::collector() {
  lt_func f{};
  f.type = LT_FUNC_FF;
  f.ffid = LT_FF_GC;
  return number_of(other_key(LT_FUNC_FF, f.ffid), f, "", "[GC]");
}

uint32_t Functions::compiler() {
  lt_func f{};
  f.type = LT_FUNC_FF;
  f.ffid = LT_FF_JIT;
  return number_of(other_key(LT_FUNC_FF, f.ffid), f, "", "[JIT]");
}

std::vector<std::byte> Functions::take_descriptions(uint32_t& count) {
  count = std::exchange(described_, 0);
  return std::exchange(descriptions_, {});
}

}  // namespace luatrace::record::sampler
