// SPDX-License-Identifier: MIT
#include "analyzer/read/dispatcher.h"

#include <cstring>
#include <string>
#include <vector>

#include "analyzer/read/payload.h"

namespace luatrace::analyze {

void Dispatcher::block(const Block& block) {
  if (!parse(block)) {
    diag_.trust.bad_records++;
    diag_.say(block.offset,
              "malformed record in a block of type " + std::to_string(block.header.type));
  }
}

template <class T>
bool Dispatcher::one(const Block& block, bool (*parser)(const Block&, T&),
                     void (TraceSink::*give)(const T&)) {
  T info{};
  if (!parser(block, info)) return false;
  (sink_.*give)(info);
  return true;
}

bool Dispatcher::parse(const Block& block) {
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

bool Dispatcher::functions(const Block& block) {
  std::vector<FunctionInfo> list;
  bool good = parse_functions(block, list);
  for (const auto& info : list) sink_.on_function(info);
  return good;
}

bool Dispatcher::maps(const Block& block) {
  std::vector<MapInfo> list;
  bool good = parse_maps(block, list);
  for (const auto& info : list) sink_.on_map(info);
  return good;
}

bool Dispatcher::note(const Block& block) {
  sink_.on_note({reinterpret_cast<const char*>(block.payload.data()), block.payload.size()});
  return true;
}

bool Dispatcher::events(const Block& block) {
  const lt_block& h = block.header;
  if (h.stream == 0) return false;
  EventBlock out{h.stream,    h.seq,   h.flags,   h.count,      h.base_tick, h.end_tick,
                 h.coroutine, h.depth, block.cut, block.offset, {},          block.hold};
  size_t words = block.payload.size() / 8;
  auto* data = block.payload.data();
  if (reinterpret_cast<uintptr_t>(data) % 8) {  // Only if bytes are missing before it.
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

}  // namespace luatrace::analyze
