// SPDX-License-Identifier: MIT
// The lives of the requests of one stream, and where their time went.
//
// No event looks at the requests that it does not concern: the stream's clock counts the time with
// an open call (busy) and without (idle) once, and a request remembers the clock at its beginning.
// So the time in which others held the worker is the busy time of its life without its own, and a
// wait is the idle time between two changes of what the request waits in.
//
// Invariants: the clock never runs backwards; a living request has its time up to its last activity
// in its sums, except that of the current wait, which is added when the wait changes or it ends.
#pragma once

#include <unordered_map>
#include <vector>

#include "analyzer/collect/request_rules.h"
#include "analyzer/collect/requests.h"
#include "analyzer/machine/coroutine.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

using RequestId = Id<struct RequestsOfStream>;
constexpr RequestId kNoRequest{0};

// What a request waits in.
struct RequestState {
  FunctionId function;  // kNoFunction: in nothing.
  FunctionId inner;     // See RequestWait.
  FunctionId phase;
  CoroutineId coroutine{};
};

using RequestStepsId = Id<struct StepsOfRequests>;

struct RequestLife {
  RequestSums sums;
  uint64_t address = 0;  // The host's, 0 for a call (--request-by).
  RequestClock last;     // When one of its coroutines ran last; in a gap, when it began.
  RequestState state;
  uint64_t since = 0;          // Idle time of the stream when it began to wait in `state`.
  uint32_t place = 0;          // In living_ or doubtful_.
  uint32_t open = 0;           // Number of its coroutines with open calls.
  uint32_t yielding = 0;       // Of those, suspended in coroutine.yield, and not the main one.
  RequestCoroutineId main;     // The coroutine of its latest phase, whose wait is the request's.
  RequestCoroutineId waiting;  // The first of its waiting coroutines, the latest one.
  Phase reached = Phase::kNone;
  FunctionId block;        // The latest main chunk in a coroutine of its own.
  RequestStepsId steps;    // In RequestStepLog.
  bool uncounted = false;  // It began to wait in `state` before the range.
  bool entered = false;    // A block ran in a coroutine of its own, ...
  bool answered = false;   // ... and then one without, which is of a later phase.
  bool restarts = false;   // The coroutine that has begun it again (ngx.exec) is gone.
  bool lives = true;
  bool doubtful = false;  // A gap began since: it lives if one of its coroutines is seen again.

  // A generator that nobody resumes any more does not keep a request open.
  bool is_open() const { return open > yielding; }
};

class RequestStepLog;
struct RequestTrail;

class RequestLedger {
 public:
  enum class Time { kBusy, kIdle, kUnknown };

  // What is outside of the range takes no time.
  void limit(const TickRange& range) { range_ = range; }
  const TickRange& range() const { return range_; }
  // Also records the steps of the request with this number.
  void watch(RequestId id, RequestTrail* trail) {
    watched_ = id;
    trail_ = trail;
  }
  bool watches(RequestId id) const { return id && id == watched_; }
  // Also records the steps of all requests that begin from now on.
  void record_steps(RequestStepLog* steps, StreamId stream) {
    steps_ = steps;
    stream_ = stream;
  }

  const RequestClock& now() const { return now_; }
  // Time passes; returns it in ns. What is missing since the last call is unknown.
  uint64_t pass(uint64_t from, uint64_t to, Time kind, const Clock& clock);
  void lost(uint64_t from, uint64_t to, const Clock& clock) {
    pass(from, to, Time::kUnknown, clock);
  }

  // A request begins at `since`.
  RequestId begin(uint64_t address, const RequestClock& since);
  bool lives(RequestId id) const { return id && lives_[id].lives; }
  // The living request with this address.
  RequestId find(uint64_t address) const;
  RequestLife& operator[](RequestId id) { return lives_[id]; }
  // Its coroutine ran for `ns`, which have passed just now.
  void ran(RequestId id, FunctionId phase, CoroutineId coroutine, uint64_t ns);
  // `ns` of what it ran were a call of the VM's own.
  void worked(RequestId id, VmWork work, uint64_t ns);
  // The thread did not run for the last `ns` that have passed.
  void off_cpu(uint64_t ns);
  // From now on it waits in this; begins: a coroutine has just begun to wait.
  void waits(RequestId id, RequestState state, bool begins);
  void end(RequestId id, const RequestClock& at, bool unfinished);

  // A gap begins.
  void doubt_all();
  // A coroutine that worked for it before the gap was seen again.
  void confirm(RequestId id);
  // The recording ends.
  void end_all();

  // Moves the requests that have ended. Their ids are used again: nothing may know them afterwards.
  void move_to(std::vector<RequestSums>& out, StreamId stream);

  // For readers that go on. Numbers the requests of several streams together.
  void number_by(uint32_t* last) { last_number_ = last; }
  // Requests that live, or have ended and were not moved.
  size_t size() const { return lives_.size() - 1 - free_.size(); }
  // Ends what did nothing since `before` (RequestClock::total) and may have ended: the requests
  // without an open call, and those in doubt.
  void end_quiet(uint64_t before);
  // Adds the requests with an open call, as if they ended at `at`; of more than `limit` those that
  // began first. Returns the number of all.
  size_t copy_open(std::vector<RequestSums>& out, StreamId stream, const RequestClock& at,
                   size_t limit) const;

 private:
  using List = std::vector<RequestId>;
  List& list_of(const RequestLife& life) { return life.doubtful ? doubtful_ : living_; }
  void add_to_list(RequestId id);
  void remove_from_list(RequestId id);
  void add_step(RequestId id, const RequestClock& at);
  static void settle_wait(RequestLife& life, uint64_t idle);

  TickRange range_;
  RequestClock now_;
  RequestId ran_last_;  // Has the time that has passed last.
  RequestId watched_;
  RequestTrail* trail_ = nullptr;
  RequestStepLog* steps_ = nullptr;
  StreamId stream_;
  uint32_t* last_number_ = nullptr;
  std::vector<RequestLife> lives_{1};
  List living_, doubtful_, ended_, free_;
  std::unordered_map<uint64_t, RequestId, RandomHash> by_address_;
};

}  // namespace luatrace::analyze
