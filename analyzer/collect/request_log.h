// SPDX-License-Identifier: MIT
// --requests: which coroutine works for which request, and when requests begin and end.
// docs/semantics.md ("Requests") is the contract.
//
// A request is an address of the host's (LTX_REQUEST), which it uses again for later requests, or
// (--request-by) a call of a function, or a coroutine that the host resumes. One life at such an
// address is one request. A coroutine that a running call resumed works for the request of that
// call; any other one for its own.
//
// Invariant: an entry's life and the counters and lists of that life agree: change them by
// work_for(), set_open() (request_log.cc) and RequestCoroutines::wait() and wake() only.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/collect/called_functions.h"
#include "analyzer/collect/request_bounds.h"
#include "analyzer/collect/request_coroutines.h"
#include "analyzer/collect/request_ledger.h"
#include "analyzer/collect/turns.h"
#include "analyzer/filter/pattern.h"
#include "analyzer/machine/machine.h"

namespace luatrace::analyze {

// Of one stream.
class RequestStream {
 public:
  // The references must stay valid.
  RequestStream(const CalledFunctions& called, RequestRules& rules)
      : called_(called), rules_(rules), entries_(called), bounds_(called, rules) {}

  // What the stack machine reports, see FilteredProfile.
  // The coroutine works for this request; is_label: because a label says so.
  void request(const Coroutine& current, Coroutine& co, uint64_t address, bool is_label = false);
  void labeled(const Coroutine& current, Coroutine& co);
  void created(const Coroutine& by, Coroutine& co);
  void attached(Coroutine& co, const Coroutine* by);
  // Returns the request that the call works for, if it is known.
  RequestId opened(Coroutine& co, bool begins);
  void closed(Coroutine& co, uint32_t depth);
  void yielded(Coroutine& co, const Coroutine* resumer);
  void resumed(Coroutine& co);
  void gone(Coroutine& co, Gone how);
  void cuts(bool gap);
  // Returns the request that has the time, if one has.
  RequestId ran(Coroutine& co, uint64_t from, uint64_t to, const Clock& clock);
  // The same if calls were open all the time.
  RequestId ran_calls(Coroutine& co, uint64_t from, uint64_t to, const Clock& clock);
  // What calls of this function are.
  VmWork vm_work(FunctionId function) { return rules_.work(function, called_); }
  // Calls of the VM's own ended in the coroutine, whose time has passed.
  void worked(const Coroutine& co, VmWork work, uint64_t ns);
  // A call of the coroutine runs now; reported: in a stack report.
  void begin_turn(const Coroutine& co, bool reported);

  // For which request what runs in the coroutine now works, and from the call at which depth on:
  // calls further out are in none (--request-by).
  struct Work {
    RequestId request;
    uint32_t from = 1;
  };
  Work work_of(const Coroutine& co);
  // Of a call that is open when the recording ends, which has ended its request, too.
  RequestId request_at_end(const Coroutine& co);

  RequestLedger& ledger() { return ledger_; }
  // Moves the requests that have ended, for a reader that goes on: their memory is used again.
  void take_ended(std::vector<RequestSums>& out, StreamId number);
  // The cost of take_ended(), in coroutines and requests.
  size_t size() const { return entries_.size() + ledger_.size(); }
  TurnStream* turns = nullptr;  // Those of the stream, if they are collected.

 private:
  using EntryId = RequestCoroutineId;
  using Entry = RequestCoroutine;
  // Who has the time of a coroutine.
  struct Owner {
    RequestId life;
    FunctionId phase;
  };

  // How an open call is known: its beginning was seen, the VM reported it, or it was open before.
  enum class Seen { kBegins, kReported, kOpen };

  Owner owner(const Entry& e) const;
  void work_for(Entry& e, RequestId life);
  void resolve(Entry& e);
  void find_bounds(Entry& e, FunctionId bottom);
  bool is_host(const Coroutine& co);
  void outermost(Entry& e, FunctionId bottom, Seen seen);
  void outermost_opened(Entry& e, FunctionId bottom, bool begins);
  void call_opened(Coroutine& co, bool begins);
  void resumed_by_host(Coroutine& co);
  RequestState state_of(const RequestLife& life, EntryId& from);

  const CalledFunctions& called_;
  RequestRules& rules_;
  RequestLedger ledger_;
  RequestCoroutines entries_;
  RequestBounds bounds_;
  std::unordered_set<CoroutineId, RandomHash> hosts_;  // See yielded(). They live.
  // By coroutine: for which request it worked when a gap began.
  std::unordered_map<CoroutineId, RequestId, RandomHash> before_gap_;
};

class RequestLog {
 public:
  // A request of a file, as an earlier pass over the file found it.
  struct Wanted {
    StreamId stream;
    RequestId number;
  };
  // by: functions whose calls are requests; none: requests are the host's. wanted: the request
  // whose steps and calls are collected, too; its number is 0 for none.
  RequestLog(const std::vector<std::string>& by, const Wanted& wanted);
  // Also keeps up to `limit` steps, of the slowest requests. Before any stream().
  void keep_steps(size_t limit);
  // Also collects the turns; the arguments are those of TurnLog.
  void collect_turns(const RequestLives& lives, TurnLog::By order, size_t limit) {
    turns_.emplace(lives, order, limit, range_);
  }

  // The range of time that the requests are shown of. Before any stream().
  void limit(const TickRange& range) { range_ = range; }
  const TickRange& range() const { return range_; }
  // Whether it must see each call.
  bool follows_calls() const { return rules_.by_call() || wanted_.number; }
  RequestStream& stream(StreamId number, const CalledFunctions& called);
  bool wants(const RequestSums& r) const {
    return wanted_.number && r.number == wanted_.number && r.stream == wanted_.stream;
  }
  // The steps and calls of the wanted request; null if none is wanted.
  RequestTrail* trail() const { return trail_.get(); }
  // The steps that are kept; null if they are not wanted.
  RequestStepLog* steps() const { return steps_.get(); }
  const TurnLog* turns() const { return turns_ ? &*turns_ : nullptr; }
  // See RequestRules::forget().
  void forget_rules() { rules_.forget(); }
  // Adds the requests of other streams, of the same range.
  void add(const RequestLog& other);
  // All has been read.
  void finish(const Clock& clock);
  // The requests in the order in which they began, also those outside of the range. Valid after
  // finish().
  std::vector<const RequestSums*> requests() const;

 private:
  RequestRules rules_;
  const Wanted wanted_;
  TickRange range_;
  std::shared_ptr<RequestTrail> trail_;
  std::shared_ptr<RequestStepLog> steps_;
  std::optional<TurnLog> turns_;
  std::unordered_map<StreamId, RequestStream, RandomHash> streams_;
  std::vector<RequestSums> requests_;
};

}  // namespace luatrace::analyze
