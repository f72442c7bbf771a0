// SPDX-License-Identifier: MIT
// OpenCalls: which calls are open in each coroutine of a stream, and what the program said of it
// (request, labels, sections), after the event words that this has seen; and the words that report
// them to a reader who has not. With it a trace may begin anywhere. Invariants: what is not known
// (after a loss, or beyond the limits below) is never reported, so a reader takes it for unknown;
// whatever the words are, memory is bounded by kMaxCalls, kMaxCoroutines and kMaxMarks. The meaning
// of each record is that of docs/semantics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "luatrace_format.h"
#include "trace/marks.h"

namespace luatrace {

class OpenCalls {
 public:
  static constexpr size_t kMaxCalls = 4u << 20, kMaxCoroutines = 1u << 18;
  static constexpr size_t kMaxMarks = 4u << 20;  // words

  struct Coroutine {
    std::vector<uint32_t> calls;  // ids of functions, outermost first
    uint64_t request = 0;         // + 1; 0: not known
    Marks marks;
    uint64_t more = 0;     // frames that a report of its stack still lacks
    uint32_t resumer = 0;  // 0: none, or not known
    bool known = false;    // these are all
    bool yielded = false;
  };

  // Takes whole records; stops at a word that is 0 or belongs to a record that is cut.
  void apply(std::span<const uint64_t> words);
  // One whole record.
  void record(std::span<const uint64_t> r);
  // Something is missing between the words so far and the next ones.
  void forget();

  uint32_t current() const { return current_; }
  const Coroutine& here() { return co(); }
  uint32_t thread() const { return tid_; }  // 0: not known
  // Null: it was not seen, or is gone.
  const Coroutine* find(uint32_t id) const;
  // Words after which a reader knows what this object knows, as events at that clock: the beginning
  // of a stream.
  std::vector<uint64_t> report(uint64_t tick, uint32_t recording, uint32_t flags) const;
  // The part of it that reports that coroutine, which becomes the current one.
  static void report_stack(std::vector<uint64_t>& out, uint64_t tick, uint32_t id,
                           const Coroutine& co);
  static void report_resume(std::vector<uint64_t>& out, uint64_t tick, uint32_t id);
  // The ids of all functions with an open call.
  void add_functions(std::vector<uint32_t>& ids) const;

 private:
  Coroutine& co();
  void set_current(uint32_t id);
  void erase(uint32_t id);
  void pop(Coroutine& c, size_t n);
  void clear(Coroutine& c) { pop(c, c.calls.size()); }
  void suspend(uint32_t status);
  void extension(std::span<const uint64_t> r, uint32_t payload);
  void unwind(uint32_t n, bool to_depth);
  void create(uint32_t id);
  void say(uint32_t id, uint32_t sub, std::span<const uint64_t> r);
  void count_marks(Coroutine& c, size_t before);
  std::vector<uint32_t> running() const;

  std::unordered_map<uint32_t, Coroutine> all_;
  Coroutine* here_ = nullptr;  // of current_; null: not looked up yet
  uint32_t current_ = 0;       // 0: not known
  uint32_t tid_ = 0;
  size_t calls_ = 0;   // open, of all
  size_t marks_ = 0;   // words, of all
  bool lost_ = false;  // coroutines that are not in all_ are not known
};

}  // namespace luatrace
