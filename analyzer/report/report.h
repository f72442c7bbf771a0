// SPDX-License-Identifier: MIT
// The results of the analysis in nanoseconds, merged over all input files: the input of everything
// in output/. docs/semantics.md says what each number means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/collect/bucket_ticks.h"
#include "analyzer/collect/filtered_profile.h"
#include "analyzer/collect/profile.h"
#include "analyzer/collect/sampled_profile.h"
#include "analyzer/filter/filter.h"
#include "analyzer/machine/streams.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "analyzer/report/report_code.h"
#include "analyzer/report/report_function.h"
#include "analyzer/report/time_buckets.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

struct ReportFile {
  std::string path;
  std::vector<ProcessInfo> processes;
  std::vector<StreamInfo> streams;
  std::string notes;
  bool ended = false;
  EndInfo end;
  uint64_t bytes = 0;          // Size of the file; 0 if unknown.
  uint64_t start_real_ns = 0;  // Unix time of the first event; 0 if unknown.
  uint64_t start_mono_ns = 0;  // The same on the monotonic clock; 0 for saved profiles.
  uint64_t duration_ns = 0;
  uint32_t clock = 0;                        // LT_CLOCK_*
  std::optional<FilterSignature> signature;  // Of the sums; empty if unknown (old profiles).
};

// In all of the following, points in time count from the first event of the file, and indices of
// functions and files are those of the report.
struct ReportSlowCall {
  uint32_t file = 0;
  StreamId vm;
  CoroutineId coroutine;
  ThreadId thread;
  uint64_t at_ns = 0, inclusive_ns = 0, wall_ns = 0;
  std::vector<SlowNode> nodes;
};
struct ReportCoroutine {
  uint32_t file = 0;
  StreamId vm;
  CoroutineId id;
  ReportFunctionId created_in, body;  // kReportRoot: unknown.
  uint64_t calls = 0, self_ns = 0;
  uint64_t begin_ns = 0, life_ns = 0, running_ns = 0, suspended_ns = 0, resumes = 0;
  uint64_t longest_ns = 0, longest_at_ns = 0;
  ReportFunctionId longest_in;  // kReportRoot: before it first ran.
  Gone how = Gone::kCut;
};
struct ReportCreationSite {
  ReportFunctionId created_in, body;
  uint64_t count = 0, running_ns = 0, suspended_ns = 0, resumes = 0, longest_ns = 0;
  ReportFunctionId longest_in;
};
// How long coroutines were suspended in a function that a caller called.
struct ReportWait {
  uint64_t count = 0, total_ns = 0, min_ns = UINT64_MAX, max_ns = 0;
  uint64_t unfinished = 0;  // Not in the other members: without a resume.
  Distribution times;

