// SPDX-License-Identifier: MIT
#include "recorder/drain/event_selection.h"

#include <utility>

namespace luatrace::record {

std::unique_ptr<TraceWriter> EventSelection::make_writer(WriteQueue& queue, OutputFile file,
                                                         SelectionSettings settings,
                                                         std::function<ClockRate()> rate) {
  if (settings.flight.bytes > 0) {
    flight_ = std::make_unique<FlightRecorder>(queue, std::move(settings.flight), file.opened,
                                               file.name, std::move(settings.open), rate);
    return std::make_unique<TraceWriter>(flight_->sink(), std::move(file.name), file.header);
  }
  auto writer =
      std::make_unique<TraceWriter>(queue.file(file.opened, file.empty_it), file.name, file.header);
  if (file.compression > 0) writer->compress(file.compression);
  if (settings.only_slow.empty()) return writer;
  auto slow = std::make_unique<SlowTrees>(std::move(writer), std::move(settings.only_slow),
                                          file.max_size, rate);
  slow_ = slow.get();
  return std::make_unique<TraceWriter>(std::move(slow), std::move(file.name), file.header);
}

void EventSelection::end_stream(uint32_t stream) {
  if (flight_) flight_->flight().end_stream(stream);
  if (slow_ != nullptr) slow_->end_stream(stream);
}

}  // namespace luatrace::record
