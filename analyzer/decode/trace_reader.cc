// SPDX-License-Identifier: MIT
#include "analyzer/decode/trace_reader.h"

#include <cstring>

#include "analyzer/decode/block_reader.h"
#include "analyzer/decode/import.h"
#include "analyzer/decode/payload.h"
#include "analyzer/decode/text_reader.h"
#include "analyzer/decode/unpack_queue.h"

namespace luatrace {
namespace {

// Gives each block to the right parser and the result to the sink.
class Dispatcher {
 public:
  Dispatcher(Diagnostics& diagnostics, TraceSink& sink) : diag_(diagnostics), sink_(sink) {}

  void block(const Block& block) {
    if (!parse(block)) {
      diag_.trust.bad_records++;
      diag_.say(block.offset,
                "malformed record in a block of type " + std::to_string(block.header.type));
    }
  }
  bool ended() const { return ended_; }

 private:
  bool parse(const Block& block) {
    switch (block.header.type) {
      case LT_BLOCK_EVENTS:
        return events(block);
      case LT_BLOCK_FUNCS:
        return functions(block);
      case LT_BLOCK_STREAM:
        return one<StreamInfo>(block, parse_stream, &TraceSink::on_stream);
      case LT_BLOCK_PROCESS:
        return one<ProcessInfo>(block, parse_process, &TraceSink::on_process);
      case LT_BLOCK_MAPS:
        return maps(block);
      case LT_BLOCK_CLOCK:
        return one<lt_clock_info>(block, parse_clock, &TraceSink::on_clock);
      case LT_BLOCK_NOTE:
        return note(block);
      case LT_BLOCK_END:
        return ended_ = one<EndInfo>(block, parse_end, &TraceSink::on_end);
      default:
        diag_.trust.unknown++;
        return true;
    }
  }

  template <class T>
  bool one(const Block& block, bool (*parser)(const Block&, T&),
           void (TraceSink::*give)(const T&)) {
    T info{};
    if (!parser(block, info)) return false;
    (sink_.*give)(info);
    return true;
  }

  bool functions(const Block& block) {
    std::vector<FunctionInfo> list;
    bool good = parse_functions(block, list);
    for (const auto& info : list) sink_.on_function(info);
    return good;
  }

  bool maps(const Block& block) {
    std::vector<MapInfo> list;
    bool good = parse_maps(block, list);
    for (const auto& info : list) sink_.on_map(info);
    return good;
  }

  bool note(const Block& block) {
    sink_.on_note({reinterpret_cast<const char*>(block.payload.data()), block.payload.size()});
    return true;
  }

  bool events(const Block& block) {
    const lt_block& h = block.header;
    if (h.stream == 0) return false;
    EventBlock out{h.stream,    h.seq,   h.flags,   h.count,      h.base_tick, h.end_tick,
                   h.coroutine, h.depth, block.cut, block.offset, {},          block.hold};
    size_t words = block.payload.size() / 8;
    auto* data = block.payload.data();
    if (reinterpret_cast<uintptr_t>(data) % 8) {  // Only after bytes went missing.
      auto copy = std::make_shared<std::vector<uint64_t>>(words);
      if (words) memcpy(copy->data(), data, words * 8);
      out.words = *copy;
      out.hold = copy;
    } else {
      out.words = {reinterpret_cast<const uint64_t*>(data), words};
    }
    sink_.on_events(out);
    return block.payload.size() % 8 == 0;
  }

  Diagnostics& diag_;
  TraceSink& sink_;
  bool ended_ = false;
};

}  // namespace

Clock clock_of(const lt_file_header& h) {
  return {h.clock, h.tick_shift, h.tick_mult, h.start_tick, h.start_mono_ns, h.start_real_ns};
}

class TraceReader::Binary {
 public:
  Binary(Input& input, Diagnostics& diag, TraceSink& sink, Progress progress)
      : input_(input),
        diag_(diag),
        progress_(std::move(progress)),
        reader_(input, diag),
        dispatcher_(diag, sink),
        queue_(diag, [this](const Block& block) { dispatcher_.block(block); }) {
    sink.on_header(clock_of(reader_.header()), reader_.header());
  }

  bool step() {
    if (!reader_.next(block_)) return finish(), false;
    queue_.add(block_);
    if (progress_) progress_(input_.offset());
    return true;
  }

 private:
  void finish() {
    queue_.finish();
    if (!dispatcher_.ended()) {
      diag_.trust.cut++;
      diag_.say(input_.offset(),
                "the trace has no end block: recording was interrupted, or the file "
                "is cut");
    }
    diag_.finish();
  }

  Input& input_;
  Diagnostics& diag_;
  Progress progress_;
  BlockReader reader_;
  Dispatcher dispatcher_;
  UnpackQueue queue_;
  Block block_;
};

TraceReader::TraceReader(Input& input, Diagnostics& diag, TraceSink& sink, Progress progress) {
  if (is_import(input)) {
    made_ = import_trace(input, diag, progress);
    progress = {};  // Of the input; it has been read.
  } else if (is_text_trace(input)) {
    made_ = std::make_unique<Input>(input.name(), text_to_binary(input));
  }
  binary_ = std::make_unique<Binary>(made_ ? *made_ : input, diag, sink, std::move(progress));
}

TraceReader::~TraceReader() = default;

bool TraceReader::step() {
  return binary_->step();
}

void read_trace(Input& input, Diagnostics& diag, TraceSink& sink, const Progress& progress) {
  TraceReader reader(input, diag, sink, progress);
  while (reader.step()) {
  }
}

}  // namespace luatrace
