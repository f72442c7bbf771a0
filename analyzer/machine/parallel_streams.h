// SPDX-License-Identifier: MIT
// The streams of one trace file, by several threads: as Streams, but each stream belongs to one of
// some workers, and each worker has a Sink and diagnostics of its own, which are added up in the
// end. Who of them has nothing to do reads on (machine/worker_pool.h).
//
// Invariant: what comes out does not depend on the number of workers, nor on which of them has
// which stream: sums are integers, descriptions are chosen by stream (machine/functions.h), nodes
// are brought into an order of their own when they are reported (report/canonical_order.h). But
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
#include <tuple>
#include <vector>

#include "analyzer/machine/streams.h"
#include "analyzer/machine/worker_pool.h"
#include "analyzer/read/block_decoder.h"
#include "analyzer/read/trace_reader.h"

namespace luatrace::analyze {

template <class Sink>
class ParallelStreams : private TraceSink {
 public:
  // Makes a worker's sink; given what the worker knows of the file, which is all but functions,
  // maps and notes, as of what it has come to. (The functions are those of the facts given to
  // ParallelStreams, to which all workers add.) Called by one thread at a time.
  using Make = std::function<std::unique_ptr<Sink>(const TraceFacts&)>;

  // By at most `workers` threads (2 or more), of which the caller's is one.
  ParallelStreams(TraceFacts& facts, Diagnostics& diagnostics, size_t workers, Make make)
      : facts_(facts),
        diag_(diagnostics),
        most_(workers),
        make_(std::move(make)),
        opener_(diagnostics, *this),
        crew_([this] { return reader_->step(); }) {}
  // Reads all of the input. Returns the sum of all sinks. Once. Throws what read_trace() does, and
  // what a sink did.
  std::unique_ptr<Sink> read(Input& input, const Progress& progress = {});

 private:
  void on_header(const Clock& clock, const lt_file_header& header) override {
    facts_.clock = clock;
    header_ = header;
  }
  void on_process(const ProcessInfo& info) override {
    facts_.processes[info.number] = info;
    for (auto& w : workers_) crew_.put(w->queue, info);
  }
  void on_stream(const StreamInfo& info) override {
    facts_.streams[info.number] = info;
    crew_.put(worker(info.number).queue, info);
  }
  void on_function(const FunctionInfo& info) override {
    crew_.put(worker(info.stream).queue, info);
  }
  void on_map(const MapInfo& info) override { facts_.maps.add(info); }
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_end(const EndInfo& info) override { facts_.end = info; }
  void on_events(const EventBlock& block) override {
    Worker& w = worker(block.stream);
    w.words += block.words.size();
    crew_.put(w.queue, block);
  }

  bool takes_packed() const override { return true; }
  // Who has enough to do is given blocks that have been undone: there is time for that. So one
  // stream takes two threads, and two streams take no more than that.
  void on_packed(const Block& block) override {
    if (block.header.stream == 0) return opener_.open(block);  // Says what is wrong.
    Worker& w = worker(block.header.stream);
    if (crew_.has_plenty(w.queue)) return opener_.open(block);
    w.words += block.header.raw_size / sizeof(uint64_t);
    crew_.put(w.queue, block);
  }

  struct Worker {
    Worker(ParallelStreams& all, WorkerPool::WorkQueue& place)
        : queue(place),
          sink(all.make_(facts)),
          diag(all.diag_.file(), [](const std::string&) {}),
          streams(facts, all.facts_.functions, *sink, diag),
          opener(diag, streams) {
      diag.keep();
      facts.processes = all.facts_.processes;
      streams.on_header(all.facts_.clock, all.header_);
    }

    WorkerPool::WorkQueue& queue;
    TraceFacts facts;  // Of its streams.
    std::unique_ptr<Sink> sink;
    Diagnostics diag;
    Streams<Sink> streams;
    BlockDecoder opener;
    std::thread thread;  // None: the caller's.
    uint64_t words = 0;  // Given to it, ever.
    uint64_t owned = 0;  // Streams.
  };

  Worker& worker(uint32_t stream);
  bool add_worker();
  void work(WorkerPool::WorkQueue& queue, Worker* const& worker);
  void handle(Worker& worker, const WorkerPool::Item& item);
  void join();
  std::unique_ptr<Sink> sum();

