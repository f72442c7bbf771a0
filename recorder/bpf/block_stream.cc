// SPDX-License-Identifier: MIT
#include "recorder/bpf/block_stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "luatrace_work.h"
#include "trace/records.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint32_t kMaxIds = 1u << 23;

// The function of a word that has one.
uint32_t function_of(std::span<const uint64_t> r) {
  const uint32_t p = lt_payload(r[0]);
  return p == LT_PAYLOAD_BIG && r.size() > 1 ? lt_lo(r[1]) : p;
}

// The number of words of the first `events` events, from which those found are subtracted.
size_t skip(std::span<const uint64_t> words, uint64_t& events) {
  size_t at = 0;
  while (at < words.size() && events > 0) {
    const size_t n = record_words(words[at]);
    if (n == 0) break;
    events -= sub_of(words[at]) != LTX_PAD && sub_of(words[at]) != LTX_BLOCK;
    at += n;
  }
  return std::min(at, words.size());
}

}  // namespace

uint64_t count_events(std::span<const uint64_t> words) {
  uint64_t left = UINT64_MAX;
  skip(words, left);
  return UINT64_MAX - left;
}

BlockStream::BlockStream(std::shared_ptr<Output> output, uint32_t process, const lt_ring& start,
                         uint64_t number, const FilterRules& rules, uint32_t max_depth,
                         std::unique_ptr<CpuTime> cpu)
    : output_(std::move(output)),
      stream_(output_->add_stream(stream_info(start, process))),
      rules_(&rules),
      blocks_(output_->writer(), stream_, start.start_tick, &output_->totals().lost_time),
      cpu_(std::move(cpu)),
      next_(number),
      next_func_(start.flushed_funcs) {
  if ((start.stream_flags & LTF_SEGMENTS) != 0) segment_words_.emplace();
  if (rules.any()) filter_.emplace();
  if (max_depth != 0) depth_.emplace(max_depth, start.start_tick);
}

// -- Descriptions --

// Appends it to `fresh`. False: it is known already.
bool BlockStream::take_function(std::span<const std::byte> record, std::vector<std::byte>& fresh) {
  lt_func f;
  std::memcpy(&f, record.data(), sizeof f);
  if (f.id >= kMaxIds || !described_.insert(f.id).second) return false;
  fresh.insert(fresh.end(), record.begin(), record.end());
  if (f.type == LT_FUNC_C) c_functions_ = true;
  // Collector and compiler are no C functions of the program: --c-functions does not concern them.
  const bool of_vm = f.type == LT_FUNC_FF && f.ffid >= LT_FF_GC;
  if (of_vm) of_vm_.insert(f.id);
  if (!filter_) return true;
  const std::string chunk(reinterpret_cast<const char*>(&record[sizeof f]), f.chunk_len);
  if (!of_vm && !wants(*rules_, f.type, chunk)) filter_->unwanted(f.id);
  return true;
}

// The same for the description of a compiled trace.
bool BlockStream::take_segment(std::span<const std::byte> record, std::vector<std::byte>& fresh) {
  lt_segment s;
  std::memcpy(&s, record.data(), sizeof s);
  if (s.id < next_place_) return false;
  next_place_ = s.id + s.nmarks + s.nexits;
  segment_words_->describe(record);
  fresh.insert(fresh.end(), record.begin(), record.end());
  return true;
}

void BlockStream::functions(uint64_t number, uint64_t count, std::span<const std::byte> records) {
  if (number > next_func_) lost_funcs_ += number - next_func_;
  wants_reports_ = wants_reports_ || (segment_words_ && number > next_func_);
  next_func_ = std::max(next_func_, number + count);
  std::vector<std::byte> functions, segments;
  uint32_t n_functions = 0, n_segments = 0;
  for (size_t at = 0; at < records.size();) {
    const size_t left = records.size() - at;
    const bool segment = segment_words_ && segment_is_valid(&records[at], left);
    if (!segment && !func_is_valid(&records[at], left)) {
      damaged_ = true;
      break;
    }
    uint32_t size;
    std::memcpy(&size, &records[at], sizeof size);
    const auto record = records.subspan(at, size);
    at += size;
    if (segment)
      n_segments += take_segment(record, segments);
    else
      n_functions += take_function(record, functions);
  }
  write(segments, n_segments, LT_BLOCK_SEGMENTS);
  write(functions, n_functions, LT_BLOCK_FUNCS);
}

