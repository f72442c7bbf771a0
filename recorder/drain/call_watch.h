// SPDX-License-Identifier: MIT
// CallFollower: follows the calls of some functions through the events of all streams, and knows
// when each of them began, how it ended and after which time. CallWatch: asks for a snapshot when
// one was slow or was left by an error (--slow, --on-error).
// Invariant: what is open is forgotten at a loss; up to kMaxOpen watched calls of a coroutine are
// followed, the outermost ones. Only the drainer's thread touches this.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/drain/flight.h"
#include "recorder/os/clock.h"
#include "trace/open_calls.h"

namespace luatrace::record {

struct WatchRule {
  // A glob on the function's name, on CHUNK:LINE of its definition, or, for a main chunk, on its
  // chunk as --include has it.
  std::string function;
  uint64_t limit_ns = UINT64_MAX;  // slower: a hit
  bool on_error = false;

  bool matches(const lt_func& f, const std::string& chunk, const std::string& name) const;
};

// For a message that no function has this name; empty, or ends with "; ". Most functions are known
// by the last part of what their definition has ("M.foo", "M:foo").
std::string name_advice(const std::string& name);

class CallFollower : public FlightObserver {
 public:
  static constexpr size_t kMaxOpen = 64;

  explicit CallFollower(std::vector<WatchRule> rules) : rules_(std::move(rules)) {}
  void functions(uint32_t stream, std::span<const std::byte> records) override;
  void events(const lt_block& head, std::span<const uint64_t> words) override;
  void ended(uint32_t stream) override { streams_.erase(stream); }
  // How often events were lost: calls that began or ended meanwhile are not known.
  uint64_t losses() const { return losses_; }
  // Rules whose function was not seen.
  std::vector<std::string> unmatched() const;

 protected:
  struct Call {
    uint32_t function;
    uint32_t rules;  // bits
    size_t depth;    // of its coroutine's stack with it
    uint64_t tick;
    bool reported;  // it began earlier
  };
  struct Stream {
    uint32_t number = 0;
    OpenCalls open;
    uint64_t tick = 0;
    std::unordered_map<uint32_t, uint32_t> watched;         // rules of a function's id, as bits
    std::unordered_map<uint32_t, std::vector<Call>> calls;  // by coroutine
  };
  // For the subclass: before a record is applied; after it. call_ended: between the two.
  virtual void before(Stream&, std::span<const uint64_t>, bool /*watched*/) {}
  virtual void after(Stream&, std::span<const uint64_t>, uint32_t /*coroutine before*/) {}
  virtual void call_ended(Stream& s, uint32_t coroutine, const Call& call, bool by_error) = 0;
  virtual void lost(Stream&) {}
  // Are calls that were open before the events began, or a loss, of interest?
  virtual bool takes_reports() const { return false; }

  const std::vector<WatchRule> rules_;
  std::unordered_map<uint32_t, Stream> streams_;

 private:
  void record(Stream& s, std::span<const uint64_t> r);
  void end_calls(Stream& s, uint32_t coroutine, size_t depth, bool by_error);
  void forget(Stream& s);

  uint32_t matched_ = 0;
  uint64_t losses_ = 0;
};

class CallWatch : public CallFollower {
 public:
  CallWatch(std::vector<WatchRule> rules, std::function<ClockRate()> rate)
      : CallFollower(std::move(rules)), rate_(std::move(rate)) {}

  // Has there been one since take()?
  bool hit() const { return hit_; }
  // What the first of them was, for a message.
  std::string take();

 private:
  void call_ended(Stream& s, uint32_t coroutine, const Call& call, bool by_error) override;
  bool takes_reports() const override { return true; }

  std::function<ClockRate()> rate_;
  bool hit_ = false;
  std::string text_;
};

}  // namespace luatrace::record
