// SPDX-License-Identifier: MIT
// The interface of this folder: converts a call tree and, if present, a chart of calls over time to
// one self-contained HTML page.
//
// Invariants: the page needs nothing else (no network, no second file), and no text in the input
// can become markup or script; no time is lost: the self times of the nodes in it, including
// [pruned] ones, sum to those of the input. No step is recursive, so a tree may have any depth. See
// README.md for the page's format and design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

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
  uint32_t file = 0, vm = 0;       // as those of requests
  std::vector<FlameSlice> slices;  // sorted by begin, outer ones first
};

struct FlameChart {
  std::vector<FlameTrack> tracks;
  uint64_t zero_ns = 0;                      // origin of displayed times; 0: the earliest track
  uint64_t shortest_ns = 0;                  // shorter calls are not drawn individually
  uint64_t calls = 0, self_ns = 0;           // of all calls, ...
  uint64_t hidden_calls = 0, hidden_ns = 0;  // ... and of those not drawn individually
  uint64_t hidden_tracks = 0;                // coroutines left out: all their calls are hidden
  bool linked = true;  // a coroutine's calls count as below the call that resumed it
  std::string note;    // additional note to show
  // If files share no timeline: when each of them begins, which is 0 here.
  std::vector<uint64_t> file_begins_ns;
};

// A request; its functions are indices into FlameInput::functions.
struct FlameRequest {
  const ReportRequest* sums = nullptr;
  const ReportRequestSteps* steps = nullptr;  // What it did; null: unknown.
  uint64_t begin_ns = 0;                      // As in FlameTrack.
};

struct FlameRequests {
  std::vector<FlameRequest> shown;  // In the order in which they began, file after file.
  uint64_t all = 0;                 // How many the trace has.
  std::vector<std::string> files;   // Their paths.
};

// What a page shows. All text is untrusted bytes of any length; bytes that are not UTF-8 and
// control characters are shown as \xNN, very long text is shortened. What it points to must outlive
// it.
struct FlameInput {
  std::string title;
  std::vector<std::string> subtitle;  // short facts about the trace, shown under the title
  std::string trust;                  // the trust line; empty: none shown
  std::vector<const ReportFunction*> functions;
  const CallTree* tree = nullptr;                    // in ns; null: empty page
  const std::vector<NodeFigures>* before = nullptr;  // of a diff: by node, before the change
  double scale = 1;                                  // factor applied to the times of before
  FlameChart chart;                                  // no chart if it has no tracks
  std::string no_chart;                              // the reason if there is no chart
  FlameRequests requests;                            // needs a chart; no view of them if none
  bool sampled = false;                              // numbers of calls are of samples
  bool only_graph = false;                           // show nothing but the flame graph
  std::string program;               // name and version of the program that makes the page
  std::string made_at;               // when, as text
  std::vector<std::string> command;  // the command line that makes the page; empty: unknown
  // Keep up to this many nodes, the largest ones; 0: no limit. Time left out stays in the parent as
  // a "[pruned]" child, and the page shows its share; the table of functions is computed before.
  size_t max_nodes = 300000;
};

// Writes the page. Throws std::invalid_argument that names the node if its function is out of
// range, and likewise for slices. The caller checks the state of `out` for write errors.
void write_flame_page(std::ostream& out, const FlameInput& input);

// -- The call tree as bytes in the page; separate for the tests --

namespace page {

struct FunctionTotals {
  uint64_t calls = 0;
  uint64_t inclusive_ns = 0;  // recursion counts once: only outermost calls
  uint64_t self_ns = 0;
  uint64_t before_calls = 0, before_inclusive_ns = 0, before_self_ns = 0;
};

struct PackedTree {
  // Nodes in preorder, four unsigned LEB128 numbers each: levels up from one below the previous
  // node, function, calls, self time in ns; with FlameInput::before two more, calls and self time
  // before. Function functions.size() is [pruned], functions.size() + 1 is the root.
  std::vector<uint8_t> bytes;
  uint64_t nodes = 0;                     // in `bytes`, including [pruned] ones
  uint64_t total_ns = 0;                  // sum of all self times
  uint64_t before_ns = 0;                 // the same before
  uint64_t pruned_nodes = 0;              // nodes of the input that are not in `bytes`
  uint64_t pruned_ns = 0;                 // their self times, which the [pruned] nodes have
  std::vector<FunctionTotals> functions;  // of the whole tree, before pruning
};

// Throws std::invalid_argument if a node's function is out of range.
PackedTree pack_tree(const FlameInput& input);

}  // namespace page
}  // namespace luatrace::analyze