  TraceFacts& facts_;
  Diagnostics& diag_;
  const size_t most_;
  const Make make_;
  lt_file_header header_{};
  TraceReader* reader_ = nullptr;
  BlockDecoder opener_;  // For who reads.
  WorkerPool crew_;
  WorkerPool::WorkQueue& seat_ = crew_.add_queue();  // Of the caller's thread, ...
  Worker* own_ = nullptr;                            // ... which only reads until this is there.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<uint32_t, Worker*> by_stream_;
};

// A new stream goes to a new worker, or if there are enough to the one that had least to do; as
// long as nobody had anything (all streams are often described before the first events) to the one
// that has fewest.
template <class Sink>
typename ParallelStreams<Sink>::Worker& ParallelStreams<Sink>::worker(uint32_t stream) {
  Worker*& mine = by_stream_[stream];
  if (mine) return *mine;
  auto less = [](const auto& a, const auto& b) {
    return std::tie(a->words, a->owned) < std::tie(b->words, b->owned);
  };
  if (workers_.size() < most_ && add_worker())
    mine = workers_.back().get();
  else
    mine = std::min_element(workers_.begin(), workers_.end(), less)->get();
  mine->owned++;
  return *mine;
}

// With a thread of its own; the last one, or if there is no thread to be had, with the caller's.
// False if that has a worker already.
template <class Sink>
bool ParallelStreams<Sink>::add_worker() {
  if (workers_.size() + 1 < most_) {
    auto fresh = std::make_unique<Worker>(*this, crew_.add_queue());
    workers_.reserve(most_);  // So that nothing fails behind the start of the thread.
    try {
      fresh->thread = std::thread([this, w = fresh.get()] { work(w->queue, w); });
      workers_.push_back(std::move(fresh));
      return true;
    } catch (const std::system_error&) {
    }
  }
  if (own_) return false;
  own_ = workers_.emplace_back(std::make_unique<Worker>(*this, seat_)).get();
  return true;
}

// All that comes to a queue, for its worker: who reads sees to it that there is one then.
template <class Sink>
void ParallelStreams<Sink>::work(WorkerPool::WorkQueue& queue, Worker* const& worker) {
  try {
    std::deque<WorkerPool::Item> items;
    while (crew_.take(queue, items)) {
      for (; !items.empty(); items.pop_front()) handle(*worker, items.front());
    }
    if (!crew_.failed() && worker) worker->streams.finish();
  } catch (...) {
    crew_.fail(std::current_exception());
  }
}

template <class Sink>
void ParallelStreams<Sink>::handle(Worker& worker, const WorkerPool::Item& item) {
  if (auto* block = std::get_if<EventBlock>(&item)) {
    worker.streams.on_events(*block);
    crew_.done(worker.queue);
  } else if (auto* packed = std::get_if<Block>(&item)) {
    worker.opener.open(*packed);
    crew_.done(worker.queue);
  } else if (auto* function = std::get_if<FunctionInfo>(&item)) {
    worker.streams.on_function(*function);
  } else if (auto* process = std::get_if<ProcessInfo>(&item)) {
    worker.streams.on_process(*process);
  } else {
    worker.streams.on_stream(std::get<StreamInfo>(item));
  }
}

template <class Sink>
std::unique_ptr<Sink> ParallelStreams<Sink>::read(Input& input, const Progress& progress) {
  TraceReader reader(input, diag_, *this, progress);
  reader_ = &reader;
  InFileOrder order(diag_);
  work(seat_, own_);
  join();
  if (crew_.failure()) std::rethrow_exception(crew_.failure());
  return sum();
}

// Workers come until nobody reads any more.
template <class Sink>
void ParallelStreams<Sink>::join() {
  crew_.wait();
  for (auto& w : workers_)
    if (w->thread.joinable()) w->thread.join();
}

template <class Sink>
std::unique_ptr<Sink> ParallelStreams<Sink>::sum() {
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
  return sum;
}

// Reads all of the input, by at most `jobs` threads (1 or more). `make`: as ParallelStreams wants
// it. Throws what read_trace() does, and what a sink did.
template <class Sink, class Make>
std::unique_ptr<Sink> read_streams(Input& input, TraceFacts& facts, Diagnostics& diagnostics,
                                   size_t jobs, Make make, const Progress& progress = {}) {
  if (jobs > 1) return ParallelStreams<Sink>(facts, diagnostics, jobs, make).read(input, progress);
  InFileOrder order(diagnostics);  // Compressed blocks are undone later than the next are read.
  std::unique_ptr<Sink> sink = make(facts);
  Streams<Sink> streams(facts, *sink, diagnostics);
  read_trace(input, diagnostics, streams, progress);
  streams.finish();
  return sink;
}

}  // namespace luatrace::analyze
