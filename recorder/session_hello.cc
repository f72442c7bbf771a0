// SPDX-License-Identifier: MIT
// Session: processes that come (a greeting with a ring), change (maps) and go.
#include <unistd.h>

#include <algorithm>

#include "recorder/session.h"
#include "recorder/text.h"
#include "trace/records.h"

namespace luatrace {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kRateNs =
    20 * kMillisecond;  // the first estimate of the clock's rate needs that

constexpr int kMostTitles = 8;      // of a process, while it is recorded
constexpr size_t kMaxRings = 4096;  // that are drained at a time

constexpr const char* kFileEnded = "its file has ended";

}  // namespace

void Session::greet() {
  if (phase_ == Phase::kFinished || listener_ == nullptr) return;
  std::vector<std::string> refusals;
  for (Hello& h : listener_->receive(refusals)) {
    const std::string why = welcome(h);
    if (!why.empty()) refusals.push_back("process " + std::to_string(h.pid) + why);
    const char answer = !why.empty()          ? LT_HELLO_REFUSED
                        : backend_ != nullptr ? LT_HELLO_PROBES
                                              : LT_HELLO_RECORD;
    if (!Listener::answer(h, answer) && why.empty())
      refusals.push_back("process " + std::to_string(h.pid) +
                         ": a Lua state is not recorded: it did not wait for this answer any "
                         "longer (is the machine overloaded, or was luatrace-record stopped?)");
  }
  refused_ += refusals.size();
  for (const auto& r : refusals)
    if (phase_ == Phase::kRecording || options_.verbose) say_unless_told(r);
}

// Why a file takes nothing more was said when it ended.
void Session::say_unless_told(const std::string& text) const {
  if (!text.ends_with(kFileEnded) || options_.verbose) say(text);
}

// Takes the ring. What is returned if that cannot be: the rest of a sentence about the process.
std::string Session::welcome(Hello& hello) {
  std::string why;
  auto ring = RingMemory::map(std::exchange(hello.ring_fd, -1), &why);
  if (ring == nullptr) return " was refused: its ring is not usable: " + why;
  if (ring->info().pid != pid_inside(hello.pid))
    return " was refused: its ring is that of another process";
  if (phase_ != Phase::kRecording) return " is not recorded: the recording has ended";
  if (backend_ != nullptr) return welcome_to_backend(hello.pid);
  why = refuse_ring(*ring);
  if (!why.empty()) return " was refused: " + why;
  const Newcomer who{hello.pid, hello.text.pid, hello.uid, hello.socket};
  Traced* const t = traced_for(who, ring->info().clock, why);
  if (t == nullptr || !drain_ring(*t, std::move(ring), why)) return " is not recorded: " + why;
  return "";
}

// Why a ring is not taken that is one; empty: it is.
std::string Session::refuse_ring(const RingMemory& ring) const {
  const uint64_t max = max_ring_size(options_.ring_size);
  if (ring.size() > max)
    return "its ring has " + bytes_text(ring.size()) + " where " + bytes_text(max) +
           " would do (--ring-size)";
  if (drainer_->active() >= kMaxRings)
    return "there are more than " + grouped(kMaxRings) + " Lua states at a time";
  return "";
}

// It waits for the answer before it runs any Lua: a moment to attach to it in another way than by
// its ring. It may be known: another Lua state, or another LuaJIT, of it.
std::string Session::welcome_to_backend(pid_t pid) {
  for (auto& w : watched_)
    if (w.pid == pid && !w.gone && w.attached) {
      const Attached a = backend_->attach(pid);
      return a ? "" : " " + a.why;
    }
  watch(pid, false);
  const Watched& w = watched_.back();
  if (w.attached) hellos_++;
  if (!w.attached && w.gone) failed_ = true;  // said by attach_to()
  return w.attached ? "" : " is not recorded";
}

std::shared_ptr<Output> Session::output_for(pid_t pid, std::string& why) {
  if (!options_.file_per_process()) return outputs_[0];
  auto& output = by_pid_[pid];
  if (output != nullptr) return output;
  const std::string name = expand_pid(options_.output, pid);
  const OpenedOutput opened = luatrace::open_output(name);
  if (opened.fd < 0) {
    why = name + ": cannot open for writing: " + opened.why;
    failed_ = true;
    by_pid_.erase(pid);
    return nullptr;
  }
  output = std::make_shared<Output>(queue(), opened.fd, name, clock_, options_.max_size,
                                    options_.compression);
  output->begin(note());
  drainer_->call([this, o = output] { outputs_.push_back(o); });
  return output;
}

uint32_t Session::number_of_parent(pid_t parent, const Output& output) const {
  uint32_t number = 0;
  for (const auto& t : traced_)
    if (t.pid == parent && t.output.get() == &output) number = t.number;
  return number;
}

