// SPDX-License-Identifier: MIT
// Processes: one record for each process, by its pid, and what is written about it: its PROCESS
// block, its rings, its mappings, its titles. It provides the services for a backend (BackendHost).
// Invariants: used by the session's thread; the outputs are touched only in jobs of the drainer. A
// record stays for a while after its process has ended (its children name it as their parent), at
// most until another process has its number.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"
#include "recorder/drain/watch_log.h"
#include "recorder/os/clock.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/outputs.h"
#include "trace/descriptor.h"

namespace luatrace::record {

// One recorded image of one process: an exec makes a new one.
struct Image {
  uint64_t key = 0;     // identifies it to the drainer
  uint32_t number = 0;  // in its output; 0: nothing is recorded of this process
  std::string id;       // ProcessFacts::image
  lt_process_info info{};
  std::string exe, title;  // as in the file
  int titles = 0;          // how often the title was written since
  std::shared_ptr<Output> output;
  MapsWatcher maps;
  uint64_t maps_due_ns = 0, maps_pause_ns = 0;
  std::shared_ptr<std::atomic<bool>> maps_wanted;
  bool unlisted = false;  // not all its mappings are in the file
  bool ended = true;
};

struct Process {
  // Is it attached (attacher.h)? kAnnounced: it connects itself if there is something to record.
  // kRefused: it cannot be attached, and the recording does not continue for it.
  enum class Attaching { kAnnounced, kWaiting, kAttached, kFull, kRefused };

  pid_t pid = 0;
  Descriptor pidfd;           // while it is followed, if the kernel supports it
  bool followed = false;      // its end is noticed; it has not ended yet
  bool leaving = false;       // it exits and counts as ended
  bool requested = false;     // by -p
  bool descendant = false;    // of a requested process
  bool suspect = false;       // may be one, but that is not known
  bool was_attached = false;  // at some time
  Attaching attaching = Attaching::kAnnounced;
  uint64_t retry_ns = 0, pause_ns = 0;  // when to try to attach again, and the next interval
  std::string obstacle;                 // why it is not recorded: a sentence
  std::string refusal;                  // the last message about it
  std::string why;                      // it could not be attached: the rest of a sentence
  std::string workers;                  // a message: descendants that --children would record
  std::shared_ptr<Output> output;       // its own, with a file for each process
  Image image;
  uint64_t rings = 0;  // of its Lua VMs, drained so far

  bool attached() const { return attaching == Attaching::kAttached; }
  // Does the recording continue for it?
  bool counts() const { return followed && attaching != Attaching::kRefused; }
};

class Processes : public BackendHost {
 public:
  // Both must outlive this object.
  Processes(const Options& options, Outputs& outputs)
      : options_(options), outputs_(outputs), start_(sample_clocks(outputs.clock())) {}
  ~Processes() override { end_drainer(); }

  // The record of a process, if there is one.
  Process* find(pid_t pid);
  // The same, created if necessary.
  Process& known(pid_t pid);
  // The same, and from now on its end is noticed. peer: a connected socket of that process, or -1.
  Process& follow(pid_t pid, int peer);
  // The followed processes, some of which may have ended meanwhile; follow() may append more during
  // a loop by index.
  const std::vector<Process*>& followed() const { return followed_; }
  const std::map<pid_t, Process>& all() const { return all_; }

  // Descriptors that become readable when a process ends.
  void add_descriptors(std::vector<pollfd>& fds) const;
  // Processes that have ended: calls `ended` for each, then stops following them.
  void take_ended(const std::function<void(Process&)>& ended);
  // Nothing more comes from its image (from the process as it is now).
  void end_image(Process& p);

  // Has any process sent an event?
  friend bool any_events(const Processes& processes) { return processes.has_events_; }

  // Called from time to time: new mappings, and titles; no pointer to a record is kept over it.
  void update();
  // The last titles: the recording ends.
  void update_titles();

  // What comes from watched places.
  WatchLog& watch_log() { return watch_log_; }
  // Lua VMs whose ring is drained, so far.
  uint64_t rings() const { return rings_; }
  void end_drainer() { drainer_.reset(); }  // runs the waiting jobs

  // BackendHost
  Drainer& drainer() override;
  std::shared_ptr<Output> output_of(pid_t pid, std::string& why) override;
  uint32_t process_number(pid_t pid, std::string& why) override;
  void has_c_functions(pid_t pid) override;
  bool has_streams(pid_t pid) override;
  RingAnswer add_ring(const Peer& peer, std::unique_ptr<RingMemory> ring) override;
  void first_event(pid_t pid, uint64_t after_ns) override;
  void silent(pid_t pid, const std::string& text) override;
  void detail(const std::string& text) override;
  void report(const std::string& text) override;

 private:
  Process* process_for(const Peer& peer, uint32_t clock, std::string& why);
  uint32_t write_process(const ProcessFacts& facts, const Peer& peer, Output& output,
                         uint32_t clock, lt_process_info& info, std::string& why);
  uint32_t number_of_parent(pid_t parent, const Output& output);
  void adopt_children(const Process& parent);
  bool drain_ring(Process& p, std::unique_ptr<RingMemory> ring, std::string& why);
  void update_maps(Process& p, uint64_t now);
  void update_title(Process& p, bool last);

  const Options& options_;
  Outputs& outputs_;
  lt_clock_info start_;
  pid_t watched_ = 0;   // whose texts do not name it
  WatchLog watch_log_;  // before the drainer, which uses it
  std::unique_ptr<Drainer> drainer_;
  std::map<pid_t, Process> all_;
  std::vector<Process*> followed_;
  size_t turn_ = 0;  // the process whose mappings are read next
  uint64_t next_key_ = 1, rings_ = 0;
  BuildIds build_ids_;
  bool has_events_ = false;
  size_t forget_at_ = 0;  // how many records
  size_t mappings_ = 0;   // bytes: MapsWatcher::known() of all processes
};

}  // namespace luatrace::record
