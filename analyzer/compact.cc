// SPDX-License-Identifier: MIT
// The pass of --compact: makes the time buckets of saved profiles longer, in their files.
//
// Invariants: each file is by itself; it is replaced as a whole or stays as it is, and no sum in it
// changes. One that cannot be made coarser does not stop the others.
#include <stdexcept>

#include "analyzer/output/formats/own_output.h"
#include "analyzer/passes.h"
#include "analyzer/report/saved_profile.h"
#include "analyzer/report/time_buckets.h"
#include "base/escape.h"
#include "trace/output_file.h"

namespace luatrace::analyze {
namespace {

// Why the buckets of this file cannot become so long; empty if they can, or are.
std::string why_not(uint64_t own, uint64_t length) {
  if (!own) return "no time buckets: make it again from its traces, with --bucket";
  if (length % own && own % length)
    return "time buckets of " + width_text(own) + ", and " + width_text(length) +
           " is no multiple of that";
  return "";
}

void compact(Session& session, const std::string& path, Input& input, Diagnostics& diag) {
  const uint64_t length = session.options.compact_ns;
  if (!is_profile(input)) throw Unreadable(printable(path) + ": --compact: not a saved profile");
  PipelineOptions options = pipeline_options(session.options);
  options.keeps_buckets = true;
  Pipeline pipeline(options, warn);
  pipeline.read(input, diag);
  Report report = pipeline.finish();
  const uint64_t own = report.buckets.width_ns;
  if (const std::string why = why_not(own, length); !why.empty())
    throw Unreadable(printable(path) + ": --compact: it has " + why);
  if (own % length == 0) return;
  report.buckets.widen(length);
  OutputFile file(path, keep_others("profile", false));
  if (file) write_profile(file, report);
  if (const std::string why = file.finish(); !why.empty()) cannot_write(session, path, why);
}

}  // namespace

void compact_files(Session& session) {
  each_file(session, session.options.files,
            [&](const std::string& path, Input& input, Diagnostics& diag) {
              compact(session, path, input, diag);
            });
}

}  // namespace luatrace::analyze
