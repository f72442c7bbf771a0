// SPDX-License-Identifier: MIT
#include "recorder/processes.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "trace/records.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kRateNs = 20 * kMillisecond;   // for the first estimate of the clock's rate
constexpr uint64_t kTurnNs = 200 * kMillisecond;  // for new mappings of all processes
constexpr uint64_t kMapsNs = 200 * kMillisecond;  // of one process
constexpr size_t kAllMappings = 64 << 20;         // bytes, of all processes
constexpr size_t kEndedRecords = 16384;           // until they are looked for
constexpr int kMaxTitles = 8;                     // of a process, while it is recorded
constexpr size_t kMaxRings = 4096;                // that are drained at a time

constexpr const char* kFileEnded = "its file has ended";
constexpr const char* kOtherClock =
    "its times are of another clock than the recording's (as those of a program in an emulator)";

// The last block written about a process counts.
void write_again(Drainer& drainer, const Image& image) {
  drainer.post([output = image.output, number = image.number, info = image.info, exe = image.exe,
                title = image.title] {
    if (!output->dead() && output->has_space(sizeof info + exe.size() + title.size() + 128))
      output->writer().write_process(number, info, exe, title);
  });
}

// Its VM closes it soon, instead of filling a ring that nobody reads. It neither waits for us then,
// nor counts as one whose ring was not seen.
void turn_away(RingMemory& ring) {
  ring.set_taken();
  ring.set_detach();
}

// The command's output is not: it gets the command's exit status, at the end of the recording.
void finish_soon(Drainer& drainer, const std::shared_ptr<Output>& output) {
  drainer.post([&drainer, output] { drainer.finish_soon(output); });
}

// Why a valid ring is not taken, while `active` others are drained; empty: it is.
std::string refuse_ring(const RingMemory& ring, uint64_t ring_size, size_t active) {
  const uint64_t max = max_ring_size(ring_size);
  if (ring.size() > max)
    return "its ring has " + bytes_text(ring.size()) + ", more than the " + bytes_text(max) +
           " allowed (--ring-size)";
  if (active >= kMaxRings)
    return "there are more than " + grouped(kMaxRings) + " Lua VMs at a time";
  return "";
}

// With -a every process of the system gets a record. That of one that is gone is not needed, unless
// a message at the end is about it.
bool is_needed(const Process& p) {
  return p.followed || p.requested || p.suspect || !p.obstacle.empty() || p.output != nullptr ||
         !p.image.ended || !process_is_gone(p.pid);
}

bool has_ended(const Process& p) {
  if (p.leaving) return true;
  pollfd d{p.pidfd, POLLIN, 0};
  return p.pidfd >= 0 ? poll(&d, 1, 0) > 0 : process_is_gone(p.pid);
}

}  // namespace

// A thread: created when it is needed, after everything that forks.
Drainer& Processes::drainer() {
  if (drainer_ == nullptr) drainer_ = std::make_unique<Drainer>();
  return *drainer_;
}

// -- The records --

Process* Processes::find(pid_t pid) {
  const auto it = all_.find(pid);
  return it == all_.end() ? nullptr : &it->second;
}

Process& Processes::known(pid_t pid) {
  Process& p = all_[pid];
  p.pid = pid;
  return p;
}

// What is left of an earlier process with that number is removed, except for the file of that name.
Process& Processes::follow(pid_t pid, int peer) {
  Process& p = known(pid);
  if (p.followed) return p;
  const bool descendant = p.descendant;
  auto output = std::move(p.output);
  p = {};
  p.pid = pid;
  p.descendant = descendant;
  p.output = std::move(output);
  p.pidfd = Descriptor(open_pidfd(pid, peer));
  p.followed = true;
  followed_.push_back(&p);
  return p;
}

void Processes::add_descriptors(std::vector<pollfd>& fds) const {
  for (const Process* p : followed_)
    if (p->pidfd >= 0) fds.push_back({p->pidfd, POLLIN, 0});
}

void Processes::take_ended(const std::function<void(Process&)>& ended) {
  for (size_t i = 0; i < followed_.size(); i++) {
    Process& p = *followed_[i];
    if (!has_ended(p)) continue;
    p.followed = false;
    p.pidfd = Descriptor();
    ended(p);
    end_image(p);
    if (p.output != nullptr && !outputs_.is_commands(*p.output)) finish_soon(drainer(), p.output);
  }
  std::erase_if(followed_, [](const Process* p) { return !p->followed; });
}

// Its rings get nothing more.
void Processes::end_image(Process& p) {
  if (std::exchange(p.image.ended, true)) return;
  mappings_ -= p.image.maps.known();
  p.image.maps = {};
  drainer().post([drainer = &drainer(), key = p.image.key] { drainer->complete(key); });
}

// -- Services for a backend --

