// SPDX-License-Identifier: MIT
// Source: attaching, draining, ending; what a record means is in records.cc. See source.h.
#include "recorder/bpf/source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "recorder/bpf/privileges.h"
#include "recorder/bpf/self_test.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kDrainNs = 20'000'000;     // of one drain()
constexpr uint64_t kClockPause = 64;          // records between looks at the clock
constexpr uint32_t kSlots = LTB_SLOTS - 2;    // the others are the self test's
constexpr uint64_t kLookPause = 100'000'000;  // ns between looks after the outputs

HitOptions hit_options(const Settings& settings,
                       std::function<uint32_t(uint32_t, uint64_t)> on_process,
                       std::function<uint32_t()> new_stream) {
  HitOptions o;
  o.max_depth = settings.max_depth;
  o.filtered = settings.filter.any();
  o.in_order = true;
  o.on_process = std::move(on_process);
  o.new_stream = std::move(new_stream);
  return o;
}

}  // namespace

Source::Source(Settings settings)
    : settings_(settings), by_slot_(LTB_SLOTS), start_(sample_clocks(settings.clock)) {}

Source::~Source() = default;

// -- Outputs --

Source::Sink& Source::sink_of(const std::shared_ptr<Output>& output) {
  for (const auto& s : sinks_)
    if (s->output == output) return *s;
  auto sink = std::make_unique<Sink>();
  sink->output = output;
  sink->hits = std::make_unique<HitWriter>(
      output->writer(), hit_options(
                            settings_, [this](uint32_t image, uint64_t) { return numbers_[image]; },
                            [o = output.get()] { return o->next_stream(); }));
  return *sinks_.emplace_back(std::move(sink));
}

// Everything to the kernel, so that not much is missing if this process is killed.
void Source::flush(Sink& sink) {
  if (sink.ended) return;
  sink.hits->flush();
  for (const auto& [pid, a] : by_pid_)
    for (const auto& [g, s] : a->stated)
      if (a->sink == &sink) s.stream->flush();
  sink.output->writer().flush();
  has_room(sink);
}

// An output that has reached its limit, or cannot be written, gets its last words at once.
bool Source::has_room(Sink& sink) {
  constexpr uint64_t kStream = LT_RING_BLOCK_SIZE + 1024;  // words that are not written yet
  sink.unchecked = 0;
  const uint64_t streams = sink.output->totals().streams + 1;
  if (sink.output->fits(streams * kStream + kCheckPause * 24)) return true;
  end_sink(sink);
  sink.output->announce_early_end();
  return false;
}

void Source::end_sink(Sink& sink) {
  if (std::exchange(sink.ended, true)) return;
  for (const auto& [pid, a] : by_pid_)
    if (a->sink == &sink)
      for (auto& [g, s] : a->stated) s.stream->finish();
  sink.hits->finish();
  const HitCounters& c = sink.hits->counters();
  OutputTotals& t = sink.output->totals();
  t.lost += c.lost + c.late + c.odd + c.dropped;
  t.lost_otherwise += c.late + c.odd + c.dropped;
  t.gaps += sink.gaps + c.late + c.odd + c.dropped;
  t.lost_ticks += sink.lost_ticks;
}

// -- Attaching --

