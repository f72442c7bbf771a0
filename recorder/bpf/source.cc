// SPDX-License-Identifier: MIT
// Source; see source.h. chunks.cc interprets the records.
#include "recorder/bpf/source.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "recorder/bpf/privileges.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/stopped.h"
#include "recorder/os/text.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kSettleLimit = 150 * kMillisecond;  // for running VMs, at the end
constexpr size_t kMaxHeld = 64u << 20;                 // bytes
constexpr size_t kHeldCost = 64;                       // bytes of a record beside its own
constexpr size_t kMaxAttached = 64;                    // attached, of a process
constexpr size_t kMaxLayouts = 16, kMaxLayoutsOfProcess = 4;
constexpr uint64_t kDrainNs = 20'000'000;     // of one drain()
constexpr uint64_t kClockPause = 64;          // records between looks at the clock
constexpr uint32_t kSlots = LTB_SLOTS - 1;    // the last is the self test's
constexpr uint64_t kLookPause = 100'000'000;  // ns between checks of the outputs

// It has no output yet, and has made more records than are kept for it.
void lose_held(AttachedProcess& a, const ltb_hit& hit) {
  const auto& chunk = reinterpret_cast<const ltb_block&>(hit);
  if (hit.kind != LTB_BLOCK || chunk.chunk_kind != LT_CHUNK_EVENTS) return;
  a.held_lost += chunk.count == LTB_UNCOUNTED ? 1 : chunk.count;  // at least
}

}  // namespace

Source::Source(Settings settings)
    : r_{.settings = std::move(settings)}, sinks_(r_), blocks_(r_), by_slot_(LTB_SLOTS) {}

// -- Attaching --

