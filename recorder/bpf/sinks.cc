// SPDX-License-Identifier: MIT
#include "recorder/bpf/sinks.h"

#include <algorithm>
#include <utility>

namespace luatrace::record::bpf {

Sink& Sinks::of(const std::shared_ptr<Output>& output) {
  for (const auto& s : sinks_)
    if (s->output == output) return *s;
  auto sink = std::make_unique<Sink>();
  sink->output = output;
  return *sinks_.emplace_back(std::move(sink));
}

void Sinks::flush() {
  for (const auto& sink : sinks_) {
    if (sink->ended) continue;
    for (const auto& [pid, a] : r_.by_pid)
      for (const auto& [g, s] : a->flushing)
        if (a->sink == sink.get()) s.stream->flush();
    sink->output->writer().flush();
    has_space(*sink);
  }
}

bool Sinks::ready() const {
  return std::all_of(sinks_.begin(), sinks_.end(),
                     [](const auto& s) { return s->ended || s->output->ready(); });
}

void Sinks::wait_for_space() const {
  for (const auto& sink : sinks_) sink->output->wait_for_space();
}

void Sinks::lose(uint64_t events) {
  if (events == 0 || sinks_.empty()) return;
  const auto open = std::find_if(sinks_.begin(), sinks_.end(),
                                 [](const auto& s) { return !s->output->finished(); });
  OutputTotals& t = (open != sinks_.end() ? *open : sinks_[0])->output->totals();
  t.lost += events;
  t.lost_otherwise += events;
  t.lost_at_least = true;
  t.gaps++;
  r_.totals.lost += events;
}

bool Sinks::has_space(Sink& sink) {
  constexpr uint64_t kStream = LT_RING_BLOCK_SIZE + 1024;  // words that are not written yet
  const uint64_t streams = sink.output->totals().streams + 1;
  if (sink.output->has_space(streams * kStream)) return true;
  end(sink);
  sink.output->announce_early_end();
  return false;
}

void Sinks::end(Sink& sink) {
  if (std::exchange(sink.ended, true)) return;
  for (const auto& [pid, a] : r_.by_pid)
    if (a->sink == &sink)
      for (auto& [g, s] : a->flushing) s.stream->finish();
}

void Sinks::end_all() {
  for (const auto& sink : sinks_) end(*sink);
}

}  // namespace luatrace::record::bpf