void BlockStream::write(std::span<const std::byte> records, uint32_t count, uint16_t type) {
  if (count > 0 && output_->has_space(records.size() + sizeof(lt_block)))
    output_->write_funcs(stream_, count, records, type);
}

// -- Coroutines with a known stack --

bool BlockStream::is_known(uint32_t id) const {
  return id == last_known_ ? id != 0 : known_.contains(id);
}

void BlockStream::know(uint32_t id) {
  if (id == last_known_) return;
  known_.insert(id);
  last_known_ = id;
}

void BlockStream::forget(uint32_t id) {
  if (id == last_known_) last_known_ = 0;
  known_.erase(id);
}

void BlockStream::coroutine_record(std::span<const uint64_t> r) {
  const uint32_t kind = lt_kind(r[0]), sub = sub_of(r[0]);
  const uint32_t id = r.size() > 1 ? lt_lo(r[1]) : lt_payload(r[0]);
  if (kind == LT_RESUME) {
    fresh_ = is_known(id) ? 0 : id;
    if (whole_) know(id);
  } else if (sub == LTX_CREATE || sub == LTX_STACK) {
    know(id);
  } else if (sub == LTX_COLLECT) {
    forget(id);
  } else if (sub == LTX_LOSS) {
    known_.clear();
    last_known_ = 0;
    whole_ = false;
  }
}

// One whole record that is not plain, unless it repeats what is known.
void BlockStream::take(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t sub = sub_of(r[0]);
  if (lt_kind(r[0]) == LT_FRAME && skip_frames_ > 0) return void(skip_frames_--);
  if (sub == LTX_STACK && r.size() == 3 && is_known(lt_lo(r[1])) && fresh_ != lt_lo(r[1])) {
    skip_frames_ = r[2] - 1;
    out.push_back((r[0] >> LT_TIME_SHIFT << LT_TIME_SHIFT) |
                  lt_word(0, lt_ext(LTX_SWITCH, 1, 0), LT_EXT));
    out.push_back(r[1]);
    return;
  }
  if (sub != LTX_BLOCK && sub != LTX_PAD) {
    fresh_ = 0;
    skip_frames_ = 0;
    coroutine_record(r);
  }
  out.insert(out.end(), r.begin(), r.end());
}

// -- Segments after a loss --

// Does this record belong to a path of compiled code whose beginning was lost, or refer to a
// description that was lost? A path ends at the first place that says so; and where the interpreter
// runs. What the collector does is no sign of that, because its steps are inside of paths.
bool BlockStream::is_torn(std::span<const uint64_t> r) {
  const uint32_t kind = lt_kind(r[0]);
  if (SegmentWords::is_one(r)) {
    const bool torn = torn_ && !lt_is_packed(r[0]);
    torn_ = torn && segment_words_->goes_on(r);
    return torn || !segment_words_->knows(r);
  }
  const bool collector = kind != LT_RESUME && kind != LT_SUSPEND && of_vm_.contains(function_of(r));
  if (kind != LT_EXT ? !collector : sub_of(r[0]) == LTX_STACK) torn_ = false;
  return false;
}

// -- Words --

void BlockStream::put(std::span<uint64_t> words) {
  if (segment_words_) segment_words_->run(words);
  if (filter_) {
    kept_.clear();
    for (size_t at = 0; at < words.size();) {
      const size_t n = std::min(record_words(words[at]), words.size() - at);
      filter_->pass(words.subspan(at, n), kept_);
      at += n;
    }
    words = kept_;
  }
  if (depth_) {
    shallow_.clear();
    depth_->run(words, shallow_);
    words = shallow_;
  }
  if (cpu_) {
    merged_.clear();
    if (cpu_->run(words, 0, merged_) < words.size()) damaged_ = true;
    words = merged_;
  }
  if (words.empty() || !output_->has_space(words.size_bytes() + LT_RING_BLOCK_SIZE)) return;
  if (blocks_.append(words) < words.size()) {
    damaged_ = true;
    blocks_.mark_gap();
  }
}

