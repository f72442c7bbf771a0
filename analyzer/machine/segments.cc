// SPDX-License-Identifier: MIT
#include "analyzer/machine/segments.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/packed_word.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kPieceWords = 65536;
constexpr uint64_t kPieceRecords = 1u << 30;  // With those that are not written.
constexpr uint64_t kMinTimes = 3;             // Fewer iterations are written.
// No VM lets a word stand for more: its loops report after 2^20 to 2^21 events on each level.
constexpr uint64_t kMaxSegmentEvents = uint64_t{LT_SEGMENT_LEVELS + 1} << 21;
constexpr size_t kMaxPending = 16 * LT_SEGMENT_PATH_MAX;  // Parts of words without a time.

// For each event, and for the end of the iteration: the code from `begin` until the first place
// that has it before itself. weigh(): what is before an offset.
template <class Weigh>
std::vector<uint64_t> code_before(std::span<const SegmentInfo::Place> places, size_t events,
                                  uint64_t begin, uint64_t end, const Weigh& weigh) {
  std::vector<uint64_t> at(events + 1, std::max(begin, end));
  for (const auto& place : places) {
    if (place.before == 0) continue;
    uint64_t& least = at[place.before - 1];
    least = std::min<uint64_t>(least, place.offset);
  }
  for (size_t i = events; i-- > 0;) at[i] = std::min(at[i], at[i + 1]);
  for (uint64_t& offset : at) offset = weigh(std::max(offset, begin)) - weigh(begin);
  return at;
}

// Follows the events; gives up if one ends a call from before, or another than the innermost one.
void find_calls(SegmentBody& body) {
  std::vector<uint32_t> stack = {0}, inner;
  std::vector<SegmentBody::Call> found = {{}};
  inner.reserve(body.events.size() + 1);
  for (const uint32_t event : body.events) {
    inner.push_back(stack.back());
    const VmFunctionId function(event >> LT_KIND_BITS);
    if (lt_kind(event) == LT_ENTRY) {
      found.push_back({stack.back(), function});
      stack.push_back(static_cast<uint32_t>(found.size()) - 1);
    } else if (stack.size() == 1 || found[stack.back()].function != function) {
      return;
    } else {
      stack.pop_back();
    }
  }
  if (stack.size() != 1) return;
  inner.push_back(0);
  body.calls = std::move(found);
  body.innermost = std::move(inner);
}

}  // namespace

bool SegmentExpander::add(const SegmentInfo& info) {
  if (!traces_.empty() && info.id < traces_.back().end) {
    diag_.trust.bad_records++;
    return false;
  }
  const auto own = weights_ ? weights_->find(info.id) : StreamWeights::const_iterator();
  const CodeScale scale = weights_ && own != weights_->end() ? own->second : CodeScale(info);
  const auto weigh = [&](uint64_t at) { return unit_ == 1 ? at : scale.before(at); };
  Trace t;
  t.first = info.id;
  t.exits = info.id + info.marks;
  t.end = info.id + static_cast<uint32_t>(info.places.size());
  t.parent = info.parent;
  t.level = info.level;
  t.counts = info.counts;
  t.loops = info.loops;
  t.body.events = info.events;
  const std::span exits = std::span(info.places).subspan(info.marks);
  const size_t loop = info.loop == 0 ? exits.size() : std::min<size_t>(info.loop, exits.size());
  const uint64_t middle = loop < exits.size() ? exits[loop].offset : info.bytes;
  const size_t events = info.events.size();
  t.first_code = code_before(exits.first(loop), events, 0, middle, weigh);
  t.body.code = t.first_code;
  if (loop < exits.size()) {
    t.base = middle;
    t.body.code = code_before(exits.subspan(loop), events, middle, info.bytes, weigh);
  }
  if (t.counts && !t.loops) find_calls(t.body);
  for (size_t i = 0; i < info.places.size(); i++) {
    const auto& place = info.places[i];
    const uint64_t begin = i >= info.marks + loop ? middle : 0;
    const uint64_t after = place.before == 0 ? 0 : t.first_code[place.before - 1];
    // A trace that does not repeat ends at its last exit, after the rest of its code.
    const bool link = i + 1 == info.places.size() && !t.counts && !t.loops;
    const uint64_t offset = link ? std::max(info.bytes, place.offset) : place.offset;
    t.before.push_back(place.before);
    t.place.push_back(i < info.marks ? after : weigh(std::max(offset, begin)) - weigh(begin));
  }
  traces_.push_back(std::move(t));
  loop_times_.add_trace();
  index(traces_.back());
  return true;
}

