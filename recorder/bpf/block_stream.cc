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
  if (rules.any()) filter_.emplace();
  if (max_depth != 0) depth_.emplace(max_depth, start.start_tick);
}

// -- Functions --

void BlockStream::functions(uint64_t number, uint64_t count, std::span<const std::byte> records) {
  if (number > next_func_) lost_funcs_ += number - next_func_;
  next_func_ = std::max(next_func_, number + count);
  std::vector<std::byte> fresh;
  uint32_t n = 0;
  for (size_t at = 0; at < records.size();) {
    lt_func f;
    if (!func_is_valid(&records[at], records.size() - at)) return void(damaged_ = true);
    std::memcpy(&f, &records[at], sizeof f);
    const auto record = records.subspan(at, f.size);
    at += f.size;
    if (f.id >= kMaxIds || !described_.insert(f.id).second) continue;
    fresh.insert(fresh.end(), record.begin(), record.end());
    n++;
    if (f.type == LT_FUNC_C) c_functions_ = true;
    if (!filter_) continue;
    const std::string chunk(reinterpret_cast<const char*>(&record[sizeof f]), f.chunk_len);
    // Collector and compiler are no C functions of the program: --c-functions does not concern
    // them.
    const bool of_vm = f.type == LT_FUNC_FF && f.ffid >= LT_FF_GC;
    if (!of_vm && !wants(*rules_, f.type, chunk)) filter_->unwanted(f.id);
  }
  if (n > 0 && output_->has_space(fresh.size() + sizeof(lt_block)))
    output_->write_funcs(stream_, n, fresh);
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

// -- Words --

void BlockStream::put(std::span<const uint64_t> words) {
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
  for (size_t at = 0; at < words.size();) {
    if (is_plain(words[at])) {
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
    take(record, clean_);
    at += n;
  }
  put(clean_);
  return fresh;
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
  const uint64_t since = std::max<uint64_t>(blocks_.scanner().tick(), 1);
  next_ += count;
  lost_ += count;
  known_.clear();
  last_known_ = fresh_ = 0;
  skip_frames_ = 0;
  whole_ = false;
  const uint64_t words[2] = {count + 1, since};
  put_ext(std::max(since, tick), LTX_LOSS, why, words);
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
}

}  // namespace luatrace::record::bpf
