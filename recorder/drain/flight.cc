// SPDX-License-Identifier: MIT
#include "recorder/drain/flight.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "recorder/os/clock.h"

namespace luatrace::record {
namespace {

FlightBlock block_at(const std::byte* at, const BlockNote& note) {
  FlightBlock b;
  b.note = note;
  std::memcpy(&b.head, at, sizeof b.head);
  const std::byte* const payload = at + sizeof b.head;
  b.payload =
      std::make_shared<const std::vector<std::byte>>(payload, payload + b.head.payload_size);
  b.came_ns = monotonic_ns();
  return b;
}

FlightBlock made_block(uint16_t type, uint32_t stream, uint32_t count,
                       std::span<const std::byte> payload) {
  FlightBlock b;
  b.head.type = type;
  b.head.stream = stream;
  b.head.count = count;
  b.payload = std::make_shared<const std::vector<std::byte>>(payload.begin(), payload.end());
  return b;
}

std::span<const uint64_t> words_of(const FlightBlock& b) {
  return {reinterpret_cast<const uint64_t*>(b.payload->data()), b.payload->size() / 8};
}

// Ids of functions, with few duplicates.
struct UsedIds {
  std::vector<uint32_t> ids;
  size_t kept = 0;  // without duplicates

  const std::vector<uint32_t>& sorted() {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    kept = ids.size();
    return ids;
  }
};

void add_used(std::span<const uint64_t> words, UsedIds& used) {
  for (size_t at = 0; at < words.size();) {
    const size_t n = std::max<size_t>(record_words(words[at]), 1);
    const uint32_t kind = lt_kind(words[at]), id = lt_payload(words[at]);
    if (kind == LT_ENTRY || kind == LT_FRAME)
      used.ids.push_back(id == LT_PAYLOAD_BIG && n == 2 ? lt_lo(words[at + 1]) : id);
    at += n;
  }
  if (used.ids.size() > 2 * used.kept + 100'000) used.sorted();
}

}  // namespace

// -- What comes --

bool Flight::write(BlockBatch& batch) {
  size_t at = 0;
  for (const BlockNote& note : batch.notes) {
    if (note.type != 0) take(block_at(&batch.bytes[at], note));
    at += note.size;
    written_ += note.size;
    // After each block: a batch may be larger than the window, and what is asked for because of
    // this block must find it there.
    let_go(monotonic_ns());
    if (after_write_) after_write_();
  }
  batch.clear();
  return true;
}

bool Flight::restart() {
  processes_.clear();
  streams_.clear();
  window_.clear();
  over_.clear();
  held_ = described_ = written_ = 0;
  return true;
}

void Flight::take(FlightBlock b) {
  const uint32_t number = b.head.stream;
  switch (b.head.type) {
    case LT_BLOCK_NOTE:
      about_ = std::move(b);
      return;
    case LT_BLOCK_PROCESS: {
      Process& p = processes_[number];
      described_ += b.size() - (p.about.payload ? p.about.size() : 0);
      p.about = std::move(b);
      return sweep();
    }
    case LT_BLOCK_MAPS:
      described_ += b.size();
      processes_[number].maps.push_back(std::move(b));
      return sweep();
    case LT_BLOCK_STREAM:
      std::memcpy(&streams_[number].info, b.payload->data(), sizeof(lt_stream_info));
      return;
    case LT_BLOCK_FUNCS:
      take_functions(number, *b.payload);
      return sweep();
    case LT_BLOCK_EVENTS:
      if (observer_ != nullptr) observer_->events(b.head, words_of(b));
      break;
    case LT_BLOCK_CLOCK:
      break;
    default:
      return;
  }
  held_ += b.size();
  window_.push_back(std::move(b));
}

// The records are valid: the drainer has checked them.
void Flight::take_functions(uint32_t stream, std::span<const std::byte> records) {
  if (observer_ != nullptr) observer_->functions(stream, records);
  Stream& s = streams_[stream];
  for (size_t at = 0; at + sizeof(lt_func) <= records.size();) {
    lt_func f;
    std::memcpy(&f, &records[at], sizeof f);
    std::vector<std::byte>& kept = s.functions[f.id];
    described_ += f.size - kept.size();
    kept.assign(&records[at], &records[at] + f.size);
    at += f.size;
  }
}

void Flight::end_stream(uint32_t stream) {
  if (!streams_.contains(stream)) return;
  over_.emplace_back(stream, monotonic_ns());
  if (observer_ != nullptr) observer_->ended(stream);
}

// -- What goes --

void Flight::let_go(uint64_t now_ns) {
  while (!window_.empty()) {
    const bool old = limit_ns_ != 0 && window_.front().came_ns + limit_ns_ < now_ns;
    if (held_ <= limit_ && !old) break;
    const FlightBlock b = std::move(window_.front());
    window_.pop_front();
    held_ -= b.size();
    leave(b);
  }
  remove_over();
}

void Flight::leave(const FlightBlock& b) {
  if (b.head.type != LT_BLOCK_EVENTS) return;
  Stream& s = streams_[b.head.stream];
  if ((b.head.flags & LT_BLOCK_F_GAP) != 0) s.open.forget();
  s.open.apply(words_of(b));
  s.tick = std::max(s.tick, b.head.end_tick);
}

// Streams whose last event has left the window: all that it holds came later.
void Flight::remove_over() {
  while (!over_.empty() && !window_.empty() && window_.front().came_ns > over_.front().second) {
    const auto it = streams_.find(over_.front().first);
    over_.pop_front();
    for (const auto& [id, record] : it->second.functions) described_ -= record.size();
    streams_.erase(it);
  }
}

// Too many descriptions: those of processes whose Lua VMs are all gone, then functions.
void Flight::sweep() {
  if (described_ <= kDescriptions) return;
  std::erase_if(processes_, [this](const auto& entry) {
    const auto& [number, p] = entry;
    if (number == processes_.rbegin()->first) return false;  // its first stream may follow
    for (const auto& [n, s] : streams_)
      if (s.info.process == number) return false;
    described_ -= p.about.payload ? p.about.size() : 0;
    for (const FlightBlock& b : p.maps) described_ -= b.size();
    return true;
  });
  if (described_ > kDescriptions) sweep_functions();
}

// Functions without an event in the window, and then, if that is not enough, those described
// first, until half of the space is free: so this happens rarely.
void Flight::sweep_functions() {
  std::map<uint32_t, UsedIds> used;
  for (const FlightBlock& b : window_)
    if (b.head.type == LT_BLOCK_EVENTS) add_used(words_of(b), used[b.head.stream]);
  for (auto& [number, s] : streams_) {
    s.open.add_functions(used[number].ids);
    forget_functions(s, used[number].sorted());
  }
  for (auto& [number, s] : streams_)
    while (described_ > kDescriptions / 2 && !s.functions.empty()) {
      described_ -= s.functions.begin()->second.size();
      s.functions.erase(s.functions.begin());
      forgotten_++;
    }
}

void Flight::forget_functions(Stream& s, const std::vector<uint32_t>& used) {
  std::erase_if(s.functions, [&](const auto& entry) {
    if (std::binary_search(used.begin(), used.end(), entry.first)) return false;
    described_ -= entry.second.size();
    forgotten_++;
    return true;
  });
}

// -- Snapshots --

void Flight::add_descriptions(Snapshot& s) const {
  constexpr size_t kBytes = 1u << 20;  // of one FUNCS block, about
  for (const auto& [number, stream] : streams_) {
    lt_stream_info info = stream.info;
    if (stream.tick != 0) info.start_tick = std::max(s.start_tick_, stream.tick);
    const auto bytes = std::as_bytes(std::span(&info, 1));
    s.described_.push_back(made_block(LT_BLOCK_STREAM, number, 0, bytes));
    std::vector<std::byte> records;
    uint32_t count = 0;
    const auto flush = [&, number = number] {
      if (count > 0) s.described_.push_back(made_block(LT_BLOCK_FUNCS, number, count, records));
      records.clear();
      count = 0;
    };
    for (const auto& [id, record] : stream.functions) {
      records.insert(records.end(), record.begin(), record.end());
      count++;
      if (records.size() > kBytes) flush();
    }
    flush();
  }
}

void Flight::add_start(Snapshot& s, uint32_t number, const Stream& stream) const {
  if (stream.tick == 0) return;
  const uint64_t tick = std::max(s.start_tick_, stream.tick);
  s.starts_.push_back(
      {number, tick, stream.open.report(tick, stream.info.recording, stream.info.flags)});
}

Snapshot Flight::snapshot(uint64_t now_tick, const std::string& why) {
  let_go(monotonic_ns());
  Snapshot s;
  s.start_tick_ = now_tick;
  for (const FlightBlock& b : window_)
    if (b.head.type == LT_BLOCK_EVENTS) s.start_tick_ = std::min(s.start_tick_, b.head.base_tick);
  if (about_.payload) {
    std::vector<std::byte> text = *about_.payload;
    for (const char c : "snapshot=" + why + "\n") text.push_back(std::byte(c));
    s.described_.push_back(made_block(LT_BLOCK_NOTE, 0, 0, text));
  }
  for (const auto& [number, p] : processes_) {
    if (p.about.payload) s.described_.push_back(p.about);
    s.described_.insert(s.described_.end(), p.maps.begin(), p.maps.end());
  }
  add_descriptions(s);
  for (const auto& [number, stream] : streams_) add_start(s, number, stream);
  s.events_ = window_;
  return s;
}

bool Snapshot::write(TraceWriter& out, uint64_t bytes) {
  const uint64_t until = out.bytes() + bytes;
  for (bool first = true; out.ok() && (first || out.bytes() < until); first = false) {
    std::deque<FlightBlock>& blocks = described_.empty() ? events_ : described_;
    if (described_.empty() && !starts_.empty()) {
      const Start& start = starts_.front();
      EventBlocks events(out, start.stream, start.tick);
      events.append(start.words);
      events.flush();
      starts_.pop_front();
    } else if (!blocks.empty()) {
      const FlightBlock& b = blocks.front();
      out.write_block(b.head, *b.payload, b.note);
      blocks.pop_front();
    } else {
      return false;
    }
  }
  return out.ok();
}

}  // namespace luatrace::record