  ReportWait& operator+=(const ReportWait& other);
};
// A request and its ledger: running + waits + others + unattributed = wall.
struct ReportRequest {
  struct Wait {
    ReportFunctionId function, inner;  // As in RequestWait; kReportRoot: none.
    uint64_t count = 0, ns = 0;
  };
  struct Phase {
    ReportFunctionId function;
    uint64_t running_ns = 0, wait_ns = 0;
  };
  uint32_t file = 0;
  uint32_t id = 0;      // In its file, from 1, in the order in which they began.
  uint32_t number = 0;  // In its Lua VM, from 1.
  StreamId vm;
  uint32_t coroutines = 0;
  uint64_t start_ns = 0, wall_ns = 0, running_ns = 0, wait_ns = 0, others_ns = 0;
  uint64_t collector_ns = 0, compiler_ns = 0;  // Of running_ns.
  uint64_t cpu_ns = 0;                         // Of running_ns, if CPU times are known.
  uint64_t unattributed_ns = 0;
  bool begun_before = false;  // It began before the recording, or in a gap.
  bool unfinished = false;    // Its end was not seen.
  bool timer = false, tail_call = false, unsure = false;    // As in RequestSums.
  std::vector<Wait> waits;                                  // The longest first.
  std::vector<Phase> phases;                                // In the order in which they began.
  std::vector<std::pair<std::string, std::string>> labels;  // Key and value.
};
std::string labels_text(const ReportRequest& request);  // "key=value, key=value"
// What one request did, for --request.
struct ReportRequestStep {
  uint64_t at_ns = 0, ns = 0, others_ns = 0;  // Since the request's beginning.
  bool runs = false;
  ReportFunctionId function, inner;  // As in RequestStep.
  ReportFunctionId phase;
  CoroutineId coroutine;
};
// What one of the slowest requests did, for the page; or the beginning of it.
struct ReportRequestSteps {
  uint32_t request = 0;  // Index in Report::requests.
  std::vector<ReportRequestStep> steps;
};
struct ReportRequestDetail {
  ReportRequest request;
  std::vector<SlowNode> nodes;  // Node 0 is the request itself.
  std::vector<ReportRequestStep> steps;
};
// --turns; members as in Turn.
struct ReportTurn {
  uint32_t file = 0;
  StreamId vm;
  uint32_t request = 0;  // Its id, 0: none.
  uint64_t start_ns = 0, ns = 0;
  ReportFunctionId entry, phase;
  uint64_t delayed = 0, delayed_ns = 0;
  std::vector<uint32_t> delayed_ids;  // Of some of them.
  bool begun_before = false, unfinished = false;
};
struct ReportTurnSums {
  ReportWait turns;
  uint64_t delayed_ns = 0;
};
// Part of the self times of the nodes of a call tree, in ns. Nodes that have none take no memory.
class NodeTimes {
 public:
  uint64_t at(NodeId node) const { return node < ns_.size() ? ns_[node] : 0; }
  bool empty() const { return ns_.empty(); }
  void add(NodeId node, uint64_t ns) {
    if (ns == 0) return;
    if (node >= ns_.size()) ns_.resize(size_t{node} + 1);
    ns_[node] += ns;
  }

 private:
  std::vector<uint64_t> ns_;
};
// Whether CPU times are known: only if all that was traced has them.
struct ReportCpu {
  uint64_t vms = 0, without = 0;  // Lua VMs with and without them.
  uint64_t unknown_ns = 0;        // Of those with, for so long they are not known.
  uint64_t preempted_ns = 0;      // In calls, of the whole trace.
  uint64_t cut_ns = 0;            // Said by records, but more than passed.
  NodeTimes off;                  // Time without the processor.
  bool known() const { return vms && !without; }
};
// What samples are of; kNone: the report is of events.
enum class SampleKind : uint8_t { kNone, kCpu, kOffCpu };
struct ReportThread {
  uint32_t file = 0;
  int32_t pid = 0;
  ThreadId tid;
  uint64_t self_ns = 0, idle_ns = 0, gap_ns = 0, filtered_ns = 0, calls = 0, vms = 0;
};
struct ReportLane {
  bool thread = false;
  std::string name;              // The name of a thread, ...
  ReportFunctionId function;     // ... or the function or group.
  std::vector<uint64_t> slices;  // ns; rounded so that they sum to the report's figure.
};
struct ReportTimeline {
  uint32_t file = 0;
  // If it is of time buckets: of all files, from this Unix time; and by slice, the time traced.
  uint64_t start_real_ns = 0;
  std::vector<uint64_t> traced_ns;
  // Slice i of each lane extends from borders_ns[i] to borders_ns[i + 1], up to rounding.
  std::vector<uint64_t> borders_ns;
  std::vector<ReportLane> lanes;
};

