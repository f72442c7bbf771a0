// SPDX-License-Identifier: MIT
// Output: one trace file with its numbering of processes and streams and its limits.
// Invariants: after creation only the drainer's thread touches it; what else wants to write posts a
// job to the drainer. Nothing here waits for the disk while events are recorded: see
// write_queue.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recorder/drain/write_queue.h"
#include "recorder/os/clock.h"
#include "trace/open_output.h"
#include "trace/trace_writer.h"

namespace luatrace::record {

struct OutputTotals {           // of all streams that are complete
  uint64_t lost = 0;            // events
  uint64_t lost_otherwise = 0;  // of these, not for want of room
  uint64_t gaps = 0;            // losses
  uint64_t lost_ticks = 0;      // sum of their time spans
  uint64_t lost_functions = 0;  // descriptions that found no space
  uint64_t damaged = 0;         // streams that had to be given up or in which words were skipped
  uint64_t unwritten = 0;       // events that were read, but could not be written in time
  uint64_t backwards = 0;       // steps back of the clock
  uint64_t streams = 0;
  uint64_t processes = 0;
};

class Output {
 public:
  // Takes the descriptor. The queue must live longer. max_size 0: no limit. compression: level of
  // zstd, 0: none. empty_it: a regular file is cut to nothing first.
  Output(WriteQueue& queue, int fd, std::string name, uint32_t clock, uint64_t max_size,
         int compression = 0, bool empty_it = true);

  TraceWriter& writer() { return *writer_; }
  uint32_t clock() const { return clock_; }

  // Has every stream of this output that clock? Before the first stream the file's clock is changed
  // if need be (and if the output is seekable; the blocks written so far are written again).
  bool accept_clock(uint32_t clock);

  // The first blocks: who recorded, and the clocks. Kept to be written again by accept_clock().
  void begin(std::string note);
  uint32_t next_process() { return static_cast<uint32_t>(++totals_.processes); }
  // The number of a new stream that somebody else announces; room for its last block is reserved.
  uint32_t next_stream();
  // Announces a stream and reserves room for its last block.
  uint32_t add_stream(const lt_stream_info& info);
  void write_clock();

  // Is there room for so many bytes more, without taking the room that is reserved? Once the answer
  // was no, it is no for ever, and full() says so.
  bool fits(uint64_t bytes);
  bool full() const { return full_; }
  // Can it take events now? If not they stay where they are, until the disk has caught up.
  bool ready() const { return !queue_.full(); }
  bool crowded() const { return queue_.crowded(); }
  // The recording has ended, now: from here on writing waits for the disk, until the queue's
  // deadline.
  void wait_for_room();
  // Nothing can be written any more.
  bool dead() const { return full_ || finished_ || !writer_->ok(); }
  // Says on standard error, once, that the recording ended early and why, if it did.
  void announce_early_end();

  OutputTotals& totals() { return totals_; }
  // There is no time left: events that are not yet with the disk are left out, and counted.
  void discard() { writer_->discard(); }
  // The last blocks, the final rate of the clock; closes the file. Afterwards nothing changes,
  // but the disk may still be at it.
  void finish(uint32_t reason, int exit_status);
  bool finished() const { return finished_; }
  // Removes the file, if its name still means it.
  void remove() const { remove_output(writer_->name(), opened_); }

  const lt_clock_info& start() const { return start_; }
  const lt_clock_info& end() const { return end_; }
  ClockRate rate_so_far() const;

 private:
  lt_file_header header() const;

  void count_discarded();

  WriteQueue& queue_;
  std::unique_ptr<TraceWriter> writer_;
  OpenedOutput opened_;  // which file it is
  uint32_t clock_;
  uint64_t max_size_;
  int compression_;
  uint64_t reserved_;
  bool full_ = false;
  bool finished_ = false;
  bool announced_ = false;
  std::string note_;
  lt_clock_info start_;
  lt_clock_info end_{};  // all 0 until it is known
  OutputTotals totals_;
};

}  // namespace luatrace::record