std::shared_ptr<Output> Processes::output_of(pid_t pid, std::string& why) {
  if (!options_.file_per_process()) {
    if (outputs_.all().empty()) outputs_.begin();
    return outputs_.all()[0];
  }
  auto& output = known(pid).output;
  bool kept = false;
  if (output != nullptr) drainer().call([&] { kept = drainer().keep(*output); });
  if (!kept) output = nullptr;                       // of an earlier process with that number
  if (output == nullptr) output = outputs_.begin();  // the command's was opened before it ran
  if (output != nullptr) return output;
  output = outputs_.add(pid, why);
  if (output != nullptr) drainer().call([&] { outputs_.all().push_back(output); });
  return output;
}

uint32_t Processes::process_number(pid_t pid, std::string& why) {
  const ProcessFacts facts = read_process(pid);
  Process* const p = process_for({pid, facts.ns_pid, facts.uid, -1}, outputs_.clock(), why);
  if (p == nullptr) return 0;
  update_maps(*p, monotonic_ns());  // now: it may have ended when its events come
  return p->image.number;
}

RingAnswer Processes::add_ring(const Peer& peer, std::unique_ptr<RingMemory> ring) {
  std::string why = refuse_ring(*ring, options_.ring_size, drainer_ ? drainer_->active() : 0);
  if (!why.empty()) return turn_away(*ring), RingAnswer{RingAnswer::kRefused, why};
  Process* const p = process_for(peer, ring->info().clock, why);
  if (p == nullptr) return turn_away(*ring), RingAnswer{RingAnswer::kNotTaken, why};
  if (!drain_ring(*p, std::move(ring), why)) return {RingAnswer::kNotTaken, why};
  return {RingAnswer::kTaken, ""};
}

bool Processes::has_streams(pid_t pid) {
  const Process* const p = find(pid);
  return p != nullptr && p->rings > 0;
}

void Processes::has_c_functions(pid_t pid) {
  if (Process* const p = find(pid); p != nullptr && !p->image.ended) *p->image.maps_wanted = true;
}

void Processes::first_event(pid_t pid, uint64_t after_ns) {
  has_events_ = true;
  if (!options_.quiet)
    log("process " + std::to_string(pid) + ": first event " +
        time_text(static_cast<double>(after_ns)) + " after attaching");
}

void Processes::silent(pid_t pid, const std::string& text) {
  const Process* const p = find(pid);
  const bool has_workers = options_.quiet && p != nullptr && !p->workers.empty();
  if (has_workers || (options_.finds_processes() && has_events_)) return detail(text);
  log(text);
}

void Processes::detail(const std::string& text) {
  if (options_.verbose) log(text);
}

// The reason why a file takes nothing more was reported when it ended.
void Processes::report(const std::string& text) {
  if (!text.ends_with(kFileEnded) || options_.verbose) log(text);
}

// -- Images --

uint32_t Processes::number_of_parent(pid_t parent, const Output& output) {
  const Process* const p = find(parent);
  return p != nullptr && p->image.output.get() == &output ? p->image.number : 0;
}

// Writes its PROCESS block. 0 and the reason if the output cannot take its events.
uint32_t Processes::write_process(const ProcessFacts& facts, const Peer& peer, Output& output,
                                  uint32_t clock, lt_process_info& info, std::string& why) {
  bool accepted = false;
  uint32_t number = 0;
  info.pid = peer.pid;
  info.ns_pid = peer.ns_pid;
  info.uid = static_cast<int32_t>(peer.uid);
  info.parent = static_cast<int32_t>(number_of_parent(facts.parent, output));
  drainer().call([&] {
    accepted = output.accept_clock(clock);
    if (output.dead()) output.announce_early_end();
    if (!accepted || output.dead()) return;
    number = output.next_process();
    info.start_tick = read_tick(clock);
    if (output.has_space(sizeof info + facts.exe.size() + facts.cmdline.size() + 128))
      output.writer().write_process(number, info, facts.exe, facts.cmdline);
  });
  if (number == 0) why = accepted ? kFileEnded : kOtherClock;
  return number;
}

// A process from which something will be recorded: known, or new, or known by its pid but running
// another program since.
Process* Processes::process_for(const Peer& peer, uint32_t clock, std::string& why) {
  const ProcessFacts facts = read_process(peer.pid);
  if (Process* const p = find(peer.pid); p != nullptr && !p->image.ended) {
    if (p->followed && p->image.id == facts.image) return p;
    end_image(*p);
  }
  const auto output = output_of(peer.pid, why);
  if (output == nullptr) return nullptr;
  lt_process_info info{};
  const uint32_t number = write_process(facts, peer, *output, clock, info, why);
  if (number == 0) return nullptr;
  Process& p = follow(peer.pid, peer.socket);
  p.image = {};
  p.image.key = next_key_++;
  p.image.number = number;
  p.image.id = facts.image;
  p.image.info = info;
  p.image.exe = facts.exe;
  p.image.title = facts.cmdline;
  p.image.output = output;
  p.image.maps_pause_ns = kMillisecond;
  p.image.maps_wanted = std::make_shared<std::atomic<bool>>(false);
  p.image.ended = false;
  adopt_children(p);
  return &p;
}

