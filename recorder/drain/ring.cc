// SPDX-License-Identifier: MIT
// Reading the block that the target is filling moves its cache lines between two cores, which slows
// the target: so that is done only when no block has become full for a while.
#include "recorder/drain/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "recorder/drain/watch_log.h"
#include "recorder/os/clock.h"
#include "recorder/os/memfd.h"
#include "recorder/os/text.h"
#include "trace/descriptor.h"
#include "trace/records.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kUsual = 8u << 20;  // bytes of blocks, see lt_control.ring_size
constexpr uint64_t kRest = 2u << 20;   // header and descriptions: 1.1 MB
constexpr uint64_t kMaxMemory = uint64_t{LT_RING_MAX_BLOCKS} * LT_RING_BLOCK_SIZE + kRest;
constexpr uint32_t kMaxMeta = 1u << 20;
constexpr uint64_t kMinHz = 1'000'000, kMaxHz = 10'000'000'000;  // of a clock that reports its rate

constexpr uint64_t kPartialNs = 50'000'000;  // before a block that is being filled is read
constexpr uint64_t kFlushNs = 150'000'000;   // between writes of collected events, or more
constexpr size_t kFunctionBytes = 1u << 20;  // of one FUNCS block, about
constexpr double kTargetBytesPerNs = 2.0;    // more than three times the fastest measured
constexpr uint64_t kNoLimit = UINT64_MAX;

std::string check_file(int fd, struct stat& st) {
  if (fd < 0) return "its descriptor could not be received (are all that may be open in use?)";
  const int seals = is_memfd(fd) ? fcntl(fd, F_GET_SEALS) : -1;
  if (seals < 0) return "it is not a memfd";
  if ((seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_GROW) == 0)
    return "its memory is not sealed against changes of size";
  if (fstat(fd, &st) != 0) return "fstat: " + errno_text(errno);
  if (st.st_size < static_cast<off_t>(LT_RING_HDR_SIZE)) return "it is too small for a header";
  if (static_cast<uint64_t>(st.st_size) > kMaxMemory) return "it is larger than any ring";
  return "";
}

}  // namespace

// -- The memory --

uint64_t max_ring_size(uint64_t requested) {
  const uint64_t min_size = uint64_t{LT_RING_MIN_BLOCKS} * LT_RING_BLOCK_SIZE;
  return std::max(requested != 0 ? requested : kUsual, min_size) + kRest;
}

std::string check_ring(const lt_ring& r, uint64_t file_size) {
  if (r.magic != LT_RING_MAGIC) return "wrong magic";
  if (r.version != LT_RING_VERSION)
    return "version " + std::to_string(r.version) + ", this recorder knows version " +
           std::to_string(LT_RING_VERSION);
  if (r.block_size != LT_RING_BLOCK_SIZE) return "wrong block size";
  if (r.nblocks < 2) return "fewer than 2 blocks";
  if (r.clock != LT_CLOCK_TSC && r.clock != LT_CLOCK_MONOTONIC && r.clock != LT_CLOCK_CNTVCT)
    return "unknown clock";
  if (r.clock == LT_CLOCK_CNTVCT && (r.clock_hz < kMinHz || r.clock_hz > kMaxHz))
    return "implausible rate of its clock";
  if (!std::has_single_bit(r.meta_size) || r.meta_size < 4096 || r.meta_size > kMaxMeta)
    return "wrong size of the meta area";
  const uint64_t data_end = r.data_ofs + uint64_t{r.nblocks} * r.block_size;
  if (r.data_ofs < LT_RING_HDR_SIZE || r.data_ofs % 8 != 0 || data_end > file_size)
    return "blocks outside the memory";
  if (r.meta_ofs < LT_RING_HDR_SIZE || r.meta_ofs % 8 != 0 || r.meta_ofs > file_size ||
      r.meta_size > file_size - r.meta_ofs)
    return "meta area outside the memory";
  if (r.meta_ofs < data_end && r.meta_ofs + r.meta_size > r.data_ofs)
    return "blocks and meta area overlap";
  return "";
}

