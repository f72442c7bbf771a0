// SPDX-License-Identifier: MIT
// Source; see source.h. records.cc and chunks.cc interpret the records.
#include "recorder/bpf/source.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "recorder/bpf/privileges.h"
#include "recorder/bpf/self_test.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSettleLimit = 150 * kMillisecond;  // for running VMs, at the end
constexpr size_t kMaxHeld = 64u << 20;                 // bytes
constexpr uint64_t kDrainNs = 20'000'000;              // of one drain()
constexpr uint64_t kClockPause = 64;                   // records between looks at the clock
constexpr uint32_t kSlots = LTB_SLOTS - 1;             // the last is the self test's
constexpr uint64_t kLookPause = 100'000'000;           // ns between checks of the outputs

}  // namespace

Source::Source(Settings settings)
    : r_(std::move(settings)), sinks_(r_), events_(r_), blocks_(r_), by_slot_(LTB_SLOTS) {}

Source::~Source() = default;

// -- Attaching --

// The first loaded program shows what works here; the others do the same.
Failure Source::load_one(const ProbedFile& layout, std::unique_ptr<Program>& program) {
  std::vector<Mechanism> ways = {Mechanism::kMulti, Mechanism::kEach};
  if (r_.settings.mechanism) ways = {*r_.settings.mechanism};
  Failure failure;
  for (const Mechanism m : ways) {
    auto p = std::make_unique<Program>();
    if (r_.settings.filter.c_functions == "none") p->leave_out_c();
    failure = p->load(layout, m, r_.settings.ring_bytes, r_.settings.rings);
    if (failure) continue;
    failure = run_self_test(*p);
    if (failure) continue;
    mode_.mechanism = m;
    r_.settings.mechanism = m;
    program = std::move(p);
    return {};
  }
  return failure;
}

Failure Source::load(const ProbedFile& layout, Program** program) {
  for (const auto& p : programs_)
    if (p->same_layout(layout)) return *program = p.get(), Failure{};
  std::unique_ptr<Program> made;
  if (Failure f = load_one(layout, made)) return f;
  *program = programs_.emplace_back(std::move(made)).get();
  return {};
}

Failure Source::able() {
  if (!programs_.empty()) return {};
  std::unique_ptr<Program> made;
  return load_one({}, made);
}

std::optional<uint32_t> Source::free_slot() const {
  for (uint32_t slot = 0; slot < kSlots; slot++)
    if (by_slot_[slot] == nullptr) return slot;
  return std::nullopt;
}

Failure Source::attach_files(AttachedProcess& a, const MappedLua& lua) {
  for (const auto& file : lua.files) {
    if (std::find(a.files.begin(), a.files.end(), file) != a.files.end()) continue;
    Program* program = nullptr;
    Failure f = load(file->probed(), &program);
    if (a.files.empty()) a.added_ns = monotonic_ns();
    if (!f && a.granularity == Granularity::kBlock)
      f = program->attach_blocks(*file, a.pid, a.slot);
    else if (!f)
      f = program->attach(*file, a.pid, a.slot, &mode_.shared);
    if (f) return f;
    a.files.push_back(file);
  }
  return {};
}

Refused Source::add(pid_t pid, bool will_report, bool single) {
  const MappedLua lua = mapped_.look(pid);
  if (has(pid) && r_.by_pid.at(pid)->leaving)
    return {Refused::kGone, "has the process id of one that has just ended"};
  if (has(pid)) return explain(attach_files(*r_.by_pid.at(pid), lua));
  if (lua.files.empty()) return nothing_to_attach(pid, lua);
  Refused unable;
  const Granularity granularity = granularity_for(lua, single, unable);
  if (unable) return unable;
  const auto slot = free_slot();
  if (!slot) return {Refused::kOther, "more than " + std::to_string(kSlots) + " at a time"};
  auto a = std::make_unique<AttachedProcess>(
      AttachedProcess{.pid = pid,
                      .slot = *slot,
                      .sink = nullptr,
                      .image = next_image_++,
                      .strings = ProcessStrings(pid),
                      .filter = Filter(r_.settings.filter),
                      .will_report = will_report && granularity == Granularity::kEvent,
                      .granularity = granularity});
  mode_.granularity = granularity;
  a->strings.restart();
  by_slot_[*slot] = a.get();
  const Failure failure = attach_files(*a, lua);
  if (!failure) return r_.by_pid.emplace(pid, std::move(a)), Refused{};
  for (const auto& p : programs_) p->detach(*slot);
  by_slot_[*slot] = nullptr;
  return explain(failure);
}

void Source::begin(pid_t pid, const std::shared_ptr<Output>& output, uint32_t number) {
  r_.by_pid.at(pid)->sink = &sinks_.of(output);
  renumber(pid, number);
}