// Notes which trace has these places. What the VM has no space to describe leaves a gap in the ids.
void SegmentExpander::index(const Trace& t) {
  constexpr size_t kMaxGap = 256;
  if (t.first > by_id_.size() + kMaxGap) return;
  by_id_.resize(t.first, 0);
  by_id_.resize(t.end, static_cast<uint32_t>(traces_.size()));
}

// The trace that has this place.
const SegmentExpander::Trace* SegmentExpander::find(uint64_t id) const {
  if (id < by_id_.size()) return by_id_[id] == 0 ? nullptr : &traces_[by_id_[id] - 1];
  const auto after = std::partition_point(traces_.begin(), traces_.end(),
                                          [id](const Trace& t) { return t.first <= id; });
  if (after == traces_.begin() || id >= after[-1].end) return nullptr;
  return &after[-1];
}

uint64_t SegmentExpander::events_of(const Part& part) const {
  const uint64_t events = part.iterations * part.trace->body.events.size() + part.rest();
  return events - std::min<uint64_t>(events, part.skip);
}

// The part of a path that is on this trace. False: it is not possible.
bool SegmentExpander::add_part(const Trace& t, uint32_t id, std::span<const uint64_t> counts) {
  uint64_t iterations = 0;
  if (t.counts && t.level <= counts.size()) iterations = counts[t.level - 1] - 1;
  if (iterations > kMaxSegmentEvents) return false;
  const bool resumed = mark_ != 0 && t.first <= mark_ && mark_ < t.end;
  const uint32_t skip = resumed ? t.before[mark_ - t.first] : 0;
  parts_.push_back({&t, iterations, skip, id - t.first, resumed});
  return true;
}

// Collects the parts of the path that ends at a place, innermost first. False if there is no such
// path.
bool SegmentExpander::plan(uint64_t id, std::span<const uint64_t> counts) {
  parts_.clear();
  uint64_t total = 0;
  do {
    const Trace* t = find(id);
    if (!t || parts_.size() == LT_SEGMENT_PATH_MAX) return false;
    if (!add_part(*t, static_cast<uint32_t>(id), counts)) return false;
    total += events_of(parts_.back());
    if (total > kMaxSegmentEvents) return false;
    id = parts_.back().resumed ? 0 : t->parent;  // Less than before.
  } while (id != 0);
  parts_events_ = total;
  return true;
}

// Calls each(run) for the runs of a part, in order.
template <class Each>
void SegmentExpander::each_run(const Part& part, Each each) const {
  const Trace& t = *part.trace;
  const auto n = static_cast<uint32_t>(t.body.events.size());
  const std::vector<uint64_t>& code = t.body.code;
  const std::vector<uint64_t>& first = part.resumed ? code : t.first_code;
  const uint64_t skipped = part.skip == 0 ? 0 : first[part.skip - 1];
  if (part.iterations == 0) {
    if (part.skip <= part.rest())
      each(Run{part.skip, part.rest(), first.data(), skipped,
               std::max(skipped, t.place[part.place])});
    return;
  }
  const uint64_t more = part.iterations - 1, whole = more + (part.skip == 0);
  const bool multiplies = n != 0 && whole >= kMinTimes && t.body.is_balanced();
  if (part.skip != 0 || !multiplies) each(Run{part.skip, n, first.data(), skipped, first[n]});
  if (n == 0) each(Run{0, 0, code.data(), 0, more * code[0]});
  if (multiplies)
    each(Run{0, n, code.data(), 0, code[n], whole - 1, part.skip == 0 ? &first : &code});
  else if (n != 0 && more != 0)
    each(Run{0, n, code.data(), 0, code[n], more});
  each(Run{0, part.rest(), code.data(), 0, t.place[part.place]});
}

// The events of pending_ happen from now_ to `to`.
SegmentExpander::Scale SegmentExpander::scale_until(uint64_t to) {
  uint64_t weight = 1;
  loop_times_.begin();
  for (const Part& part : pending_) {
    each_run(part, [&](const Run& run) { weight += run.all_bytes(); });
    if (part.trace->loops) loop_times_.entered(index_of(*part.trace));
  }
  loop_times_.apportion(to - now_, weight - 1);
  for (const Part& part : pending_)
    if (part.trace->loops) weight += loop_times_.weight(index_of(*part.trace));
  return {now_, (static_cast<unsigned __int128>(to - now_) << 32) / weight};
}

void SegmentExpander::write_run(const Trace& trace, const Run& run, const Scale& scale,
                                uint64_t& done) {
  const uint64_t end = done + run.bytes();
  for (uint32_t i = run.from; i < run.to; i++) {
    now_ = scale.at(std::min(done + run.code[i] - run.begin, end));
    out_.push_back(now_ << LT_TIME_SHIFT | trace.body.events[i]);
  }
  records_out_ += run.to - run.from;
  done = end;
  if (out_.size() >= kPieceWords) give_piece();
}

