// SPDX-License-Identifier: MIT
#include "analyzer/read/trace_reader.h"

#include "analyzer/read/import.h"
#include "analyzer/read/text_reader.h"

namespace luatrace::analyze {

Clock clock_of(const lt_file_header& h) {
  return {h.clock, h.tick_shift, h.tick_mult, h.start_tick, h.start_mono_ns, h.start_real_ns};
}

TraceReader::TraceReader(Input& input, Diagnostics& diag, TraceSink& sink, Progress progress)
    : diag_(diag),
      sink_(sink),
      takes_packed_(sink.takes_packed()),
      progress_(std::move(progress)),
      converted_(to_binary(input, diag, progress_)),
      input_(converted_ ? *converted_ : input),
      reader_(input_, diag),
      decoder_(diag, sink),
      queue_(diag, [this](const Block& block) { decoder_.parse(block); }) {
  sink.on_header(clock_of(reader_.header()), reader_.header());
}

std::unique_ptr<Input> to_binary(Input& input, Diagnostics& diag, Progress& progress) {
  if (is_import(input)) return import_trace(input, diag, std::exchange(progress, {}));
  if (is_text_trace(input)) return std::make_unique<Input>(input.name(), text_to_binary(input));
  return nullptr;
}

bool TraceReader::step() {
  if (!reader_.next(block_)) return finish(), false;
  if (!pass_packed()) queue_.add(block_);
  if (progress_) progress_(input_.offset());
  return true;
}

// Passes a compressed EVENTS block to a sink that takes such blocks; otherwise false.
bool TraceReader::pass_packed() {
  if (!takes_packed_ || block_.header.type != LT_BLOCK_EVENTS) return false;
  if (!(block_.header.flags & LT_BLOCK_F_ZSTD)) return false;
  queue_.finish();  // Delivers the blocks before it.
  sink_.on_packed(block_);
  return true;
}

void TraceReader::finish() {
  queue_.finish();
  if (!decoder_.ended() && !diag_.growing) {
    diag_.trust.cut++;
    diag_.log(input_.offset(),
              "the trace has no end block: recording was interrupted, or the file is cut");
  }
  diag_.finish();
}

void read_trace(Input& input, Diagnostics& diag, TraceSink& sink, const Progress& progress) {
  TraceReader reader(input, diag, sink, progress);
  while (reader.step()) {
  }
}

}  // namespace luatrace::analyze
