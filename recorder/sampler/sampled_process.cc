// SPDX-License-Identifier: MIT
#include "recorder/sampler/sampled_process.h"

#include <algorithm>
#include <cstring>

#include "recorder/os/clock.h"
#include "recorder/sample/frames.h"
#include "recorder/sampler/nested.h"
#include "trace/records.h"

namespace luatrace::record::sampler {
namespace {

constexpr uint64_t kWriteNs = 100 * kMillisecond;  // a reader of a pipe waits for the samples
constexpr size_t kMaxFrames = 4096;                // of a sample, before it is cut
constexpr uint64_t kMaxSample = sizeof(lt_sample) + 8 * LT_SAMPLE_FRAMES_MAX;

uint8_t state_of(uint32_t state) {
  switch (state) {
    case WALK_INTERPRETER:
      return LT_SAMPLE_INTERPRETER;
    case WALK_COMPILED:
    case WALK_LEAVING:
      return LT_SAMPLE_COMPILED;
    case WALK_IN_C:
    case WALK_HELPER:
    case WALK_COMPILED_C:
      return LT_SAMPLE_C;
    case WALK_COLLECTOR:
      return LT_SAMPLE_COLLECTOR;
    case WALK_COMPILER:
      return LT_SAMPLE_COMPILER;
    default:
      return LT_SAMPLE_NATIVE;
  }
}

Registers registers_of(const smp_registers& r) {
  Registers all;
  all.set(kRip, r.ip);
  all.set(kRsp, r.sp);
  all.set(kRbp, r.bp);
  all.set(kRbx, r.bx);
  all.set(12, r.r12);
  all.set(13, r.r13);
  all.set(14, r.r14);
  all.set(15, r.r15);
  return all;
}

std::string text_of(std::span<const uint64_t> words) {
  std::string text;
  for (const uint64_t w : words)
    for (uint64_t i = 1; i <= (w & 0xff) && i < sizeof w; i++)
      text += static_cast<char>(w >> 8 * i);
  return text;
}

uint64_t at_offset(uint64_t address, int32_t offset) {
  return address + static_cast<uint64_t>(int64_t{offset});
}

}  // namespace

bool well_formed(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(smp_record)) return false;
  const auto& r = *reinterpret_cast<const smp_record*>(bytes.data());
  return r.nframes <= WALK_FRAMES && r.nkernel <= SMP_KERNEL_MAX && r.nlabels <= LT_ABI_LABELS &&
         r.stack_size <= SMP_STACK_MAX &&
         r.nframes * sizeof(walk_frame) + r.nkernel * sizeof(uint64_t) +
                 r.nlabels * sizeof(lt_abi_label) + r.stack_size <=
             bytes.size() - sizeof r;
}

SampledProcess::SampledProcess(pid_t pid, uint32_t number, std::shared_ptr<Output> output,
                               const KernelSymbols& kernel, const Shown& shown)
    : number_(number),
      output_(std::move(output)),
      shown_(shown),
      functions_(pid, kernel),
      modules_(pid) {}

void SampledProcess::add_image(const LuaImage& image, const smp_mapped& mapped) {
  functions_.add_image(image);
  mapped_.push_back(mapped);
  abis_.push_back(image.abi);
}

size_t SampledProcess::memory() const {
  return functions_.memory() + modules_.memory() + lua_.capacity() * sizeof lua_[0] +
         frames_.capacity() * sizeof frames_[0] + part_.capacity() * sizeof part_[0] +
         (blocks_ ? blocks_->pending_bytes() : 0);
}

void SampledProcess::forget() {
  functions_.forget();
  modules_.forget();
  lua_ = {};
  frames_ = {};
  part_ = {};
}

const smp_mapped* SampledProcess::mapped(const smp_record& record) const {
  return record.g != 0 && record.mapped < mapped_.size() ? &mapped_[record.mapped] : nullptr;
}

// -- Frames --

void SampledProcess::add_unknown() {
  part_.clear();  // what is listed next is not directly outside of it
  if (frames_.empty() || frames_.back() != sample_frame(LT_FRAME_UNKNOWN, 0))
    frames_.push_back(sample_frame(LT_FRAME_UNKNOWN, 0));
}

// A wait ends in the scheduler, and in what notices it.
void SampledProcess::add_kernel(std::span<const uint64_t> addresses, bool off_cpu) {
  while (off_cpu && !addresses.empty() && functions_.is_switch(addresses[0]))
    addresses = addresses.subspan(1);
  for (const uint64_t address : addresses)
    frames_.push_back(function_frame(functions_.kernel(address)));
}

void SampledProcess::add_native(const std::vector<NativeFrame>& frames) {
  constexpr uint64_t kValue = (uint64_t{1} << 60) - 1;
  for (const NativeFrame& f : frames)
    if (const VdsoFunction* const v = modules_.vdso_at(f.address - f.is_return))
      frames_.push_back(function_frame(functions_.c_function(v->begin, v->name)));
    else
      frames_.push_back(
          sample_frame(f.is_return ? LT_FRAME_RETURN : LT_FRAME_NATIVE, f.address & kValue));
}

