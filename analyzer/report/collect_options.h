// SPDX-License-Identifier: MIT
// The options that several stages need: how traces are read, and what is collected and shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/filter/filter.h"

namespace luatrace::analyze {

// How traces are read.
struct ReadOptions {
  FilterOptions filter;
  std::string sysroot;                  // Root for looking up libraries; empty: /.
  std::vector<std::string> debug_dirs;  // Additional places of separate debug information.
  std::string weights;                  // Trace with samples of the same processes, or "".
  size_t jobs = 0;                      // Threads; 0: one per processor.
  uint64_t max_nodes = 5000000;         // Limit of a file's call tree; 0: none.
  uint64_t bucket_ns = 0;               // Length of time buckets; 0: those of the profiles.
};

// What the pipeline collects besides functions and the call tree, and what the views show of it.
struct CollectOptions {
  bool off_cpu = false;  // Of samples: what threads waited for, instead of CPU time.
  bool coroutines = false;
  bool waits = false;
  bool requests = false;
  bool turns = false;
  bool threads = false;
  bool timeline = false;
  bool symbols = false;                 // Locations of C functions and how they got their names.
  uint32_t request = 0;                 // Follow the request with this id; 0: none.
  std::vector<std::string> request_by;  // The calls of these functions (patterns) are requests.
  std::vector<std::string> slow;        // Single calls of these functions (patterns) that took ...
  uint64_t slow_over_ns = 0;            // ... at least this long, ...
  bool slow_by_wall = false;            // ... by wall time instead of inclusive time; ...
  size_t slow_limit = 5;                // ... only the longest ones; their number.
  size_t limit = 20;                    // Coroutines and turns kept, rows of other views; 0: all.

  bool follows_requests() const { return requests || request || turns; }
};

}  // namespace luatrace::analyze
