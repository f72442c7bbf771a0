// SPDX-License-Identifier: MIT
// --turns: how long a Lua VM ran without returning to its host, and which requests that kept
// waiting. docs/semantics.md ("Turns") is the contract.
//
// Which requests live during a turn is known from an earlier pass over the trace: without a log
// phase a request's end shows only later. All is counted on the stream's busy clock (time with open
// calls), of which turns are consecutive intervals. So a turn delays each living request by its
// length, less what the request itself ran, and the turns cost each request exactly its others().
//
// Invariants: of the turns only the first ones in the selected order are kept, and sums by entry
// function; living_ has the lives that overlap with the current turn or a later one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/request_ledger.h"
#include "analyzer/collect/waits.h"

namespace luatrace::analyze {

// When the requests of a file lived, on the busy clocks of their streams; by stream and number.
struct BusyTime {
  uint64_t begin = 0, end = 0;
};
using RequestLives = std::unordered_map<StreamId, std::vector<BusyTime>, RandomHash>;

struct Turn {
  StreamId stream;
  uint64_t serial = 0;  // In its stream.
  RequestClock begin;
  uint64_t ns = 0;
  FunctionId entry;   // The outermost call of the coroutine that ran first.
  RequestId request;  // For which most of it ran, and in which phase; or none.
  FunctionId phase;
  uint64_t delayed = 0;                 // Number of requests that others held up meanwhile, ...
  uint64_t delayed_ns = 0;              // ... the sum of these times, and ...
  std::vector<RequestId> delayed_list;  // ... the first of the requests, by number.
  bool begun_before = false;            // It began before the recording, or in a gap.
  bool unfinished = false;              // Its end was not seen.
};

struct TurnSums : Times {
  uint64_t ns = 0, delayed_ns = 0;

  void add(const Turn& turn);
  TurnSums& operator+=(const TurnSums& other);
};

class TurnLog;

// The turns of one stream.
class TurnStream {
 public:
  TurnStream(StreamId stream, const RequestLives& lives, TurnLog& log);

  bool is_open() const { return open_; }
  void begin(const RequestClock& at, FunctionId entry, bool begun_before);
  // The outermost call of the coroutine with which the turn began, unless it had one then.
  void name_entry(FunctionId entry) {
    if (turn_.entry == kUnknownFunction) turn_.entry = entry;
  }
  // A scheduler written in Lua runs, which is the requests' host.
  void host_runs(const RequestClock& at) { stop(at, true); }
  // A call ran for `ns`, for this request if it is one.
  void ran(RequestId request, FunctionId phase, uint64_t ns);
  // No call of the coroutine, which is current, runs any more; one of its resumers may.
  void returns(const RequestClock& at, const Coroutine& from);
  // Control passes between coroutines within a C function of `from`, or back to it.
  void switched(const Coroutine& from, const Coroutine& to);
  void gone(CoroutineId coroutine);
  void cut(const RequestClock& at);

 private:
  // Calls of the host within calls of the host; a hostile trace could have any number.
  static constexpr size_t kMaxInterrupted = 64;
  static constexpr size_t kMaxListed = 32;
  struct Owner {
    RequestId request;
    FunctionId phase;
    uint64_t ns;
  };
  struct ByTime {
    std::vector<uint32_t> numbers;
    size_t next = 0;
  };

  Owner& owner(RequestId request, FunctionId phase);
  bool delays(const Owner& owner, const BusyTime& turn) const;
  void enter_lives(const BusyTime& turn);
  void leave_lives(const BusyTime& turn);
  void name_owner();
  void stop(const RequestClock& at, bool known);
  void end(const RequestClock& at);

  TurnLog& log_;
  const std::vector<BusyTime>& lives_;
  ByTime by_begin_, by_end_;
  std::set<uint32_t> living_;
  bool open_ = false;
  Turn turn_;
  uint64_t serial_ = 0;
  std::vector<Owner> owners_;             // Of the current turn.
  std::vector<uint32_t> places_;          // By request: its place in owners_, if that is its own.
  std::vector<CoroutineId> interrupted_;  // Their C functions run while others are current.
};

class TurnLog {
 public:
  enum class By { kWall, kStart, kDelayed };
  // The turns of all streams; the first `limit` (0: all) in this order. `lives` must stay valid.
  // What of them is in the range counts.
  TurnLog(const RequestLives& lives, By by, size_t limit, const TickRange& range)
      : lives_(lives), by_(by), limit_(limit), range_(range) {}

  TurnStream& stream(StreamId number);
  const TickRange& range() const { return range_; }
  void add(const Turn& turn);
  // Adds the turns of other streams.
  void add(const TurnLog& other);

  const std::vector<Turn>& kept() const { return kept_; }
  // By entry function.
  const std::unordered_map<FunctionId, TurnSums, RandomHash>& sums() const { return sums_; }

 private:
  uint64_t rank(const Turn& turn) const;
  void keep(const Turn& turn);

  const RequestLives& lives_;
  const By by_;
  const size_t limit_;
  const TickRange range_;
  std::unordered_map<StreamId, TurnStream, RandomHash> streams_;
  std::vector<Turn> kept_;  // A heap, see keep_largest().
  std::unordered_map<FunctionId, TurnSums, RandomHash> sums_;
};

// The order that `sort`, the value of --sort, means for turns; nullopt: none.
std::optional<TurnLog::By> find_turn_order(const std::string& sort);

}  // namespace luatrace::analyze
