// SPDX-License-Identifier: MIT
#include "analyzer/collect/verdict_pass.h"

#include <map>
#include <memory>

#include "analyzer/collect/leading_calls.h"
#include "analyzer/machine/parallel_streams.h"
#include "analyzer/read/trace_reader.h"

namespace luatrace::analyze {
namespace {

// The Sink that only finds calls shorter than -t. Its nodes are call numbers.
class ShortCalls {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = false;

  explicit ShortCalls(uint64_t min_ns) : min_ns_(min_ns) { stream(kNoStream); }
  CallVerdicts verdicts;

  void set_clock(const Clock& clock) { clock_ = clock; }
  void stream(StreamId number) {
    calls_ = &counts_[number];
    stream_ = &verdicts[number];
  }
  void add(ShortCalls& other) { verdicts.add(std::move(other.verdicts)); }

  uint32_t enter(uint32_t, FunctionId) { return next_call(*calls_); }
  uint32_t enter_base(uint32_t, FunctionId) { return 0; }
  uint32_t enter_again(uint32_t, uint32_t old, FunctionId) { return old; }
  void call(uint32_t) {}
  void add_self_time(uint32_t, uint64_t) {}
  void suspended(uint32_t, uint64_t) {}
  void ended(uint32_t number, FunctionId, uint64_t running) { cut(number, running); }
  void cut(uint32_t number, uint64_t running) {
    if (clock_.ns(running) < min_ns_) stream_->drop(CallNumber(number), true);
  }

 private:
  const uint64_t min_ns_;
  Clock clock_;
  std::map<StreamId, CallNumber> counts_;  // By stream: the next call.
  CallNumber* calls_ = nullptr;            // Of the current stream.
  StreamVerdicts* stream_ = nullptr;
};

}  // namespace

CallNumber next_call(CallNumber& next) {
  if (next != UINT32_MAX) return next++;
  throw Unreadable(
      "-t and -C support up to 4,294,967,295 calls in each Lua VM, but the trace has more: leave "
      "them out");
}

CallVerdicts find_verdicts(const FilterPlan& plan, const SymbolFinder& symbols, Input& input,
                           size_t jobs) {
  Diagnostics silent(input.name(), [](const std::string&) {});
  TraceFacts facts;
  facts.weights = plan.weights;
  if (plan.options->callers.empty()) {
    auto brief = [&](const TraceFacts&) {
      return std::make_unique<ShortCalls>(plan.options->min_ns);
    };
    return std::move(read_streams<ShortCalls>(input, facts, silent, jobs, brief)->verdicts);
  }
  auto leading = [&](const TraceFacts&) {
    return std::make_unique<LeadingCalls>(plan, facts.functions, symbols);
  };
  return std::move(read_streams<LeadingCalls>(input, facts, silent, jobs, leading)->verdicts);
}

}  // namespace luatrace::analyze
