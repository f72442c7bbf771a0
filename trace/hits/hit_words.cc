// SPDX-License-Identifier: MIT
#include "trace/hits/hit_words.h"

#include <algorithm>

#include "trace/records.h"

namespace luatrace {
namespace {

constexpr size_t kWords = 4096;        // passed to EventBlocks at a time
constexpr uint64_t kFar = 1ull << 38;  // ns; a longer pause would be ambiguous to a reader

}  // namespace

HitWords::HitWords(TraceWriter& writer, uint32_t stream, const lt_stream_info& info)
    : writer_(writer),
      stream_(stream),
      blocks_(writer, stream, info.start_tick),
      last_(info.start_tick) {
  words_.reserve(kWords + 8);
  writer_.write_stream(stream, info);
}

void HitWords::flush_words() {
  if (nfuncs_ > 0) writer_.write_funcs(stream_, nfuncs_, funcs_);
  funcs_.clear();
  nfuncs_ = 0;
  if (!words_.empty()) blocks_.append(words_, words_time_);
  words_.clear();
}

void HitWords::flush() {
  flush_words();
  blocks_.flush();
}

void HitWords::rest() {
  flush();
  blocks_.rest();
  ids_ = decltype(ids_)();
  words_ = decltype(words_)();
  funcs_ = decltype(funcs_)();
}

// Prepares for a record at this time.
void HitWords::prepare(uint64_t time) {
  if (!words_.empty() && (words_.size() >= kWords || time - last_ >= kFar)) flush_words();
  if (words_.empty()) words_time_ = time;
  last_ = time;
}

void HitWords::put(uint64_t time, uint32_t payload, uint32_t kind) {
  prepare(time);
  words_.push_back(lt_word(time, payload, kind));
}

void HitWords::put_id(uint64_t time, uint32_t id, uint32_t kind) {
  put(time, std::min(id, uint32_t{LT_PAYLOAD_BIG}), kind);
  if (id >= LT_PAYLOAD_BIG) words_.push_back(id);
}

void HitWords::put_ext(uint64_t time, uint32_t sub, uint32_t arg, uint64_t first) {
  put(time, lt_ext(sub, 1, arg), LT_EXT);
  words_.push_back(first);
}

void HitWords::put_ext(uint64_t time, uint32_t sub, uint32_t arg, uint64_t first, uint64_t second) {
  put(time, lt_ext(sub, 2, arg), LT_EXT);
  words_.push_back(first);
  words_.push_back(second);
}

// -- Functions --

uint32_t HitWords::id_of(uint64_t key) const {
  const auto it = ids_.find(key);
  return it == ids_.end() ? 0 : it->second;
}

uint32_t HitWords::new_id(uint64_t key) {
  return ids_[key] = next_id_++;
}

void HitWords::describe(uint32_t id, const HitFunction& f) {
  lt_func r{};
  const bool lua = f.type == LT_FUNC_LUA;
  const bool named = f.name != "?" && !(lua && f.line == 0 && f.name == "main");
  const std::string name = named ? f.name : "";
  r.type = f.type;
  r.flags = f.type != LT_FUNC_FF && !name.empty() && !f.defined ? LT_FUNC_HINT : 0;
  r.id = id;
  r.firstline = lua ? f.line : 0;
  r.ffid = f.ffid;
  r.addr = f.addr;
  append_func(funcs_, r, f.chunk, name);
  nfuncs_++;
  if (funcs_.size() > LT_PAYLOAD_MAX / 16) flush_words();
}

}  // namespace luatrace
