// SPDX-License-Identifier: MIT
// --format NAME -o FILE: what the analyzer found out, in the words of other programs.
//
// One table: a format is a name and a function. Most are made from the report, so that every filter
// and grouping shows in them; those that tell single calls one after the other are made while the
// trace is read (Calls, export/calls.h).
//
// Invariant: in every format the self times of the calls sum up to the same as in the report, as
// exactly as the format's unit allows. Names come from programs nobody trusts: each format escapes
// what is special in it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// How a function is called in formats that have but one string for it.
enum class FrameStyle {
  kOurs,    // work (app.lua:12), string.gsub, memcpy (libc.so.6)
  kTagged,  // L:app.lua:12, builtin#string.gsub, C:memcpy
  kAtFile,  // @app.lua:12, builtin#string.gsub, C:memcpy
};

struct ExportOptions {
  std::string format;        // "": no export.
  std::string output = "-";  // File, "-": standard output.
  FrameStyle style = FrameStyle::kOurs;
  std::string source_root;  // Taken away from the front of file names.
  uint64_t unit_ns = 1;     // Of folded weights.
};

class CallWriter;

struct ExportFormat {
  const char* name;
  const char* what;  // For --help.
  // Writes it from the report, or (one of them is null) writes calls while the trace is read.
  void (*write)(std::ostream& out, const Report& report, const ExportOptions& options);
  std::unique_ptr<CallWriter> (*make_writer)(std::ostream& out) = nullptr;
  bool has_tree = false;  // With --yielded suspended time is in it, too.
};

std::span<const ExportFormat> export_formats();
// Null if there is none of this name.
const ExportFormat* find_format(const std::string& name);
// Of "ours", "L" or "@".
FrameStyle frame_style(const std::string& name);

// The formats. Where one is specified is said at its definition.
void write_speedscope(std::ostream& out, const Report& report, const ExportOptions& options);
void write_pprof(std::ostream& out, const Report& report, const ExportOptions& options);
void write_callgrind(std::ostream& out, const Report& report, const ExportOptions& options);
void write_functions_csv(std::ostream& out, const Report& report, const ExportOptions& options);
void write_luaprofile(std::ostream& out, const Report& report, const ExportOptions& options);
void write_xmake(std::ostream& out, const Report& report, const ExportOptions& options);

// Those that write single calls while the trace is read.
std::unique_ptr<CallWriter> make_chrome_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_perfetto_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_luaprofiler_writer(std::ostream& out);

}  // namespace luatrace::analyze
