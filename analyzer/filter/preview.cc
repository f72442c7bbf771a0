// SPDX-License-Identifier: MIT
#include "analyzer/filter/preview.h"

#include <algorithm>
#include <cstring>

#include "analyzer/read/trace_reader.h"
#include "base/saturate.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {

static constexpr uint64_t kDay = 86400ull * 1000000000;  // ns

void Preview::read(Input& input) {
  Diagnostics silent(input.name(), [](const std::string&) {});
  read_trace(input, silent, *this);
  complete = true;
}

bool Preview::read_clock(Input& input) {
  lt_file_header header;
  if (input.need(sizeof header) < sizeof header) return false;
  memcpy(&header, input.data(), sizeof header);
  if (header.magic != LT_FILE_MAGIC || header.tick_shift > 63) return false;
  clock_ = clock_of(header);
  return true;
}

void Preview::on_function(const FunctionInfo& info) {
  if (info.type == LT_FUNC_LABEL) return;
  auto process = process_of_.find(info.stream);
  functions.add(info, process == process_of_.end() ? kNoProcess : process->second);
}

void Preview::on_events(const EventBlock& block) {
  if (block.base_tick > block.end_tick) return;
  first = std::min(first, block.base_tick);
  last = std::max(last, block.end_tick);
}

void Preview::on_samples(const SampleBlock& block) {
  for (const Sample& s : block.samples) {
    first = std::min(first, s.head.tick);
    last = std::max(last, s.head.tick);
  }
}

uint64_t Preview::ticks(uint64_t ns) const {
  if (clock_.mult == 0) return 0;
  unsigned __int128 scaled = (static_cast<unsigned __int128>(ns) << std::min(clock_.shift, 63u));
  unsigned __int128 value = (scaled + clock_.mult - 1) / clock_.mult;
  return value > UINT64_MAX / 4 ? UINT64_MAX / 4 : static_cast<uint64_t>(value);
}

uint64_t Preview::tick(const TimePoint& point, uint64_t open) const {
  switch (point.kind) {
    case TimePoint::kRelative:
      return first + ticks(point.ns);
    case TimePoint::kPercent:
      return first + saturate_u64(static_cast<double>(last - first) * point.percent / 100 + 0.5);
    case TimePoint::kAbsolute:
    case TimePoint::kTimeOfDay:
      if (clock_.start_real_ns == 0)
        throw UsageError(
            "--time-range: the trace has no time of day: use times since its first event");
      if (point.kind == TimePoint::kAbsolute) return clock_.tick_at(point.ns);
      return clock_.tick_at(clock_.start_real_ns - clock_.start_real_ns % kDay + point.ns);
    default:
      return open;
  }
}

}  // namespace luatrace::analyze