std::unique_ptr<RingMemory> RingMemory::map(int fd, std::string* why) {
  const Descriptor closer(fd);
  struct stat st {};
  *why = check_file(fd, st);
  if (!why->empty()) return nullptr;
  const auto size = static_cast<size_t>(st.st_size);
  // Populate it now, while the target waits, but do not allocate the memory: that is the target's
  // part.
  const bool present = static_cast<uint64_t>(st.st_blocks) * 512 >= size;
  const int flags = MAP_SHARED | (present ? MAP_POPULATE : 0);
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p == MAP_FAILED) return *why = "mmap: " + errno_text(errno), nullptr;
  lt_ring info;
  std::memcpy(&info, p, sizeof info);
  *why = check_ring(info, size);
  if (!why->empty()) return munmap(p, size), nullptr;
  info.luajit[sizeof info.luajit - 1] = 0;
  learn_clock(info.clock, info.start_tick, info.start_ns, info.clock_hz);
  return std::unique_ptr<RingMemory>(
      new RingMemory(static_cast<std::byte*>(p), size, info, st.st_ino));
}

RingMemory::~RingMemory() {
  munmap(base_, size_);
}

std::span<uint64_t> RingMemory::block(uint64_t n) const {
  std::byte* const p = base_ + info_.data_ofs + n % info_.nblocks * info_.block_size;
  return {reinterpret_cast<uint64_t*>(p), block_words()};
}

// -- Draining --

RingDrain::RingDrain(std::unique_ptr<RingMemory> ring, std::shared_ptr<Output> output,
                     uint32_t stream, uint32_t max_depth, std::unique_ptr<CpuTime> cpu)
    : ring_(std::move(ring)),
      output_(std::move(output)),
      stream_(stream),
      events_(output_->writer(), stream, ring_->info().start_tick, &output_->totals().lost_time),
      cpu_(std::move(cpu)),
      empty_at_(ring_->info().start_tick) {
  output_->users()++;
  if ((ring_->info().stream_flags & LTF_SEGMENTS) != 0) segment_words_.emplace();
  if (max_depth != 0) filter_.emplace(max_depth, ring_->info().start_tick);
  scratch_.reserve(ring_->block_words());
  taken_ns_ = written_ns_ = monotonic_ns();
}

RingDrain::~RingDrain() = default;

void RingDrain::set_watch(std::unique_ptr<WatchReader> watch) {
  watch_ = std::move(watch);
}

uint64_t RingDrain::patience_ns() const {
  const double bytes = double{LT_RING_BLOCK_SIZE} * ring_->info().nblocks;
  return static_cast<uint64_t>(bytes / kTargetBytesPerNs);
}

void RingDrain::give_up(const std::string& why) {
  damage_ = why;
  ring_->set_detach();
  finish();
}

// Takes words, in order. Returns how many were taken.
size_t RingDrain::take(std::span<const uint64_t> words) {
  const size_t n = pass_on(words);
  if (watch_) watch_->read(words.first(n), [this] { return output_->rate_so_far(); });
  return n;
}

// Passes words to the file's blocks. Returns how many were taken.
size_t RingDrain::pass_on(std::span<const uint64_t> words) {
  if (!filter_ && !cpu_) return events_.append(words, empty_at_);
  size_t n = words.size();
  if (cpu_) {
    merged_.clear();
    n = cpu_->run(words, empty_at_, merged_);
    words = merged_;
  }
  if (filter_) {
    kept_.clear();
    const size_t taken = filter_->run(words, kept_);
    if (!cpu_) n = taken;
    words = kept_;
  }
  events_.append(words, empty_at_);
  return n;
}

