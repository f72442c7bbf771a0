// SPDX-License-Identifier: MIT
// The interface of this folder: converts a call tree and, if present, a chart of calls over time to
// one self-contained HTML page.
//
// Invariant: the page needs nothing else (no network, no second file), and no text in the input can
// become markup or script. See README.md for the page's format and design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace luatrace::analyze {

// Durations of individual calls of a function, in ns; unknown if complete is 0.
struct FlameTimes {
  uint64_t complete = 0;  // Calls seen from beginning to end: min to max cover only these.
  uint64_t min_ns = 0, avg_ns = 0, max_ns = 0;
  bool percentiles = false;  // The next five are known.
  uint64_t p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, deviation_ns = 0;
  uint64_t wall_ns = 0;  // Sum of durations, suspended time included; 0: unknown.
};

// A function as the page names it. All strings are untrusted bytes of any length; bytes that are
// not UTF-8 and control characters are shown as \xNN, very long strings are shortened.
struct FlameFunction {
  std::string name;
  std::string chunk;  // chunk name ("@x.lua") or path of a library; may be empty
  uint32_t line = 0;  // of the definition; 0: main chunk or unknown
  std::string kind;   // "lua", "c", "ff", "coroutine"; anything else is drawn as a pseudo function
  FlameTimes times = {};
  bool hint = false;  // The name is only known from a call.
};

// A node of the call tree: a function in the context of its callers.
struct FlameNode {
  uint32_t parent = 0;        // index of the caller, less than the node's own; node 0: ignored
  uint32_t function = 0;      // index into FlameInput::functions; node 0 may have any value
  uint64_t calls = 0;         // entries, exact
  uint64_t inclusive_ns = 0;  // must be self_ns + the children's; the page reports mismatches
  uint64_t self_ns = 0;       // the weight: widths on the page are sums of self times
  uint64_t before_calls = 0;  // with FlameInput::diff: before the change
  uint64_t before_self_ns = 0;
};

// A part of a track: a call, or a period that is not a call.
struct FlameSlice {
  enum Kind : uint8_t {
    kShort,      // neighbouring calls that are too short to be drawn individually
    kCall,       // one call
    kResumed,    // the coroutine waits for one that it resumed
    kSuspended,  // the coroutine is suspended
    kFiltered,   // filters left out what ran
  };
  Kind kind = kCall;
  uint32_t depth = 0;  // 0: outermost; else within the previous slice of depth - 1
  uint32_t what = 0;   // kCall: index into FlameInput::functions; kResumed: track + 1, 0: none
  uint64_t begin_ns = 0, length_ns = 0;
  uint64_t suspended_ns = 0;  // kCall: part of its length not running; kShort: suspended time
  uint64_t self_ns = 0;       // kCall, kShort: self time
  uint64_t calls = 0;         // kShort: number of calls; kCall: calls in it not drawn at all
};

// A coroutine. Sums are exact, however many slices are drawn.
struct FlameTrack {
  std::string thread;  // heading; tracks with the same heading are adjacent
  std::string name;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t suspended_ns = 0, waiting_ns = 0;  // it ran for the rest of its life
  uint64_t resumes = 0;
  uint32_t resumer = 0;            // track + 1 of its last resumer; 0: none
  std::vector<FlameSlice> slices;  // sorted by begin, outer ones first
};

struct FlameChart {
  std::vector<FlameTrack> tracks;
  uint64_t zero_ns = 0;                      // origin of displayed times; 0: the earliest track
  uint64_t shortest_ns = 0;                  // shorter calls are not drawn individually
  uint64_t calls = 0, self_ns = 0;           // of all calls, ...
  uint64_t hidden_calls = 0, hidden_ns = 0;  // ... and of those not drawn individually
  uint64_t hidden_tracks = 0;                // coroutines left out: all their calls are hidden
  std::string note;                          // additional note to show
};

struct FlameInput {
  std::string title;
  std::vector<std::string> subtitle;  // short facts about the trace, shown under the title
  std::string trust;                  // the trust line; empty: none shown
  std::vector<FlameFunction> functions;
  std::vector<FlameNode> nodes;  // node 0 = root, parents before children; empty: empty page
  bool diff = false;             // nodes have figures from before the change
  double scale = 1;              // factor applied to the times of before
  FlameChart chart;              // no chart if it has no tracks
  std::string no_chart;          // the reason if there is no chart
};

// Limits that keep the page of a huge tree to a few megabytes. Time left out stays in the parent as
// a "[pruned]" child, and the page shows its share; the table of functions is computed before
// pruning.
struct FlamePageOptions {
  double min_share = 0;       // leave out nodes with a smaller share of the total (0..1)
  size_t max_nodes = 300000;  // keep up to this many nodes, the largest ones; 0: no limit
};

// Writes the page. Throws std::invalid_argument that names the node if its parent or function is
// out of range, and likewise for slices. The caller checks the state of `out` for write errors.
void write_flame_page(std::ostream& out, const FlameInput& input,
                      const FlamePageOptions& options = {});

}  // namespace luatrace::analyze