struct Report {
  std::vector<ReportFile> files;
  std::vector<ReportFunction> functions;  // From kReportRoot.
  // In ns. Coroutines have no nodes: their calls are below the call that resumed them.
  CallTree tree;
  std::vector<uint64_t> node_cost_ps;       // By node: cost of recording in its self time.
  std::vector<uint64_t> node_suspended_ns;  // By node: suspended time there.
  ReportCpu cpu;
  // Of samples: then CallNode::calls and ReportFunction::calls count samples, and trust.events all
  // samples of the files.
  SampleKind sampled = SampleKind::kNone;
  SampleSums samples;
  NodeTimes compiled;           // Of samples: time in compiled code.
  NodeTimes apportioned;        // Of events: self time apportioned inside segments, ...
  uint64_t apportioned_ns = 0;  // ... the sum of it (add_apportioned_times()), ...
  uint64_t weight_samples = 0;  // ... and the samples by which that was done; 0: by size.
  Trust trust;
  uint64_t duration_ns = 0;  // From the first to the last event.
  uint64_t traced_ns = 0;    // Sum over the streams; = self + idle + gap + filtered.
  uint64_t self_ns = 0;
  uint64_t idle_ns = 0;      // No call was open.
  uint64_t gap_ns = 0;       // Nothing is known.
  uint64_t filtered_ns = 0;  // Left out by filters.
  uint64_t threads = 0;
  uint64_t coroutines = 0;
  uint64_t bytes = 0;
  // Cost of recording all events, as measured when recording began. Rounded once per file, so that
  // merging reports yields the same sum.
  uint64_t cost_ns = 0;
  bool grouped = false;  // Rows are functions of kind "group".
  TimeBuckets buckets;   // Their sums are those above.
  // Functions that filters or groups left out entirely, without sums; filled if keeps_hidden.
  bool keeps_hidden = false;
  std::vector<FunctionName> hidden;

  std::vector<ReportSlowCall> slow;
  uint64_t slow_found = 0;
  uint64_t slow_left_out = 0;  // Calls without rows: nested in too many others, across coroutines.
  std::vector<ReportCoroutine> coroutine_list;
  std::vector<ReportCreationSite> creation_sites;
  // By function and caller (kReportRoot: none).
  std::map<std::pair<ReportFunctionId, ReportFunctionId>, ReportWait> waits;
  std::vector<ReportRequest> requests;
  std::vector<ReportRequestSteps> request_steps;  // In the order of requests.
  std::optional<ReportRequestDetail> request_detail;
  std::vector<ReportTurn> turns;
  std::map<ReportFunctionId, ReportTurnSums> turn_sums;  // By entry function.
  std::vector<ReportThread> thread_list;
  std::vector<ReportTimeline> timelines;
  bool keeps_codes = false;  // For --symbols.
  std::vector<ReportCode> codes;

  Report();
  bool is_sampled() const { return sampled != SampleKind::kNone; }
  // Returns the index of the function with this identity; adds it if it is new.
  ReportFunctionId function(const FunctionName& described);
  // The same without adding; kReportRoot if there is none.
  ReportFunctionId find(const FunctionName& described) const;
  // Returns the child of `node` for the function; adds it if it is new.
  NodeId enter(NodeId node, ReportFunctionId function);

 private:
  // Keyed by a hash of identity(), which never changes for a function.
  std::unordered_multimap<uint64_t, ReportFunctionId, RandomHash> index_;
};

// The results of one file.
struct FileResult {
  std::string path;
  const TraceFacts& facts;
  const Profile& profile;
  const Histograms* histograms = nullptr;
  const FilteredProfile* filtered = nullptr;  // `profile` again, if it is a filtered one.
  const Trust& trust;
  uint64_t bytes = 0;                       // Its size.
  const SampledProfile* sampled = nullptr;  // Whose profile it is, if it is of samples.
  FileBuckets* buckets = nullptr;           // If it has time buckets: what is in them is taken.
};

// Its first and last tick, which filters may have moved; the first is the greater one if it has
// nothing.
std::pair<uint64_t, uint64_t> ticks_of(const FileResult& file);

// Adds the results of a file; `symbols` finds the names of C functions.
void add_to_report(Report& report, const FileResult& file, const SymbolFinder& symbols);

// Sets inner_calls and inner_self_ns of groups that are roots of trees (threads, coroutines, Lua
// VMs) and have no calls of their own, from the functions below them, including coroutines that are
// separate within a thread or VM. Call once, after the last file.
void sum_up_groups(Report& report);

// --suspended: for flame graphs and folded stacks, adds suspended time to the report's tree as
// calls of a function `[suspended]`. The sums of the report do not change.
void add_suspended_nodes(Report& report);

// Inclusive time by node, in ns; of the root, the sum over all functions without idle time.
std::vector<uint64_t> inclusive_ns(const CallTree& tree);

}  // namespace luatrace::analyze