// The C functions that run, above all Lua frames.
// Returns false if the VM's frame is not known to be on this C stack.
bool SampledProcess::add_top(const smp_record& record, const StackCopy& stack) {
  const smp_mapped* const m = mapped(record);
  PartLimits limits;
  if (m != nullptr)
    limits = {m->text, m->text_end, record.lua_frame};
  else if (!mapped_.empty())  // no VM was found: there is no frame of one, or it is not known
    limits = {mapped_[0].text, mapped_[0].text_end, 0};
  part_.clear();
  if (!shown_.user) return true;
  Registers r = registers_of(record.r);
  const PartEnd end = unwind(modules_, r, true, stack, limits, part_);
  add_native(part_);
  const bool whole = m == nullptr ? end == PartEnd::kOutermost
                                  : end == PartEnd::kInterpreter || end == PartEnd::kNoFile;
  if (m != nullptr && end == PartEnd::kOutermost) return false;
  if (!whole) add_unknown();
  return whole || (record.flags & SMP_MADE_STACK) == 0;
}

// Is that C frame of the VM one of a coroutine whose functions are not listed: another Lua VM's?
bool SampledProcess::is_others(uint64_t c_frame, const lt_abi& abi, const StackCopy& stack) const {
  uint64_t L = 0;
  return stack.read(at_offset(c_frame, abi.cf_L), L) &&
         std::find(coroutines_.begin(), coroutines_.end(), L) == coroutines_.end();
}

// The C functions from one that has entered Lua, up to the next Lua frame or the outermost one.
void SampledProcess::add_part(const smp_record& record, uint64_t c_frame, const StackCopy& stack,
                              bool last) {
  const smp_mapped& m = *mapped(record);
  const lt_abi& abi = abis_[record.mapped];
  uint64_t ip = 0, fp = 0;
  part_.clear();
  if (!stack.read(at_offset(c_frame, abi.cf_ret), ip) ||
      !stack.read(at_offset(c_frame, abi.cf_fp), fp))
    return add_unknown();
  if (at_offset(c_frame, abi.cf_fp) < record.r.sp) fp = record.r.bp;  // not saved yet, or restored
  Registers r;
  r.set(kRip, ip);
  r.set(kRbp, fp);
  r.set(kRsp, at_offset(c_frame, abi.cf_size));
  const PartEnd end = unwind(modules_, r, false, stack, {m.text, m.text_end, 0}, part_);
  add_native(part_);
  if (end == PartEnd::kInterpreter && is_others(r.value[kRsp], abi, stack)) {
    nested_ = true;
    return add_unknown();
  }
  if (last ? end != PartEnd::kOutermost : end != PartEnd::kInterpreter && end != PartEnd::kNoFile)
    add_unknown();
}

// A C function that Lua has called is the last one of the C functions before it, too, unless it has
// called another one in its place.
void SampledProcess::drop_c_function(const LuaFrame& f) {
  if (f.kind != WALK_C || part_.empty() || part_.back().function != f.what) return;
  frames_.pop_back();
  part_.clear();
}

void SampledProcess::add_lua(const smp_record& record, const StackCopy& stack) {
  if (!lua_.empty()) drop_c_function(lua_[0]);
  if (record.state == WALK_COLLECTOR) frames_.push_back(function_frame(functions_.collector()));
  if (record.state == WALK_COMPILER) frames_.push_back(function_frame(functions_.compiler()));
  size_t more = lua_.size();  // entries, from here on
  while (more > 0 && (lua_[more - 1].kind == WALK_COROUTINE || lua_[more - 1].kind == WALK_ENTRY))
    more--;
  // The C functions that have resumed a coroutine are not its own.
  for (size_t i = 0; i + 1 < lua_.size(); i++)
    if (lua_[i].kind == WALK_ENTRY && lua_[i + 1].kind == WALK_COROUTINE)
      std::swap(lua_[i], lua_[i + 1]);
  for (size_t i = 0; i < lua_.size() && frames_.size() < kMaxFrames; i++) {
    const LuaFrame& f = lua_[i];
    if (f.kind == WALK_ENTRY) {
      if (shown_.user) add_part(record, f.what, stack, i >= more);
      continue;
    }
    drop_c_function(f);
    if (f.kind == WALK_C) {
      if (!shown_.user) continue;
      frames_.push_back(function_frame(functions_.c_function(f.what)));
    } else if (f.kind == WALK_BUILTIN) {
      frames_.push_back(
          function_frame(functions_.builtin(record.mapped, static_cast<uint32_t>(f.what))));
    } else if (f.kind == WALK_COROUTINE) {
      frames_.push_back(sample_frame(LT_FRAME_COROUTINE, static_cast<uint32_t>(f.pc)));
    } else if (f.kind == WALK_LUA || f.kind == WALK_LUA_CODE) {
      const FunctionLine known = functions_.lua(record.mapped, lua_, i, record.time);
      known.id != 0 ? frames_.push_back(function_frame(known.id, known.line)) : add_unknown();
    } else {
      add_unknown();
    }
    part_.clear();
  }
}

