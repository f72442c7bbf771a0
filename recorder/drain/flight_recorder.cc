// SPDX-License-Identifier: MIT
#include "recorder/drain/flight_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kBytesPerPass = 4u << 20;  // bytes, between two passes of the drainer

constexpr const char* kAtTheEnd = "end of the recording";

ClockRate rate_of(const lt_file_header& h) {
  ClockRate rate;
  rate.mult = h.tick_mult;
  rate.shift = h.tick_shift;
  return rate;
}

// A header whose clocks are those of `tick`, as far as the rate is known.
void begin_at(lt_file_header& h, uint64_t tick, const lt_clock_info& now) {
  const uint64_t before = now.tick > tick ? now.tick - tick : 0;
  const auto ns = static_cast<uint64_t>(ticks_to_ns(rate_of(h), before));
  h.start_tick = now.tick - before;
  h.start_mono_ns = now.mono_ns - std::min(ns, now.mono_ns);
  h.start_real_ns = now.real_ns - std::min(ns, now.real_ns);
}

}  // namespace

FlightRecorder::FlightRecorder(WriteQueue& queue, FlightSettings settings, OpenedOutput first,
                               std::string name, OpenSnapshot open, std::function<ClockRate()> rate)
    : queue_(queue),
      settings_(std::move(settings)),
      first_(std::move(first)),
      first_name_(std::move(name)),
      open_(std::move(open)),
      made_(std::make_unique<Flight>(settings_.bytes, settings_.ns)),
      flight_(made_.get()) {
  if (settings_.rules.empty()) return;
  watch_ = std::make_unique<CallWatch>(settings_.rules, std::move(rate));
  flight_->observe(*watch_);
}

FlightRecorder::~FlightRecorder() {
  if (first_.fd >= 0) close(first_.fd);
}

std::unique_ptr<BlockSink> FlightRecorder::sink() {
  return std::move(made_);
}

// -- When --

bool FlightRecorder::is_allowed(const std::string& why, bool automatic) {
  if (settings_.one_file) return false;
  const uint64_t now = monotonic_ns();
  if (automatic && (automatic_ >= kMaxAutomatic || now < automatic_ns_ + kPauseNs))
    return left_out_++, false;
  if (settings_.max_size != 0 && written_ + flight_->held() > settings_.max_size) {
    if (!std::exchange(full_, true))
      log("--max-size " + grouped(settings_.max_size) +
          ": there is no space for another snapshot (" + why + ")");
    return left_out_++, false;
  }
  if (automatic) automatic_ns_ = now, automatic_++;
  return true;
}

void FlightRecorder::request(const std::string& why, const lt_file_header& header,
                             const lt_clock_info& now) {
  const bool automatic = why.empty();
  const std::string reason = automatic ? watch_->take() : why;
  if ((busy_ && kept_) || !is_allowed(reason, automatic)) return;
  take({reason, header, now, flight_->snapshot(now.tick, reason)});
}

void FlightRecorder::request(const std::string& why, const lt_file_header& header,
                             const lt_clock_info& now, SnapshotFile file) {
  std::string obstacle;
  if (busy_ && kept_)
    obstacle = "other snapshots are being written";
  else if (file.name.empty() && settings_.one_file)
    obstacle = "the recording has no file: name that of the snapshot";
  else if (file.name.empty() && !is_allowed(why, false))
    obstacle = "--max-size: there is no space for another snapshot";
  if (!obstacle.empty()) {
    if (file.opened.fd >= 0) close(file.opened.fd);
    return file.done(obstacle);
  }
  take({why, header, now, flight_->snapshot(now.tick, why), std::move(file)});
}

void FlightRecorder::take(Request r) {
  if (busy_)
    kept_ = std::move(r);
  else
    begin(std::move(r));
}

// -- Writing --

void FlightRecorder::fail(const std::string& why) {
  if (writing_.file) return writing_.file->done(why);
  log(why);
  failed_ = true;
}

OpenedOutput FlightRecorder::open(std::string& name) {
  if (writing_.file && !writing_.file->name.empty()) {
    name = writing_.file->name;
    return std::exchange(writing_.file->opened, OpenedOutput{});
  }
  name = first_name_;
  OpenedOutput opened = std::exchange(first_, OpenedOutput{});
  number_++;
  return opened.fd < 0 ? open_(number_, name) : opened;
}

