// SPDX-License-Identifier: MIT
// Anomalies: each is a named counter that every report shows, and (the first few) a message that
// names file, offset and reason.
//
// Invariant: nothing is repaired, skipped or guessed anywhere in the analyzer without a counter.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace luatrace::analyze {

// The trust line. docs/semantics.md says what each means. Those that make a report less than
// exact are summed by anomalies(); the others only inform.
struct Trust {
  uint64_t events = 0;
  uint64_t lost = 0;        // Events that the VM or the recorder had to drop.
  uint64_t unbalanced = 0;  // Ends without a beginning and the like, where none can be missing.
  uint64_t truncated = 0;   // Calls that ended unseen though nothing is missing.
  uint64_t bad_blocks = 0;  // Places of the file that could not be used.
  uint64_t bad_block_events = 0;  // Events in those of them whose header was readable.
  uint64_t missing_blocks = 0;    // Holes between the blocks of the streams.
  uint64_t bad_records = 0;       // Malformed descriptions and event words.
  uint64_t clock_anomalies = 0;   // Steps backwards.
  uint64_t undescribed = 0;       // Function ids without a description.
  uint64_t cut = 0;               // Files without an orderly end.
  // The following are no anomalies, or part of one that is counted above.
  uint64_t open_start = 0;  // Calls that were running when the recording began.
  uint64_t open_end = 0;    // Calls that were running when it ended.
  uint64_t open_gap = 0;    // Calls that were open when something was lost: cut there.
  uint64_t inferred = 0;    // Ends of calls whose beginning is hidden by a gap.
  uint64_t abandoned = 0;   // Calls of coroutines that were collected while suspended.
  uint64_t unwound = 0;     // Calls ended by an error.
  uint64_t unknown = 0;     // Blocks and records of kinds this version does not know.

  uint64_t anomalies() const {
    return lost + unbalanced + truncated + bad_blocks + missing_blocks + bad_records +
           clock_anomalies + undescribed + cut;
  }
  Trust& operator+=(const Trust& other);
};

// A file (or stream of bytes) that cannot be read at all: what() names it and the reason.
class Unreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Counters and messages of one input file.
class Diagnostics {
 public:
  static constexpr size_t kMaxMessages = 20;  // Per file; the rest is counted.
  using Printer = std::function<void(const std::string&)>;

  Diagnostics(std::string file, Printer printer)
      : file_(std::move(file)), printer_(std::move(printer)) {}

  // Says "FILE: offset N: reason" (sanitised): the first ones that are said or, where they are
  // kept, those of the lowest offsets.
  void say(uint64_t offset, const std::string& reason);
  // Tells how many messages were left out.
  void finish();

  // For threads that work on one file, each with diagnostics of its own: messages are kept, in
  // the end put into one (add()) and there printed in the order of the file (release()).
  void keep() { keeps_ = true; }
  void add(const Diagnostics& other);
  void release();

  const std::string& file() const { return file_; }
  Trust trust;

 private:
  struct Message {
    uint64_t offset;
    std::string reason;
  };
  void print(uint64_t offset, const std::string& reason) const;
  void keep(uint64_t offset, const std::string& reason);

  std::string file_;
  Printer printer_;
  uint64_t said_ = 0;
  bool keeps_ = false;
  std::vector<Message> kept_;  // At most kMaxMessages, in the order of the file.
};

// As long as it lives messages are kept; then they are printed in the order of the file, also if
// reading ended with an exception. For who reads ahead of what it works on.
class InFileOrder {
 public:
  explicit InFileOrder(Diagnostics& diagnostics) : diag_(diagnostics) { diag_.keep(); }
  ~InFileOrder() { diag_.release(); }
  InFileOrder(const InFileOrder&) = delete;
  InFileOrder& operator=(const InFileOrder&) = delete;

 private:
  Diagnostics& diag_;
};

}  // namespace luatrace::analyze