// Leaves the iterations to the stack machine.
void SegmentExpander::repeat(const SegmentBody& body, const Run& run, const Scale& scale,
                             uint64_t& done) {
  const uint64_t begin = scale.at(done);
  done += run.first->back();
  const uint64_t others = scale.at(done);
  done += run.times * run.bytes();
  now_ = scale.at(done);
  cues_.push_back({SegmentCue::kRepeat, out_.size(), begin, others - begin, now_ - others,
                   run.times, &body, run.first});
  records_out_ += (run.times + 1) * body.events.size();
  if (records_out_ >= kPieceRecords) give_piece();
}

// Writes the events of pending_ with times from now_ to `to`.
void SegmentExpander::write_pending(uint64_t to) {
  const Scale scale = scale_until(to);
  const bool any = pending_events_ != 0;
  uint64_t done = 0;
  if (any) cues_.push_back({SegmentCue::kApportioned, out_.size(), now_});
  for (const Part& part : pending_) {
    each_run(part, [&](const Run& run) {
      if (run.first) return repeat(part.trace->body, run, scale, done);
      for (uint64_t i = 0; i < run.times; i++) write_run(*part.trace, run, scale, done);
    });
    if (part.trace->loops) done += loop_times_.weight(index_of(*part.trace));
  }
  if (any) cues_.push_back({SegmentCue::kExact, out_.size(), to});
  pending_.clear();
  pending_events_ = 0;
}

// What a word stands for is not known: as if events had been lost.
void SegmentExpander::lose(uint64_t tick, uint64_t id) {
  diag_.log(piece_.offset, "segment " + std::to_string(id) +
                               " in this block is not described, or stands for too many events");
  out_.insert(out_.end(),
              {lt_word(tick, lt_ext(LTX_LOSS, 2, 1), LT_EXT), 1, std::max<uint64_t>(now_, 1)});
  records_out_++;
}

// counts: iterations + 1 by level.
void SegmentExpander::segment(uint64_t id, std::span<const uint64_t> counts, uint64_t tick) {
  const bool known = plan(id, counts);
  if (ran_) {
    if (known) tell_runs();
  } else if (known) {
    pending_.insert(pending_.end(), parts_.rbegin(), parts_.rend());
    pending_events_ += parts_events_;
  }
  const bool many = pending_events_ > kPieceWords || pending_.size() > kMaxPending;
  if (!ran_ && (tick != now_ || !known || many)) write_pending(tick);
  if (!ran_ && !known) lose(tick, id);
  mark_ = known && id < parts_.front().trace->exits ? static_cast<uint32_t>(id) : 0;
  now_ = tick;
}

void SegmentExpander::segments(const Record& r, uint64_t tick) {
  if (!r.is_packed()) {
    std::span<const uint64_t> counts;
    if (r.kind == LT_EXT) counts = {r.words + 1, r.nwords - 1};
    return segment(r.segment(), counts, tick);
  }
  const PackedWord packed(r.word);
  for (const auto& place : packed.places()) segment(place.id, place.counts, tick);
}

void SegmentExpander::record(const Record& r) {
  uint64_t tick = now_;
  if (r.has_time() && !r.full_clock(tick)) tick = unwrap(now_, lt_time(r.word));
  if (tick < now_ || tick > piece_.end_tick) tick = now_;  // The stack machine counts that.
  if (r.is_segment()) return segments(r, tick);
  const bool loss = r.kind == LT_EXT && r.sub == LTX_LOSS;
  if (!pending_.empty()) write_pending(loss ? std::clamp(r.words[1], now_, tick) : tick);
  if (loss || (r.kind == LT_EXT && r.sub == LTX_START)) mark_ = 0;
  now_ = tick;
  records_out_++;
}

// Passes on what there is of the block, if anything is.
void SegmentExpander::give_piece() {
  if (out_.empty() && cues_.empty()) return;
  piece_.words = out_;
  piece_.count = static_cast<uint32_t>(records_out_);
  (*give_)(piece_, cues_);
  out_.clear();
  cues_.clear();
  records_out_ = 0;
  piece_.seq++;
  piece_.flags = 0;
  piece_.base_tick = std::min(now_, piece_.end_tick);
  piece_.coroutine = kUnknownCoroutine;
  piece_.depth = LT_DEPTH_UNKNOWN;
}

