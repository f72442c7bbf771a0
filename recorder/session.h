// SPDX-License-Identifier: MIT
// Session: one run of luatrace-record, from the start of the command to the last message.
// Invariants: this thread handles processes and signals; only the Drainer's thread touches rings
// and outputs, only the WriteQueue's the files. Each step of this thread is bounded (the table in
// docs/recording.md); between two steps signals and -d are checked. At the end everything is
// detached first; then the held data is written, for up to kWriteLimit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "recorder/attacher.h"
#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"
#include "recorder/os/signals.h"
#include "recorder/outputs.h"
#include "recorder/processes.h"
#include "recorder/status_line.h"
#include "recorder/watch_printer.h"

namespace luatrace::record {

class Session {
 public:
  explicit Session(Options options);
  ~Session();

  // Runs the command, or attaches, and records. Returns the exit status of luatrace-record.
  int run();

 private:
  // kStopping: everything is being detached. kWriting: nothing more is read, held data is written.
  enum class Phase { kRecording, kStopping, kWriting, kFinished };
  // The result of the drainer's last job for this thread.
  struct Ending {
    std::atomic<bool> done = false;
    bool complete = false;  // everything has been written
  };

  int start();
  void make_backend();
  void make_command_backend();
  void make_inside_backend();
  bool switch_to_bpf();
  int exit_status() const;

  void loop();
  void wait_for_events();
  void read_signals();
  void reap_children();
  void on_signal(int number, bool from_kernel);
  void request_stop(uint32_t reason);
  void snapshot(const std::string& why);
  void snapshot_to(const std::shared_ptr<Output>& output, SnapshotFile file);
  void write_snapshots();
  uint64_t begin_ns() const;
  bool time_is_up(uint64_t now) const;
  bool continues();
  bool is_broken();
  void run_timers();
  void print_watched();
  void poll_backend();
  bool all_ended() const;

  void finish();
  void warn_writing(uint64_t now);
  void take_ending();
  int leave_now();
  int leave(int status);

  Options options_;
  std::unique_ptr<Signals> signal_source_;  // until everything else has ended
  Outputs outputs_;
  Processes processes_;
  Attacher attacher_;
  StatusLine status_line_;
  WatchPrinter watch_printer_;
  std::unique_ptr<Backend> backend_;
  Phase phase_ = Phase::kRecording;
  uint32_t reason_ = LTQ_EXIT;
  uint64_t begin_ns_ = 0, stop_ns_ = 0;
  uint64_t clock_due_ns_ = 0, poll_due_ns_ = 0, outputs_due_ns_ = 0;
  int signals_ = 0, last_signal_ = 0;
  std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  std::atomic<bool> second_signal_ = false;  // a second signal has come
  uint64_t writing_ns_ = 0;                  // since when
  bool logged_writing_ = false, logged_broken_ = false;
};

}  // namespace luatrace::record
