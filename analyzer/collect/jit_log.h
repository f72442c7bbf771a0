// SPDX-License-Identifier: MIT
// --jit: what the compiler did, from the records beside the calls (luatrace_work.h): traces that
// were begun, completed and given up, what stays interpreted, exits, and discarded traces.
//
// A trace is known by its number until it is discarded; one whose beginning is not in the recording
// has no other name. The compiler's time is that of its calls: what a trace costs is
// their time from its start to its end.
//
// Invariant: memory grows with the places, reasons and traces that occur, each of which took a
// record; nothing here is an index into something that the file does not have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/read/model.h"
#include "analyzer/read/words.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

// A line of a function: where a trace begins, or the compiler gives up.
struct JitPlace {
  std::string function;  // A key, see JitLog::name(); "" if the recording does not know it.
  uint32_t line = 0;
  auto operator<=>(const JitPlace&) const = default;
};

struct JitAbort {
  JitPlace at;
  std::string reason;  // Untrusted.
  auto operator<=>(const JitAbort&) const = default;
};

struct JitAborts {
  uint64_t count = 0, ns = 0, blacklisted = 0;
};

// Why what begins here stays interpreted.
struct JitInterpreted {
  bool off = false;  // The program has switched the compiler off for it.
  uint64_t count = 0;
  JitAbort last;  // What happened before it was blacklisted.
};

struct JitExit {
  JitPlace trace, root;  // Where the trace begins, and that from which it branches in the end.
  uint32_t exit = 0;
  auto operator<=>(const JitExit&) const = default;
};

struct JitTotals {
  uint64_t begun = 0, completed = 0, aborted = 0, exits = 0;
  uint64_t code_bytes = 0;  // Machine code.
  uint64_t ns = 0;          // The compiler's time.
  uint64_t collector_ns = 0, steps = 0, full = 0;
  uint64_t flushes = 0, flushed = 0;          // By the program or the VM; traces.
  uint64_t own_flushes = 0, own_flushed = 0;  // For the recording.
};

class JitLog : public TraceSink {
 public:
  void on_header(const Clock& clock, const lt_file_header&) override { clock_ = clock; }
  void on_function(const FunctionInfo& f) override;
  void on_events(const EventBlock& block) override;
  // The file ends; its streams are numbered again in the next one.
  void finish_file();

  // "work (app.lua:3)". A function's name may become known only after a place in it. Untrusted.
  const std::string& name(const JitPlace& place) const;
  const JitTotals& totals() const { return totals_; }
  const std::map<JitAbort, JitAborts>& aborts() const { return aborts_; }
  const std::map<JitPlace, JitInterpreted>& interpreted() const { return interpreted_; }
  const std::map<JitExit, uint64_t>& exits() const { return exits_; }

 private:
  // A trace that is being recorded, or has just ended.
  struct Attempt {
    uint32_t number = 0;  // 0: none.
    JitPlace place, root;
    uint64_t ticks = 0;
    JitAborts* aborts = nullptr;  // It has ended so; its cost goes there.
    bool ended = false;
  };
  struct Live {
    JitPlace place, root;
    std::unordered_map<uint32_t, uint64_t*> exits;  // Where they are counted, by exit.
  };
  struct Stream {
    uint64_t now = 0;
    uint32_t compiler = 0, collector = 0;  // Ids of the functions; 0: not described.
    uint64_t compiles_since = UINT64_MAX;  // UINT64_MAX: it does not work.
    uint64_t collects_since = UINT64_MAX;
    Attempt attempt;
    std::unordered_map<uint32_t, Live> traces;       // By number.
    std::unordered_map<uint32_t, std::string> keys;  // Of functions and reasons, by id.
  };

  void record(Stream& s, const Record& r);
  void call(Stream& s, const Record& r);
  void trace(Stream& s, const Record& r);
  void start(Stream& s, const Record& r);
  void stop(Stream& s, const Record& r);
  void abort(Stream& s, const Record& r);
  void flush(Stream& s, const Record& r);
  void left(Stream& s, const Record& r);
  void settle(Attempt& attempt);
  std::string older_trace(uint32_t number);
  static JitPlace place(const Stream& s, uint64_t word);

  Clock clock_;
  std::unordered_map<StreamId, Stream, RandomHash> streams_;
  std::unordered_map<std::string, std::string> names_;  // By key.
  JitTotals totals_;
  std::map<JitAbort, JitAborts> aborts_;
  std::map<JitPlace, JitInterpreted> interpreted_;
  std::map<JitExit, uint64_t> exits_;
};

}  // namespace luatrace::analyze
