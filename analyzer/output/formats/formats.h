// SPDX-License-Identifier: MIT
// --format NAME -o FILE: the results in the formats of other programs.
//
// A table lists each format with its name and function. Most are written from the report, so every
// filter and grouping applies; those of individual calls are written while the trace is read
// (CallWriter, collect/call_writer.h).
//
// Invariant: in every format the self times sum to those of the report, as exactly as the format's
// unit allows. Names come from untrusted programs: each format escapes its special characters.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// How formats with only one string for a function name it.
enum class FrameStyle {
  kOurs,    // work (app.lua:12), string.gsub, memcpy (libc.so.6)
  kTagged,  // L:app.lua:12, builtin#string.gsub, C:memcpy, K:schedule
  kAtFile,  // @app.lua:12, builtin#string.gsub, C:memcpy
};

struct ExportOptions {
  std::string format;        // "": no export.
  std::string output = "-";  // A file; "-": standard output.
  bool force = false;        // Files of other programs are overwritten, too.
  FrameStyle style = FrameStyle::kOurs;
  std::string source_root;  // Prefix to strip from file names.
  uint64_t unit_ns = 1;     // Unit of folded weights.
  bool on_screen = false;   // For a person: what is small is left out, and the text says so.
  std::string input;        // The file to name then.
  std::string delimiter;    // Of folded stacks, before functions of the kernel; "": none.
};

class CallWriter;

struct ExportFormat {
  const char* name;
  // `write` writes the report, `make_writer` writes calls while the trace is read. parquet has
  // neither: it is a directory of tables (output/columns/).
  void (*write)(std::ostream& out, const Report& report, const ExportOptions& options);
  std::unique_ptr<CallWriter> (*make_writer)(std::ostream& out) = nullptr;
  bool has_tree = false;  // --suspended adds suspended time.
};

std::span<const ExportFormat> export_formats();
constexpr const char* kTables = "parquet";
// Null if no format has this name.
const ExportFormat* find_format(const std::string& name);
// Takes "ours", "L" or "@".
FrameStyle frame_style(const std::string& name);

// The formats. Their definitions name the specifications.
void write_speedscope(std::ostream& out, const Report& report, const ExportOptions& options);
void write_pprof(std::ostream& out, const Report& report, const ExportOptions& options);
void write_callgrind(std::ostream& out, const Report& report, const ExportOptions& options);
void write_functions_csv(std::ostream& out, const Report& report, const ExportOptions& options);
void write_luaprofile(std::ostream& out, const Report& report, const ExportOptions& options);
void write_xmake(std::ostream& out, const Report& report, const ExportOptions& options);

// Formats of individual calls, written while the trace is read.
std::unique_ptr<CallWriter> make_chrome_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_perfetto_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_luaprofiler_writer(std::ostream& out);

}  // namespace luatrace::analyze
