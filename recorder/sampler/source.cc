// SPDX-License-Identifier: MIT
#include "recorder/sampler/source.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace luatrace::record::sampler {

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
    Place* const place = place_for(image);
    if (place == nullptr) continue;
    place->users++;
    image.mapped.image = number_of(*place);
    p.mapped[e.images.size()] = image.mapped;
    e.images.push_back(image.mapped.image);
    e.process->add_image(image.image, image.mapped);
  }
}

Added Source::add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
                  std::vector<FoundImage> images) {
  if (first_output_ == nullptr) first_output_ = output;
  drain();
  if (const auto it = processes_.find(pid); it != processes_.end() && it->second.executed)
    remove(pid);
  Entry& e = processes_[pid];
  const bool is_new = e.process == nullptr;
  if (is_new) e.process = std::make_unique<SampledProcess>(pid, number, output, kernel_, shown_);
  if (is_new) output->users()++;
  smp_process p{};
  add_images(e, images, p);
  if (!is_new && e.images.empty()) return Added::kNoPlace;  // nothing is new
  p.serial = next_serial_++;
  p.nested = is_new ? !shown_.user : e.known.nested;  // otherwise the C functions will tell
  e.known = p;
  if (program_.set_process(pid, p))
    return e.images.empty() && !images.empty() ? Added::kNoPlace : Added::kSampled;
  remove(pid);
  return Added::kTooMany;
}

void Source::remove(pid_t pid) {
  const auto it = processes_.find(pid);
  if (it == processes_.end()) return;
  program_.remove_process(pid);
  drain();
  SampledProcess& p = *it->second.process;
  p.flush();
  count_lost(*p.output(), p.lost());
  p.output()->users()--;
  for (const uint32_t number : it->second.images) places_[number % SMP_IMAGES].users--;
  processes_.erase(it);
}

void Source::count_lost(Output& output, uint64_t samples) {
  if (samples == 0) return;
  output.totals().lost += samples;
  output.totals().gaps++;
}

void Source::take(std::span<const std::byte> bytes) {
  if (!well_formed(bytes)) return;
  const auto& record = *reinterpret_cast<const smp_record*>(bytes.data());
  const auto it = processes_.find(static_cast<pid_t>(record.pid));
  if (it == processes_.end() || it->second.known.serial != record.serial) return;
  if ((record.flags & SMP_EXEC) != 0) {
    execs_.insert(it->first);
    it->second.executed = true;
    return;
  }
  SampledProcess& p = *it->second.process;
  known_ -= p.memory();
  p.add(record, bytes.subspan(sizeof record));
  known_ += p.memory();
  samples_++;
  if (smp_process& known = it->second.known; p.is_nested() && !known.nested) {
    known.nested = 1;
    program_.set_process(it->first, known);
  }
  if (known_ > kKnownMax) make_space();
}

// The largest are forgotten: a process that makes us read much of it does so at its own expense.
void Source::make_space() {
  std::vector<std::pair<size_t, SampledProcess*>> sizes;
  for (const auto& [pid, entry] : processes_)
    sizes.emplace_back(entry.process->memory(), entry.process.get());
  std::sort(sizes.begin(), sizes.end(), std::greater());
  for (const auto& [size, process] : sizes) {
    if (known_ <= kKnownMax / 2) return;
    process->forget();
    known_ -= size - process->memory();
    process->output()->totals().forgotten++;
  }
}

void Source::drain() {
  known_ = 0;
  for (auto& [pid, entry] : processes_) {
    entry.process->begin_batch();
    known_ += entry.process->memory();
  }
  program_.consume([this](std::span<const std::byte> bytes) { take(bytes); });
  for (auto& [pid, entry] : processes_) entry.process->flush();
}

void Source::stop() {
  program_.stop();
  while (!processes_.empty()) remove(processes_.begin()->first);
  if (first_output_ != nullptr && !first_output_->finished())
    count_lost(*first_output_, program_.lost());
}

std::set<pid_t> Source::take_execs() {
  return std::exchange(execs_, {});
}

}  // namespace luatrace::record::sampler
