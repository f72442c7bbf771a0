// SPDX-License-Identifier: MIT
// Session: one run of luatrace-record, from the start of the command to the last message.
// Invariants: this thread talks to processes and signals; the Drainer's thread alone touches rings
// and outputs, the WriteQueue's alone the files. Each step of this thread is bounded (the table in
// docs/recording.md), between two steps signals and -d are heard. At the end everything is detached
// first; then what is held is written, for kWriteLimit at most.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "recorder/backend.h"
#include "recorder/births.h"
#include "recorder/clock.h"
#include "recorder/diagnose.h"
#include "recorder/drainer.h"
#include "recorder/listener.h"
#include "recorder/maps.h"
#include "recorder/options.h"
#include "recorder/output.h"
#include "recorder/process.h"
#include "recorder/signals.h"
#include "recorder/write_queue.h"
#include "trace/open_output.h"

namespace luatrace {

class Session : private BackendHost {
 public:
  explicit Session(Options options);
  ~Session() override;

  // Runs the command, or attaches, and records. Returns the exit status of luatrace-record.
  int run();

 private:
  // One image of one process: an exec makes a new one.
  struct Traced {
    uint64_t key;  // names it to the drainer
    pid_t pid;
    int pidfd;
    uint32_t number;  // in its output
    std::string image;
    lt_process_info info;
    std::string exe, title;  // as they are in the file
    int titles;              // how often the title was written since
    std::shared_ptr<Output> output;
    MapsWatcher maps;
    uint64_t maps_due_ns, maps_pause_ns;
    std::shared_ptr<std::atomic<bool>> maps_wanted;
    bool gone;
  };
  // A process that was asked for (-p), or a descendant of one.
  struct Watched {
    pid_t pid;
    int pidfd;
    bool asked;  // by -p
    bool attached;
    bool gone;
    bool full = false;  // its file takes nothing more: it is not attached to again
    std::string exe;    // what it was when it was attached to
    uint64_t retry_ns, pause_ns;
  };
  // Who says hello, by the socket or by being found.
  struct Newcomer {
    pid_t pid, ns_pid;
    uid_t uid;
    int socket;  // connected to it, or -1
  };
  // kStopping: told to detach. kWriting: nothing more is read, what is held is written.
  enum class Phase { kRecording, kStopping, kWriting, kFinished };
  // What the drainer's last job says to this thread.
  struct Ending {
    std::atomic<bool> done = false;
    bool complete = false;  // all of it is with the disk
  };

  // Starting (session.cc).
  bool open_output(pid_t pid);
  void remove_opened() const;
  int start();
  WriteQueue& queue();
  void begin_outputs();
  std::string note() const;
  std::vector<std::pair<std::string, std::string>> environment() const;

  // The loop.
  void loop();
  void wait_for_events();
  void read_signals();
  void reap_children();
  void say_orphans(uint64_t now);
  void on_signal(int number, bool from_kernel);
  void request_stop(uint32_t reason);
  void run_timers();
  bool time_is_up(uint64_t now) const;
  bool goes_on();
  bool all_ended() const;
  void finish();
  void say_writing(uint64_t now);
  void take_ending();
  int leave_at_once();
  int leave(int status);

  // Attaching (session_attach.cc).
  int start_attached();
  std::string open_backend();
  bool take_bpf_instead();
  std::vector<pid_t> asked_for() const;
  int attach_pause() const;
  Attached attach_steadily(pid_t pid);
  bool attach_to(Watched& w);
  void watch(pid_t pid, bool asked);
  void tend();
  void follow_children();
  void check_watched(uint64_t now);

  // Births during the recording (session_births.cc).
  void follow_births(bool last = false);
  void take_births();
  void meet(pid_t pid);
  void meet_stranger(pid_t pid);
  void say_births();