// The rest of block tail_, which the target has finished. Words that cannot be taken are damage.
bool RingDrain::take_block() {
  if (!output_->has_space(2 * (LT_RING_BLOCK_SIZE + sizeof(lt_block)))) return false;
  const auto block = ring_->block(tail_);
  auto rest = block.subspan(pos_);
  // These read each word more than once: not in memory that may change.
  if (filter_ || cpu_ || watch_ || segment_words_) {
    scratch_.assign(rest.begin(), rest.end());
    if (segment_words_) segment_words_->run(scratch_);
    rest = scratch_;
  }
  const auto left = rest.subspan(take(rest));
  if (std::any_of(left.begin(), left.end(), [](uint64_t w) { return w != 0; })) {
    skipped_ = true;
    events_.mark_gap();
  }
  moved_ += rest.size();
  std::fill(block.begin(), block.end(), 0);
  pos_ = 0;
  ring_->set_tail(++tail_);
  return true;
}

size_t RingDrain::take_full_blocks(uint64_t head, uint64_t until_ns) {
  const uint64_t before = moved_;
  const uint64_t looked = now();
  if (tail_ == head) return 0;
  take_functions();
  while (tail_ < head) {
    if (!take_block()) return 0;
    if (tail_ < head && (monotonic_ns() >= until_ns || !output_->ready())) return moved_ - before;
  }
  empty_at_ = looked;
  return moved_ - before;
}

// The words so far of the block that is being filled. They are copied before their functions are
// read, since the target stores them in the opposite order.
size_t RingDrain::take_partial_block() {
  const auto block = ring_->block(tail_);
  const uint64_t looked = now();
  scratch_.clear();
  for (size_t i = pos_; i < block.size(); i++) {
    const uint64_t w = std::atomic_ref<uint64_t>(block[i]).load(std::memory_order_acquire);
    if (w == 0) break;
    scratch_.push_back(w);
  }
  if (scratch_.empty()) return empty_at_ = looked, 0;
  if (!output_->has_space(2 * (LT_RING_BLOCK_SIZE + sizeof(lt_block)))) return 0;
  take_functions();
  if (output_->dead()) return 0;
  if (segment_words_) segment_words_->run(scratch_);
  const size_t n = take(scratch_);
  pos_ += n;
  empty_at_ = looked;
  return n;
}

// One record of the meta area. False if it is invalid.
bool RingDrain::take_function(std::span<const std::byte> meta, uint64_t& tail, uint64_t head) {
  struct {
    uint32_t size;
    uint16_t type, flags;
  } start;
  const size_t at = tail % meta.size();
  const size_t space = std::min<uint64_t>(head - tail, meta.size() - at);
  if (at % 8 != 0 || space < sizeof start) return false;
  std::memcpy(&start, &meta[at], sizeof start);
  if (start.type == LT_META_WRAP) return tail += space, true;
  if (start.size < sizeof(lt_func) || start.size > space || start.size % 8 != 0) return false;
  if (start.type == LT_META_SEGMENT) {
    const bool good = take_segment(meta.subspan(at, start.size));
    tail += good ? start.size : 0;
    return good;
  }
  const size_t end = functions_.size();
  functions_.insert(functions_.end(), &meta[at], &meta[at] + start.size);
  if (!func_is_valid(&functions_[end], start.size)) return functions_.resize(end), false;
  // func_is_valid() checked the copy; from here on its size counts.
  uint32_t size;
  std::memcpy(&size, &functions_[end], sizeof size);
  if (size != start.size) return functions_.resize(end), false;
  tail += start.size;
  function_count_++;
  if (start.type == LT_FUNC_C) c_functions_ = true;
  return true;
}

// The description of a compiled trace, which is checked in a copy.
bool RingDrain::take_segment(std::span<const std::byte> record) {
  const size_t end = segments_.size();
  segments_.insert(segments_.end(), record.begin(), record.end());
  uint32_t size;
  std::memcpy(&size, &segments_[end], sizeof size);
  if (size != record.size() || !segment_is_valid(&segments_[end], record.size()))
    return segments_.resize(end), false;
  if (segment_words_) segment_words_->describe({&segments_[end], size});
  segment_count_++;
  return true;
}

void RingDrain::write_functions() {
  if (segment_count_ > 0 && output_->has_space(segments_.size() + sizeof(lt_block)))
    output_->write_funcs(stream_, segment_count_, segments_, LT_BLOCK_SEGMENTS);
  segments_.clear();
  segment_count_ = 0;
  if (function_count_ > 0 && output_->has_space(functions_.size() + sizeof(lt_block)))
    output_->write_funcs(stream_, function_count_, functions_);
  functions_.clear();
  function_count_ = 0;
}

