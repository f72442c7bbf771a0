// SPDX-License-Identifier: MIT
#include "recorder/drain/output.h"

#include <unistd.h>

#include <cmath>
#include <random>
#include <utility>

#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

// Bytes reserved for the very end: CLOCK and END blocks.
constexpr uint64_t kEndReserve = 1024;
// Bytes that one stream may still hold back: a full EVENTS block.
constexpr uint64_t kStreamReserve = LT_RING_BLOCK_SIZE + sizeof(lt_block);
// It is better to know that a file cannot be written before the first process is accepted.
constexpr uint64_t kFirstWrite = 200'000'000;  // ns

uint64_t random_id() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

void OutputTotals::add(const WordScanner& words, bool is_damaged) {
  lost += words.lost_events();
  lost_otherwise += words.lost_otherwise();
  lost_at_least |= words.lost_at_least();
  gaps += words.losses();
  backwards += words.clock_backwards();
  damaged += is_damaged ? 1 : 0;
}

Output::Output(WriteQueue& queue, OpenedOutput opened, std::string name, uint32_t clock,
               uint64_t max_size, int compression, bool empty_it, SelectionSettings selection,
               bool segments)
    : queue_(queue),
      opened_(std::move(opened)),
      clock_(clock),
      max_size_(max_size),
      compression_(compression),
      segments_(segments),
      reserved_(kEndReserve),
      time_{sample_clocks(clock)} {
  if (!can_rewrite(opened_.fd)) wait_for_rate();  // The rate in its header is the last one.
  writer_ = selection_.make_writer(
      queue_, {opened_, std::move(name), header(), max_size_, compression_, empty_it},
      std::move(selection), [this] { return rate_so_far(); });
  // At once: what has hit the watch is the newest in the window.
  if (FlightRecorder* const flight = selection_.flight())
    flight->flight().after_write([this, flight] {
      if (flight->wanted()) snapshot("");
    });
}

lt_file_header Output::header() const {
  lt_file_header h = make_file_header();
  h.clock = clock_;
  if (compression_ > 0) h.required |= LT_FEATURE_ZSTD;
  if (segments_) h.required |= LT_FEATURE_SEGMENTS;
  const ClockRate rate = rate_so_far();
  h.tick_mult = rate.mult;
  h.tick_shift = rate.shift;
  h.start_tick = time_.start.tick;
  h.start_mono_ns = time_.start.mono_ns;
  h.start_real_ns = time_.start.real_ns;
  h.trace_id = random_id();
  return h;
}

ClockRate Output::rate_so_far() const {
  return rate_until(clock_, time_.start,
                    time_.end.mono_ns != 0 ? time_.end : sample_clocks(clock_));
}

bool Output::accept_clock(uint32_t clock) {
  if (clock == clock_) return true;
  if (totals_.streams > 0 || !writer_->seekable()) return false;
  clock_ = clock;
  time_.start = sample_clocks(clock);
  if (!writer_->restart(header())) return false;
  begin(note_);
  return true;
}

void Output::begin(std::string note) {
  note_ = std::move(note);
  writer_->write_note(note_);
  write_clock();
  writer_->flush();
  if (!queue_.is_slow()) queue_.wait_until_written(monotonic_ns() + kFirstWrite);
}

uint32_t Output::add_stream(const lt_stream_info& info) {
  reserved_ += kStreamReserve;
  const uint32_t number = static_cast<uint32_t>(++totals_.streams);
  writer_->write_stream(number, info);
  return number;
}

void Output::write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records,
                         uint16_t type) {
  if (type == LT_BLOCK_FUNCS) totals_.unmatched.see(records);
  has_segments_ |= type == LT_BLOCK_SEGMENTS;
  writer_->write_funcs(stream, count, records, type);
}

