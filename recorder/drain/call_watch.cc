// SPDX-License-Identifier: MIT
#include "recorder/drain/call_watch.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "recorder/drain/chunk_globs.h"
#include "recorder/os/text.h"
#include "trace/word_scanner.h"

namespace luatrace::record {

namespace {

// A name without "." and ":" is also the last part of one: an attached process knows the functions
// of its modules by the modules, too.
bool name_matches(const std::string& pattern, const std::string& name) {
  if (name.empty()) return false;
  if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  const size_t at = name.find_last_of(".:");
  return at != name.npos && pattern.find_first_of(".:") == pattern.npos &&
         fnmatch(pattern.c_str(), name.c_str() + at + 1, 0) == 0;
}

}  // namespace

bool WatchRule::matches(const lt_func& f, const std::string& chunk, const std::string& name) const {
  if (name_matches(function, name)) return true;
  if (f.type != LT_FUNC_LUA) return false;
  if (f.firstline == 0) return glob_matches(function, chunk);
  return glob_matches(function, chunk + ":" + std::to_string(f.firstline));
}

// -- Following --

void CallFollower::functions(uint32_t stream, std::span<const std::byte> records) {
  Stream& s = streams_[stream];
  for (size_t at = 0; at + sizeof(lt_func) <= records.size();) {
    lt_func f;
    std::memcpy(&f, &records[at], sizeof f);
    const char* const text = reinterpret_cast<const char*>(&records[at]) + sizeof f;
    const std::string chunk(text, f.chunk_len), name(text + f.chunk_len + 1, f.name_len);
    uint32_t bits = 0;
    for (size_t i = 0; i < rules_.size(); i++)
      if (rules_[i].matches(f, chunk, name)) bits |= 1u << i;
    if (bits != 0) s.watched[f.id] |= bits;
    matched_ |= bits;
    at += f.size;
  }
}

std::vector<std::string> CallFollower::unmatched() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < rules_.size(); i++)
    if ((matched_ >> i & 1) == 0) names.push_back(rules_[i].function);
  return names;
}

void CallFollower::forget(Stream& s) {
  losses_++;
  s.calls.clear();
  lost(s);
}

// Those above `depth`, innermost first.
void CallFollower::end_calls(Stream& s, uint32_t coroutine, size_t depth, bool by_error) {
  const auto it = s.calls.find(coroutine);
  if (it == s.calls.end()) return;
  std::vector<Call>& calls = it->second;
  while (!calls.empty() && calls.back().depth > depth) {
    const Call call = calls.back();
    calls.pop_back();
    call_ended(s, coroutine, call, by_error);
  }
  if (calls.empty()) s.calls.erase(coroutine);
}

void CallFollower::record(Stream& s, std::span<const uint64_t> r) {
  const uint32_t kind = lt_kind(r[0]), sub = sub_of(r[0]), by = s.open.current();
  uint32_t bits = 0, id = 0;
  // What a report of the stack names began before: its time from here on is a lower bound.
  if (kind == LT_ENTRY || (kind == LT_FRAME && takes_reports())) {
    id = r.size() > 1 ? lt_lo(r[1]) : lt_payload(r[0]);
    const auto it = s.watched.find(id);
    bits = it == s.watched.end() ? 0 : it->second;
  }
  before(s, r, bits != 0);
  s.open.record(r);
  if (bits != 0)
    if (auto& calls = s.calls[by]; calls.size() < kMaxOpen)
      calls.push_back({id, bits, s.open.here().calls.size(), s.tick, kind == LT_FRAME});
  if (!s.calls.empty()) {
    if (kind == LT_RETURN || kind == LT_TAIL || sub == LTX_UNWIND)
      end_calls(s, by, s.open.here().calls.size(), sub == LTX_UNWIND);
    if (kind == LT_SUSPEND && lt_payload(r[0]) != LTS_YIELD)
      end_calls(s, by, 0, lt_payload(r[0]) == LTS_ERROR);
    if ((sub == LTX_STACK || sub == LTX_COLLECT) && r.size() > 1) s.calls.erase(lt_lo(r[1]));
  }
  if (sub == LTX_LOSS) forget(s);
  if (sub == LTX_START) s.calls.clear(), lost(s);
  after(s, r, by);
}

// A block's words are up to half a turn of the clock apart.
void CallFollower::events(const lt_block& head, std::span<const uint64_t> words) {
  constexpr uint64_t kLow = (uint64_t{1} << LT_TIME_BITS) - 1;
  Stream& s = streams_[head.stream];
  s.number = head.stream;
  s.tick = head.base_tick;
  if ((head.flags & LT_BLOCK_F_GAP) != 0) {
    s.open.forget();
    forget(s);
  }
  while (!words.empty()) {
    const size_t n = record_words(words[0]);
    if (n == 0 || n > words.size()) return;
    const uint64_t ahead = (lt_time(words[0]) - s.tick) & kLow;
    if (ahead <= kLow / 2) s.tick += ahead;
    record(s, words.first(n));
    words = words.subspan(n);
  }
}

// -- Watching --

std::string name_advice(const std::string& name) {
  const auto is_in_name = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
  };
  const size_t at = name.find_last_of(".:");
  const std::string last = at == name.npos ? "" : name.substr(at + 1);
  if (last.empty() || last == "lua" || isdigit(static_cast<unsigned char>(last[0])) ||
      !std::all_of(name.begin(), name.end(), is_in_name))
    return "";
  return "a function that is defined as " + name + " may be known as " + last + "; ";
}

void CallWatch::call_ended(Stream& s, uint32_t, const Call& call, bool by_error) {
  const double ns = ticks_to_ns(rate_(), s.tick - call.tick);
  for (size_t i = 0; i < rules_.size(); i++) {
    const WatchRule& rule = rules_[i];
    if ((call.rules >> i & 1) == 0 || hit_) continue;
    const bool slow = ns > static_cast<double>(rule.limit_ns);
    if (!slow && !(by_error && rule.on_error)) continue;
    const std::string took = call.reported ? " took more than " : " took ";
    text_ = rule.function + (slow ? took + time_text(ns) : " was left by an error");
    hit_ = true;
  }
}

std::string CallWatch::take() {
  hit_ = false;
  return std::exchange(text_, {});
}

}  // namespace luatrace::record
