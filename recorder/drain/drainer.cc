// SPDX-License-Identifier: MIT
// The drainer polls: the target must never have to make a system call to be noticed. While data
// flows the next pass follows immediately or after 100 us; when nothing comes the pause doubles, up
// to a third of the time in which the fastest target could fill the smallest ring (and never more
// than 5 ms). Longer pauses would cost events at the start of a burst and save almost nothing.
#include "recorder/drain/drainer.h"

#include <algorithm>

#include "recorder/os/clock.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kShortest = 100'000, kLongest = 5'000'000;  // ns
constexpr uint64_t kPassNs = 20'000'000;                       // then come jobs, and other rings
constexpr uint64_t kEndingNs = 1'000'000'000;                  // for more Lua VMs of a process

}  // namespace

Drainer::Drainer() : thread_([this] { run(); }) {}

Drainer::~Drainer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Drainer::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

bool Drainer::call(Job job, std::chrono::milliseconds limit) {
  struct State {
    std::mutex mutex;
    std::condition_variable done;
    bool finished = false;
  };
  // Shared, because this thread may stop waiting before the job has run.
  const auto state = std::make_shared<State>();
  post([state, job = std::move(job)] {
    job();
    const std::lock_guard lock(state->mutex);
    state->finished = true;
    state->done.notify_one();
  });
  std::unique_lock lock(state->mutex);
  return state->done.wait_for(lock, limit, [&] { return state->finished; });
}

void Drainer::add(OwnedRing ring) {
  const uint64_t vm = ring.drain->ring().info().state_addr;
  for (const auto& r : rings_) {
    const RingMemory& other = r.drain->ring();
    if (r.owner == ring.owner && other.info().state_addr == vm && other.closed())
      ring.before = r.ended;
  }
  rings_.push_back(std::move(ring));
  active_ = rings_.size();
}

void Drainer::complete(uint64_t owner) {
  for (auto& r : rings_)
    if (r.owner == owner) r.drain->set_complete();
}

void Drainer::detach_all() {
  for (auto& r : rings_) r.drain->detach();
}

void Drainer::flush_all() {
  for (auto& r : rings_) r.drain->flush();
}

void Drainer::finish_all() {
  for (auto& r : rings_) r.drain->finish();
  remove_finished();
}

void Drainer::finish_soon(std::shared_ptr<Output> output) {
  ending_.push_back({std::move(output), monotonic_ns() + kEndingNs});
}

bool Drainer::keep(const Output& output) {
  std::erase_if(ending_, [&](const Ending& e) { return e.output.get() == &output; });
  return !output.finished();
}

// The command may still run: no exit status.
void Drainer::finish_ending() {
  if (ending_.empty()) return;
  const uint64_t now = monotonic_ns();
  size_t left = ending_.size();
  std::erase_if(ending_, [&](const Ending& e) {
    if ((now < e.due_ns && left <= kMaxEnding) || !e.output->settled()) return false;
    e.output->finish(LTQ_EXIT, -1);
    left--;
    return true;
  });
}

uint64_t Drainer::patience_ns() const {
  uint64_t shortest = kLongest;
  for (const auto& r : rings_) shortest = std::min(shortest, r.drain->patience_ns());
  return std::max(shortest, kShortest);
}

void Drainer::run_jobs() {
  std::vector<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (const auto& job : jobs) job();
}

// All rings, or as many as time allows; the others come first the next time.
uint64_t Drainer::poll_all() {
  uint64_t max_words = 0;
  const uint64_t until = monotonic_ns() + kPassNs;
  for (const auto& r : rings_) r.drain->set_alive();
  for (size_t n = 0; n < rings_.size() && (n == 0 || monotonic_ns() < until); n++) {
    auto& r = rings_[next_++ % rings_.size()];
    if (r.before && !*r.before) continue;
    max_words = std::max<uint64_t>(max_words, r.drain->poll(until));
    if (r.drain->saw_c_functions()) *r.maps_wanted = true;
    if (r.drain->output().dead() && !r.drain->finished()) {
      r.drain->output().announce_early_end();
      r.drain->detach();
      r.drain->finish();
    }
  }
  remove_finished();
  return max_words;
}

void Drainer::remove_finished() {
  std::erase_if(rings_, [](const OwnedRing& r) {
    if (r.drain->finished() && !r.drain->damage().empty())
      log("process " + std::to_string(r.drain->ring().info().pid) +
          ": its ring is damaged, recording of it ends here: " + r.drain->damage());
    if (r.drain->finished()) *r.ended = true;
    return r.drain->finished();
  });
  active_ = rings_.size();
}

void Drainer::run() {
  uint64_t pause = kShortest;
  for (;;) {
    run_jobs();
    const uint64_t max_words = poll_all();
    finish_ending();
    if (max_words >= 2 * LT_RING_BLOCK_SIZE / 8) continue;  // it is faster than our pauses
    pause = max_words > 0 ? kShortest : std::min(pause * 2, patience_ns());
    std::unique_lock lock(mutex_);
    if (stop_ && jobs_.empty()) return;
    wake_.wait_for(lock, std::chrono::nanoseconds(pause),
                   [this] { return stop_ || !jobs_.empty(); });
  }
}

}  // namespace luatrace::record