// The process that says hello: known, or new, or known by its pid but another program since.
Session::Traced* Session::traced_for(const Newcomer& who, uint32_t clock, std::string& why) {
  ProcessFacts facts = read_process(who.pid);
  for (auto& t : traced_) {
    if (t.gone || t.pid != who.pid) continue;
    if (t.image == facts.image) return &t;
    set_ended(t);
  }
  auto output = output_for(who.pid, why);
  if (output == nullptr) return nullptr;
  bool accepted = false;
  lt_process_info info{};
  info.pid = who.pid;
  info.ns_pid = who.ns_pid;
  info.uid = static_cast<int32_t>(who.uid);
  info.parent = static_cast<int32_t>(number_of_parent(facts.parent, *output));
  uint32_t number = 0;
  drainer_->call([&] {
    accepted = output->accept_clock(clock);
    if (output->dead()) output->announce_early_end();
    if (!accepted || output->dead()) return;
    number = output->next_process();
    info.start_tick = read_tick(clock);
    if (output->fits(sizeof info + facts.exe.size() + facts.cmdline.size() + 128))
      output->writer().write_process(number, info, facts.exe, facts.cmdline);
  });
  if (number == 0) {
    why = accepted ? kFileEnded : "its clock is not the file's";
    return nullptr;
  }
  traced_.push_back({next_key_++,
                     who.pid,
                     open_pidfd(who.pid, who.socket),
                     number,
                     facts.image,
                     info,
                     facts.exe,
                     facts.cmdline,
                     0,
                     output,
                     {},
                     0,
                     kMillisecond,
                     std::make_shared<std::atomic<bool>>(false),
                     false});
  adopt_children(traced_.back());
  return &traced_.back();
}

// Children may be known before their parent, which runs Lua later: the workers of an nginx that is
// a daemon.
void Session::adopt_children(const Traced& parent) {
  for (auto& t : traced_) {
    if (t.gone || t.info.parent != 0 || t.output != parent.output) continue;
    if (&t == &parent || read_process(t.pid).parent != parent.pid) continue;
    t.info.parent = static_cast<int32_t>(parent.number);
    write_again(t);
  }
}

// What is written last of a process counts.
void Session::write_again(const Traced& t) {
  drainer_->post(
      [output = t.output, number = t.number, info = t.info, exe = t.exe, title = t.title] {
        if (!output->dead() && output->fits(sizeof info + exe.size() + title.size() + 128))
          output->writer().write_process(number, info, exe, title);
      });
}

bool Session::drain_ring(Traced& t, std::unique_ptr<RingMemory> ring, std::string& why) {
  update_maps(t, monotonic_ns());
  const uint64_t age = monotonic_ns() - start_.mono_ns;
  if (age < kRateNs) usleep(static_cast<useconds_t>((kRateNs - age) / 1000));
  bool added = false, ended = false;
  drainer_->call([&] {
    Output& output = *t.output;
    const bool fits = output.accept_clock(ring->info().clock) && output.fits(4096);
    ended = output.dead();
    if (!fits) return;
    const uint32_t stream = output.add_stream(stream_info(ring->info(), t.number));
    ring->set_tick_khz(rate_khz(output.rate_so_far()));
    ring->set_alive(read_tick(ring->info().clock));
    ring->set_taken();
    auto drain = std::make_unique<RingDrain>(std::move(ring), t.output, stream, options_.max_depth);
    drainer_->add({std::move(drain), t.key, t.maps_wanted});
    added = true;
  });
  if (!added) why = ended ? kFileEnded : "its clock is another one than the file's";
  if (!added) {  // its state waits for us, or fills it in vain
    if (ring != nullptr) ring->set_detach(), ring->set_taken();
    return false;
  }
  hellos_++;
  if (options_.verbose) say("process " + std::to_string(t.pid) + " announced a Lua state");
  return true;
}

// Nobody is heard any more: a Lua state that is made now, or waits for an answer, is told so by the
// kernel at once.
void Session::stop_listening() {
  if (listener_ != nullptr) outsiders_ += listener_->outsiders();
  listener_.reset();
}

// Its rings get nothing more.
void Session::set_ended(Traced& t) {
  t.gone = true;
  drainer_->post([drainer = drainer_.get(), key = t.key] { drainer->complete(key); });
  if (t.pidfd >= 0) close(t.pidfd);
  t.pidfd = -1;
}

void Session::check_ends() {
  for (auto& t : traced_) {
    if (t.gone) continue;
    pollfd p{t.pidfd, POLLIN, 0};
    if (t.pidfd >= 0 ? poll(&p, 1, 0) > 0 : process_is_gone(t.pid)) set_ended(t);
  }
}

void Session::update_maps() {
  const uint64_t now = monotonic_ns();
  for (auto& t : traced_) {
    if (t.gone) continue;
    if (t.maps_wanted->exchange(false)) t.maps_pause_ns = kMillisecond, t.maps_due_ns = now;
    if (now >= t.maps_due_ns) update_maps(t, now);
  }
}

// At first often, because programs load their libraries early; later once a second.
void Session::update_maps(Traced& t, uint64_t now) {
  std::vector<std::byte> records;
  const uint32_t count = t.maps.update(t.pid, build_ids_, records);
  t.maps_pause_ns = std::min(t.maps_pause_ns * 2, 1000 * kMillisecond);
  t.maps_due_ns = now + (t.maps.more() ? kMillisecond : t.maps_pause_ns);
  update_title(t, false);
  if (count == 0) return;
  drainer_->post([output = t.output, number = t.number, count, records = std::move(records)] {
    if (output->crowded()) return;  // a process may map without end while the disk stands still
    if (records.size() <= LT_PAYLOAD_MAX && output->fits(records.size() + 128))
      output->writer().write_maps(number, count, records);
  });
}

// A process says by its title what it is, often after its first event: a worker was forked as a
// copy of its master. The file has the last one; a process that changes it all the time is written
// down a few times only, and at the end.
void Session::update_title(Traced& t, bool last) {
  if (t.titles >= kMostTitles && !last) return;
  const std::string title = read_title(t.pid, t.image);
  if (title.empty() || title == t.title) return;
  t.title = title;
  t.titles++;
  write_again(t);
}

// The recording ends.
void Session::update_titles() {
  for (auto& t : traced_)
    if (!t.gone) update_title(t, true);
}

}  // namespace luatrace
