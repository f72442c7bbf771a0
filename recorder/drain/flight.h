// SPDX-License-Identifier: MIT
// Flight (--flight): a destination for the blocks of a trace that keeps only the newest events, in
// memory. Snapshot: what it holds at a moment, written as a complete trace, a part at a time.
//
// Invariants: the events held take up to `bytes`, everything else up to kDescriptions, plus the
// open calls of each stream (open_calls.h). Descriptions come before what uses them: what describes
// a stream or a process is kept as long as its events may follow. Events that leave the window are
// followed, so that each stream of a snapshot begins with the stacks as they were there. A snapshot
// shares the events with the window. Only the drainer's thread touches all of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/open_calls.h"
#include "trace/trace_writer.h"

namespace luatrace::record {

using Payload = std::shared_ptr<const std::vector<std::byte>>;

struct FlightBlock {
  lt_block head{};
  BlockNote note;
  Payload payload;
  uint64_t came_ns = 0;

  uint64_t size() const { return payload->size() + sizeof *this + 64; }  // of memory, about
};

class Snapshot {
 public:
  // Writes up to that many more bytes (but at least a block). False: that was all.
  bool write(TraceWriter& out, uint64_t bytes);
  uint64_t start_tick() const { return start_tick_; }

 private:
  friend class Flight;
  struct Start {  // of a stream
    uint32_t stream;
    uint64_t tick;
    std::vector<uint64_t> words;
  };
  std::deque<FlightBlock> described_, events_;
  std::deque<Start> starts_;
  uint64_t start_tick_ = 0;
};

// What a FUNCS block says of a function, for whoever wants to know (call_watch.h).
class FlightObserver {
 public:
  virtual ~FlightObserver() = default;
  virtual void functions(uint32_t stream, std::span<const std::byte> records) = 0;
  virtual void events(const lt_block& head, std::span<const uint64_t> words) = 0;
  virtual void ended(uint32_t stream) = 0;
};

class Flight : public BlockSink {
 public:
  static constexpr uint64_t kDescriptions = 64u << 20;  // bytes

  // bytes of events, and for how long (ns, 0: any time).
  Flight(uint64_t bytes, uint64_t ns) : limit_(bytes), limit_ns_(ns) {}
  // Sees everything that comes. Must outlive this object.
  void observe(FlightObserver& observer) { observer_ = &observer; }
  // Called whenever a block has come, while it is in the window.
  void after_write(std::function<void()> f) { after_write_ = std::move(f); }

  bool seekable() const override { return true; }
  bool write(BlockBatch& batch) override;
  bool rewrite(const lt_file_header&) override { return true; }
  bool restart() override;
  bool close() override { return restart(); }
  bool ok() const override { return true; }
  std::string error() const override { return ""; }
  uint64_t written() const override { return written_; }

  // Nothing more comes from that stream.
  void end_stream(uint32_t stream);
  // Lets go of events that are too old first. why: one line, for the file's NOTE.
  Snapshot snapshot(uint64_t now_tick, const std::string& why);
  uint64_t held() const { return held_; }            // bytes of events
  uint64_t described() const { return described_; }  // bytes of descriptions
  uint64_t forgotten() const { return forgotten_; }  // descriptions that did not fit

 private:
  struct Stream {
    lt_stream_info info{};
    OpenCalls open;     // at the start of the window
    uint64_t tick = 0;  // of the last event that has left it; 0: none has
    std::map<uint32_t, std::vector<std::byte>> functions;  // by id
  };
  struct Process {
    FlightBlock about;
    std::vector<FlightBlock> maps;
  };

  void take(FlightBlock block);
  void take_functions(uint32_t stream, std::span<const std::byte> records);
  void let_go(uint64_t now_ns);
  void leave(const FlightBlock& block);
  void remove_over();
  void sweep();
  void sweep_functions();
  void forget_functions(Stream& s, const std::vector<uint32_t>& used);
  void add_descriptions(Snapshot& s) const;
  void add_start(Snapshot& s, uint32_t number, const Stream& stream) const;

  const uint64_t limit_, limit_ns_;
  FlightObserver* observer_ = nullptr;
  std::function<void()> after_write_;
  FlightBlock about_;  // NOTE
  std::map<uint32_t, Process> processes_;
  std::map<uint32_t, Stream> streams_;
  std::deque<FlightBlock> window_;
  std::deque<std::pair<uint32_t, uint64_t>> over_;  // streams that have ended, and when (ns)
  uint64_t held_ = 0, described_ = 0, written_ = 0, forgotten_ = 0;
};

}  // namespace luatrace::record
