// SPDX-License-Identifier: MIT
#include "analyzer/read/trace_reader.h"

#include "analyzer/read/blocks.h"
#include "analyzer/read/import.h"
#include "analyzer/read/text_reader.h"
#include "analyzer/read/unpack_queue.h"

namespace luatrace::analyze {
Clock clock_of(const lt_file_header& h) {
  return {h.clock, h.tick_shift, h.tick_mult, h.start_tick, h.start_mono_ns, h.start_real_ns};
}

class TraceReader::Binary {
 public:
  Binary(Input& input, Diagnostics& diag, TraceSink& sink, Progress progress)
      : input_(input),
        diag_(diag),
        sink_(sink),
        takes_packed_(sink.takes_packed()),
        progress_(std::move(progress)),
        reader_(input, diag),
        decoder_(diag, sink),
        queue_(diag, [this](const Block& block) { decoder_.parse(block); }) {
    sink.on_header(clock_of(reader_.header()), reader_.header());
  }

  bool step() {
    if (!reader_.next(block_)) return finish(), false;
    if (!give_packed()) queue_.add(block_);
    if (progress_) progress_(input_.offset());
    return true;
  }

 private:
  // Passes a compressed EVENTS block to a sink that takes such blocks; otherwise false.
  bool give_packed() {
    if (!takes_packed_ || block_.header.type != LT_BLOCK_EVENTS) return false;
    if (!(block_.header.flags & LT_BLOCK_F_ZSTD)) return false;
    queue_.finish();  // Delivers the blocks before it.
    sink_.on_packed(block_);
    return true;
  }
  void finish() {
    queue_.finish();
    if (!decoder_.ended()) {
      diag_.trust.cut++;
      diag_.log(input_.offset(),
                "the trace has no end block: recording was interrupted, or the file "
                "is cut");
    }
    diag_.finish();
  }

  Input& input_;
  Diagnostics& diag_;
  TraceSink& sink_;
  const bool takes_packed_;
  Progress progress_;
  BlockReader reader_;
  BlockDecoder decoder_;
  UnpackQueue queue_;
  Block block_;
};

TraceReader::TraceReader(Input& input, Diagnostics& diag, TraceSink& sink, Progress progress) {
  if (is_import(input)) {
    made_ = import_trace(input, diag, progress);
    progress = {};  // It counts bytes of the input, which are all read.
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

}  // namespace luatrace::analyze
