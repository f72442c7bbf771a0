// SPDX-License-Identifier: MIT
// Anomalies: each is a named counter that every report shows, and a message (only the first few)
// with file, offset and reason.
//
// Invariant: nothing is repaired, skipped or guessed anywhere in the analyzer without a counter.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::analyze {

// The trust line; docs/semantics.md defines each counter. anomalies() sums those that make a report
// less than exact; the others only inform.
struct Trust {
  uint64_t events = 0;
  uint64_t lost = 0;              // Events that the VM or the recorder dropped.
  uint64_t lost_at_least = 0;     // Gaps in which more may have been lost than was counted.
  uint64_t unbalanced = 0;        // Ends without a beginning and the like that no gap explains.
  uint64_t truncated = 0;         // Calls whose end is missing although there is no gap.
  uint64_t bad_blocks = 0;        // Places in the file that were unusable.
  uint64_t bad_block_events = 0;  // Events in such blocks whose header was readable.
  uint64_t missing_blocks = 0;    // Gaps between the blocks of the streams.
  uint64_t bad_records = 0;       // Malformed descriptions and event words.
  uint64_t clock_anomalies = 0;   // Steps backwards.
  uint64_t undescribed = 0;       // Function ids without a description.
  uint64_t cut = 0;               // Files without a regular end.
  // The following are not anomalies, or are part of one that is counted above.
  uint64_t open_start = 0;  // Calls that were open when the recording began.
  uint64_t open_end = 0;    // Calls that were open when it ended.
  uint64_t open_gap = 0;    // Calls that were open when a gap began: cut there.
  uint64_t inferred = 0;    // Ends of calls whose beginning is hidden by a gap.
  uint64_t abandoned = 0;   // Calls of coroutines that were collected while suspended.
  uint64_t unwound = 0;     // Calls ended by an error.
  uint64_t unknown = 0;     // Blocks and records of unknown kinds.

  uint64_t anomalies() const {
    return lost + unbalanced + truncated + bad_blocks + missing_blocks + bad_records +
           clock_anomalies + undescribed + cut;
  }
  Trust& operator+=(const Trust& other);
};
// The counters with their names in JSON.
extern const std::array<std::pair<const char*, uint64_t Trust::*>, 19> kCounters;

// Thrown if a file (or other input) cannot be read at all: what() has its name and the reason.
class Unreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Counters and messages of one input file.
class Diagnostics {
 public:
  static constexpr size_t kMaxMessages = 20;  // Per file; further messages are only counted.
  using Printer = std::function<void(const std::string&)>;

  Diagnostics(std::string file, Printer printer)
      : file_(std::move(file)), printer_(std::move(printer)) {}

  // Logs "FILE: offset N: reason", escaped. Only the first kMaxMessages are printed or, after
  // keep(), those with the lowest offsets.
  void log(uint64_t offset, const std::string& reason);
  // Logs how many messages were left out.
  void finish();

  // For threads that work on one file with separate diagnostics: keep() stores messages, add()
  // merges those of another thread, release() prints them in file order.
  void keep() { keeps_ = true; }
  void add(const Diagnostics& other);
  void release();

  const std::string& file() const { return file_; }
  Trust trust;
  bool growing = false;  // The trace is still being written: it has no end yet.

 private:
  struct Message {
    uint64_t offset;
    std::string reason;
  };
  void print(uint64_t offset, const std::string& reason) const;
  void insert(uint64_t offset, const std::string& reason);

  std::string file_;
  Printer printer_;
  uint64_t logged_ = 0;
  bool keeps_ = false;
  std::vector<Message> kept_;  // Up to kMaxMessages, in file order.
};

// While this object exists, messages are kept; its destructor prints them in file order, also after
// an exception. For reading that runs ahead of processing.
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
