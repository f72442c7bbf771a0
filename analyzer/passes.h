// SPDX-License-Identifier: MIT
// The passes of luatrace-analyze, in the order in which main() runs them.
#pragma once

#include <functional>
#include <optional>

#include "analyzer/options/options.h"
#include "analyzer/output/page/flame_page.h"
#include "analyzer/pipeline.h"

namespace luatrace::analyze {

// Prints "luatrace-analyze: text" to standard error.
void warn(const std::string& text);
// What the options ask of the pipeline.
PipelineOptions pipeline_options(const Options& options);

// What all passes share.
struct Session {
  explicit Session(Options from)
      : options(std::move(from)), pipeline(pipeline_options(options), warn) {}
  Options options;
  Trust trust;              // Of all files, whatever was done with them.
  bool unreadable = false;  // At least one file could not be read or written.
  bool condition = false;   // One of --fail-if is true.
  bool missing = false;     // One of --fail-if names a function that does not occur.
  FlameChart chart;         // For the page: filled while the files are read.
  std::string no_chart;     // Why it is empty.
  Pipeline pipeline;
};
// The same of a file that cannot be written, for the exit status, too. why: may be empty.
void cannot_write(Session& session, const std::string& path, const std::string& why);
// Runs `read` on each file with its diagnostics; an unreadable one is said, the others go on.
void each_file(Session& session, const std::vector<std::string>& files,
               const std::function<void(const std::string& path, Input&, Diagnostics&)>& read);

// Throws UsageError if a file to be written is one of those to be read: recordings cannot be
// repeated.
void refuse_own_input(const Options& options);
// A trace that is given twice counts twice: said, as it may be a slip of a glob.
void warn_duplicates(const Options& options);
// --dump: each file as text, with or without times.
void dump_files(Session& session);
// --convert: the one file as a binary trace.
void convert_file(Session& session);
// Reads the files (traces and saved profiles) into one report; writes their single calls, and keeps
// them for the chart, if that was asked for.
Report read_traces(Session& session);
// The same of files that --diff names. `writes_calls`: to standard output.
Report read_files(Session& session, const std::vector<std::string>& files,
                  bool writes_calls = false);
// Writes the outputs that were asked for. `before`: what --diff names, or null.
void write_outputs(Session& session, const Report& report, const Report* before);
// --fail-if.
void test_conditions(Session& session, const Report& report, const Report* before);

}  // namespace luatrace::analyze
