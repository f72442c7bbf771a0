// SPDX-License-Identifier: MIT
// The one door of this folder: a call tree, and if there is one a chart of calls over time, in; one
// self-contained HTML page out.
//
// Invariant: the page needs nothing but itself (no network, no second file), and no text in the
// input can become markup or script. See README.md for the page's format and its design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace luatrace::analyze {

// How long single calls of a function took, all in ns; nothing is known if complete is 0.
struct FlameTimes {
  uint64_t complete = 0;  // Calls seen from beginning to end: min to max are of these.
  uint64_t min_ns = 0, avg_ns = 0, max_ns = 0;
  bool percentiles = false;  // The next five are known.
  uint64_t p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, deviation_ns = 0;
  uint64_t wall_ns = 0;  // Sum from beginning to end, suspended time included; 0: not known.
};

// One function as the page names it. All strings are untrusted bytes of any length; bytes that are
// not UTF-8 and control characters are shown as \xNN, very long strings are shortened.
struct FlameFunction {
  std::string name;
  std::string chunk;  // as LuaJIT has it ("@x.lua"), or a library's path; may be empty
  uint32_t line = 0;  // of the definition; 0: main chunk or unknown
  std::string kind;   // "lua", "c", "ff", "coroutine"; anything else is drawn as a pseudo function
  FlameTimes times = {};
  bool hint = false;  // The name is only what a call of it called it.
};

// One node of the call tree: a function in the context of its callers.
struct FlameNode {
  uint32_t parent = 0;        // index of the caller, smaller than the own index; node 0: ignored
  uint32_t function = 0;      // index into FlameInput::functions; node 0 may have any value
  uint64_t calls = 0;         // entries, exact
  uint64_t inclusive_ns = 0;  // must be self_ns + the children's; the page says where it is not
  uint64_t self_ns = 0;       // the weight: widths on the page are sums of self times
  uint64_t before_calls = 0;  // with FlameInput::diff: what was before
  uint64_t before_self_ns = 0;
};

// A piece of a track: a call, or a stretch of time that is no call.
struct FlameSlice {
  enum Kind : uint8_t {
    kShort,      // calls that are too short to be drawn one by one, near each other
    kCall,       // one call
    kResumed,    // the coroutine waits for one that it has resumed
    kSuspended,  // the coroutine is suspended
    kFiltered,   // what ran is left out by filters
  };
  Kind kind = kCall;
  uint32_t depth = 0;  // 0: outermost; a slice lies within the one before it that is one less deep
  uint32_t what = 0;   // kCall: index into FlameInput::functions; kResumed: track + 1, 0: not there
  uint64_t begin_ns = 0, length_ns = 0;
  uint64_t suspended_ns = 0;  // kCall: of its length not running; kShort: in which it was suspended
  uint64_t self_ns = 0;       // kCall, kShort: time of its own
  uint64_t calls = 0;         // kShort: how many; kCall: how many in it are not drawn at all
};

// A coroutine. Sums are exact, whatever is drawn of its slices.
struct FlameTrack {
  std::string thread;  // heading; tracks of one heading stand together
  std::string name;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t suspended_ns = 0, waiting_ns = 0;  // the rest of its life it ran itself
  uint64_t resumes = 0;
  uint32_t resumer = 0;            // track + 1 that resumed it last, 0: none
  std::vector<FlameSlice> slices;  // by begin, of equal ones the outer first
};

struct FlameChart {
  std::vector<FlameTrack> tracks;
  uint64_t zero_ns = 0;                      // what times are told from; 0: the earliest track
  uint64_t shortest_ns = 0;                  // calls shorter than this are not drawn one by one
  uint64_t calls = 0, self_ns = 0;           // of all calls, ...
  uint64_t hidden_calls = 0, hidden_ns = 0;  // ... and of those not drawn one by one
  uint64_t hidden_tracks = 0;                // coroutines left out: all their calls are hidden ones
  std::string note;                          // what else must be said
};

struct FlameInput {
  std::string title;
  std::vector<std::string> subtitle;  // short facts about the trace, shown under the title
  std::string trust;                  // the trust line; empty: none shown
  std::vector<FlameFunction> functions;
  std::vector<FlameNode> nodes;  // node 0 = root, parents before children; empty: an empty page
  bool diff = false;             // nodes say what was before
  double scale = 1;              // what the times of before were multiplied with
  FlameChart chart;              // without tracks: none
  std::string no_chart;          // why there is none
};

// What is left out so that a huge tree still gives a page of a few megabytes. Left-out time stays
// in the parent as a "[pruned]" child, and the page tells the share; the table of functions is
// computed before anything is left out.
struct FlamePageOptions {
  double min_share = 0;       // leave out nodes with a smaller share of the total (0..1)
  size_t max_nodes = 300000;  // keep at most this many nodes, the largest ones; 0: no limit
};

// Writes the page. Throws std::invalid_argument, naming the node, if a node's parent or function
// is out of range, and the same for slices. Failures of `out` stay in the stream's state, for the
// caller to check.
void write_flame_page(std::ostream& out, const FlameInput& input,
                      const FlamePageOptions& options = {});

}  // namespace luatrace::analyze
