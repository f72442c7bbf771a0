// SPDX-License-Identifier: MIT
// What hostile traces are made of: streams of events, mappings. Both write whole blocks as the
// recorder does, the last one when they are destroyed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/records.h"
#include "trace/trace_writer.h"

namespace luatrace {

// One stream; words are written in blocks as the recorder makes them.
class Stream {
 public:
  Stream(TraceWriter& writer, uint32_t number, uint32_t process = 1)
      : writer_(writer), number_(number) {
    lt_stream_info info{};
    info.process = process;
    info.recording = 1;
    info.tid = static_cast<int32_t>(number);
    info.start_tick = now_;
    std::string("hostile").copy(info.luajit, sizeof info.luajit - 1);
    writer_.write_stream(number_, info);
    ext(LTX_START, 0, {now_, lt_pack(1, LTF_JIT)});
  }
  ~Stream() { flush(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void entry(uint32_t id) { word(LT_ENTRY, id); }
  void ret(uint32_t id) { word(LT_RETURN, id); }
  void resume(uint32_t coroutine) { word(LT_RESUME, coroutine); }
  // Three functions; the first calls, and each of up to `n` coroutines resumes the next, to 30,000.
  // Returns their number.
  uint32_t chain(uint32_t n) {
    functions(3);
    entry(1);
    const uint32_t length = std::min(n, 30000u);
    for (uint32_t i = 1; i <= length; i++) resume(i), entry(2);
    return length;
  }
  void suspend(uint32_t status) { word(LT_SUSPEND, status); }
  void frame(uint32_t id) { word(LT_FRAME, id); }
  void create(uint32_t coroutine) { ext(LTX_CREATE, 0, {coroutine}); }
  void collect(uint32_t coroutine) { ext(LTX_COLLECT, 0, {coroutine}); }
  void request(uint32_t coroutine, uint64_t address) {
    ext(LTX_REQUEST, 0, {coroutine, address + 1});
  }
  void switch_to(uint32_t coroutine) { ext(LTX_SWITCH, 0, {coroutine}); }
  void unwind(uint32_t count, uint32_t id) { ext(LTX_UNWIND, 0, {lt_pack(count, id)}); }
  void stack(uint32_t coroutine, uint64_t calls) {
    ext(LTX_STACK, LTR_LOSS, {coroutine, calls + 1});
  }
  void loss() { ext(LTX_LOSS, 0, {2, now_}); }
  void thread(uint32_t tid) { ext(LTX_THREAD, 0, {tid}); }
  void ext(uint32_t sub, uint32_t arg, std::vector<uint64_t> more) {
    make_space(1 + more.size());
    words_.push_back(lt_word(now_, lt_ext(sub, more.size(), arg), LT_EXT));
    words_.insert(words_.end(), more.begin(), more.end());
    count_++;
  }

  // A Lua function of this stream, or a C function at `addr`.
  void lua(uint32_t id, const std::string& name, uint32_t line,
           const std::string& chunk = "@h.lua") {
    lt_func f{};
    f.type = LT_FUNC_LUA;
    f.flags = LT_FUNC_HINT;
    f.id = id;
    f.firstline = line;
    f.lastline = line + 1;
    add(f, chunk, name);
  }
  void c(uint32_t id, uint64_t addr) {
    lt_func f{};
    f.type = LT_FUNC_C;
    f.id = id;
    f.addr = addr;
    add(f, "", "");
  }
  // Functions 1 to n: f1 at line 1 ...
  void functions(uint32_t n) {
    for (uint32_t i = 1; i <= n; i++) lua(i, 'f' + std::to_string(i), i);
    described();
  }
  void described() {
    if (functions_) writer_.write_funcs(number_, functions_, records_);
    records_.clear();
    functions_ = 0;
  }
  void flush() {
    described();
    if (words_.empty()) return;
    EventBlockInfo info;
    info.stream = number_;
    info.count = count_;
    info.base_tick = base_;
    info.end_tick = now_;
    writer_.write_events(info, words_);
    words_.clear();
    count_ = 0;
    base_ = now_;
  }
  uint64_t step = 100;  // Ticks from one event to the next.

 private:
  static constexpr size_t kBlockWords = 8192;
  void word(uint32_t kind, uint32_t value) {
    const bool big = value >= LT_PAYLOAD_BIG;
    make_space(big ? 2 : 1);
    words_.push_back(lt_word(now_, big ? LT_PAYLOAD_BIG : value, kind));
    if (big) words_.push_back(value);
    count_++;
  }
  void make_space(size_t words) {
    if (words_.size() + words > kBlockWords) flush();
    now_ += step;
  }
  void add(const lt_func& f, const std::string& chunk, const std::string& name) {
    append_func(records_, f, chunk, name);
    functions_++;
    if (records_.size() > 1 << 20) described();
  }

  TraceWriter& writer_;
  const uint32_t number_;
  uint64_t now_ = 1000000, base_ = 1000000;
  uint32_t count_ = 0, functions_ = 0;
  std::vector<uint64_t> words_;
  std::vector<std::byte> records_;
};

// Mappings of process 1, in blocks.
class Maps {
 public:
  explicit Maps(TraceWriter& writer) : writer_(writer) {}
  ~Maps() { flush(); }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;
  void add(uint64_t start, uint64_t end, const std::string& path) {
    lt_map m{};
    m.start = start;
    m.end = end;
    append_map(records_, m, {}, path);
    count_++;
    if (records_.size() > 1 << 20) flush();
  }

 private:
  void flush() {
    if (count_) writer_.write_maps(1, count_, records_);
    records_.clear();
    count_ = 0;
  }
  TraceWriter& writer_;
  uint32_t count_ = 0;
  std::vector<std::byte> records_;
};

}  // namespace luatrace
