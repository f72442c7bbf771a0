// SPDX-License-Identifier: MIT
// FlightRecorder (--flight): the window of an output's newest events, and the snapshots of it: one
// when somebody asks, when a watched call was slow or failed, and at the end.
//
// Invariants: one snapshot is written at a time, a part between two passes of the drainer, and only
// as fast as the queue takes it. It has the window as it was at the request; one more request is
// kept meanwhile, with its window: memory is up to three windows and the queue. No file of this
// recorder is overwritten by another. Automatic snapshots are limited (kPauseNs, kMaxAutomatic).
// Only the drainer's thread touches this, except for busy(). After an error the next request is
// tried again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recorder/drain/call_watch.h"
#include "recorder/drain/flight.h"
#include "recorder/drain/write_queue.h"
#include "recorder/os/clock.h"
#include "trace/open_output.h"

namespace luatrace::record {

// The file for one snapshot that somebody waits for.
struct SnapshotFile {
  OpenedOutput opened;
  std::string name;  // for messages; empty: nothing is opened, the recorder names the file
  // Called once: with why the snapshot is not complete in the file, or empty.
  std::function<void(const std::string& why)> done;
};

// Opens a file for the snapshot of that number; name: gets its name.
using OpenSnapshot = std::function<OpenedOutput(uint32_t number, std::string& name)>;

struct FlightSettings {
  uint64_t bytes = 0;  // of events; 0: no flight recorder
  uint64_t ns = 0;     // only those of the last time; 0: any
  std::vector<WatchRule> rules;
  uint64_t max_size = 0;  // of all snapshots together, 0: no limit
  int compression = 0;
  bool one_file = false;  // there is no name for a second one: only for that at the end
  bool quiet = false;
};

class FlightRecorder {
 public:
  static constexpr uint64_t kPauseNs = kSecond;  // between automatic snapshots
  static constexpr uint32_t kMaxAutomatic = 100;

  // first: the file of the first snapshot, open already.
  FlightRecorder(WriteQueue& queue, FlightSettings settings, OpenedOutput first, std::string name,
                 OpenSnapshot open, std::function<ClockRate()> rate);
  ~FlightRecorder();

  // Once: for the output's writer.
  std::unique_ptr<BlockSink> sink();
  Flight& flight() { return *flight_; }

  // Is there a reason for a snapshot: a watched call?
  bool wanted() const { return watch_ && watch_->hit(); }
  // Begins a snapshot, or keeps the request. header: of a trace that begins at `start`. why empty:
  // for what wanted() has seen.
  void request(const std::string& why, const lt_file_header& header, const lt_clock_info& now);
  // The same, to that file. An opened one is written whatever the limits are.
  void request(const std::string& why, const lt_file_header& header, const lt_clock_info& now,
               SnapshotFile file);
  // Writes a part, if there is something to write; to be called every few milliseconds while
  // busy() (from any thread).
  void step();
  bool busy() const { return busy_; }
  // The last snapshot. Waits for the disk, as far as the queue does.
  void finish(uint32_t reason, int status, const lt_file_header& header, const lt_clock_info& now);
  // After finish() and the time for writing: says what has become of the last snapshot.
  void settle();
  bool failed() const { return failed_; }
  const std::vector<std::string>& files() const { return files_; }
  // At the end: what else a user should know.
  std::vector<std::string> remarks() const;

 private:
  struct Request {
    std::string why;
    lt_file_header header;
    lt_clock_info now;
    Snapshot window;
    std::optional<SnapshotFile> file = {};
  };
  bool is_allowed(const std::string& why, bool automatic);
  void take(Request r);
  bool begin(Request r);
  OpenedOutput open(std::string& name);
  void end_writing();
  void complete();
  void conclude();
  void fail(const std::string& why);

  WriteQueue& queue_;
  const FlightSettings settings_;
  OpenedOutput first_;
  std::string first_name_;
  OpenSnapshot open_;
  std::unique_ptr<CallWatch> watch_;
  std::unique_ptr<Flight> made_;  // until sink()
  Flight* flight_;
  std::unique_ptr<TraceWriter> out_;  // of the snapshot that is being written, or of the last one
  Request writing_{};
  bool writes_ = false;  // there is more of it
  std::optional<Request> kept_;
  lt_end_info end_{};
  std::string done_;      // the message about out_, once it is written
  uint64_t dropped_ = 0;  // events of it that were not written for lack of time
  std::vector<std::string> files_;
  uint64_t written_ = 0;       // bytes of complete snapshots
  uint64_t automatic_ns_ = 0;  // when the last automatic one began
  uint32_t number_ = 0, automatic_ = 0;
  uint64_t left_out_ = 0;
  bool full_ = false, failed_ = false;
  std::atomic<bool> busy_ = false;
};

}  // namespace luatrace::record