void Source::renumber(pid_t pid, uint32_t number) {
  const auto it = r_.by_pid.find(pid);
  if (it == r_.by_pid.end()) return;
  r_.numbers[it->second->image] = number;
  pass_held(*it->second);
}

// Blocks if all its LuaJITs flush them; their words have the time stamp counter's time.
Granularity Source::granularity_for(const MappedLua& lua, bool single, Refused& refused) const {
  const bool able = std::all_of(lua.files.begin(), lua.files.end(),
                                [](const auto& f) { return f->probed().has_blocks(); });
  const bool same_clock = r_.settings.clock == LT_CLOCK_TSC;
  if (r_.settings.granularity == Granularity::kBlock && !able)
    refused = {Refused::kOther,
               "has a LuaJIT that does not flush its events in blocks: use "
               "--bpf-site auto or single"};
  else if (r_.settings.granularity == Granularity::kBlock && !same_clock)
    refused = {Refused::kOther,
               "cannot be recorded in blocks: its LuaJIT and this recorder use other "
               "clocks; use --bpf-site auto or single"};
  else if (r_.settings.granularity == Granularity::kBlock && single)
    refused = {Refused::kBusy,
               "is being recorded directly, and does not flush blocks "
               "meanwhile: use --bpf-site auto or single"};
  if (r_.settings.granularity) return *r_.settings.granularity;
  return able && same_clock && !single ? Granularity::kBlock : Granularity::kEvent;
}

// -- Draining --

uint64_t Source::drain() {
  uint64_t records = 0;
  check_guards();
  const uint64_t until = monotonic_ns() + kDrainNs;
  left_some_ = !sinks_.ready();
  const Program::Take take_one = [&](auto record) {
    take(record);
    left_some_ = !sinks_.ready() || (++records % kClockPause == 0 && monotonic_ns() >= until);
    return !left_some_;
  };
  for (const auto& p : programs_)
    if (!left_some_) p->consume(take_one);
  if (leaving_ > 0 && !left_some_) end_leaving();
  const uint64_t now = monotonic_ns();
  if (now < look_due_ns_) return records;
  look_due_ns_ = now + kLookPause;
  blocks_.look_at_idle(now);
  sinks_.flush();
  return records;
}

// Reads no more than one buffer holds, since running programs may never leave it empty. False: the
// outputs do not take it.
bool Source::drain_all() {
  const uint64_t max_records = r_.settings.ring_bytes / sizeof(ltb_hit);
  for (uint64_t records = 0; records <= max_records;) {
    records += drain();
    if (!left_some_) return true;
    if (!sinks_.ready()) return false;
  }
  return true;
}

void Source::remove(pid_t pid) {
  const auto it = r_.by_pid.find(pid);
  if (it == r_.by_pid.end() || it->second->leaving) return;
  AttachedProcess& a = *it->second;
  for (const auto& p : programs_) p->detach(a.slot);
  a.leaving = true;
  a.gone = process_is_gone(pid);
  leaving_++;
  if (drain_all()) end_leaving();
}

// Everything from them has been taken from the ring buffers.
void Source::end_leaving() {
  for (auto it = r_.by_pid.begin(); it != r_.by_pid.end();) {
    if (it->second->leaving) end(*it->second);
    it = it->second->leaving ? r_.by_pid.erase(it) : std::next(it);
  }
  leaving_ = 0;
}

// Was the holder of the probes killed? The kernel detaches them one by one: of the events since the
// last check some probes may have passed theirs on and others not. All of these count as lost.
void Source::check_guards() {
  const uint64_t now = monotonic_ns();
  for (const auto& p : programs_) unguarded_ = unguarded_ || p->unguarded();
  if (!unguarded_) guarded_ns_ = now;
}

void Source::end(AttachedProcess& a) {
  pass_held(a);
  if (unguarded_ && a.sink != nullptr && a.granularity == Granularity::kEvent) {
    take_loss(a, {.hit = {}, .count = 1, .since = guarded_ns_});  // at least
    a.sink->output->totals().lost_otherwise++;
  }
  for (const auto& p : programs_)
    p->leftover_losses(a.slot, [&](const ltb_loss& l) { take_loss(a, l); });
  blocks_.end_streams(a, a.gone);
  if (a.gone) events_.exit(a, std::min(monotonic_ns(), r_.stop_ns));
  by_slot_[a.slot] = nullptr;
}

// Before the sites are detached: lowers the semaphores, and waits for VMs to notice. Unflushed
// events of sleeping VMs are read before: they do not change.
void Source::settle() {
  drain();
  if (!blocks_.read_all_unflushed()) return;
  // The kernel needs up to a second on a busy machine, in which events arrive.
  std::atomic<bool> low = false;
  std::thread lowering([&] {
    for (const auto& p : programs_) p->lower();
    low = true;
  });
  while (!low)
    if (drain() == 0) usleep(500);
  lowering.join();
  const uint64_t limit = monotonic_ns() + kSettleLimit;
  for (bool waiting = true; waiting && monotonic_ns() < limit; usleep(500)) {
    waiting = false;
    drain_all();
    for (const auto& [pid, a] : r_.by_pid)
      waiting = waiting || (!a->flushing.empty() && has_running_thread(pid));
  }
  blocks_.read_all_unflushed();  // of VMs that ran meanwhile and sleep again
}

