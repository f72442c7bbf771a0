// SPDX-License-Identifier: MIT
// The streams of one trace file, processed by several threads: like Streams, but each stream
// belongs to one of several workers, each with its own Sink and diagnostics, which are added up at
// the end. An idle worker reads more of the file (machine/worker_pool.h).
//
// Invariant: the result depends neither on the number of workers nor on which worker has which
// stream: sums are integers, descriptions are chosen by stream (machine/functions.h), nodes are
// sorted when they are reported (report/canonical_order.h). The exception: when the call tree
// reaches its limit, which calls are left out depends on timing.
//
// Besides what StackMachine needs, a Sink has add(const Sink&).
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
#include "analyzer/read/blocks.h"
#include "analyzer/read/trace_reader.h"

namespace luatrace::analyze {

template <class Sink>
class ParallelStreams : private TraceSink {
 public:
  // Makes a worker's sink. The argument is what the worker knows of the file so far, without
  // functions, maps and notes (all workers add their functions to the facts given to
  // ParallelStreams). Called by one thread at a time.
  using Make = std::function<std::unique_ptr<Sink>(const TraceFacts&)>;

  // Uses up to `workers` threads (2 or more), including the caller's.
  ParallelStreams(TraceFacts& facts, Diagnostics& diagnostics, size_t workers, Make make)
      : facts_(facts),
        diag_(diagnostics),
        max_workers_(workers),
        make_(std::move(make)),
        decoder_(diagnostics, *this),
        pool_([this] { return reader_->step(); }) {}
  // Reads the whole input and returns the sum of all sinks. To be called once. Throws what
  // read_trace() and the sinks throw.
  std::unique_ptr<Sink> read(Input& input, const Progress& progress = {});

 private:
  void on_header(const Clock& clock, const lt_file_header& header) override {
    facts_.clock = clock;
    header_ = header;
  }
  void on_process(const ProcessInfo& info) override {
    facts_.processes[info.number] = info;
    for (auto& w : workers_) pool_.put(w->queue, info);
  }
  void on_stream(const StreamInfo& info) override {
    facts_.streams[info.number] = info;
    recordings_.try_emplace(VmRecording::of(info), info.number);
    const auto before = recordings_.find(VmRecording::of(info).before());
    if (before != recordings_.end() && by_stream_.contains(before->second))
      by_stream_.try_emplace(info.number, by_stream_[before->second]);
    pool_.put(worker(info.number).queue, info);
  }
  void on_function(const FunctionInfo& info) override {
    pool_.put(worker(info.stream).queue, info);
  }
  void on_segment(const SegmentInfo& info) override { pool_.put(worker(info.stream).queue, info); }
  void on_map(const MapInfo& info) override { facts_.maps.add(info); }
  void on_note(const std::string& text) override { facts_.notes += text; }
  void on_samples(const SampleBlock& block) override {
    diag_.trust.bad_records++;
    diag_.log(block.offset, "samples in a trace of events: left out");
  }
  void on_end(const EndInfo& info) override { facts_.end = info; }
  void on_events(const EventBlock& block) override {
    Worker& w = worker(block.stream);
    w.words += block.words.size();
    pool_.put(w.queue, block);
  }

  bool takes_packed() const override { return true; }
  // A worker that has enough to do gets blocks decompressed by the reader, which has time for that.
  // So one stream uses two threads, and two streams use no more than that.
  void on_packed(const Block& block) override {
    const StreamId stream(block.header.stream);
    if (stream == kNoStream) return decoder_.decode(block);  // Logs the error.
    Worker& w = worker(stream);
    if (pool_.has_plenty(w.queue)) return decoder_.decode(block);
    w.words += block.header.raw_size / sizeof(uint64_t);
    pool_.put(w.queue, block);
  }

  struct Worker {
    Worker(ParallelStreams& all, WorkerPool::WorkQueue& place)
        : queue(place),
          sink(all.make_(facts)),
          diag(all.diag_.file(), [](const std::string&) {}),
          streams(facts, all.facts_.functions, *sink, diag),
          decoder(diag, streams) {
      diag.keep();
      facts.processes = all.facts_.processes;
      facts.weights = all.facts_.weights;
      streams.on_header(all.facts_.clock, all.header_);
    }

    WorkerPool::WorkQueue& queue;
    TraceFacts facts;  // Of this worker's streams.
    std::unique_ptr<Sink> sink;
    Diagnostics diag;
    Streams<Sink> streams;
    BlockDecoder decoder;
    std::thread thread;  // Not joinable: the caller's.
    uint64_t words = 0;  // Ever put into its queue.
    uint64_t owned = 0;  // Number of streams.
  };

  Worker& worker(StreamId stream);
  bool add_worker();
  void work(WorkerPool::WorkQueue& queue, Worker* const& worker);
  void handle(Worker& worker, const WorkerPool::Item& item);
  void join();
  std::unique_ptr<Sink> sum();