// The first loaded program shows what works here; the others do the same.
Failure Source::load_one(const ProbedFile& layout, std::unique_ptr<Program>& program) {
  std::vector<Mechanism> mechanisms = {Mechanism::kMulti, Mechanism::kEach};
  if (r_.settings.mechanism) mechanisms = {*r_.settings.mechanism};
  Failure failure;
  for (const Mechanism m : mechanisms) {
    program = std::make_unique<Program>();
    failure = program->load(layout, m, r_.settings.ring_bytes);
    if (!failure) failure = program->self_test();
    if (failure) continue;
    r_.settings.mechanism = m;
    break;
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

// Programs of processes that have ended: each has a ring buffer and a guard.
void Source::unload_unused() {
  if (leaving_ > 0) return;  // their last records may still be there
  std::erase_if(programs_, [this](const auto& p) {
    if (p->has_links()) return false;
    unattributed_ += p->unattributed();
    return true;
  });
}

// A process can map as many files as it likes, each with probes in a layout of its own.
bool Source::is_too_many(AttachedProcess& a, const LuaFile& file) {
  const bool loaded = std::any_of(programs_.begin(), programs_.end(),
                                  [&](const auto& p) { return p->same_layout(file.probed); });
  if (!loaded && programs_.size() >= kMaxLayouts) unload_unused();
  std::string what;
  if (a.files.size() >= kMaxAttached)
    what = "has had more than " + std::to_string(kMaxAttached) + " LuaJITs";
  else if (!loaded && a.layouts >= kMaxLayoutsOfProcess)
    what = "has LuaJITs with more than " + std::to_string(kMaxLayoutsOfProcess) +
           " layouts of probe arguments";
  else if (!loaded && programs_.size() >= kMaxLayouts)
    what = "has a LuaJIT with one more layout of probe arguments than the " +
           std::to_string(kMaxLayouts) + " that can be recorded at a time";
  else
    return false;
  if (!std::exchange(a.warned_files, true))
    log("process " + std::to_string(a.pid) + " " + what + "; what exceeds this is not recorded");
  return true;
}

Failure Source::attach_files(AttachedProcess& a, const MappedLua& lua) {
  for (const auto& file : lua.files) {
    if (std::find(a.files.begin(), a.files.end(), file) != a.files.end()) continue;
    if (is_too_many(a, *file)) continue;
    Program* program = nullptr;
    const size_t before = programs_.size();
    Failure f = load(file->probed, &program);
    a.layouts += programs_.size() - before;
    if (a.files.empty()) a.added_ns = monotonic_ns();
    if (!f) f = program->attach(*file, a.pid, a.slot, r_.settings.times);
    if (f) return f;
    a.files.push_back(file);
  }
  if (a.files.empty() && !lua.files.empty()) return {ENOSPC, "too many LuaJITs"};
  return {};
}

Attached Source::add(pid_t pid) {
  const MappedLua lua = mapped_.look(pid);
  if (has(pid) && r_.by_pid.at(pid)->leaving)
    return {Refusal::kNoProcess, "has the process id of one that has just ended"};
  if (has(pid)) return explain(attach_files(*r_.by_pid.at(pid), lua));
  if (lua.files.empty()) return nothing_to_attach(pid, lua);
  const auto slot = free_slot();
  if (!slot) return {Refusal::kOther, "more than " + std::to_string(kSlots) + " at a time"};
  auto a = std::make_unique<AttachedProcess>(
      AttachedProcess{.pid = pid, .slot = *slot, .sink = nullptr});
  by_slot_[*slot] = a.get();
  const Failure failure = attach_files(*a, lua);
  r_.by_pid.emplace(pid, std::move(a));
  if (failure) remove(pid);  // some files may have been attached: its hits are not the next one's
  return explain(failure);
}

void Source::begin(pid_t pid, const std::shared_ptr<Output>& output, uint32_t number) {
  r_.by_pid.at(pid)->sink = &sinks_.of(output);
  output->users()++;
  renumber(pid, number);
}

void Source::renumber(pid_t pid, uint32_t number) {
  const auto it = r_.by_pid.find(pid);
  if (it == r_.by_pid.end()) return;
  it->second->number = number;
  pass_held(*it->second);
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

// Was the holder of the probes killed?
void Source::check_guards() {
  for (const auto& p : programs_) unguarded_ = unguarded_ || p->unguarded();
}

void Source::end(AttachedProcess& a) {
  pass_held(a);
  for (const auto& p : programs_)
    p->leftover_losses(
        a.slot, [&](uint64_t state, uint64_t events) { blocks_.lose_tail(a, state, events); });
  blocks_.end_streams(a, a.gone);
  by_slot_[a.slot] = nullptr;
  if (a.sink != nullptr) a.sink->output->users()--;
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
  r_.stop_tick = read_tick(r_.settings.clock);
  for (const auto& p : programs_) p->detach_all();
  sinks_.wait_for_space();
  while (!r_.by_pid.empty()) {
    remove(r_.by_pid.begin()->first);
    if (drain_all()) end_leaving();  // of a process that was removed before
  }
  uint64_t unattributed = unattributed_;
  for (const auto& p : programs_) unattributed += p->unattributed();
  sinks_.lose(unattributed);
  sinks_.end_all();
}

// -- Records --

void Source::take(std::span<const std::byte> record) {
  const auto& hit = *reinterpret_cast<const ltb_hit*>(record.data());
  AttachedProcess* const a = by_slot_[hit.slot % LTB_SLOTS];
  if (a == nullptr || (hit.kind == LTB_EXEC && hit.time > r_.stop_ns)) return;
  if (hit.kind != LTB_EXEC && !std::exchange(a->began, true))
    r_.news.firsts.emplace_back(a->pid,
                                std::max<uint64_t>(hit.time, a->added_ns + 1) - a->added_ns);
  if (!a->waits) return use(*a, hit);
  if (a->held_bytes > kMaxHeld) pass_held(*a);
  if (!a->waits) return use(*a, hit);
  if (a->held_bytes > kMaxHeld) return lose_held(*a, hit);
  a->held.emplace_back(record.begin(), record.end());
  a->held_bytes += record.size() + kHeldCost;
}

// The new image has its number, or none could be assigned: then it counts as the old one.
void Source::pass_held(AttachedProcess& a) {
  if (a.sink == nullptr || !std::exchange(a.waits, false)) return;
  a.held_bytes = 0;
  for (const auto& record : std::exchange(a.held, {}))
    use(a, *reinterpret_cast<const ltb_hit*>(record.data()));
  if (a.held_lost > 0) blocks_.lose_tail(a, 0, std::exchange(a.held_lost, 0));
}

void Source::use(AttachedProcess& a, const ltb_hit& hit) {
  if (hit.kind == LTB_EXEC) return take_exec(a);
  if (hit.kind == LTB_BLOCK && !a.sink->ended && sinks_.has_space(*a.sink))
    blocks_.take(a, reinterpret_cast<const ltb_block&>(hit));
}

// The same process, another program: nothing known of it still holds. Its LuaJIT may be another
// file; sites in the same file exist already.
void Source::take_exec(AttachedProcess& a) {
  blocks_.end_streams(a, true);
  a.began = false;
  a.added_ns = monotonic_ns();
  std::erase_if(r_.news.firsts, [&](const auto& first) { return first.first == a.pid; });
  if (finished_) return;  // Another thread detaches: what the new program has mapped is not wanted.
  a.waits = true;
  const MappedLua lua = mapped_.look(a.pid);
  if (a.files.size() + lua.files.size() > kMaxAttached) {  // most are those of earlier programs
    for (const auto& p : programs_) p->detach(a.slot);
    a.files.clear();
  }
  attach_files(a, lua);
  r_.news.execs.push_back(a.pid);
}

}  // namespace luatrace::record::bpf