void Source::finish() {
  if (finished_) return;
  finished_ = true;
  check_guards();
  settle();
  r_.stop_ns = monotonic_ns();
  for (const auto& p : programs_) p->detach_all();
  sinks_.wait_for_space();
  while (!r_.by_pid.empty()) {
    remove(r_.by_pid.begin()->first);
    if (drain_all()) end_leaving();  // of a process that was removed before
  }
  uint64_t unattributed = 0;
  for (const auto& p : programs_) unattributed += p->unattributed();
  sinks_.lose(unattributed);
  sinks_.end_all();
}

// -- Records --

void Source::take(std::span<const std::byte> record) {
  const auto& hit = *reinterpret_cast<const ltb_hit*>(record.data());
  AttachedProcess* const a = by_slot_[ltb_slot(hit.where) % LTB_SLOTS];
  const uint32_t kind = ltb_kind(hit.where);
  const uint64_t end = unguarded_ ? guarded_ns_ : r_.stop_ns;
  if (a == nullptr || (hit.time > end && kind != LTB_LOSS && kind != LTB_BLOCK)) return;
  if (!std::exchange(a->began, true))
    r_.news.firsts.emplace_back(a->pid,
                                std::max<uint64_t>(hit.time, a->added_ns + 1) - a->added_ns);
  if (!a->waits) return use(*a, hit);
  const auto size = static_cast<uint64_t>(record.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(&size);
  a->held.insert(a->held.end(), bytes, bytes + sizeof size);
  a->held.insert(a->held.end(), record.begin(), record.end());
  if (a->held.size() > kMaxHeld) pass_held(*a);
}

// The new image has its number, or none could be assigned: then it counts as the old one.
void Source::pass_held(AttachedProcess& a) {
  if (a.sink == nullptr || !std::exchange(a.waits, false)) return;
  const std::vector<std::byte> held = std::exchange(a.held, {});
  for (size_t at = 0; at < held.size();) {
    uint64_t size;
    std::memcpy(&size, held.data() + at, sizeof size);
    use(a, *reinterpret_cast<const ltb_hit*>(held.data() + at + sizeof size));
    at += sizeof size + size;
  }
}

// A VM that was on before we attached reports calls whose beginning we have not seen, until it
// reports its stack.
bool Source::too_early(AttachedProcess& a, const ltb_hit& hit, uint32_t kind) {
  if (!a.will_report || kind >= LTB_NPROBES || a.reported.contains(hit.state)) return false;
  if (kind != LTB_STACK && kind != LTB_OPEN) return true;
  a.reported.insert(hit.state);
  return false;
}

void Source::use(AttachedProcess& a, const ltb_hit& hit) {
  const uint32_t kind = ltb_kind(hit.where);
  if (kind == LTB_BLOCK) {
    if (!a.sink->ended && sinks_.has_space(*a.sink))
      blocks_.take(a, reinterpret_cast<const ltb_block&>(hit));
    return;
  }
  r_.totals.hits += kind < LTB_NPROBES ? 1 : 0;
  if (too_early(a, hit, kind)) return void(r_.totals.early++);
  if (!sinks_.may_take(*a.sink)) return;
  if (kind == LTB_LOSS)
    take_loss(a, reinterpret_cast<const ltb_loss&>(hit));
  else if (kind == LTB_EXEC)
    take_exec(a, hit);
  else
    events_.take(a, hit, kind);
}

void Source::take_loss(AttachedProcess& a, const ltb_loss& loss) {
  if (a.sink == nullptr || a.sink->ended) return;
  if (loss.since > r_.stop_ns) return;  // while we detached: the recording was over
  if (a.granularity == Granularity::kBlock)
    blocks_.lose_tail(a, loss);
  else
    events_.lose(a, loss);
}

// The same process, another program: nothing known of it still holds. Its LuaJIT may be another
// file; sites in the same file exist already.
void Source::take_exec(AttachedProcess& a, const ltb_hit& h) {
  events_.exit(a, h.time);
  blocks_.end_streams(a, true);
  const uint32_t number = r_.numbers[a.image];
  a.image = next_image_++;
  r_.numbers[a.image] = number;
  a.waits = true;
  a.states.clear();
  a.last_number = 0;
  a.filter = Filter(r_.settings.filter);
  a.will_report = false;
  a.strings.restart();
  attach_files(a, mapped_.look(a.pid));
  r_.news.execs.push_back(a.pid);
}

}  // namespace luatrace::record::bpf
