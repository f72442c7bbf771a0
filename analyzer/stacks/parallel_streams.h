// SPDX-License-Identifier: MIT
// The streams of one trace file, by several threads: as Streams, but each stream belongs to one of
// some workers, and each worker has a Sink and diagnostics of its own, which are added up in the
// end. The thread that reads hands blocks over and does nothing else with them.
//
// Invariant: what comes out does not depend on the number of workers, nor on which of them has
// which stream: sums are integers, descriptions are chosen by stream (stacks/functions.h), nodes
// are brought into an order of their own when they are reported (aggregate/canonical_order.h). But
// when the limit of the call tree is reached, who comes first is chance.
//
// Besides what StackMachine needs a Sink has add(const Sink&).
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "analyzer/stacks/block_queue.h"
#include "analyzer/stacks/streams.h"

namespace luatrace {

template <class Sink>
class ParallelStreams : public TraceSink {
 public:
  // At most `workers` threads. `make` makes their sinks, on the thread that reads; it is given what
  // the worker knows of the file, which is all but functions, maps and notes, as of what it has
  // come to. (The functions are those of `facts`, to which all workers add.)
  ParallelStreams(TraceFacts& facts, Diagnostics& diagnostics, size_t workers,
                  std::function<std::unique_ptr<Sink>(const TraceFacts&)> make)
      : facts_(facts), diag_(diagnostics), most_(workers), make_(std::move(make)) {
    diag_.keep();
  }
  ~ParallelStreams() override {
    for (auto& w : workers_) w->queue.stop();
    join();
    diag_.release();  // If reading failed: what was found before.
  }

  void on_header(const Clock& clock, const lt_file_header& header) override {
    facts_.clock = clock;
    header_ = header;
  }
  void on_process(const ProcessInfo& info) override {
    facts_.processes[info.number] = info;
    for (auto& w : workers_) w->queue.put(info);
  }
  void on_stream(const StreamInfo& info) override {
    facts_.streams[info.number] = info;
    worker(info.number).queue.put(info);
  }
  void on_function(const FunctionInfo& info) override { worker(info.stream).queue.put(info); }
  void on_map(const MapInfo& info) override { facts_.maps.push_back(info); }
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_end(const EndInfo& info) override { facts_.end = info; }
  void on_events(const EventBlock& block) override {
    Worker& w = worker(block.stream);
    w.words += block.words.size();
    w.queue.put(block);
  }

  // The end of the file. Returns the sum of all sinks.
  std::unique_ptr<Sink> finish();

 private:
  struct Worker {
    Worker(ParallelStreams& all)
        : sink(all.make_(facts)),
          diag(all.diag_.file(), [](const std::string&) {}),
          streams(facts, all.facts_.functions, *sink, diag) {
      diag.keep();
      facts.processes = all.facts_.processes;
      streams.on_header(all.facts_.clock, all.header_);
    }
    void run();
    void handle(const BlockQueue::Item& item);

    TraceFacts facts;  // Of its streams.
    std::unique_ptr<Sink> sink;
    Diagnostics diag;
    Streams<Sink> streams;
    BlockQueue queue;
    std::exception_ptr failure;
    std::thread thread;
    uint64_t words = 0;  // Given to it, ever.
  };

  Worker& worker(uint32_t stream);
  void join() {
    for (auto& w : workers_)
      if (w->thread.joinable()) w->thread.join();
  }

  TraceFacts& facts_;
  Diagnostics& diag_;
  const size_t most_;
  std::function<std::unique_ptr<Sink>(const TraceFacts&)> make_;
  lt_file_header header_{};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<uint32_t, Worker*> by_stream_;
};

// A new stream goes to a new worker, or if there are enough to the one that had least to do.
template <class Sink>
typename ParallelStreams<Sink>::Worker& ParallelStreams<Sink>::worker(uint32_t stream) {
  Worker*& mine = by_stream_[stream];
  if (mine) return *mine;
  if (workers_.size() < most_) {
    auto fresh = std::make_unique<Worker>(*this);
    try {
      fresh->thread = std::thread([w = fresh.get()] { w->run(); });
      workers_.push_back(std::move(fresh));
      return *(mine = workers_.back().get());
    } catch (const std::system_error&) {
      if (workers_.empty()) throw;  // No thread to be had: those that there are must do.
    }
  }
  auto less = [](const auto& a, const auto& b) { return a->words < b->words; };
  mine = std::min_element(workers_.begin(), workers_.end(), less)->get();
  return *mine;
}

template <class Sink>
void ParallelStreams<Sink>::Worker::run() {
  try {
    std::deque<BlockQueue::Item> items;
    while (queue.take(items)) {
      for (; !items.empty(); items.pop_front()) handle(items.front());
    }
    streams.finish();
  } catch (...) {
    failure = std::current_exception();
    queue.stop();
  }
}

template <class Sink>
void ParallelStreams<Sink>::Worker::handle(const BlockQueue::Item& item) {
  if (auto* block = std::get_if<EventBlock>(&item)) {
    streams.on_events(*block);
    queue.done();
  } else if (auto* function = std::get_if<FunctionInfo>(&item)) {
    streams.on_function(*function);
  } else if (auto* process = std::get_if<ProcessInfo>(&item)) {
    streams.on_process(*process);
  } else {
    streams.on_stream(std::get<StreamInfo>(item));
  }
}

template <class Sink>
std::unique_ptr<Sink> ParallelStreams<Sink>::finish() {
  for (auto& w : workers_) w->queue.end();
  join();
  for (auto& w : workers_)
    if (w->failure) std::rethrow_exception(w->failure);
  std::unique_ptr<Sink> sum = workers_.empty() ? make_(facts_) : std::move(workers_[0]->sink);
  for (size_t i = 0; i < workers_.size(); i++) {
    Worker& w = *workers_[i];
    if (i) sum->add(*w.sink);
    w.sink = nullptr;
    diag_.add(w.diag);
    facts_.sums.insert(facts_.sums.end(), w.facts.sums.begin(), w.facts.sums.end());
  }
  auto by_number = [](const StreamSums& a, const StreamSums& b) { return a.stream < b.stream; };
  std::sort(facts_.sums.begin(), facts_.sums.end(), by_number);
  if (facts_.end) diag_.trust.lost = std::max(diag_.trust.lost, facts_.end->lost);
  diag_.release();
  return sum;
}

}  // namespace luatrace
