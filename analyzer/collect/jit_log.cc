// SPDX-License-Identifier: MIT
#include "analyzer/collect/jit_log.h"

#include "analyzer/machine/functions.h"
#include "analyzer/symbols/function_name.h"
#include "luatrace_work.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

// "work (app.lua:3)"
std::string name_of(const FunctionName& f) {
  const std::string name = display_name(f), place = display_place(f);
  return is_main_chunk(f) || place.empty() ? name : name + " (" + place + ')';
}

uint32_t number_of(const Record& r) {
  return lt_lo(r.words[0]) & 0xffff;
}

}  // namespace

void JitLog::on_function(const FunctionInfo& f) {
  Stream& s = streams_[f.stream];
  if (f.type == LT_FUNC_FF && f.ffid == LT_FF_GC) s.collector = f.id;
  if (f.type == LT_FUNC_FF && f.ffid == LT_FF_JIT) s.compiler = f.id;
  const FunctionName named = describe(Function{f, {}}, [](const Function&) { return Symbol{}; });
  const std::string key = identity(named);
  s.keys[f.id] = key;
  std::string& name = names_[key];
  if (name.empty() || !named.name.empty()) name = name_of(named);
}

void JitLog::on_events(const EventBlock& block) {
  Stream& s = streams_[block.stream];
  s.now = block.base_tick;
  for (size_t at = 0; at < block.words.size();) {
    Record r;
    const bool good = read_record(&block.words[at], block.words.size() - at, r);
    at += r.length;
    if (!good || !r.has_time()) continue;
    uint64_t tick;
    if (!r.full_clock(tick)) tick = unwrap(s.now, lt_time(r.word));
    if (tick >= s.now && tick <= block.end_tick) s.now = tick;
    record(s, r);
  }
}

void JitLog::record(Stream& s, const Record& r) {
  if (r.kind == LT_ENTRY || r.kind == LT_RETURN) return call(s, r);
  if (r.kind != LT_EXT) return;
  if (r.sub == LTX_TRACE) return trace(s, r);
  if (r.sub == LTX_GC && r.arg & LTG_END) totals_.full += (r.arg & LTG_FULL) != 0;
  if (r.sub != LTX_LOSS && r.sub != LTX_START) return;
  // What is open now ends unseen; traces may have gone and others have come.
  s.compiles_since = s.collects_since = kNever;
  s.attempt = {};
  s.traces.clear();
}

void JitLog::call(Stream& s, const Record& r) {
  const auto id = static_cast<uint32_t>(r.value);
  if (id == 0 || (id != s.compiler && id != s.collector)) return;
  uint64_t& since = id == s.compiler ? s.compiles_since : s.collects_since;
  if (r.kind == LT_ENTRY) {
    totals_.steps += id == s.collector;
    since = s.now;
    return;
  }
  if (since == kNever) return;
  const uint64_t ticks = s.now - since;
  since = kNever;
  (id == s.compiler ? totals_.ns : totals_.collector_ns) += clock_.ns(ticks);
  if (id == s.collector) return;
  s.attempt.ticks += ticks;
  if (s.attempt.ended) settle(s.attempt);
}

// The cost of a trace that has ended is known.
void JitLog::settle(Attempt& attempt) {
  if (attempt.aborts) attempt.aborts->ns += clock_.ns(attempt.ticks);
  attempt = {};
}

const std::string& JitLog::name(const JitPlace& place) const {
  static const std::string unknown = "?";
  const auto name = names_.find(place.function);
  return name == names_.end() ? unknown : name->second;
}

// The key of a trace that was compiled before the recording, or in a gap.
std::string JitLog::older_trace(uint32_t number) {
  const std::string key = "[trace " + std::to_string(number) + "]";
  names_.try_emplace(key,
                     "[trace " + std::to_string(number) + ", whose beginning is not recorded]");
  return key;
}

JitPlace JitLog::place(const Stream& s, uint64_t word) {
  const auto key = s.keys.find(lt_lo(word));
  const uint32_t line = lt_hi(word) ? lt_hi(word) - 1 : 0;
  return {key == s.keys.end() ? std::string() : key->second, line};
}

void JitLog::trace(Stream& s, const Record& r) {
  const uint32_t kind = r.arg & LTT_MASK;
  if (kind == LTT_EXIT) return left(s, r);
  if (r.nwords < 2) return;
  if (kind == LTT_START) return start(s, r);
  if (kind == LTT_STOP) return stop(s, r);
  if (kind == LTT_ABORT) return abort(s, r);
  if (kind == LTT_FLUSH) return flush(s, r);
  if (kind != LTT_OFF) return;
  JitInterpreted& why = interpreted_[place(s, r.words[1])];
  why.off = true;
  why.count++;
}

// A trace was left. There may be as many exits as calls, so each is looked up by name only once.
void JitLog::left(Stream& s, const Record& r) {
  totals_.exits++;
  const uint32_t exit = lt_hi(r.words[0]);
  const auto [found, is_older] = s.traces.try_emplace(number_of(r));
  Live& live = found->second;
  if (is_older) live.place.function = live.root.function = older_trace(number_of(r));
  uint64_t*& count = live.exits[exit];
  if (!count) count = &exits_[{live.place, live.root, exit}];
  ++*count;
}

void JitLog::start(Stream& s, const Record& r) {
  if (s.attempt.ended) settle(s.attempt);
  totals_.begun++;
  s.attempt = {};
  s.attempt.number = number_of(r);
  s.attempt.place = s.attempt.root = place(s, r.words[1]);
  const auto parent = s.traces.find(lt_lo(r.words[0]) >> 16);
  if (parent != s.traces.end()) s.attempt.root = parent->second.root;
}

void JitLog::stop(Stream& s, const Record& r) {
  totals_.completed++;
  totals_.code_bytes += lt_lo(r.words[1]);
  Attempt& a = s.attempt;
  if (a.number != number_of(r)) a = {};
  s.traces[number_of(r)] = {a.place, a.root, {}};
  a.ended = true;
}

void JitLog::abort(Stream& s, const Record& r) {
  totals_.aborted++;
  Attempt& a = s.attempt;
  if (a.number != number_of(r)) a = {};
  const auto reason = s.keys.find(lt_hi(r.words[0]));
  const JitAbort what{place(s, r.words[1]),
                      reason == s.keys.end() ? "unknown reason" : names_[reason->second]};
  JitAborts& sums = aborts_[what];
  sums.count++;
  a.aborts = &sums;
  a.ended = true;
  if (!(r.arg & LTT_FLAG)) return;
  sums.blacklisted++;
  JitInterpreted& why = interpreted_[a.place];
  why.count++;
  why.last = what;
}

void JitLog::flush(Stream& s, const Record& r) {
  const bool own = r.arg & LTT_FLAG;
  (own ? totals_.own_flushes : totals_.flushes)++;
  (own ? totals_.own_flushed : totals_.flushed) += lt_lo(r.words[0]);
  s.traces.clear();
}

void JitLog::finish_file() {
  for (auto& [number, s] : streams_)
    if (s.attempt.ended) settle(s.attempt);
  streams_.clear();
}

}  // namespace luatrace::analyze
