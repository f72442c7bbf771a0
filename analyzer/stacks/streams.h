// SPDX-License-Identifier: MIT
// All streams of one trace file: gives each its stack machine, and the machines one Sink.
#pragma once

#include <map>
#include <memory>

#include "analyzer/stacks/machine.h"

namespace luatrace {

template <class Sink>
class Streams : public TraceSink {
 public:
  using Machine = StackMachine<Sink>;

  Streams(Sink& sink, Diagnostics& diagnostics) : sink_(sink), diag_(diagnostics) {}

  void on_header(const Clock& clock, const lt_file_header&) override { clock_ = clock; }
  void on_process(const ProcessInfo& info) override { processes_[info.number] = info; }
  void on_stream(const StreamInfo& info) override {
    streams_[info.number] = info;
    machine(info.number).ids().set_process(info.process);
  }
  void on_function(const FunctionInfo& info) override { machine(info.stream).ids().define(info); }
  void on_map(const MapInfo& info) override { maps_.push_back(info); }
  void on_note(const std::string& text) override { notes_ += text; }
  void on_events(const EventBlock& block) override {
    if constexpr (Sink::kNotes) sink_.stream(block.stream);
    machine(block.stream).block(block);
  }
  void on_end(const EndInfo& info) override {
    end_ = info;
    has_end_ = true;
  }

  // The end of the file: cuts what is open.
  void finish() {
    for (auto& [number, machine] : machines_) machine->finish();
    // Losses after the last word of a stream are only in the end block.
    if (has_end_) diag_.trust.lost = std::max(diag_.trust.lost, end_.lost);
  }

  const Clock& clock() const { return clock_; }
  const FunctionTable& functions() const { return functions_; }
  const std::map<uint32_t, ProcessInfo>& processes() const { return processes_; }
  const std::map<uint32_t, StreamInfo>& streams() const { return streams_; }
  const std::map<uint32_t, std::unique_ptr<Machine>>& machines() const { return machines_; }
  const std::vector<MapInfo>& maps() const { return maps_; }
  const std::string& notes() const { return notes_; }
  const EndInfo* end() const { return has_end_ ? &end_ : nullptr; }

 private:
  Machine& machine(uint32_t stream) {
    auto& slot = machines_[stream];
    if (!slot) slot = std::make_unique<Machine>(stream, sink_, diag_, functions_);
    return *slot;
  }

  Sink& sink_;
  Diagnostics& diag_;
  Clock clock_;
  FunctionTable functions_;
  std::map<uint32_t, ProcessInfo> processes_;
  std::map<uint32_t, StreamInfo> streams_;
  std::map<uint32_t, std::unique_ptr<Machine>> machines_;
  std::vector<MapInfo> maps_;
  std::string notes_;
  EndInfo end_;
  bool has_end_ = false;
};

}  // namespace luatrace