bool FlightRecorder::begin(Request r) {
  writing_ = std::move(r);
  std::string name;
  const OpenedOutput opened = open(name);
  if (opened.fd < 0) return fail(name + ": cannot open for writing: " + opened.why), false;
  busy_ = writes_ = true;
  lt_file_header header = writing_.header;
  begin_at(header, writing_.window.start_tick(), writing_.now);
  out_ = std::make_unique<TraceWriter>(queue_.file(std::move(opened), true, Publish::kClose), name,
                                       header);
  if (settings_.compression > 0) out_->compress(settings_.compression);
  end_ = {};
  end_.reason = LTQ_SIGNAL;
  end_.exit_status = -1;
  return true;
}

void FlightRecorder::step() {
  if (writes_ && out_->ok() && !queue_.full() && !writing_.window.write(*out_, kBytesPerPass))
    complete();
  conclude();
  if (!busy_ && kept_) begin(*std::exchange(kept_, std::nullopt));
}

// Its memory is needed no more.
void FlightRecorder::end_writing() {
  writes_ = false;
  writing_.window = {};
}

void FlightRecorder::complete() {
  const Request& r = writing_;
  dropped_ = 0;
  for (const auto& [stream, d] : out_->discarded()) dropped_ += d.events;
  out_->write_discarded();
  out_->write_clock(r.now);
  end_.lost = out_->lost();
  out_->write_end(end_);
  out_->set_clock_rate(r.header.tick_mult, r.header.tick_shift);
  const uint64_t from = std::min(r.now.tick, r.window.start_tick());
  const double ns = ticks_to_ns(rate_of(r.header), r.now.tick - from);
  done_ = out_->name() + ": snapshot (" + r.why + "): " + counted(out_->events(), "event") +
          " of the last " + time_text(ns) + ", " + bytes_text(out_->bytes());
  end_writing();
  out_->close();
}

// The file is written, or failed.
void FlightRecorder::conclude() {
  if (!busy_) return;
  if (!out_->ok()) {
    end_writing();
    busy_ = false;
    return fail(out_->error());
  }
  if (writes_ || out_->written() != out_->bytes()) return;
  busy_ = false;
  if (dropped_ > 0)
    return fail(out_->name() + ": " + counted(dropped_, "event") +
                " of the snapshot could not be written in time");
  if (writing_.file) writing_.file->done("");
  if (writing_.file && !writing_.file->name.empty()) return;
  written_ += out_->bytes();
  files_.push_back(out_->name());
  if (!settings_.quiet) log(done_);
}

void FlightRecorder::finish(uint32_t reason, int status, const lt_file_header& header,
                            const lt_clock_info& now) {
  const auto write_all = [this] {
    while (writes_ && out_->ok())
      if (!writing_.window.write(*out_, kBytesPerPass)) complete();
  };
  write_all();
  settle();
  if (kept_ && begin(*std::exchange(kept_, std::nullopt))) write_all(), settle();
  if (!is_allowed(kAtTheEnd, false)) return;
  if (!begin({kAtTheEnd, header, now, flight_->snapshot(now.tick, kAtTheEnd)})) return;
  end_.reason = reason;
  end_.exit_status = status;
  write_all();
}

void FlightRecorder::settle() {
  if (!busy_) return;
  if (!writes_ && out_->ok()) queue_.wait_until_written();
  conclude();
  if (!busy_) return;
  out_->forget_unwritten();
  end_writing();
  busy_ = false;
  fail(out_->error() + ": the end of the snapshot is missing");
}

std::vector<std::string> FlightRecorder::remarks() const {
  std::vector<std::string> lines;
  if (left_out_ > 0)
    lines.push_back(counted(left_out_, "snapshot was", "snapshots were") +
                    " not written: less than a second after another one, more than " +
                    grouped(kMaxAutomatic) + ", or --max-size");
  if (flight_->forgotten() > 0)
    lines.push_back(counted(flight_->forgotten(), "description") +
                    " of functions did not fit into memory");
  if (watch_ && watch_->losses() > 0)
    lines.push_back(
        "events were lost: calls of the functions of --slow and --on-error that began or "
        "ended meanwhile could not be judged (a larger --ring-size loses less)");
  if (watch_)
    for (const std::string& name : watch_->unmatched())
      lines.push_back("--slow or --on-error " + shell_word(name) + ": no such function was seen (" +
                      name_advice(name) + "CHUNK:LINE of its definition needs no name)");
  return lines;
}

}  // namespace luatrace::record
