// SPDX-License-Identifier: MIT
// The requests of a trace that is still being recorded: of each interval those that ended in it,
// and those that were open at its end. collect/request_sink.h bounds the memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/collect/request_sink.h"
#include "analyzer/live.h"
#include "analyzer/machine/streams.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/input.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/report.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {

struct LiveRequestOptions {
  std::vector<std::string> by;  // As for RequestLog.
  std::string sort = "wall";    // wall, running, waits, others or unattributed.
  size_t limit = 20;            // Requests of each kind with a row.
};

// What happened in an interval. Requests are numbered over all Lua VMs, as they began.
struct RequestsReport {
  RequestTotals ended;
  uint64_t open = 0;
  // The rows of both kinds: only `requests`, and the functions that they mention.
  Report first, oldest;
  uint64_t traced_ns = 0, running_ns = 0, idle_ns = 0;
  Trust trust;
};

class LiveRequests {
 public:
  // As for LiveTrace.
  LiveRequests(Input& input, const std::function<void(const std::string&)>& warn,
               const LiveRequestOptions& options);
  ~LiveRequests();
  LiveRequests(const LiveRequests&) = delete;
  LiveRequests& operator=(const LiveRequests&) = delete;

  // Reads about a block. False at the end of the trace, which ends all requests.
  bool step();
  // Returns what happened since the last call. mono_ns: the present time on CLOCK_MONOTONIC, until
  // which open requests of idle Lua VMs wait if nothing came from there for some time; 0: unknown.
  RequestsReport interval(uint64_t mono_ns);
  const Trust& trust() const { return diag_.trust; }  // Since the beginning.
  // Number of coroutines and requests that memory is needed for.
  size_t size() const { return sink_.size(); }
  // Processes and Lua VMs, among others.
  const TraceFacts& facts() const { return facts_; }

 private:
  Report rows(const std::vector<RequestSums>& requests) const;

  TraceFacts facts_;
  Diagnostics diag_;
  Symbolizer symbolizer_;
  const SymbolFinder finder_;
  RequestSink sink_;
  Streams<RequestSink> streams_;
  std::unique_ptr<TraceReader> reader_;
  bool ended_ = false;
  Trust before_;            // At the end of the previous interval, ...
  uint64_t traced_ns_ = 0;  // ... and the time traced until then.
};

}  // namespace luatrace::analyze
