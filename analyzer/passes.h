// SPDX-License-Identifier: MIT
// The passes of luatrace-analyze, in the order in which main() runs them.
#pragma once

#include <functional>

#include "analyzer/options/options.h"
#include "analyzer/output/page/flame_page.h"
#include "analyzer/pipeline.h"

namespace luatrace::analyze {

// Prints "luatrace-analyze: text" to standard error.
void warn(const std::string& text);
// Translates the options into those of the pipeline.
PipelineOptions pipeline_options(const Options& options);

class CallTables;

// The state that all passes share.
struct Session {
  explicit Session(Options from)
      : options(std::move(from)), pipeline(pipeline_options(options), warn) {}
  Options options;
  Trust trust;                   // Over all files, whatever the mode.
  bool unreadable = false;       // At least one file could not be read or written.
  bool condition = false;        // One of the --fail-if conditions is true.
  bool not_pushed = false;       // The server of --push has not taken the profile.
  bool missing = false;          // A --fail-if condition names a function that does not occur.
  bool has_events = false;       // At least one file has events, that is, is no saved profile.
  CallTables* tables = nullptr;  // --format parquet, while files are read.
  FlameInput page;               // Its chart, or why it has none; filled while the files are read.
  Pipeline pipeline;
};
// Warns that a file cannot be written and sets `unreadable`, which decides the exit status. `why`
// may be empty.
void cannot_write(Session& session, const std::string& path, const std::string& why);
// Runs `read` on each file with diagnostics of its own; warns of an unreadable file and continues
// with the next.
void each_file(Session& session, const std::vector<std::string>& files,
               const std::function<void(const std::string& path, Input&, Diagnostics&)>& read);

// Throws UsageError if an output file is also an input file, because a recording cannot be
// repeated, or exists and is no such output of ours (without --force).
void refuse_others_files(const Options& options);
// Warns of traces that are given twice, which count twice; a glob may have done it by mistake.
void warn_duplicates(const Options& options);
// --dump: prints each file as text, with or without times.
void dump_files(Session& session);
// --jit: reads what the compiler did in all files, and writes its tables.
void jit_files(Session& session);
// --convert: writes the single input file (a text trace or an import) as a binary trace.
void convert_file(Session& session);
// --compact: rewrites each saved profile with longer time buckets.
void compact_files(Session& session);
// Reads the files (traces and saved profiles) into one report. If requested, also writes their
// individual calls and keeps them for the chart.
Report read_traces(Session& session);
// Reads `files` into one report. `writes_calls`: individual calls are written meanwhile.
Report read_files(Session& session, const std::vector<std::string>& files,
                  bool writes_calls = false);
// Writes the requested outputs. `before`: the report of the files that --diff names, or null.
void write_outputs(Session& session, const Report& report, const Report* before);
// --push: sends the report to the server, and sets Session::not_pushed if that has not taken it.
void push_profile(Session& session, const Report& report);
// Tests the --fail-if conditions and sets Session::condition and Session::missing.
void test_conditions(Session& session, const Report& report, const Report* before);

}  // namespace luatrace::analyze
