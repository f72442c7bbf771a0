// SPDX-License-Identifier: MIT
// Session: one run of luatrace-record, from the start of the command to the last message.
// Invariants: this thread talks to processes and signals; the Drainer's thread alone touches rings
// and outputs, the WriteQueue's alone the files. Each step of this thread is bounded (the table in
// docs/recording.md), between two steps signals and -d are heard. At the end everything is detached
// first; then what is held is written, for kWriteLimit at most.
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

namespace luatrace::record {

class Session {
 public:
  explicit Session(Options options);
  ~Session();

  // Runs the command, or attaches, and records. Returns the exit status of luatrace-record.
  int run();

 private:
  // kStopping: told to detach. kWriting: nothing more is read, what is held is written.
  enum class Phase { kRecording, kStopping, kWriting, kFinished };
  // What the drainer's last job says to this thread.
  struct Ending {
    std::atomic<bool> done = false;
    bool complete = false;  // all of it is with the disk
  };

  int start();
  void make_backend();
  void make_command_backend();
  bool take_bpf_instead();
  int exit_status() const;

  void loop();
  void wait_for_events();
  void read_signals();
  void reap_children();
  void on_signal(int number, bool from_kernel);
  void request_stop(uint32_t reason);
  uint64_t begin_ns() const;
  bool time_is_up(uint64_t now) const;
  bool goes_on();
  bool is_broken();
  void run_timers();
  void poll_backend();
  bool all_ended() const;

  void finish();
  void say_writing(uint64_t now);
  void take_ending();
  int leave_at_once();
  int leave(int status);

  Options options_;
  std::unique_ptr<Signals> signals_heard_;  // until everything else has ended
  Outputs outputs_;
  Processes processes_;
  Attacher attacher_;
  std::unique_ptr<Backend> backend_;
  Phase phase_ = Phase::kRecording;
  uint32_t reason_ = LTQ_EXIT;
  uint64_t begin_ns_ = 0, stop_ns_ = 0;
  uint64_t clock_due_ns_ = 0, poll_due_ns_ = 0, outputs_due_ns_ = 0;
  int signals_ = 0, last_signal_ = 0;
  std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  std::atomic<bool> hurried_ = false;  // a second signal has come
  uint64_t writing_ns_ = 0;            // since when
  bool said_writing_ = false, said_broken_ = false;
};

}  // namespace luatrace::record
