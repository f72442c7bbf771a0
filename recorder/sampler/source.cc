// SPDX-License-Identifier: MIT
#include "recorder/sampler/source.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"

namespace luatrace::record::sampler {
namespace {

// Does each period of a process's CPU time have a sample? Then that, else 0.
uint64_t period_of(const Settings& s) {
  const bool all = !s.off_cpu && !s.only_kernel_mode && s.threads.empty();
  return all ? kSecond / s.hertz : 0;
}

}  // namespace

Source::Source(Settings settings, Shown shown)
    : program_(settings), shown_(shown), period_ns_(period_of(settings)) {}

// No process is sampled yet, so none waits for the kernel's functions. Our own programs are among
// them now.
bpf::Failure Source::start() {
  bpf::Failure failure = program_.start();
  if (!failure && shown_.kernel) kernel_.load();
  return failure;
}

// The same code with the same note is the same LuaJIT. Null: all places are taken.
Source::Place* Source::place_for(const FoundImage& image) {
  const auto same = [&](const Place& p) {
    lt_abi a = p.abi, b = image.image.abi;
    a.vms = b.vms = a.vm_begin = b.vm_begin = a.vm_end = b.vm_end = a.rules = b.rules = 0;
    return !p.code.empty() && p.code == image.code && std::memcmp(&a, &b, sizeof a) == 0;
  };
  const auto known = std::find_if(places_.begin(), places_.end(), same);
  if (known != places_.end()) return &*known;
  const auto free =
      std::min_element(places_.begin(), places_.end(), [](const auto& a, const auto& b) {
        return std::pair(a.users, a.generation) < std::pair(b.users, b.generation);
      });
  if (free->users > 0) return nullptr;
  *free = {free->generation + 1, 0, {}, {}};  // the BPF program may know the old number's note
  if (!program_.set_image(number_of(*free), image.image.abi, image.rules)) return nullptr;
  free->code = image.code;
  free->abi = image.image.abi;
  return &*free;
}

uint32_t Source::number_of(const Place& place) const {
  return place.generation * SMP_IMAGES + static_cast<uint32_t>(&place - places_.data());
}

void Source::add_images(Entry& e, std::vector<FoundImage>& images, smp_process& p) {
  for (FoundImage& image : images) {
    if (e.images.size() == SMP_PROCESS_IMAGES) break;
    const auto same = [&](const smp_mapped& m) { return m.text == image.mapped.text; };
    if (std::any_of(p.mapped, p.mapped + e.images.size(), same)) continue;
    Place* const place = place_for(image);
    if (place == nullptr) continue;
    place->users++;
    image.mapped.image = number_of(*place);
    p.mapped[e.images.size()] = image.mapped;
    e.images.push_back(image.mapped.image);
    e.process->add_image(image.image, image.mapped);
  }
}

Source::Entry& Source::entry_of(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output) {
  if (const auto it = live_.find(pid); it != live_.end()) return *it->second;
  Entry& e = entries_.emplace_back();
  e.pid = pid;
  e.process = std::make_unique<SampledProcess>(pid, number, output, kernel_, shown_);
  if (period_ns_ != 0) e.coverage = Coverage(cpu_time_of(pid));
  e.known.nested = !shown_.user;  // otherwise the C functions will tell
  output->users()++;
  live_[pid] = &e;
  return e;
}

Added Source::add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
                  std::vector<FoundImage> images) {
  if (first_output_ == nullptr) first_output_ = output;
  see_execs();
  if (execs_.contains(pid)) return Added::kExecuted;
  Entry& e = entry_of(pid, number, output);
  const size_t had = e.images.size();
  smp_process p = e.known;
  add_images(e, images, p);
  if (!e.serials.empty() && e.images.size() == had)  // nothing is new
    return had > 0 ? Added::kSampled : Added::kNoPlace;
  p.serial = next_serial_++;
  e.known = p;
  e.serials.push_back(p.serial);
  by_serial_[p.serial] = &e;
  if (program_.set_process(pid, p))
    return e.images.empty() && !images.empty() ? Added::kNoPlace : Added::kSampled;
  end(e);
  return Added::kTooMany;
}

void Source::remove(pid_t pid) {
  const auto it = live_.find(pid);
  if (it == live_.end()) return;
  look(*it->second);
  end(*it->second);
}

void Source::end(Entry& e) {
  program_.remove_process(e.pid);
  e.ended_ns = monotonic_ns();
  live_.erase(e.pid);
}

// All records of it were taken.
void Source::finish(Entry& e) {
  SampledProcess& p = *e.process;
  p.flush();
  count_lost(*p.output(), p.lost());
  e.coverage.settle(e.weight_ns);
  const uint64_t skipped = period_ns_ != 0 ? e.coverage.missing(period_ns_) : 0;
  count_lost(*p.output(), skipped);
  p.output()->totals().lost_otherwise += skipped;
  skipped_ += skipped;
  p.output()->users()--;
  for (const uint32_t number : e.images) places_[number % SMP_IMAGES].users--;
  for (const uint32_t serial : e.serials) by_serial_.erase(serial);
}

