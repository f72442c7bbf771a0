// SPDX-License-Identifier: MIT
// Source: attaching, draining, ending; what a record means is in records.cc. See source.h.
#include "recorder/bpf/source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "recorder/bpf/privileges.h"
#include "recorder/bpf/self_test.h"
#include "recorder/clock.h"
#include "recorder/process.h"
#include "recorder/text.h"

namespace luatrace::bpf {
namespace {

// A record may become visible so much after its time: its thread was not running.
constexpr uint64_t kHoldBack = 200'000'000;
constexpr uint64_t kMostAtOnce = 1u << 18;  // records per ring and look
constexpr uint32_t kSlots = LTB_SLOTS - 2;  // the others are the self test's

HitOptions hit_options(std::function<uint32_t(uint32_t, uint64_t)> on_process) {
  HitOptions o;
  o.window_ns = 2 * kHoldBack;
  o.window_hits = 1u << 22;
  o.on_process = std::move(on_process);
  o.stream_flags = LTF_GC64;
  return o;
}

}  // namespace

Source::Source(TraceWriter& writer, Settings settings, BeginProcess begin_process)
    : settings_(settings),
      begin_process_(std::move(begin_process)),
      hits_(writer, hit_options([this](uint32_t image, uint64_t time) {
              return begin_process_(images_[image], time);
            })),
      by_slot_(LTB_SLOTS) {}

Source::~Source() = default;

// -- Attaching --

// The first loaded program shows what works here; the others do as it does.
Failure Source::load(const ProbedFile& layout, Program** program) {
  for (const auto& p : programs_)
    if (p->same_layout(layout)) return *program = p.get(), Failure{};
  std::vector<Mechanism> ways = {Mechanism::kMulti, Mechanism::kEach};
  if (settings_.mechanism) ways = {*settings_.mechanism};
  Failure failure;
  for (const Mechanism m : ways) {
    auto p = std::make_unique<Program>();
    failure = p->load(layout, m, settings_.ring_bytes, settings_.rings);
    if (failure) continue;
    const SelfTest test = run_self_test(*p);
    failure = test.failure;
    if (failure) continue;
    means_.mechanism = m;
    means_.width = settings_.width.value_or(test.width);
    settings_.mechanism = m;
    *program = programs_.emplace_back(std::move(p)).get();
    return {};
  }
  return failure;
}

std::optional<uint32_t> Source::free_slot() const {
  for (uint32_t slot = 0; slot < kSlots; slot++)
    if (by_slot_[slot] == nullptr) return slot;
  return std::nullopt;
}

std::string Source::attach_files(Attached& a, const MappedLua& lua) {
  for (const auto& file : lua.files) {
    if (std::find(a.files.begin(), a.files.end(), file) != a.files.end()) continue;
    Program* program = nullptr;
    if (const Failure f = load(file->probed(), &program)) return explain(f);
    if (const Failure f = program->attach(*file, a.pid, a.slot, means_.width, &means_.shared))
      return explain(f);
    a.files.push_back(file);
  }
  return "";
}

std::string Source::add(pid_t pid) {
  if (has(pid)) return "";
  const MappedLua lua = mapped_.look(pid);
  if (lua.files.empty()) return nothing_to_attach(pid, lua);
  const auto slot = free_slot();
  if (!slot) return "more than " + std::to_string(kSlots) + " processes at a time";
  auto a = std::make_unique<Attached>(Attached{pid, *slot, next_image_++, ProcessStrings(pid)});
  a->strings.restart();
  images_[a->image] = pid;
  by_slot_[*slot] = a.get();
  std::string why = attach_files(*a, lua);
  if (!why.empty()) {
    for (const auto& p : programs_) p->detach(*slot);
    by_slot_[*slot] = nullptr;
    return why;
  }
  by_pid_.emplace(pid, std::move(a));
  return "";
}

bool Source::has(pid_t pid) const {
  return by_pid_.contains(pid);
}

// -- Draining --

uint64_t Source::drain() {
  const uint64_t now = monotonic_ns();
  uint64_t records = 0, most = 0;
  for (const auto& p : programs_) {
    const uint64_t n = p->consume([this](auto record) { take(record); }, kMostAtOnce);
    records += n;
    most = std::max(most, n);
  }
  // Unless there is more to come, everything up to now was given, but for what is being written.
  if (most < kMostAtOnce && now > kHoldBack) hits_.advance(now - kHoldBack);
  return records;
}

void Source::remove(pid_t pid) {
  const auto it = by_pid_.find(pid);
  if (it == by_pid_.end()) return;
  Attached& a = *it->second;
  for (const auto& p : programs_) p->detach(a.slot);
  while (drain() > 0) {
  }
  for (const auto& p : programs_)
    p->leftover_losses(a.slot, [&](const ltb_loss& l) { take_loss(a, l); });
  if (process_is_gone(pid)) give_exit(a, std::min(monotonic_ns(), stop_ns_));
  by_slot_[a.slot] = nullptr;
  by_pid_.erase(it);
}

void Source::finish() {
  if (finished_) return;
  finished_ = true;
  stop_ns_ = monotonic_ns();
  for (const auto& p : programs_) p->detach_all();
  while (!by_pid_.empty()) remove(by_pid_.begin()->first);
  for (const auto& p : programs_)
    if (const uint64_t n = p->nowhere(); n > 0)
      hits_.lost({0, 0, 0, n, stop_ns_, stop_ns_}), totals_.lost += n, totals_.gaps++;
  hits_.finish();
}

}  // namespace luatrace::bpf
