// SPDX-License-Identifier: MIT
// Imports the output of probes/lua-calls.bt (text) and probes/lua-calls.stp (records). It is
// converted to the binary form in a spool (memory or a temporary file), so that there is only one
// meaning. docs/import-format.md has the formats, trace/hits/ the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "trace/hits/hit_writer.h"
#include "trace/spool.h"

namespace luatrace::analyze {

// Whether the input has one of these formats. Consumes nothing.
bool is_import(Input& input);

// Converts the whole input to a binary trace. Counts and logs unusable parts in `diagnostics`.
// Throws Unreadable if nothing can be read or the temporary file cannot be written.
std::unique_ptr<Input> import_trace(Input& input, Diagnostics& diagnostics,
                                    const Progress& progress);

// The part that the readers of both formats share: where hits go, and what else is known.
//
// A tracer attaches to one probe after the other, last to that of the VM's stack report. So only
// some probes saw the hits of a process before its first report; these hits are left out. If no
// report comes (a forked child), they are kept.
class Importer {
 public:
  // `start_ns`, `start_real_ns`: the source's clock at its start. `spool` must outlive this object.
  Importer(Spool& spool, Diagnostics& diagnostics, uint64_t start_ns, uint64_t start_real_ns,
           const std::string& recorder);

  HitWriter& hits() { return *hits_; }
  // Adds a hit, unless its time is impossible: one wild time would make all later hits look late.
  void hit(const Hit& hit, uint64_t offset);
  // Takes the last number of a thread, and how many of its hits came after set_ended()'s time.
  void total(uint32_t tid, uint32_t seq, uint32_t late = 0);
  void name_process(uint32_t pid, const std::string& name, uint32_t parent);
  // The process ended. Without this call its last hit is the last that is known of it.
  void end_process(uint32_t pid, uint64_t time);
  // Counts and logs a malformed line or record.
  void bad(uint64_t offset, const std::string& what);
  void note(const std::string& key, uint64_t value);
  // The end of the source was found: nothing is cut. From `detaching_since` on, the tracer detached
  // from one probe after the other (0: unknown).
  void set_ended(uint64_t detaching_since) {
    ended_ = true;
    detaching_since_ = detaching_since;
  }
  // The same, but hits that it had not read when it detached are missing: see HitWriter::cut_at().
  void set_cut(uint64_t detaching_since, uint64_t gaps) {
    set_ended(detaching_since);
    gaps_ = gaps;
  }
  // Sets how many hits the source itself counted in all, up to `time`.
  void set_counted(uint64_t hits, uint64_t time) {
    counted_ = hits;
    counted_at_ = time;
  }
  // Writes the rest and the end block. Throws Unreadable.
  void finish(uint64_t offset);

 private:
  struct Process {
    std::string name;
    uint32_t parent = 0;
    uint32_t number = 0;
    uint64_t last = 0;  // Of the last hit: time and thread.
    uint32_t last_tid = 0;
    bool ended = false;
    bool begun = false;
    std::vector<Hit> before;           // Hits held back until begun.
    uint64_t report = UINT64_MAX;      // Time of the oldest report among them.
    uint64_t hold_until = UINT64_MAX;  // They are held until a hit of this time or later.
  };
  void hold(Process& p, const Hit& hit);
  void begin(uint32_t pid);
  void compare(uint64_t offset);
  uint32_t write_process(uint32_t pid, uint64_t time);

  Diagnostics& diag_;
  uint64_t start_;
  std::optional<TraceWriter> writer_;
  std::optional<HitWriter> hits_;
  std::unordered_map<uint32_t, Process> processes_;
  uint32_t last_pid_ = 0;
  Process* last_process_ = nullptr;
  std::set<std::pair<uint64_t, uint32_t>> held_;  // Waiting processes: (hold_until, pid).
  uint32_t numbers_ = 0;
  std::optional<uint64_t> counted_;  // See set_counted().
  uint64_t counted_at_ = 0;
  std::string note_;
  uint64_t dropped_ = 0;  // Hits from before a report.
  uint64_t detaching_since_ = 0;
  uint64_t gaps_ = UINT64_MAX;          // See set_cut().
  std::unordered_set<uint32_t> alive_;  // Threads that had hits after that.
  bool ended_ = false;
};

// The readers of the two formats. They return when the trace is in the spool.
bool is_bpftrace_text(Input& input);
void read_bpftrace(Input& input, Diagnostics& diagnostics, Spool& spool, const Progress& progress);
bool is_stap_records(Input& input);
void read_stap(Input& input, Diagnostics& diagnostics, Spool& spool, const Progress& progress);

}  // namespace luatrace::analyze