  TraceFacts& facts_;
  Diagnostics& diag_;
  const size_t max_workers_;
  const Make make_;
  lt_file_header header_{};
  TraceReader* reader_ = nullptr;
  BlockDecoder decoder_;  // For the reading thread.
  WorkerPool pool_;
  WorkerPool::WorkQueue& caller_queue_ = pool_.add_queue();  // Of the caller's thread.
  Worker* caller_worker_ = nullptr;  // While it is null, the caller's thread only reads.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::map<StreamId, Worker*> by_stream_;
  std::map<VmRecording, StreamId>
      recordings_;  // All of a Lua VM have the same worker, see Streams.
};

// Assigns a new stream to a new worker or, once there are enough, to the one that was given the
// least work; as long as none has any (all streams are often described before the first events), to
// the one with the fewest streams.
template <class Sink>
typename ParallelStreams<Sink>::Worker& ParallelStreams<Sink>::worker(StreamId stream) {
  Worker*& mine = by_stream_[stream];
  if (mine) return *mine;
  auto less = [](const auto& a, const auto& b) {
    return std::tie(a->words, a->owned) < std::tie(b->words, b->owned);
  };
  if (workers_.size() < max_workers_ && add_worker())
    mine = workers_.back().get();
  else
    mine = std::min_element(workers_.begin(), workers_.end(), less)->get();
  mine->owned++;
  return *mine;
}

// Adds a worker with its own thread; the last one, or if no thread can be started, uses the
// caller's. False if the caller's thread has a worker already.
template <class Sink>
bool ParallelStreams<Sink>::add_worker() {
  if (workers_.size() + 1 < max_workers_) {
    auto fresh = std::make_unique<Worker>(*this, pool_.add_queue());
    workers_.reserve(max_workers_);  // So that nothing throws after the thread has started.
    try {
      fresh->thread = std::thread([this, w = fresh.get()] { work(w->queue, w); });
      workers_.push_back(std::move(fresh));
      return true;
    } catch (const std::system_error&) {
    }
  }
  if (caller_worker_) return false;
  caller_worker_ = workers_.emplace_back(std::make_unique<Worker>(*this, caller_queue_)).get();
  return true;
}

// Processes all items of a queue; the reader sets `worker` before it puts the first one.
template <class Sink>
void ParallelStreams<Sink>::work(WorkerPool::WorkQueue& queue, Worker* const& worker) {
  try {
    std::deque<WorkerPool::Item> items;
    while (pool_.take(queue, items)) {
      for (; !items.empty(); items.pop_front()) handle(*worker, items.front());
    }
    if (!pool_.failed() && worker) worker->streams.finish();
  } catch (...) {
    pool_.fail(std::current_exception());
  }
}

template <class Sink>
void ParallelStreams<Sink>::handle(Worker& worker, const WorkerPool::Item& item) {
  if (auto* block = std::get_if<EventBlock>(&item)) {
    worker.streams.on_events(*block);
    pool_.done(worker.queue);
  } else if (auto* packed = std::get_if<Block>(&item)) {
    worker.decoder.decode(*packed);
    pool_.done(worker.queue);
  } else if (auto* function = std::get_if<FunctionInfo>(&item)) {
    worker.streams.on_function(*function);
  } else if (auto* segment = std::get_if<SegmentInfo>(&item)) {
    worker.streams.on_segment(*segment);
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
  work(caller_queue_, caller_worker_);
  join();
  if (pool_.failure()) std::rethrow_exception(pool_.failure());
  return sum();
}

// Waits until no thread reads, since reading can add workers, then joins the threads.
template <class Sink>
void ParallelStreams<Sink>::join() {
  pool_.wait();
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
    w.streams.forget_joined(facts_);
    facts_.sums.insert(facts_.sums.end(), w.facts.sums.begin(), w.facts.sums.end());
  }
  auto by_number = [](const StreamSums& a, const StreamSums& b) { return a.stream < b.stream; };
  std::sort(facts_.sums.begin(), facts_.sums.end(), by_number);
  if (facts_.end) diag_.trust.lost = std::max(diag_.trust.lost, facts_.end->lost);
  return sum;
}

// Reads the whole input with up to `jobs` threads (1 or more). `make`: see ParallelStreams::Make.
// Throws what read_trace() and the sinks throw.
template <class Sink, class Make>
std::unique_ptr<Sink> read_streams(Input& input, TraceFacts& facts, Diagnostics& diagnostics,
                                   size_t jobs, Make make, const Progress& progress = {}) {
  if (jobs > 1) return ParallelStreams<Sink>(facts, diagnostics, jobs, make).read(input, progress);
  InFileOrder order(diagnostics);  // Blocks are decompressed after later ones are read.
  std::unique_ptr<Sink> sink = make(facts);
  Streams<Sink> streams(facts, *sink, diagnostics);
  read_trace(input, diagnostics, streams, progress);
  streams.finish();
  return sink;
}

}  // namespace luatrace::analyze
