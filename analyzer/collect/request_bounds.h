// SPDX-License-Identifier: MIT
// Where one request ends and the next one begins, if nothing says so: the host uses an address
// again, and no log block ran. docs/semantics.md ("Requests") is the contract.
//
// Most is decided by the order of nginx's phases. What remains is a block in a coroutine of its own
// that may be a later phase of the request or the first one of another. nginx goes on to the next
// phase at once, but has to send an answer and read from a connection before the next request, even
// if that one comes from another connection and has the same memory. So a pause decides, unless the
// block has mostly been seen to follow that other one without a pause. nginx
// pauses within a request, too, where it compiles a block that runs for the first time: two blocks
// in the order of the phases are of one request until the second one is known to begin some. Where
// log blocks have ended all requests with a block, no pause decides: nginx runs them for each
// request of that server.
//
// Invariant: only what a pause decides is kUnsure.
#pragma once

#include <unordered_map>
#include <vector>

#include "analyzer/collect/called_functions.h"
#include "analyzer/collect/request_coroutines.h"
#include "analyzer/collect/request_ledger.h"
#include "analyzer/collect/request_rules.h"
#include "base/grow_array.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

// Of one stream.
class RequestBounds {
 public:
  // nginx needs about 1 us from one phase to the next, and 5 us or more from the last phase of a
  // request to the first one of another, under load: it writes an answer, frees and allocates
  // memory, reads and parses a request.
  static constexpr uint64_t kPauseNs = 3'000;
  // The first time that a block follows another one, its code and data are in no cache.
  static constexpr uint64_t kFirstPauseNs = 10'000;
  enum class Verdict { kSame, kOther, kUnsureSame, kUnsureOther };

  // The references must stay valid.
  RequestBounds(const CalledFunctions& called, RequestRules& rules)
      : called_(called), rules_(rules) {}

  // Whether the outermost call of a coroutine, which begins, belongs to the request with its
  // address. waits_in: the function in which the request waits, or kNoFunction.
  Verdict of(const RequestCoroutine& e, RequestLife& life, FunctionId bottom, FunctionId waits_in);
  // The host is nginx: one of its blocks or timers was seen.
  void in_nginx() { in_nginx_ = true; }
  bool is_nginx() const { return in_nginx_; }
  // Whether the coroutine with this outermost call would be a timer in nginx: its creation was not
  // seen (it is older than the recording, or nginx uses it again), and no other one is in a call.
  bool is_timer(const RequestCoroutine& e, const RequestLife& life, FunctionId bottom);
  // Whether a request that ends without a log block is dropped while its main coroutine, if it is
  // this one, waits for what would resume it: its client is gone, since when no event shows.
  bool is_abandoned(const RequestCoroutine& e, const RequestLife& life) {
    return e.waiting && life.main == e.self && rules_.of(e.wait, called_).returns;
  }
  // A request begins with a call of this function, which is certain.
  void begins(FunctionId bottom) {
    Block& block = grown(blocks_, bottom);
    block.begins++;
    block.has_run = true;
  }
  // A request has reached its log block, or has certainly ended without one.
  void logged(const RequestLife& life) { note_end(life, &Block::logged); }
  void ended_without_log(const RequestLife& life) { note_end(life, &Block::unlogged); }

 private:
  struct Block {
    uint64_t begins = 0;  // Requests that certainly began with it.
    bool has_run = false;
    bool logged = false;    // It was in a request that a log block ended, ...
    bool unlogged = false;  // ... or that ended without one.
  };
  // A block after another one: how often without a pause and with one.
  struct Pair {
    uint64_t at_once = 0, late = 0;
  };
  // A trace may have any number of blocks; a real nginx has some dozens of pairs.
  static constexpr size_t kMaxPairs = 1 << 16;

  bool is_logged(FunctionId block) const {
    return block < blocks_.size() && blocks_[block].logged && !blocks_[block].unlogged;
  }
  void note_end(const RequestLife& life, bool Block::*how);
  Pair pair(FunctionId first, FunctionId second, bool late);
  Verdict by_pause(const RequestCoroutine& e, const RequestLife& life, FunctionId bottom,
                   Phase phase);

  const CalledFunctions& called_;
  RequestRules& rules_;
  std::vector<Block> blocks_;  // By function.
  std::unordered_map<uint64_t, Pair, RandomHash> pairs_;
  bool in_nginx_ = false;
};

}  // namespace luatrace::analyze
