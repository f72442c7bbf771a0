// SPDX-License-Identifier: MIT
// luatrace-analyze: reads traces and reports which functions ran, their callers, how often and how
// long. This file lists the passes; the folders are the stages, in the order of the data flow:
//
//   read        bytes -> checked blocks -> descriptions and event words (binary or text)
//   machine     event words -> calls: a stack for each coroutine
//   symbols     addresses of C functions -> names
//   filter      what is shown of a trace
//   collect     calls -> call tree, histograms, single calls
//   report      sums of all files in nanoseconds
//   output      tables, CSV and JSON, folded stacks, formats of other programs, the page
#include <fcntl.h>
#include <malloc.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string_view>

#include "analyzer/passes.h"
#include "base/escape.h"
#include "cli/mains.h"
#include "cli/usage_error.h"
#include "trace/output_file.h"

using namespace luatrace;
using namespace luatrace::analyze;

// A file opened later must not become standard output because that was closed.
static void keep_standard_files() {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDONLY);
}

// A full disk or a closed pipe must not look like success.
static void flush(Session& session) {
  std::cout.flush();
  if (!std::cout && !session.unreadable)
    cannot_write(session, "-", error_text(write_error(std::cout)));
}

// The words of a command line are not those of a program that asks for a report of itself.
static const char* advice(int argc, char** argv) {
  const bool inside = std::find(argv, argv + argc, std::string_view("--inside")) != argv + argc;
  return inside ? "" : " (see --help)";
}

static int run(int argc, char** argv) {
  std::optional<Options> options = parse_options(argc, argv);
  Session session(options.value_or(Options()));
  // Wrong usage throws; after --help and --version nothing is left to do.
  if (!options) {
    flush(session);
    return session.unreadable ? kUnreadable : kGood;
  }

  refuse_others_files(session.options);
  warn_duplicates(session.options);
  if (session.options.dump) {
    dump_files(session);
  } else if (session.options.jit) {
    jit_files(session);
  } else if (session.options.convert) {
    convert_file(session);
  } else if (session.options.compact_ns) {
    compact_files(session);
  } else {
    Report report = read_traces(session);
    std::optional<Report> before;
    if (!session.options.diff.empty()) before = read_files(session, session.options.diff);
    const bool comparable = !before || !before->files.empty();
    for (const std::string& remark : session.pipeline.remarks()) warn(printable(remark));
    // Files that could be read are shown even if others could not, but a comparison needs at least
    // one file on each side.
    const Report* other = before ? &*before : nullptr;
    if (!report.files.empty() && comparable) write_outputs(session, report, other);
    if (!report.files.empty()) push_profile(session, report);
    if (!session.unreadable) test_conditions(session, report, other);
  }

  flush(session);
  if (session.unreadable) return kUnreadable;
  if (session.options.strict && session.trust.anomalies()) return kDamaged;
  if (session.condition) return kConditionTrue;
  if (session.missing) return kUsage;
  return session.not_pushed ? kNotPushed : kGood;
}

int luatrace::analyze_main(int argc, char** argv) {
  // Otherwise the threshold rises to 32 MB as large tables are freed; later tables then stay in the
  // heap, which does not return freed memory to the system.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  keep_standard_files();
  std::ios::sync_with_stdio(false);
  StandardOutput standard_output;
  try {
    return run(argc, argv);
  } catch (const UsageError& e) {
    warn(printable(e.what()) + advice(argc, argv));
    return kUsage;
  } catch (const std::exception& e) {
    warn("cannot continue: " + printable(e.what()));
    return kUnreadable;
  }
}