void Source::count_lost(Output& output, uint64_t samples) {
  if (samples == 0) return;
  output.totals().lost += samples;
  output.totals().gaps++;
}

void Source::take(std::span<const std::byte> bytes) {
  if (!well_formed(bytes)) return;
  const auto& record = *reinterpret_cast<const smp_record*>(bytes.data());
  taken_ns_ = record.time;
  const auto it = by_serial_.find(record.serial);
  if (it == by_serial_.end()) return;
  Entry& e = *it->second;
  SampledProcess& p = *e.process;
  known_ -= p.memory();
  p.add(record, bytes.subspan(sizeof record));
  known_ += p.memory();
  e.weight_ns += record.weight;
  samples_++;
  if (p.is_nested() && !e.known.nested) {
    e.known.nested = 1;
    if (e.ended_ns == 0) program_.update_process(e.pid, e.known);
  }
  if (known_ > kKnownMax) make_space();
}

// What they have executed since is another process here.
void Source::see_execs() {
  program_.take_execs([this](uint32_t serial) {
    const auto it = by_serial_.find(serial);
    if (it == by_serial_.end() || it->second->ended_ns != 0) return;
    executed(it->second->pid);
  });
}

void Source::executed(pid_t pid) {
  const auto it = live_.find(pid);
  if (it == live_.end()) return;
  execs_.insert(pid);
  look(*it->second);
  end(*it->second);
}

// The largest are forgotten: a process that makes us read much of it does so at its own expense.
void Source::make_space() {
  std::vector<std::pair<size_t, SampledProcess*>> sizes;
  for (const Entry& e : entries_) sizes.emplace_back(e.process->memory(), e.process.get());
  std::sort(sizes.begin(), sizes.end(), std::greater());
  for (const auto& [size, process] : sizes) {
    if (known_ <= kKnownMax / 2) return;
    process->forget();
    known_ -= size - process->memory();
    process->output()->totals().forgotten++;
  }
}

void Source::begin_pass() {
  known_ = 0;
  for (Entry& e : entries_) {
    e.process->begin_batch();
    known_ += e.process->memory();
  }
}

// before_ns: processes that had ended by then have no more records.
void Source::end_pass(uint64_t before_ns) {
  for (auto e = entries_.begin(); e != entries_.end();) {
    const bool finished = e->ended_ns != 0 && e->ended_ns < before_ns;
    finished ? finish(*e) : e->process->flush();
    e = finished ? entries_.erase(e) : std::next(e);
  }
}

// Samples for which the ring buffer had no space. Their processes have missed them already, if they
// are more than chance explains.
void Source::count_unstored() {
  OutputTotals& totals = first_output_->totals();
  const uint64_t known = std::min(program_.lost(), skipped_);
  count_lost(*first_output_, program_.lost() - known);
  totals.lost_otherwise -= std::min(totals.lost_otherwise, known);
}

// At its CPU time.
void Source::look(Entry& e) {
  if (period_ns_ == 0) return;
  e.looked_ns = e.weight_ns;
  e.coverage.look(cpu_time_of(e.pid));
}

// At that of each process that has had samples since the last look.
void Source::look_at_all(uint64_t now) {
  look_ns_ = now + kLookNs;
  for (const auto& [pid, e] : live_)
    if (e->weight_ns != e->looked_ns) look(*e);
}

// A record is in the ring buffer soon after its time, and after all that are older by kMixedNs.
bool Source::drain() {
  constexpr uint64_t kSoonNs = 10 * kMillisecond, kMixedNs = kSecond;
  const uint64_t start = monotonic_ns();
  see_execs();
  begin_pass();
  if (start >= look_ns_) look_at_all(start);
  const bool all = program_.take_samples([&](std::span<const std::byte> bytes) {
    take(bytes);
    return monotonic_ns() - start < kPassNs;
  });
  if (all)
    for (Entry& e : entries_) e.coverage.settle(e.weight_ns);
  end_pass(all ? start - kSoonNs : taken_ns_ - std::min(taken_ns_, kMixedNs));
  return !all;
}

void Source::stop() {
  look_at_all(monotonic_ns());
  look_ns_ = UINT64_MAX;
  program_.stop();
  while (drain()) continue;
  while (!live_.empty()) end(*live_.begin()->second);
  end_pass(UINT64_MAX);
  if (first_output_ != nullptr && !first_output_->finished()) count_unstored();
}

std::set<pid_t> Source::take_execs() {
  return std::exchange(execs_, {});
}

}  // namespace luatrace::record::sampler