  bool all_watched_gone() const;
  void check_outputs();
  void end_process(pid_t pid);
  void say_attached_end();
  void say_waiting(uint64_t now);
  void say_none_attached();
  void drop_unused_file() const;
  Drainer& drainer() override { return *drainer_; }
  std::shared_ptr<Output> output_of(pid_t pid, std::string& why) override;
  uint32_t process_number(pid_t pid, std::string& why) override;
  void has_c_functions(pid_t pid) override;
  std::string add_ring(pid_t pid, std::unique_ptr<RingMemory> ring) override;
  void first_event(pid_t pid, uint64_t after_ns) override;
  void detail(const std::string& text) override;

  // Processes (session_hello.cc).
  void greet();
  void stop_listening();
  std::string welcome(Hello& hello);
  std::string refuse_ring(const RingMemory& ring) const;
  std::string welcome_to_backend(pid_t pid);
  std::shared_ptr<Output> output_for(pid_t pid, std::string& why);
  Traced* traced_for(const Newcomer& who, uint32_t clock, std::string& why);
  void say_unless_told(const std::string& text) const;
  bool drain_ring(Traced& t, std::unique_ptr<RingMemory> ring, std::string& why);
  void set_ended(Traced& t);
  uint32_t number_of_parent(pid_t parent, const Output& output) const;
  void adopt_children(const Traced& parent);
  void write_again(const Traced& t);
  void check_ends();
  void update_maps();
  void update_maps(Traced& t, uint64_t now);
  void update_title(Traced& t, bool last);
  void update_titles();

  // The last messages (summary.cc).
  void summarize();
  void say_unfinished() const;
  void summarize_output(const Output& output);
  std::string lost_text(const Output& output) const;
  std::string next_command() const;

  Options options_;
  std::unique_ptr<Signals> signals_heard_;  // until everything else has ended
  uint32_t clock_;
  lt_clock_info start_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<Drainer> drainer_;
  std::vector<std::shared_ptr<Output>> outputs_;
  std::map<pid_t, std::shared_ptr<Output>> by_pid_;  // with a file per process
  int opened_fd_ = -1;                               // before the command runs
  OpenedOutput opened_;                              // the same, unless it is standard output
  std::string opened_name_, open_error_;
  int trace_stdout_ = -1;  // -o -: the real standard output
  pid_t command_ = -1;
  int wait_status_ = -1;  // once the command has ended
  bool command_ended_ = false;
  std::unique_ptr<Backend> backend_;  // -p, or --via bpf
  std::list<Watched> watched_;
  std::unique_ptr<Births> births_;                    // --children
  std::set<std::pair<uint64_t, uint64_t>> programs_;  // that were attached to, see program_of()
  std::set<pid_t> family_, strangers_;                // descendants; processes that may be some
  bool births_missing_ = false;
  uint64_t ended_unseen_ = 0;  // descendants that were gone when we heard of their birth
  std::map<pid_t, std::string> looked_at_;  // by --children, and why they are not recorded
  bool said_waiting_ = false;
  Refusal refusal_ = Refusal::kNone;  // the first of a process that was asked for
  uint64_t tend_due_ns_ = 0, dead_due_ns_ = 0;
  std::list<Traced> traced_;
  uint64_t next_key_ = 1;
  uint64_t hellos_ = 0, refused_ = 0;
  uint64_t outsiders_ = 0;  // connections of processes that are not the command's
  BuildIds build_ids_;
  Diagnosis diagnosis_;
  Phase phase_ = Phase::kRecording;
  uint32_t reason_ = LTQ_EXIT;
  uint64_t begin_ns_ = 0, stop_ns_ = 0, clock_due_ns_ = 0;
  int signals_ = 0, last_signal_ = 0;
  bool has_children_ = true;      // the command, or processes that it left behind
  uint64_t orphans_said_ns_ = 0;  // when to say that there are some
  std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  std::atomic<bool> hurried_ = false;  // a second signal has come
  uint64_t writing_ns_ = 0;            // since when
  bool said_writing_ = false;
  bool failed_ = false;
};

}  // namespace luatrace
