// SPDX-License-Identifier: MIT
// What the analyzer found out, in nanoseconds, merged over all input files: the input of everything
// in render/. docs/semantics.md says what each number means.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/aggregate/call_tree.h"
#include "analyzer/aggregate/profile.h"
#include "analyzer/decode/diagnostics.h"
#include "analyzer/decode/model.h"
#include "analyzer/stacks/streams.h"

namespace luatrace {

struct ReportFunction {
  std::string kind;   // "lua", "c", "ff", "unknown" (no description), "root", "gap".
  std::string chunk;  // As LuaJIT has it; of C functions the library's path, if known.
  uint32_t line = 0;
  std::string name;  // "" if nobody knows one.
  uint64_t calls = 0;
  uint64_t complete = 0;  // Calls seen from beginning to end: min, max and sum are of these.
  uint64_t wall_ns = 0;
  uint64_t running_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;

  uint64_t average_ns() const { return complete ? sum_ns / complete : 0; }
};

struct ReportFile {
  std::string path;
  std::vector<ProcessInfo> processes;
  std::vector<StreamInfo> streams;
  std::string notes;
  bool ended = false;
  EndInfo end;
  uint64_t bytes = 0;  // Of the file; 0 if unknown.
};

struct Report {
  std::vector<ReportFile> files;
  // Functions 0 and 1 are the root and the unknown callers.
  std::vector<ReportFunction> functions;
  CallTree tree;  // In ns; without nodes for coroutines: their calls hang below the resumer's.
  Trust trust;
  uint64_t start_real_ns = 0;  // Wall clock when the first recording began, 0: unknown.
  uint64_t duration_ns = 0;    // From the first to the last event.
  uint64_t traced_ns = 0;      // Sum over the streams; = self of all functions + idle + gap.
  uint64_t self_ns = 0;
  uint64_t idle_ns = 0;  // No call was open.
  uint64_t gap_ns = 0;   // Nothing is known.
  uint64_t threads = 0;
  uint64_t coroutines = 0;
  uint64_t bytes = 0;
  double cost_ns = 0;  // Of recording all events, as measured when recording began.

  Report();
};

// What a C function is called, and the library it is in.
struct Symbol {
  std::string name;
  std::string file;
};
using SymbolFinder = std::function<Symbol(const Function&)>;

// Adds one analysed file. `bytes` is its size.
void add_to_report(Report& report, const std::string& path, const Streams<Profile>& streams,
                   const Profile& profile, const Trust& trust, uint64_t bytes,
                   const SymbolFinder& symbols);

// Inclusive time of each node of the report's tree.
std::vector<uint64_t> inclusive_ns(const CallTree& tree);

}  // namespace luatrace
