// SPDX-License-Identifier: MIT
// The passes of luatrace-analyze, in the order in which main() runs them.
#pragma once

#include "analyzer/aggregate/report.h"
#include "analyzer/options.h"

namespace luatrace {

// What all passes share.
struct Session {
  Options options;
  Trust trust;              // Of all files, whatever was done with them.
  bool unreadable = false;  // At least one file could not be read or written.
};

// Prints "luatrace-analyze: text" to standard error.
void complain(const std::string& text);

// --dump: each file as text, with or without times.
void dump_files(Session& session);
// --convert: the one file as a binary trace.
void convert_file(Session& session);
// Reads all files into one report.
Report analyze_files(Session& session);
// Writes the outputs that were asked for.
void write_outputs(Session& session, const Report& report);

}  // namespace luatrace
