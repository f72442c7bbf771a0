// SPDX-License-Identifier: MIT
// Outputs: the trace files of a recording: one, or one per process (%p in its name). Invariants: a
// file is opened before anything runs, but emptied only when there is something to record, so that
// a mistyped command does not cost an older trace. A file that was created for nothing is removed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "recorder/backend/options.h"
#include "recorder/drain/output.h"
#include "recorder/drain/write_queue.h"
#include "trace/descriptor.h"
#include "trace/open_output.h"

namespace luatrace::record {

// Is it an empty file, a trace, or no regular file at all?
bool is_replaceable(int fd);

class Outputs {
 public:
  // The options must outlive this object.
  explicit Outputs(const Options& options) : options_(options) {}

  // Opens the file (with a file per process: that of this process), without changing it. False and
  // error() on failure.
  bool open(pid_t pid);
  const std::string& error() const { return error_; }
  // -o -: a copy of our standard output, to which the trace is written; otherwise -1.
  int trace_stdout() const { return trace_stdout_; }
  // Makes an output of the opened file (with a file per process: the command's), if that was not
  // done yet. Returns it, or null.
  std::shared_ptr<Output> begin();
  // Is it that one?
  bool is_commands(const Output& output) const { return &output == begun_; }
  // With a file per process: that of one more process. Null and the reason on failure. Process ids
  // are reused: the second file of the same name gets ".2" after it, and so on.
  std::shared_ptr<Output> add(pid_t pid, std::string& why);
  // Removes the file that was opened and is not needed.
  void remove_unused() const;

  // The clock of the files, LT_CLOCK_*; before the first begin().
  void set_clock(uint32_t clock) { clock_ = clock; }
  uint32_t clock() const { return clock_; }
  // Changes only while begin() or add() runs. The drainer owns its elements.
  std::vector<std::shared_ptr<Output>>& all() { return all_; }
  // Has any of them failed?
  bool failed() const { return failed_; }
  void set_failed() { failed_ = true; }

  WriteQueue& queue();
  bool queue_idle() const { return queue_ == nullptr || queue_->idle(); }
  bool disk_is_scarce() const { return queue_ != nullptr && queue_->disk_is_scarce(); }
  bool queue_was_full() const { return queue_ != nullptr && queue_->was_full(); }

 private:
  std::string note() const;
  std::string numbered(pid_t pid, uint32_t number);
  // A file without a name, of a program that records itself.
  bool is_temporary() const {
    return options_.inside && options_.output.starts_with("/proc/self/fd/");
  }
  // open_output(), for a trace of that process; name: gets the file's name.
  // number: of the snapshot, from 1. From any thread.
  OpenedOutput open_file(pid_t pid, uint32_t number, std::string& name);
  SelectionSettings selection(pid_t pid);
  std::shared_ptr<Output> make(OpenedOutput opened, const std::string& name, pid_t pid);

  const Options& options_;
  std::unique_ptr<WriteQueue> queue_;
  std::vector<std::shared_ptr<Output>> all_;
  uint32_t clock_ = default_clock();
  Descriptor opened_fd_;  // until begin()
  OpenedOutput opened_;   // the same, unless it is standard output
  std::string opened_name_, error_;
  const Output* begun_ = nullptr;
  pid_t opened_pid_ = 0;
  std::mutex names_mutex_;             // protects the next two
  std::map<std::string, int> names_;   // of several files: how often each was used
  std::map<pid_t, uint32_t> skipped_;  // of a process, 0: of all: numbers that files had already
  int trace_stdout_ = -1;
  bool failed_ = false;
};

}  // namespace luatrace::record
