// SPDX-License-Identifier: MIT
// Which calls are dropped: those that are too short (-t), or have not led to a function of -C. That
// is known when they end; so the trace is read once for it, and once more for all the rest, which
// then knows when a call begins whether it is shown.
//
// Invariant: calls are numbered in the order of their ENTRY and FRAME events in the stream, which
// is the same in both readings. A call of which nothing is noted is kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analyzer/aggregate/report_function.h"
#include "analyzer/decode/diagnostics.h"
#include "analyzer/decode/input.h"
#include "analyzer/decode/model.h"

namespace luatrace {

struct FilterOptions;
struct FilterPlan;

// Of a number of calls that verdicts do not have room for.
[[noreturn]] void throw_too_many_calls();

// Of one stream. A bit a call, up to the last one that is dropped.
class StreamVerdicts {
 public:
  bool drops(uint64_t call) const {
    return call / 64 < bits_.size() && (bits_[call / 64] >> call % 64 & 1);
  }
  void drop(uint64_t call, bool dropped) {
    if (call / 64 >= bits_.size()) {
      if (!dropped) return;
      bits_.resize(call / 64 + 1);
    }
    const uint64_t bit = uint64_t{1} << call % 64;
    bits_[call / 64] = dropped ? bits_[call / 64] | bit : bits_[call / 64] & ~bit;
  }

 private:
  std::vector<uint64_t> bits_;
};

class CallVerdicts {
 public:
  // Null: all of the stream's calls are kept.
  const StreamVerdicts* find(uint32_t stream) const {
    auto it = streams_.find(stream);
    return it == streams_.end() ? nullptr : &it->second;
  }
  StreamVerdicts& operator[](uint32_t stream) { return streams_[stream]; }
  // Those of other streams.
  void add(CallVerdicts&& other) { streams_.merge(other.streams_); }

 private:
  std::map<uint32_t, StreamVerdicts> streams_;
};

// The Sink that finds calls shorter than -t and nothing else: a node is the number of a call.
class BriefCalls {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = false;

  explicit BriefCalls(uint64_t least_ns) : least_ns_(least_ns) { stream(0); }
  CallVerdicts verdicts;

  void set_clock(const Clock& clock) { clock_ = clock; }
  void stream(uint32_t number) {
    calls_ = &counts_[number];
    stream_ = &verdicts[number];
  }
  void add(BriefCalls& other) { verdicts.add(std::move(other.verdicts)); }

  uint32_t enter(uint32_t, uint32_t) {
    if (*calls_ == UINT32_MAX) throw_too_many_calls();
    return (*calls_)++;
  }
  uint32_t enter_base(uint32_t, uint32_t) { return 0; }
  uint32_t enter_again(uint32_t, uint32_t old, uint32_t) { return old; }
  void call(uint32_t) {}
  void spend(uint32_t, uint64_t) {}
  void suspended(uint32_t, uint64_t) {}
  void ended(uint32_t number, uint32_t, uint64_t running) { cut(number, running); }
  void cut(uint32_t number, uint64_t running) {
    if (clock_.ns(running) < least_ns_) stream_->drop(number, true);
  }

 private:
  const uint64_t least_ns_;
  Clock clock_;
  std::map<uint32_t, uint32_t> counts_;  // By stream: its calls so far.
  uint32_t* calls_ = nullptr;            // Those of the stream whose events come now.
  StreamVerdicts* stream_ = nullptr;
};

// Whether the options ask for what is known only when a call ends.
bool needs_verdicts(const FilterOptions& options);

// Reads all of the trace, by at most `jobs` threads (1 or more). `plan`: plan.known has its names
// if -C is asked for; its verdicts are not looked at. What is wrong with the trace is said when it
// is read again. Throws Unreadable.
CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs);

}  // namespace luatrace
