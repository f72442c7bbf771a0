// SPDX-License-Identifier: MIT
// Sinks; see sinks.h.
#include "recorder/bpf/sinks.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kCheckPause = 2048;  // hits between checks for space

HitOptions hit_options(const Settings& settings,
                       std::function<uint32_t(uint32_t, uint64_t)> on_process,
                       std::function<uint32_t()> new_stream) {
  HitOptions o;
  o.max_depth = settings.max_depth;
  o.filtered = settings.filter.any();
  o.in_order = true;
  o.on_process = std::move(on_process);
  o.new_stream = std::move(new_stream);
  return o;
}

}  // namespace

Sink& Sinks::of(const std::shared_ptr<Output>& output) {
  for (const auto& s : sinks_)
    if (s->output == output) return *s;
  auto sink = std::make_unique<Sink>();
  sink->output = output;
  sink->hits = std::make_unique<HitWriter>(
      output->writer(),
      hit_options(
          r_.settings, [this](uint32_t image, uint64_t) { return r_.numbers[image]; },
          [o = output.get()] { return o->next_stream(); }));
  return *sinks_.emplace_back(std::move(sink));
}

void Sinks::flush() {
  for (const auto& sink : sinks_) {
    if (sink->ended) continue;
    sink->hits->flush();
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

void Sinks::lose(uint64_t hits) {
  if (hits == 0 || sinks_.empty()) return;
  const uint64_t end = r_.now();
  sinks_[0]->hits->lost({0, 0, 0, hits, end, end});
  r_.totals.lost += hits;
}

bool Sinks::may_take(Sink& sink) {
  return !sink.ended && (++sink.unchecked <= kCheckPause || has_space(sink));
}

bool Sinks::has_space(Sink& sink) {
  constexpr uint64_t kStream = LT_RING_BLOCK_SIZE + 1024;  // words that are not written yet
  sink.unchecked = 0;
  const uint64_t streams = sink.output->totals().streams + 1;
  if (sink.output->has_space(streams * kStream + kCheckPause * 24)) return true;
  end(sink);
  sink.output->announce_early_end();
  return false;
}

void Sinks::end(Sink& sink) {
  if (std::exchange(sink.ended, true)) return;
  for (const auto& [pid, a] : r_.by_pid)
    if (a->sink == &sink)
      for (auto& [g, s] : a->flushing) s.stream->finish();
  sink.hits->finish();
  const HitCounters& c = sink.hits->counters();
  OutputTotals& t = sink.output->totals();
  t.lost += c.lost + c.late + c.odd + c.dropped;
  t.lost_otherwise += c.late + c.odd + c.dropped;
  t.gaps += sink.gaps + c.late + c.odd + c.dropped;
  t.lost_ticks += sink.lost_ticks;
}

void Sinks::end_all() {
  for (const auto& sink : sinks_) end(*sink);
}

}  // namespace luatrace::record::bpf