void RingDrain::take_functions() {
  const uint64_t head = ring_->meta_head();
  if (head == meta_tail_) return;
  const auto meta = ring_->meta();
  bool good = head > meta_tail_ && head - meta_tail_ <= meta.size();
  while (good && meta_tail_ < head) {
    good = take_function(meta, meta_tail_, head);
    if (functions_.size() + segments_.size() > kFunctionBytes) write_functions();
  }
  write_functions();
  if (!good) {  // events continue; their functions stay nameless
    skipped_ = true;
    meta_tail_ = head;
  }
  ring_->set_meta_tail(meta_tail_);
}

size_t RingDrain::poll(uint64_t until_ns) {
  if (finished_) return 0;
  const bool last = complete_ || ring_->closed();  // before head is read
  set_alive();
  if (cpu_) cpu_->read();
  if (!output_->ready()) return 0;
  const uint64_t head = ring_->head();
  if (head < tail_ || head - tail_ > ring_->info().nblocks) {
    give_up("block counter " + std::to_string(head) + " is impossible");
    return 0;
  }
  size_t n = take_full_blocks(head, until_ns);
  const uint64_t ns = monotonic_ns();
  if (n == 0 && (last || ns - taken_ns_ >= kPartialNs)) {
    n = take_partial_block();
    taken_ns_ = ns;
  }
  if (n > 0) taken_ns_ = ns;
  if (last && n == 0) {
    finish();
  } else if (ns - written_ns_ >= kFlushNs) {
    events_.flush();
    output_->writer().flush();
    written_ns_ = ns;
  }
  return n;
}

void RingDrain::take_rest() {
  for (int i = 0; damage_.empty() && i < 2; i++) {  // the second time for newer data
    const uint64_t head = ring_->head();
    if (head < tail_ || head - tail_ > ring_->info().nblocks) break;
    take_full_blocks(head, kNoLimit);
    if (output_->dead()) break;
    take_partial_block();
  }
  take_functions();
}

void RingDrain::flush() {
  if (finished_ || !output_->ready()) return;
  take_rest();
  if (output_->dead()) return;
  events_.flush();
  output_->writer().flush();
}

void RingDrain::finish() {
  if (finished_) return;
  finished_ = true;
  take_rest();
  report_last_loss();
  if (!output_->finished()) events_.flush();
  if (!output_->finished()) output_->writer().flush();
  output_->end_stream(stream_);
  add_totals();
  output_->users()--;
}

// A loss that was going on when the target died, or was reported to stop while its ring was full:
// the target could not report it.
void RingDrain::report_last_loss() {
  const WordScanner& s = events_.scanner();
  const uint64_t since = ring_->lost_since(), all = ring_->lost(), reported = s.lost_events();
  if (since == 0 || since < s.tick() || since > empty_at_ || !damage_.empty()) return;
  // A killed target has not counted its last events.
  const uint64_t lost = all > reported ? all - reported : 1;
  const uint64_t words[] = {lt_word(empty_at_, lt_ext(LTX_LOSS, 2, 0), LT_EXT), lost + 1, since};
  events_.append(words, since);
}

// The target's own count of lost events is used if it exceeds that of its records.
void RingDrain::add_totals() {
  OutputTotals& t = output_->totals();
  const uint64_t reported = events_.scanner().lost_events(), all = ring_->lost();
  t.add(events_.scanner(), !damage_.empty() || skipped_);
  t.lost_functions += ring_->meta_lost();
  if (segment_words_) {
    t.segment_words += segment_words_->words();
    t.segment_events += segment_words_->events();
  }
  if (all <= reported) return;
  t.lost += all - reported;
  t.gaps++;
  if (const uint64_t since = ring_->lost_since(); since != 0) t.lost_time.add(since, empty_at_);
}

}  // namespace luatrace::record