// -- Samples --

// Nothing is shown of what is not as the note says.
void SampledProcess::add_labels(std::span<const lt_abi_label> labels) {
  for (const lt_abi_label& l : labels) {
    if (l.nkey == 0 || l.nkey >= l.n || l.n > LT_ABI_LABEL_WORDS) continue;
    const std::span words(l.w);
    const std::string key = text_of(words.first(l.nkey));
    const std::string value = text_of(words.subspan(l.nkey, l.n - l.nkey));
    labels_.push_back(sample_frame(LT_FRAME_LABEL, functions_.label(key, value)));
  }
}

void SampledProcess::add(const smp_record& record, std::span<const std::byte> parts) {
  const auto* const walk = reinterpret_cast<const walk_frame*>(parts.data());
  lua_.clear();
  for (uint32_t i = 0; i < record.nframes; i++)
    if (walk[i].kind != WALK_ENTRY || walk[i].what != 0)  // there may have been one
      lua_.push_back({walk[i].kind, walk[i].check, walk[i].what, walk[i].pc});
  coroutines_.clear();
  for (const LuaFrame& f : lua_)
    if (f.kind == WALK_COROUTINE) coroutines_.push_back(f.what);
  merge_vms(lua_);
  parts = parts.subspan(record.nframes * sizeof(walk_frame));
  const std::span kernel(reinterpret_cast<const uint64_t*>(parts.data()), record.nkernel);
  parts = parts.subspan(kernel.size_bytes());
  const std::span labels(reinterpret_cast<const lt_abi_label*>(parts.data()), record.nlabels);
  parts = parts.subspan(labels.size_bytes());
  const StackCopy stack(record.stack_at,
                        {reinterpret_cast<const char*>(parts.data()), record.stack_size});
  frames_.clear();
  part_.clear();
  if (shown_.kernel) add_kernel(kernel, (record.flags & SMP_OFF_CPU) != 0);
  // Of a stack that a program has made itself only its C functions say whose it is.
  const bool has_lua = add_top(record, stack);
  if (shown_.lua && has_lua && mapped(record) != nullptr) add_lua(record, stack);
  smp_record shown = record;
  labels_.clear();
  if (has_lua && record.state != WALK_OUTSIDE)
    add_labels(labels);
  else
    shown.g = shown.request = shown.coroutine = 0;
  if (!write(shown)) lost_++;
}

void SampledProcess::begin_stream(const smp_record& record) {
  if (blocks_) return;
  lt_stream_info info{};
  info.process = number_;
  info.flags = LTF_SAMPLED;
  info.tid = static_cast<int32_t>(record.tid);
  info.start_tick = record.time;
  stream_ = output_->add_stream(info);
  blocks_.emplace(output_->writer(), stream_);
}

bool SampledProcess::write(const smp_record& record) {
  if (output_->dead() || output_->finished() || output_->crowded()) return false;
  uint32_t count = 0;
  const std::vector<std::byte> descriptions = functions_.take_descriptions(count);
  if (!output_->has_space(kMaxSample + descriptions.size() + 1024)) return false;
  begin_stream(record);
  if (count > 0) output_->write_funcs(stream_, count, descriptions);
  lt_sample s{};
  const size_t most = std::min<size_t>(shown_.max_stack, LT_SAMPLE_FRAMES_MAX - labels_.size());
  if (frames_.size() > most) {
    frames_.resize(most);
    s.flags |= LTS_TRUNCATED;
  }
  frames_.insert(frames_.begin(), labels_.begin(), labels_.end());
  if ((record.flags & SMP_TRUNCATED) != 0) s.flags |= LTS_TRUNCATED;
  if ((record.flags & SMP_OFF_CPU) != 0) s.flags |= LTS_OFF_CPU;
  s.state = state_of(record.g != 0 ? record.state : uint32_t{WALK_OUTSIDE});
  s.tick = record.time;
  s.weight_ns = record.weight;
  s.tid = static_cast<int32_t>(record.tid);
  s.coroutine = record.coroutine;
  s.state_addr = record.g;
  s.request = record.request != 0 ? record.request + 1 : 0;
  const lt_sample_code code = {record.trace, record.code_bytes, record.code_offset, 0};
  blocks_->add(s, frames_, record.g != 0 && record.trace != 0 ? &code : nullptr);
  samples_++;
  return true;
}

void SampledProcess::flush() {
  if (!blocks_ || output_->dead() || output_->finished()) return;
  blocks_->flush();
  const uint64_t now = monotonic_ns();
  if (now < write_ns_ || output_->writer().unflushed() == 0) return;
  output_->writer().flush();
  write_ns_ = now + kWriteNs;
}

}  // namespace luatrace::record::sampler
