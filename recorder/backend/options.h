// SPDX-License-Identifier: MIT
// The user's options from the command line (recorder/options.cc fills them in).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::record {

struct Options {
  std::string output;  // "-": standard output
  bool force = false;  // overwrites whatever file that is
  std::vector<std::string> include, exclude;
  std::string c_functions;       // empty: not given
  std::string times = "events";  // of compiled code: auto, segments, events
  uint64_t ring_size = 0;        // bytes, 0: not given
  bool block = false;
  int compression = 0;            // level, 0: none
  uint64_t max_size = 0;          // bytes, 0: no limit
  uint32_t max_depth = 0;         // 0: no limit
  bool cpu = false;               // record CPU time
  double seconds = 0;             // 0: no limit
  std::vector<std::string> pids;  // -p, as given; excludes a command
  bool children = false;
  bool all = false;               // -a: every process of the system; excludes -p and a command
  std::string via = "auto";       // auto, direct, bpf
  std::string seccomp = "check";  // check, ignore
  std::string bpf_link = "auto";  // auto, multi, each
  uint64_t flight = 0;            // bytes of the newest events to keep, 0: all are written
  uint64_t flight_ns = 0;         // for that time only, 0: any
  std::vector<std::pair<std::string, uint64_t>> slow, only_slow;  // function, ns
  std::vector<std::string> on_error;                              // functions
  bool snapshot = false;           // asks the flight recorders of the processes
  bool inside = false;             // records the process at the other end of standard input
  bool stack = false;              // prints stacks, records nothing
  bool json = false;               // with stack
  std::string thread_context;      // on, off: switches that, records nothing
  std::vector<std::string> watch;  // places to watch, as given
  std::string watch_request;       // the same for Lua VMs, with what to print (luatrace_watch.h)
  uint32_t sample_hz = 0;          // samples in place of events, per second; 0: not
  bool off_cpu = false;            // of blocked time in place of CPU time
  std::vector<uint32_t> threads;   // only these
  bool user_only = false, kernel_only = false, lua_only = false;  // which functions of a sample
  uint32_t max_stack = 0;                                         // functions; 0: as many as fit
  std::string push;                       // URL to which windows are pushed, one after the other
  double every = 0;                       // seconds from one window to the next, with push
  std::vector<std::string> push_options;  // of luatrace-analyze, for that
  bool no_file = false;                   // only what is watched is printed, no trace is written
  bool verbose = false;
  bool quiet = false;
  std::vector<std::string> command;
  std::string self;  // argv[0]

  bool attach() const { return all || !pids.empty(); }
  // Are processes attached to that nobody has named?
  bool finds_processes() const { return all || children; }
  // May several processes be attached to?
  bool several() const { return finds_processes() || pids.size() > 1; }
  bool file_per_process() const { return output.find("%p") != std::string::npos; }
};

// With --via bpf the recorder leaves out what is not wanted, event by event: by this option. Empty:
// nothing.
inline std::string recorders_filter(const Options& o) {
  if (!o.include.empty()) return "--include";
  if (!o.exclude.empty()) return "--exclude";
  const bool fewer = o.c_functions == "none" || o.c_functions == "user";
  return fewer ? "--c-functions " + o.c_functions : "";
}

// Of --times: LTC_SEGMENTS, LTC_AUTO; 0: events.
inline uint32_t times_flags(const Options& o) {
  if (o.times == "segments") return LTC_SEGMENTS;
  return o.times == "auto" ? uint32_t{LTC_SEGMENTS | LTC_AUTO} : 0;
}

}  // namespace luatrace::record