void Output::write_clock() {
  if (dead()) return;
  writer_->write_clock(sample_clocks(clock_));
  const ClockRate rate = rate_so_far();
  const double ns = ticks_to_ns(rate, 1'000'000'000);
  if (std::abs(ns - header_rate_) <= 1e-6 * ns) return;
  header_rate_ = ns;
  writer_->set_clock_rate(rate.mult, rate.shift);
}

bool Output::has_space(uint64_t bytes) {
  full_ |= selection_.full();
  if (selection_.takes_all() && !finished_ && max_size_ != 0 &&
      writer_->bytes() + reserved_ + bytes > max_size_)
    full_ = true;
  if (selection_.takes_all() && !dead() &&
      !queue_.disk_has_space(writer_->unflushed() + reserved_ + bytes))
    full_ = disk_full_ = true;
  return !dead();
}

bool Output::settled() {
  if (users_ > 0) return false;
  if (!finished_) writer_->flush();
  return !writer_->ok() || writer_->written() == writer_->bytes();
}

// Immediately, not at the end: the command may run for days.
void Output::announce_early_end() {
  if (reported_end_ || !cut_short()) return;
  reported_end_ = true;
  if (!writer_->ok())
    log(writer_->error() + "; the recording ends there, the program continues");
  else if (disk_full_)
    queue_.announce_scarce();
  else
    log(writer_->name() + ": --max-size " + grouped(max_size_) +
        " was reached; the recording ends, the program continues");
}

// Events that were read but are not in the file. Of a stream they are one gap, at its end.
void Output::count_missing(uint32_t stream, const Discarded& d) {
  totals_.unwritten += d.events;
  totals_.lost += d.events;
  totals_.gaps += cut_streams_.insert(stream).second ? 1 : 0;
  totals_.lost_time.add(d.since, d.until);
}

void Output::give_up() {
  if (FlightRecorder* const flight = selection_.flight()) return flight->settle();
  if (!writer_->ok()) return;  // that was reported
  for (const auto& [stream, d] : writer_->forget_unwritten()) count_missing(stream, d);
  if (writer_->ok()) return;
  reported_end_ = true;
  log(writer_->error() + ": the end of the trace is missing");
}

void Output::wait_for_space() {
  if (time_.end.mono_ns == 0) time_.end = sample_clocks(clock_);
  queue_.wait_for_space();
}

void Output::finish(uint32_t reason, int exit_status) {
  if (finished_) return;
  if (time_.end.mono_ns == 0) time_.end = sample_clocks(clock_);
  finished_ = true;
  for (const auto& [stream, d] : writer_->discarded()) count_missing(stream, d);
  if (writer_->ok()) {
    writer_->write_discarded();
    writer_->write_clock(time_.end);
    lt_end_info info{};
    info.lost = totals_.lost;
    info.reason = disk_full_ ? static_cast<uint32_t>(LTQ_DISK)
                  : full_    ? static_cast<uint32_t>(LTQ_MAX_SIZE)
                             : reason;
    info.exit_status = exit_status;
    writer_->write_end(info);
    const ClockRate rate = rate_so_far();
    const bool none = segments_ && !has_segments_ && totals_.segment_words == 0;
    writer_->set_clock_rate(rate.mult, rate.shift, none ? LT_FEATURE_SEGMENTS : 0);
  }
  if (FlightRecorder* const flight = selection_.flight())
    flight->finish(reason, exit_status, header(), time_.end);
  writer_->close();
}

void Output::snapshot(const std::string& why, std::optional<SnapshotFile> file) {
  FlightRecorder* const flight = selection_.flight();
  if (flight == nullptr || finished_) {
    if (file && file->opened.fd >= 0) close(file->opened.fd);
    if (file) file->done(finished_ ? "the recording has ended" : "the recording has no --flight");
    return;
  }
  if (!why.empty()) writer_->flush();
  if (!file) return flight->request(why, header(), sample_clocks(clock_));
  flight->request(why, header(), sample_clocks(clock_), std::move(*file));
  flight->step();
}

void Output::end_stream(uint32_t stream) {
  if (finished_) return;
  writer_->flush();
  selection_.end_stream(stream);
}

}  // namespace luatrace::record
