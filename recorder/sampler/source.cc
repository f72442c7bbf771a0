// SPDX-License-Identifier: MIT
#include "recorder/sampler/source.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace luatrace::record::sampler {

// The same code with the same note is the same LuaJIT.
int Source::number_of(const FoundImage& image) {
  const auto same = [&](const auto& known) {
    lt_abi a = known.second, b = image.image.abi;
    a.vms = b.vms = a.vm_begin = b.vm_begin = a.vm_end = b.vm_end = a.rules = b.rules = 0;
    return known.first == image.code && std::memcmp(&a, &b, sizeof a) == 0;
  };
  const auto known = std::find_if(images_.begin(), images_.end(), same);
  if (known != images_.end()) return static_cast<int>(known - images_.begin());
  const int number = program_.add_image(image.image.abi, image.rules);
  if (number >= 0) images_.emplace_back(image.code, image.image.abi);
  return number;
}

bool Source::add(pid_t pid, uint32_t number, const std::shared_ptr<Output>& output,
                 std::vector<FoundImage> images) {
  if (first_output_ == nullptr) first_output_ = output;
  drain();
  Entry& e = processes_[pid];
  const bool is_new = e.process == nullptr;
  if (is_new) e.process = std::make_unique<SampledProcess>(pid, number, output, kernel_, shown_);
  e.serial = next_serial_++;
  smp_process p{};
  p.serial = e.serial;
  uint32_t n = 0;
  for (FoundImage& image : images) {
    const int image_number = n < SMP_PROCESS_IMAGES ? number_of(image) : -1;
    if (image_number < 0) continue;
    image.mapped.image = static_cast<uint32_t>(image_number);
    p.mapped[n++] = image.mapped;
    e.process->add_image(image.image, image.mapped);
  }
  if (is_new) output->users()++;
  if (program_.set_process(pid, p)) return true;
  remove(pid);
  return false;
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
  if (it == processes_.end() || it->second.serial != record.serial) return;
  if ((record.flags & SMP_EXEC) != 0) {
    execs_.insert(it->first);
    return;
  }
  it->second.process->add(record, bytes.subspan(sizeof record));
  samples_++;
}

void Source::drain() {
  for (auto& [pid, entry] : processes_) entry.process->begin_batch();
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
