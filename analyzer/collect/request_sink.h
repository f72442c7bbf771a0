// SPDX-License-Identifier: MIT
// The Sink of requests that are watched while they run: sums of those that ended in an interval,
// the first of them in some order, and those that are open.
//
// It has no call tree: what the machines take for a node is the function itself.
//
// Invariant: memory does not grow with the trace, but with its functions, its coroutines that live,
// and the requests that are open or did something in the last ten seconds (kQuietNs). What ended is
// added to the interval's sums when twice as many requests are known as after the last time, and
// then forgotten; so this takes as much time as the requests' events.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/collect/request_log.h"
#include "analyzer/collect/waits.h"
#include "analyzer/machine/streams.h"

namespace luatrace::analyze {

struct RequestTotals {
  Times walls;         // Of the requests that were seen from beginning to end.
  uint64_t count = 0;  // All of them but timers, and the sums of their ledgers.
  uint64_t timers = 0;
  uint64_t wall_ns = 0, running_ns = 0, wait_ns = 0, others_ns = 0, unattributed_ns = 0;

  void add(const RequestSums& request);
};

// The order in which rows are chosen: the greatest first.
using RequestRank = std::function<uint64_t(const RequestSums&)>;

struct RequestInterval {
  RequestTotals ended;
  std::vector<RequestSums> first;   // Of those that ended, in no order.
  uint64_t open = 0;                // Requests with an open call at the end of the interval, ...
  std::vector<RequestSums> oldest;  // ... and those that began first, in no order.
  uint64_t running_ns = 0, idle_ns = 0;  // Of all streams: time with and without an open call.

  // Adds a request that ended; `first` keeps up to `limit`.
  void add(RequestSums request, const RequestRank& rank, size_t limit);
};

// What a sink hears that says nothing about requests.
struct IgnoredEvents {
  void on_thread(ThreadId) {}
  void attached(Coroutine&, bool, uint64_t) {}
  void run_opened(Coroutine&, uint32_t, uint64_t) {}
  void run_closed(Coroutine&, uint32_t, uint64_t, uint64_t) {}
};

class RequestSink final : public CalledFunctions, public IgnoredEvents {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = true;
  // Requests without a sign of life for so long are taken for ended unless a call of theirs is
  // open: without a log block nginx does not say when a request ends.
  static constexpr uint64_t kQuietNs = 10'000'000'000;
  // Events come later than they happen, but not by so much.
  static constexpr uint64_t kLateNs = 500'000'000;
  using Machine = StackMachine<RequestSink>;

  // The references must stay valid. by: as for RequestLog. limit: number of `first`, those with the
  // greatest rank, and of `oldest`.
  RequestSink(const TraceFacts& facts, const SymbolFinder& symbols,
              const std::vector<std::string>& by, RequestRank rank, size_t limit)
      : facts_(facts), symbols_(symbols), log_(by, {}), rank_(std::move(rank)), limit_(limit) {}

  // What happened since the last call. now_ns: the present time on the trace's clock; a stream
  // without an open call is idle until then if its last event is old (kLateNs). 0: none is.
  RequestInterval take(uint64_t now_ns);
  // The sum of RequestStream::size().
  size_t size() const;

  FunctionId function_of(uint32_t node) const override { return FunctionId(node); }
  bool is_builtin(FunctionId function) const override {
    return facts_.functions.type(function) == LT_FUNC_FF;
  }
  FunctionName described(FunctionId function) const override {
    return describe(facts_.functions[function], symbols_);
  }

  // What the machines call; see machine/machine.h.
  uint32_t enter(uint32_t, FunctionId function) { return function; }
  uint32_t enter_base(uint32_t, FunctionId function) { return function; }
  uint32_t enter_again(uint32_t, uint32_t, FunctionId function) { return function; }
  void stream(StreamId number);
  void begins(uint64_t tick) { current_->requests->ledger().lost(tick, tick, facts_.clock); }
  uint32_t base(Coroutine& co, const Coroutine* by) {
    current_->requests->attached(co, by);
    return by ? by->frames[by->top].node : 0;
  }
  void request(const Coroutine& current, Coroutine& co, uint64_t request) {
    current_->requests->request(current, co, request);
  }
  void labeled(const Coroutine& current, Coroutine& co) {
    current_->requests->labeled(current, co);
  }
  void created(Coroutine& by, Coroutine& co, uint64_t) { current_->requests->created(by, co); }
  void yielded(Coroutine& co, const Coroutine* resumer) {
    current_->requests->yielded(co, resumer);
  }
  void suspended(Coroutine& co, uint64_t, uint64_t, bool resumed);
  void cuts(bool gap) { current_->requests->cuts(gap); }
  void gap(uint64_t from, uint64_t to) {
    current_->requests->ledger().lost(from, to, facts_.clock);
  }
  void gone(Coroutine& co, uint64_t, Gone how) { current_->requests->gone(co, how); }
  void opened(Coroutine& co, uint64_t, bool begins) { current_->requests->opened(co, begins); }
  void closed(Coroutine& co, uint64_t, uint64_t, bool) { current_->requests->closed(co, co.top); }
  void add_self_time(Machine& machine, uint64_t from, uint64_t to);
  bool takes_runs() const { return !log_.follows_calls(); }
  bool begin_run(Machine& machine, uint64_t) { return current_->machine = &machine, true; }
  void add_self_time(uint32_t, uint64_t) {}
  void end_run(uint64_t from, uint64_t to);

 private:
  struct Stream {
    RequestStream* requests = nullptr;
    Machine* machine = nullptr;  // Known once time has passed.
    size_t enough = 0;           // See RequestStream::size(): what has ended is to be taken.

    RequestClock clock(uint64_t now_ns) const;
  };
  void take_ended(StreamId number, Stream& stream, const RequestClock& now);

  const TraceFacts& facts_;
  const SymbolFinder& symbols_;
  RequestLog log_;
  const RequestRank rank_;
  const size_t limit_;
  uint32_t last_number_ = 0;
  std::map<StreamId, Stream> streams_;
  Stream* current_ = nullptr;
  RequestInterval interval_;
  uint64_t running_ns_ = 0, idle_ns_ = 0;  // Until the end of the previous interval.
  std::vector<RequestSums> ended_;         // Scratch memory of take_ended().
};

}  // namespace luatrace::analyze