void SegmentExpander::begin(const EventBlock& block) {
  const bool missing = block.seq != next_in_;
  next_in_ = block.seq + 1;
  piece_ = block;
  piece_.hold = nullptr;
  piece_.flags |= std::exchange(flags_, 0);
  piece_.seq = next_out_ + missing;
  if (missing || (block.flags & LT_BLOCK_F_GAP)) mark_ = 0, now_ = 0;
  Record r;
  const bool segment = read_record(block.words.data(), block.words.size(), r) && r.is_segment();
  // Its events begin before the block.
  if (segment && now_ != 0 && now_ <= block.base_tick && block.base_tick - now_ < kTimeHalf)
    piece_.base_tick = now_;
  now_ = piece_.base_tick;
}

void SegmentExpander::expand(const EventBlock& block, const Give& give) {
  if (block.words.empty()) return;
  give_ = &give;
  begin(block);
  uint32_t records = 0;
  for (size_t at = 0; at < block.words.size();) {
    Record r;
    const uint64_t* const words = &block.words[at];
    const bool good = read_record(words, block.words.size() - at, r);
    at += r.length;
    records += good;
    if (good) record(r);
    if (!good || !r.is_segment()) out_.insert(out_.end(), words, words + r.length);
    if (out_.size() >= kPieceWords) give_piece();
  }
  if (!pending_.empty()) write_pending(now_);
  records_out_ += block.count - records;  // A wrong count stays wrong.
  give_piece();
  next_out_ = piece_.seq;
  flags_ = piece_.flags;  // Not passed on if the block had no events.
}

// -- Without times --

// The code of parts_.
void SegmentExpander::tell_runs() const {
  for (const Part& part : parts_) {
    const Trace& t = *part.trace;
    const uint64_t whole = t.body.code.back();
    each_run(part, [&](const Run& run) {
      const uint64_t base = run.code == t.body.code.data() ? t.base : 0;
      const bool joined = t.body.events.empty() && whole != 0 && run.end > whole;
      const uint64_t end = joined ? whole : run.end;
      (*ran_)(t.first, base + run.begin, base + end, joined ? run.end / whole : run.times);
      if (run.first == &t.first_code) (*ran_)(t.first, 0, t.first_code.back(), 1);
      if (run.first == &t.body.code) (*ran_)(t.first, t.base, t.base + whole, 1);
    });
  }
}

void SegmentExpander::follow(const EventBlock& block, const Ran& ran) {
  if (block.words.empty()) return;
  if (block.seq != next_in_ || (block.flags & LT_BLOCK_F_GAP)) mark_ = 0;
  next_in_ = block.seq + 1;
  ran_ = &ran;
  for (size_t at = 0; at < block.words.size();) {
    Record r;
    const bool good = read_record(&block.words[at], block.words.size() - at, r);
    at += r.length;
    if (good && r.is_segment())
      segments(r, 0);
    else if (good && r.kind == LT_EXT && (r.sub == LTX_LOSS || r.sub == LTX_START))
      mark_ = 0;
  }
  ran_ = nullptr;
}

namespace {

// Adds those of one part of the code, which begins at `base` after that event.
void add_pieces(std::vector<SegmentPiece>& out, const std::vector<uint32_t>& events,
                const std::vector<uint64_t>& code, uint64_t base, uint32_t before) {
  uint64_t from = 0;
  for (size_t i = 0; i < code.size(); i++) {
    const uint32_t event = i < events.size() ? events[i] : 0;
    if (code[i] > from)
      out.push_back({static_cast<uint32_t>(base + from), static_cast<uint32_t>(base + code[i]),
                     before, event});
    from = code[i];
    before = event;
  }
}

}  // namespace

// The last event on the path before the trace; 0: it has none.
uint32_t SegmentExpander::event_before(const Trace& trace) const {
  for (uint32_t id = trace.parent; id != 0;) {
    const Trace* const t = find(id);
    if (!t) return 0;
    const std::vector<uint32_t>& events = t->body.events;
    if (const uint32_t n = t->before[id - t->first]; n != 0) return events[n - 1];
    if (t->counts && !events.empty()) return events.back();
    id = t->parent;  // Less than before.
  }
  return 0;
}

std::vector<SegmentPiece> SegmentExpander::pieces(uint32_t id) const {
  std::vector<SegmentPiece> out;
  const Trace* const t = find(id);
  if (!t) return out;
  const bool repeats = t->counts && !t->body.events.empty();
  const uint32_t outside = event_before(*t), inside = repeats ? t->body.events.back() : outside;
  add_pieces(out, t->body.events, t->first_code, 0, t->base != 0 ? outside : inside);
  if (t->base != 0) add_pieces(out, t->body.events, t->body.code, t->base, inside);
  return out;
}

}  // namespace luatrace::analyze