// Children may be known before their parent, if that runs Lua later: the workers of an nginx that
// is a daemon.
void Processes::adopt_children(const Process& parent) {
  for (Process* const p : followed_) {
    Image& image = p->image;
    if (image.ended || image.info.parent != 0 || image.output != parent.image.output) continue;
    if (p == &parent || read_process(p->pid).parent != parent.pid) continue;
    image.info.parent = static_cast<int32_t>(parent.image.number);
    write_again(drainer(), image);
  }
}

bool Processes::drain_ring(Process& p, std::unique_ptr<RingMemory> ring, std::string& why) {
  update_maps(p, monotonic_ns());
  const uint64_t age = monotonic_ns() - start_.mono_ns;
  if (age < kRateNs) usleep(static_cast<useconds_t>((kRateNs - age) / 1000));
  bool added = false, ended = false;
  // Watched texts name the process, unless it is the only one, or the first one of a command.
  if (watched_ == 0 && !options_.several()) watched_ = p.pid;
  auto watch =
      options_.watch.empty()
          ? nullptr
          : std::make_unique<WatchReader>(watch_log_, p.pid, ring->info().clock, p.pid != watched_);
  drainer().call([&] {
    Output& output = *p.image.output;
    const bool accepted = output.accept_clock(ring->info().clock) && output.has_space(4096);
    ended = output.dead();
    if (!accepted) return;
    const uint32_t stream = output.add_stream(stream_info(ring->info(), p.image.number));
    ring->set_tick_khz(rate_khz(output.rate_so_far()));
    ring->set_alive(read_tick(ring->info().clock));
    ring->set_taken();
    const lt_ring& info = ring->info();
    auto cpu = options_.cpu ? CpuTime::of(p.pid, info.clock, info.start_tick) : nullptr;
    auto drain = std::make_unique<RingDrain>(std::move(ring), p.image.output, stream,
                                             options_.max_depth, std::move(cpu));
    drain->set_watch(std::move(watch));
    drainer().add({std::move(drain), p.image.key, p.image.maps_wanted});
    added = true;
  });
  if (!added) why = ended ? kFileEnded : kOtherClock;
  if (!added) {
    if (ring != nullptr) turn_away(*ring);
    return false;
  }
  rings_++;
  p.rings++;
  detail("process " + std::to_string(p.pid) + " has sent the ring of a Lua VM");
  return true;
}

// -- Mappings and titles --

// As far as time allows; the next call continues from there.
void Processes::update() {
  if (all_.size() >= forget_at_) {
    std::erase_if(all_, [](const auto& known) { return !is_needed(known.second); });
    forget_at_ = all_.size() + kEndedRecords;
  }
  const uint64_t now = monotonic_ns();
  for (size_t left = followed_.size(); left > 0 && monotonic_ns() < now + kTurnNs; left--) {
    Process& p = *followed_[turn_++ % followed_.size()];
    Image& image = p.image;
    if (image.ended) continue;
    if (image.maps_wanted->exchange(false))
      image.maps_pause_ns = kMillisecond, image.maps_due_ns = now;
    if (now >= image.maps_due_ns) update_maps(p, now);
  }
}

// Often at first, because programs load their libraries early; later once a second.
void Processes::update_maps(Process& p, uint64_t now) {
  Image& image = p.image;
  std::vector<std::byte> records;
  const size_t others = mappings_ - image.maps.known();
  const uint32_t count = image.maps.update(p.pid, build_ids_, records, kMapsNs,
                                           kAllMappings - std::min(others, kAllMappings));
  mappings_ = others + image.maps.known();
  if (image.maps.full() && !std::exchange(image.unlisted, true))
    drainer().post([output = image.output] { output->totals().unlisted++; });
  image.maps_pause_ns = std::min(image.maps_pause_ns * 2, 1000 * kMillisecond);
  image.maps_due_ns = now + (image.maps.more() ? kMillisecond : image.maps_pause_ns);
  update_title(p, false);
  if (count == 0) return;
  drainer().post(
      [output = image.output, number = image.number, count, records = std::move(records)] {
        // A process may keep mapping files while the disk is blocked.
        if (output->crowded()) return;
        if (records.size() <= LT_PAYLOAD_MAX && output->has_space(records.size() + 128))
          output->writer().write_maps(number, count, records);
      });
}

// A process often sets its title after its first event: a worker was forked as a copy of its
// master. The file has the last title; if a process changes it all the time, it is written only a
// few times, and at the end.
void Processes::update_title(Process& p, bool last) {
  Image& image = p.image;
  if (image.titles >= kMaxTitles && !last) return;
  const std::string title = read_title(p.pid, image.id);
  if (title.empty() || title == image.title) return;
  image.title = title;
  image.titles++;
  write_again(drainer(), image);
}

void Processes::update_titles() {
  for (Process* const p : followed_)
    if (!p->image.ended) update_title(*p, true);
}

}  // namespace luatrace::record
