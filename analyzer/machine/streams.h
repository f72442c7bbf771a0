// SPDX-License-Identifier: MIT
// All streams of one trace file: one stack machine per stream, all with the same Sink.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_events.h"
#include "analyzer/machine/machine_loop.h"
#include "analyzer/read/map_table.h"

namespace luatrace::analyze {

// Results of one stream; times in ticks.
struct StreamSums {
  StreamId stream;
  uint64_t traced = 0;
  uint64_t gap = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t coroutines = 0;
  std::set<ThreadId> threads;
  CpuSums cpu;
};

// What a file says about itself, and the sums of its streams: what reports need besides the Sink.
struct TraceFacts {
  Clock clock;
  FunctionTable functions;
  std::map<ProcessId, ProcessInfo> processes;
  std::map<StreamId, StreamInfo> streams;
  std::vector<StreamSums> sums;
  MapTable maps;
  std::string notes;
  std::optional<EndInfo> end;

  // Returns the process of a stream.
  ProcessId process_of(StreamId stream) const {
    auto it = streams.find(stream);
    return it == streams.end() ? kNoProcess : it->second.process;
  }
};

template <class Sink>
class Streams : public TraceSink {
 public:
  using Machine = StackMachine<Sink>;

  Streams(TraceFacts& facts, Sink& sink, Diagnostics& diagnostics)
      : Streams(facts, facts.functions, sink, diagnostics) {}
  // With a function table to which other threads add, too.
  Streams(TraceFacts& facts, FunctionTable& functions, Sink& sink, Diagnostics& diagnostics)
      : facts_(facts), functions_(functions), sink_(sink), diag_(diagnostics) {}

  void on_header(const Clock& clock, const lt_file_header&) override {
    facts_.clock = clock;
    if constexpr (requires { sink_.set_clock(clock); }) sink_.set_clock(clock);
  }
  void on_process(const ProcessInfo& info) override { facts_.processes[info.number] = info; }
  void on_stream(const StreamInfo& info) override {
    facts_.streams[info.number] = info;
    machine(info.number).ids().set_process(info.process);
  }
  void on_function(const FunctionInfo& info) override { machine(info.stream).ids().define(info); }
  void on_map(const MapInfo& info) override { facts_.maps.add(info); }
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_samples(const SampleBlock& block) override {
    diag_.trust.bad_records++;
    diag_.log(block.offset, "samples in a trace of events: left out");
  }
  void on_end(const EndInfo& info) override { facts_.end = info; }
  void on_events(const EventBlock& block) override {
    Machine& m = machine(block.stream);
    if constexpr (requires { sink_.stream(block.stream); }) sink_.stream(block.stream);
    m.block(block);
  }

  // Instead of finish(), to see what has happened so far: the facts get the sums of the time since
  // restart(), or all of it. For sinks of sums restart() is to be called next, with an empty sink.
  void settle() {
    facts_.sums.clear();
    for (auto& [number, m] : machines_) {
      if constexpr (!Sink::kFrames) m->settle();
      facts_.sums.push_back(sums_of(number, *m));
    }
  }
  void restart() {
    for (auto& entry : machines_) entry.second->restart();
    facts_.sums.clear();
  }

  // To be called at the end of the file: cuts all open calls.
  void finish() {
    for (auto& entry : machines_) {
      const StreamId number = entry.first;  // clang 14 cannot capture a structured binding below.
      auto& m = entry.second;
      if constexpr (requires { sink_.stream(number); }) sink_.stream(number);
      m->finish();
      facts_.sums.push_back(sums_of(number, *m));
    }
    if constexpr (requires { sink_.finish(); }) sink_.finish();
    // Losses after the last word of a stream are only in the end block.
    if (facts_.end) diag_.trust.lost = std::max(diag_.trust.lost, facts_.end->lost);
  }

 private:
  static StreamSums sums_of(StreamId number, const Machine& m) {
    return {number,        m.traced(),     m.gap(),     m.first_tick(),
            m.last_tick(), m.coroutines(), m.threads(), m.cpu()};
  }
  Machine& machine(StreamId stream) {
    auto& slot = machines_[stream];
    if (!slot) slot = std::make_unique<Machine>(stream, sink_, diag_, functions_);
    return *slot;
  }

  TraceFacts& facts_;
  FunctionTable& functions_;
  Sink& sink_;
  Diagnostics& diag_;
  std::map<StreamId, std::unique_ptr<Machine>> machines_;
};

}  // namespace luatrace::analyze
