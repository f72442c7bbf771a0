// SPDX-License-Identifier: MIT
// Output: one trace file with its numbering of processes and streams and its limits. Invariants:
// after creation only the drainer's thread touches it; other threads post a job to the drainer.
// Nothing here waits for the disk while events are recorded: see write_queue.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "recorder/drain/chunk_globs.h"
#include "recorder/drain/event_selection.h"
#include "recorder/drain/write_queue.h"
#include "recorder/os/clock.h"
#include "trace/open_output.h"
#include "trace/time_spans.h"
#include "trace/trace_writer.h"

namespace luatrace::record {

struct OutputTotals {           // of all streams that are complete
  uint64_t lost = 0;            // events
  uint64_t lost_otherwise = 0;  // of these, not to a full ring
  bool lost_at_least = false;   // there may have been more
  uint64_t gaps = 0;            // losses
  TimeSpans lost_time;          // while events of any stream were lost
  uint64_t lost_functions = 0;  // descriptions that did not fit
  uint64_t damaged = 0;         // streams that were given up or in which words were skipped
  uint64_t unwritten = 0;       // events that were read but not written in time
  uint64_t backwards = 0;       // steps back of the clock
  uint64_t unlisted = 0;        // processes not all of whose code is listed: too much
  uint64_t forgotten = 0;       // --sample: processes of which too much was known
  uint64_t segment_words = 0;   // segments, ...
  uint64_t segment_events = 0;  // ... and the events for which they stand
  uint64_t streams = 0;
  uint64_t processes = 0;
  UnmatchedGlobs
      unmatched;  // of --include: set at the beginning, it keeps what has matched nothing

  // A stream has ended, with those words.
  void add(const WordScanner& words, bool is_damaged);
};

struct RecordedTime {
  lt_clock_info start;
  lt_clock_info end{};  // all 0 until it is known
};

class Output {
 public:
  // Takes the opened file. The queue must outlive this object. max_size 0: no limit. compression:
  // level of zstd, 0: none. empty_it: a regular file is emptied first. segments: VMs may write
  // them.
  Output(WriteQueue& queue, OpenedOutput opened, std::string name, uint32_t clock,
         uint64_t max_size, int compression, bool empty_it, SelectionSettings selection = {},
         bool segments = false);

  // What comes from the rings; with a selection not what reaches the file.
  TraceWriter& writer() { return *writer_; }
  EventSelection& selection() { return selection_; }
  // --flight: asks for a snapshot; why empty: for what the flight recorder has seen.
  // file: for one that somebody waits for.
  void snapshot(const std::string& why, std::optional<SnapshotFile> file = std::nullopt);
  // Nothing more comes from that stream.
  void end_stream(uint32_t stream);
  uint32_t clock() const { return clock_; }

  // Do all streams of this output use that clock? Before the first stream the file's clock is
  // changed if necessary (if the output is seekable; the blocks written so far are written again).
  bool accept_clock(uint32_t clock);

  // The first blocks: the recorder, and the clocks. Kept, so that accept_clock() can write them
  // again.
  void begin(std::string note);
  uint32_t next_process() { return static_cast<uint32_t>(++totals_.processes); }
  // Announces a stream and reserves space for its last block.
  uint32_t add_stream(const lt_stream_info& info);
  // Descriptions of functions or (type LT_BLOCK_SEGMENTS) of compiled traces, valid and with their
  // count.
  void write_funcs(uint32_t stream, uint32_t count, std::span<const std::byte> records,
                   uint16_t type = LT_BLOCK_FUNCS);
  void write_clock();

  // Is there space for this many more bytes, apart from the reserved space: in the file, and on the
  // disk, if the queue watches that? After the first no the answer is always no, and the output is
  // dead().
  bool has_space(uint64_t bytes);
  // Can it take events now? If not they stay in the rings until the disk has caught up.
  bool ready() const { return selection_.flight() != nullptr || !queue_.full(); }
  bool crowded() const { return queue_.crowded(); }
  // The recording has just ended: from here on writing waits for the disk, until the queue's
  // deadline.
  void wait_for_space();
  // Something that may still write begins, or ends: a ring that is drained, a process attached
  // through BPF.
  size_t& users() { return users_; }
  // Is there no such thing any more, and has everything reached the disk (or failed)? Flushes.
  bool settled();
  // It ended before its processes did: full, or an error.
  bool cut_short() const { return full_ || !writer_->ok(); }
  // Nothing can be written any more.
  bool dead() const { return full_ || finished_ || !writer_->ok(); }
  // Prints on standard error, once, that the recording ended early and why, if it did.
  void announce_early_end();

  OutputTotals& totals() { return totals_; }
  // Time has run out: events that have not reached the disk are left out, and counted. Of a
  // finished output all have.
  void discard() {
    if (!finished_) writer_->discard();
  }
  // The last blocks, the final rate of the clock; closes the file. Afterwards nothing changes, but
  // the disk may still be writing.
  void finish(uint32_t reason, int exit_status);
  bool finished() const { return finished_; }
  // After finish(), if the disk did not take everything in time: logs that the end of the file is
  // missing, if it is, and counts the events that are not in it as lost.
  void give_up();
  // Removes the file, if its name still refers to it. False if it was not created for this trace:
  // then it stays.
  bool remove() const {
    remove_output(writer_->name(), opened_);
    return opened_.created;
  }

  const RecordedTime& time() const { return time_; }
  ClockRate rate_so_far() const;

 private:
  lt_file_header header() const;
  void count_missing(uint32_t stream, const Discarded& d);

  WriteQueue& queue_;
  EventSelection selection_;  // before writer_, which uses it
  std::unique_ptr<TraceWriter> writer_;
  OpenedOutput opened_;  // the opened file
  uint32_t clock_;
  uint64_t max_size_;
  int compression_;
  bool segments_, has_segments_ = false;  // may there be some; are there?
  uint64_t reserved_;
  size_t users_ = 0;
  bool full_ = false, disk_full_ = false;  // the second: because of the disk
  bool finished_ = false;
  bool reported_end_ = false;
  std::set<uint32_t> cut_streams_;  // whose last events are not in the file
  std::string note_;
  RecordedTime time_;
  double header_rate_ = 0;  // ns of 10^9 ticks, by write_clock()
  OutputTotals totals_;
};

}  // namespace luatrace::record
