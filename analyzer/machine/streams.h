// SPDX-License-Identifier: MIT
// All streams of one trace file: one stack machine per Lua VM, all with the same Sink. After a
// pause the recording of a VM goes on in another stream, which joins the machine of the one before.
//
// Invariant: a stream joins only if the trace shows that the VM is the same: the same process and
// address, the next number of its recordings (a new VM at the address begins with 1), and the one
// before was switched off, not closed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "analyzer/machine/code_weights.h"
#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_events.h"
#include "analyzer/machine/machine_loop.h"
#include "analyzer/machine/segments.h"
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

// A recording of a Lua VM.
struct VmRecording {
  ProcessId process;
  uint64_t address = 0;
  uint32_t number = 0;
  auto operator<=>(const VmRecording&) const = default;

  static VmRecording of(const StreamInfo& s) { return {s.process, s.state_addr, s.recording}; }
  VmRecording before() const { return {process, address, number - 1}; }
};

// What a file says about itself, and the sums of its streams: what reports need besides the Sink.
struct TraceFacts {
  Clock clock;
  FunctionTable functions;
  std::map<ProcessId, ProcessInfo> processes;
  std::map<StreamId, StreamInfo> streams;  // Once all is read: without those that joined others.
  std::vector<StreamSums> sums;
  MapTable maps;
  std::string notes;
  std::optional<EndInfo> end;
  // How time inside segments is apportioned; null: by the size of their code.
  const CodeWeights* weights = nullptr;

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
    recordings_.try_emplace(VmRecording::of(info), info.number);
    if (const auto it = machines_.find(info.number); it != machines_.end())
      it->second->ids().set_process(info.process);
  }
  void on_function(const FunctionInfo& info) override {
    FunctionInfo described = info;
    described.stream = joined(info.stream);
    machine(described.stream).ids().define(described);
  }
  void on_segment(const SegmentInfo& info) override { expander(info.stream).add(info); }
  void on_map(const MapInfo& info) override { facts_.maps.add(info); }
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_samples(const SampleBlock& block) override {
    diag_.trust.bad_records++;
    diag_.log(block.offset, "samples in a trace of events: left out");
  }
  void on_end(const EndInfo& info) override { facts_.end = info; }
  void on_events(const EventBlock& block) override {
    const StreamId stream = joined(block.stream);
    Machine& m = machine(stream);
    if constexpr (requires { sink_.stream(stream); }) sink_.stream(stream);
    if (SegmentExpander* expander = expander_of(block.stream))
      expander->expand(block, [&m](const EventBlock& expanded, std::span<const SegmentCue> cues) {
        m.block(expanded, cues);
      });
    else
      m.block(block);
  }

  // Instead of finish(), to see what has happened so far: the facts get the sums of the time since
  // restart(), or all of it. For sinks of sums restart() is to be called next, with an empty sink.
  void settle() {
    facts_.sums.clear();
    forget_joined(facts_);
    for (auto& [number, m] : machines_) {
      if constexpr (!Sink::kFrames) m->settle();
      facts_.sums.push_back(sums_of(number, *m));
    }
  }
  void restart() {
    for (auto& entry : machines_) entry.second->restart();
    facts_.sums.clear();
  }

  // The streams that have joined others are no Lua VMs of their own.
  void forget_joined(TraceFacts& facts) const {
    for (const auto& [stream, first] : joined_)
      if (stream != first) facts.streams.erase(stream);
  }

  // To be called at the end of the file: cuts all open calls.
  void finish() {
    for (const auto& entry : facts_.streams)
      if (!joined_.contains(entry.first)) machine(entry.first);  // Without events.
    for (auto& entry : machines_) {
      const StreamId number = entry.first;  // clang 14 cannot capture a structured binding below.
      auto& m = entry.second;
      if constexpr (requires { sink_.stream(number); }) sink_.stream(number);
      m->finish();
      facts_.sums.push_back(sums_of(number, *m));
    }
    forget_joined(facts_);
    if constexpr (requires { sink_.finish(); }) sink_.finish();
    // Losses after the last word of a stream are only in the end block.
    if (facts_.end) diag_.trust.lost = std::max(diag_.trust.lost, facts_.end->lost);
  }

 private:
  static StreamSums sums_of(StreamId number, const Machine& m) {
    return {number,        m.traced(),     m.gap(),     m.first_tick(),
            m.last_tick(), m.coroutines(), m.threads(), m.cpu()};
  }
  // Of a stream with segments, else null.
  SegmentExpander* expander_of(StreamId stream) {
    if (const auto it = segments_.find(stream); it != segments_.end()) return &it->second;
    const auto info = facts_.streams.find(stream);
    if (info == facts_.streams.end() || !(info->second.flags & LTF_SEGMENTS)) return nullptr;
    return &expander(stream);
  }
  SegmentExpander& expander(StreamId stream) {
    const StreamWeights* const weights = facts_.weights ? facts_.weights->find(stream) : nullptr;
    return segments_.try_emplace(stream, diag_, weights).first->second;
  }
  Machine& machine(StreamId stream) {
    auto& slot = machines_[stream];
    if (slot) return *slot;
    slot = std::make_unique<Machine>(stream, sink_, diag_, functions_);
    slot->ids().set_process(facts_.process_of(stream));
    return *slot;
  }
  // Which stream this one continues; itself, if none. Decided when its first functions or events
  // come.
  StreamId joined(StreamId stream) {
    const auto [it, fresh] = joined_.try_emplace(stream, stream);
    if (fresh) it->second = predecessor(stream);
    return it->second;
  }
  StreamId predecessor(StreamId stream) {
    const auto info = facts_.streams.find(stream);
    if (info == facts_.streams.end() || info->second.state_addr == 0) return stream;
    const auto before = recordings_.find(VmRecording::of(info->second).before());
    if (before == recordings_.end()) return stream;
    const auto first = joined_.find(before->second);
    if (first == joined_.end()) return stream;
    const auto m = machines_.find(first->second);
    if (m == machines_.end() || !m->second->paused()) return stream;
    if constexpr (requires { sink_.stream(stream); }) sink_.stream(first->second);
    m->second->rejoin();
    return first->second;
  }

  TraceFacts& facts_;
  FunctionTable& functions_;
  Sink& sink_;
  Diagnostics& diag_;
  std::map<StreamId, std::unique_ptr<Machine>> machines_;  // By the first stream of the VM.
  std::map<VmRecording, StreamId> recordings_;
  std::map<StreamId, StreamId> joined_;
  std::map<StreamId, SegmentExpander> segments_;
};

}  // namespace luatrace::analyze