// The first loaded program shows what works here; the others do as it does.
Failure Source::load_one(const ProbedFile& layout, std::unique_ptr<Program>& program) {
  std::vector<Mechanism> ways = {Mechanism::kMulti, Mechanism::kEach};
  if (settings_.mechanism) ways = {*settings_.mechanism};
  Failure failure;
  for (const Mechanism m : ways) {
    auto p = std::make_unique<Program>();
    if (settings_.filter.c_functions == "none") p->leave_out_c();
    failure = p->load(layout, m, settings_.ring_bytes, settings_.rings);
    if (failure) continue;
    const SelfTest test = run_self_test(*p);
    failure = test.failure;
    if (failure) continue;
    mode_.mechanism = m;
    mode_.wide = test.wide;
    mode_.kills_children = test.kills_children;
    settings_.mechanism = m;
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

// The wide site where it is cheaper, a forked child survives it (because the kernel or this LuaJIT
// sees to it), and the process has the nop there: one that was forked under a wide recording has a
// call, which the kernel would take for the nop when it puts back what was there.
NopKind Source::nop_for(const LuaFile& file, pid_t pid) {
  const bool safe = !mode_.kills_children || file.probed().fork_safe;
  const NopKind wanted =
      settings_.nop.value_or(mode_.wide && safe ? NopKind::kWide : NopKind::kNarrow);
  mode_.nop = wanted == NopKind::kWide && has_wide_nops(file, pid) ? wanted : NopKind::kNarrow;
  mode_.why_narrow = "";
  if (mode_.wide && !safe) mode_.why_narrow = " (with wide ones forked children might die)";
  if (wanted == NopKind::kWide && mode_.nop != wanted)
    mode_.why_narrow = " (its wide ones are in use, or cannot be looked at)";
  mode_.risky = mode_.nop == NopKind::kWide && mode_.kills_children && !safe;
  return mode_.nop;
}

Failure Source::attach_files(Attached& a, const MappedLua& lua) {
  for (const auto& file : lua.files) {
    if (std::find(a.files.begin(), a.files.end(), file) != a.files.end()) continue;
    Program* program = nullptr;
    Failure f = load(file->probed(), &program);
    if (a.files.empty()) a.added_ns = monotonic_ns();
    if (!f && a.granularity == Granularity::kBlock)
      f = program->attach_blocks(*file, a.pid, a.slot);
    else if (!f)
      f = program->attach(*file, a.pid, a.slot, nop_for(*file, a.pid), &mode_.shared);
    if (f) return f;
    a.files.push_back(file);
  }
  return {};
}

Refused Source::add(pid_t pid, bool retold, bool single) {
  const MappedLua lua = mapped_.look(pid);
  if (has(pid) && by_pid_.at(pid)->leaving)
    return {Refused::kGone, "has the number of one that has just ended"};
  if (has(pid)) return explain(attach_files(*by_pid_.at(pid), lua));
  if (lua.files.empty()) return nothing_to_attach(pid, lua);
  Refused unable;
  const Granularity granularity = granularity_for(lua, single, unable);
  if (unable) return unable;
  const auto slot = free_slot();
  if (!slot) return {Refused::kOther, "more than " + std::to_string(kSlots) + " at a time"};
  auto a =
      std::make_unique<Attached>(Attached{.pid = pid,
                                          .slot = *slot,
                                          .sink = nullptr,
                                          .image = next_image_++,
                                          .strings = ProcessStrings(pid),
                                          .filter = Filter(settings_.filter),
                                          .retold = retold && granularity == Granularity::kEvent,
                                          .granularity = granularity});
  mode_.granularity = granularity;
  a->strings.restart();
  by_slot_[*slot] = a.get();
  const Failure failure = attach_files(*a, lua);
  if (!failure) return by_pid_.emplace(pid, std::move(a)), Refused{};
  for (const auto& p : programs_) p->detach(*slot);
  by_slot_[*slot] = nullptr;
  return explain(failure);
}

void Source::begin(pid_t pid, const std::shared_ptr<Output>& output, uint32_t number) {
  by_pid_.at(pid)->sink = &sink_of(output);
  renumber(pid, number);
}

void Source::renumber(pid_t pid, uint32_t number) {
  const auto it = by_pid_.find(pid);
  if (it == by_pid_.end()) return;
  numbers_[it->second->image] = number;
  give_held(*it->second);
}

// -- Draining --

bool Source::ready() const {
  return std::all_of(sinks_.begin(), sinks_.end(),
                     [](const auto& s) { return s->ended || s->output->ready(); });
}

uint64_t Source::drain() {
  uint64_t records = 0;
  const uint64_t until = monotonic_ns() + kDrainNs;
  left_some_ = !ready();
  const Program::Take take_one = [&](auto record) {
    take(record);
    left_some_ = !ready() || (++records % kClockPause == 0 && monotonic_ns() >= until);
    return !left_some_;
  };
  for (const auto& p : programs_)
    if (!left_some_) p->consume(take_one);
  if (leaving_ > 0 && !left_some_) end_leaving();
  const uint64_t now = monotonic_ns();
  if (now < look_due_ns_) return records;
  look_due_ns_ = now + kLookPause;
  look_at_idle(now);
  for (const auto& sink : sinks_) flush(*sink);
  return records;
}

// What is there now, that is no more than a buffer holds: others may go on, and never leave it
// empty. False: the outputs do not take it.
bool Source::drain_all() {
  const uint64_t most = settings_.ring_bytes / sizeof(ltb_hit);
  for (uint64_t records = 0; records <= most;) {
    records += drain();
    if (!left_some_) return true;
    if (!ready()) return false;
  }
  return true;
}

void Source::remove(pid_t pid) {
  const auto it = by_pid_.find(pid);
  if (it == by_pid_.end() || it->second->leaving) return;
  Attached& a = *it->second;
  for (const auto& p : programs_) p->detach(a.slot);
  a.leaving = true;
  a.gone = process_is_gone(pid);
  leaving_++;
  if (drain_all()) end_leaving();
}

// Everything of theirs has been taken from the ring buffers.
void Source::end_leaving() {
  for (auto it = by_pid_.begin(); it != by_pid_.end();) {
    if (it->second->leaving) end(*it->second);
    it = it->second->leaving ? by_pid_.erase(it) : std::next(it);
  }
  leaving_ = 0;
}

void Source::end(Attached& a) {
  give_held(a);
  for (const auto& p : programs_)
    p->leftover_losses(a.slot, [&](const ltb_loss& l) { take_loss(a, l); });
  end_streams(a, a.gone);
  if (a.gone) give_exit(a, std::min(monotonic_ns(), stop_ns_));
  by_slot_[a.slot] = nullptr;
}

void Source::finish() {
  if (finished_) return;
  finished_ = true;
  settle();
  stop_ns_ = monotonic_ns();
  for (const auto& p : programs_) p->detach_all();
  for (const auto& sink : sinks_) sink->output->wait_for_room();
  while (!by_pid_.empty()) {
    remove(by_pid_.begin()->first);
    if (drain_all()) end_leaving();  // of one that was removed before
  }
  uint64_t nowhere = 0;
  for (const auto& p : programs_) nowhere += p->nowhere();
  if (nowhere > 0 && !sinks_.empty()) {
    sinks_[0]->hits->lost({0, 0, 0, nowhere, at(stop_ns_), at(stop_ns_)});
    totals_.lost += nowhere;
  }
  for (const auto& sink : sinks_) end_sink(*sink);
}

}  // namespace luatrace::record::bpf