uint64_t BlockStream::events(uint64_t number, uint64_t count, std::span<const uint64_t> words) {
  if (number + count <= next_) return 0;
  if (ended_) ended_ = false;  // the program reported its exit, but continues
  uint64_t known = next_ - std::min(number, next_);
  words = words.subspan(skip(words, known));
  if (number > next_) {
    const bool head = words.size() > 3 && sub_of(words[0]) == LTX_BLOCK;
    lose(number - next_, head ? words[1] : blocks_.scanner().tick());
    if (head && lt_lo(words[2]) != LT_ID_NONE) {
      const uint64_t coroutine[1] = {lt_lo(words[2])};
      put_ext(words[1], LTX_SWITCH, 0, coroutine);
    }
  }
  const uint64_t fresh = number + count - std::max(next_, number);
  next_ = number + count;
  clean_.clear();
  take_records(words);
  put(clean_);
  return fresh;
}

// Those to keep, into clean_; and a loss for others.
void BlockStream::take_records(std::span<const uint64_t> words) {
  uint64_t torn = 0;
  const auto leave_out = [&] {
    left_out_ += torn;
    if (torn > 0) put_loss(std::exchange(torn, 0), blocks_.scanner().tick(), 0);
  };
  for (size_t at = 0; at < words.size();) {
    if (is_plain(words[at]) && !torn_ && torn == 0) {
      fresh_ = 0;
      skip_frames_ = 0;
      clean_.push_back(words[at++]);
      continue;
    }
    const size_t n = record_words(words[at]);
    const auto record = words.subspan(at, std::min(n, words.size() - at));
    if (n == 0 || n > record.size() ||
        std::find(record.begin(), record.end(), 0u) != record.end()) {
      damaged_ = true;
      break;
    }
    at += n;
    if (segment_words_ && is_torn(record)) {
      put(clean_);
      clean_.clear();
      torn++;
      continue;
    }
    leave_out();
    take(record, clean_);
  }
  leave_out();
}

void BlockStream::put_ext(uint64_t tick, uint32_t sub, uint32_t arg,
                          std::span<const uint64_t> more) {
  std::vector<uint64_t> words = {
      lt_word(tick, lt_ext(sub, static_cast<uint32_t>(more.size()), arg), LT_EXT)};
  words.insert(words.end(), more.begin(), more.end());
  put(words);
}

void BlockStream::lose(uint64_t count, uint64_t tick, uint32_t why) {
  if (count == 0) return;
  next_ += count;
  missed_ += count;
  torn_ = segment_words_.has_value();
  put_loss(count, tick, why);
}

// From here on no stack is known.
void BlockStream::put_loss(uint64_t count, uint64_t tick, uint32_t why) {
  const uint64_t since = std::max<uint64_t>(blocks_.scanner().tick(), 1);
  known_.clear();
  last_known_ = fresh_ = 0;
  skip_frames_ = 0;
  whole_ = false;
  wants_reports_ = true;
  const uint64_t words[2] = {count + 1, since};
  put_ext(std::max(since, tick), LTX_LOSS, segment_words_ ? why | LT_LOSS_LEAST : why, words);
}

void BlockStream::end(uint64_t number, uint32_t reason, uint64_t tick) {
  if (ended_) return;
  tick = std::max(tick, blocks_.scanner().tick());
  if (number > next_) lose(number - next_, tick);
  ended_ = true;
  if (reason != LT_CHUNK_EXIT) put_ext(tick, LTX_STOP, reason, {});
}

void BlockStream::flush() {
  if (!output_->finished()) blocks_.flush();
}

void BlockStream::finish() {
  if (finished_) return;
  finished_ = true;
  flush();
  output_->end_stream(stream_);
  output_->totals().add(blocks_.scanner(), damaged_);
  output_->totals().lost_functions += lost_funcs_;
  if (!segment_words_) return;
  output_->totals().segment_words += segment_words_->words();
  output_->totals().segment_events += segment_words_->events();
}

}  // namespace luatrace::record::bpf
