// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/names.h"

#include <algorithm>

#include "analyzer/output/format.h"
#include "analyzer/symbols/function_name.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// display_place() without the line, with `root` stripped.
std::string file_of(const FunctionName& f, const std::string& root) {
  std::string file = display_place(f);
  if (f.kind == FunctionKind::kLua && !file.empty()) file.erase(file.rfind(':'));
  if (!root.empty() && file.starts_with(root)) {
    size_t skip = root.size();
    if (file[skip] == '/')
      skip++;
    else if (!root.ends_with('/'))
      skip = 0;  // Another folder whose name has the same prefix.
    file.erase(0, skip);
  }
  return printable(file);
}

std::string tagged(const FunctionName& f, const FrameName& n, const char* lua) {
  if (f.kind == FunctionKind::kLua) return lua + n.file + ':' + line_text(f);
  if (f.kind == FunctionKind::kBuiltin) return "builtin#" + n.name;
  if (f.kind == FunctionKind::kC) return "C:" + n.name;
  return n.name;
}

}  // namespace

FrameName frame_name(const FunctionName& f, const ExportOptions& options) {
  FrameName n;
  n.file = file_of(f, options.source_root);
  n.line = f.kind == FunctionKind::kLua ? f.line : 0;
  n.name = printable(distinct_name(f));
  const std::string line = ':' + (f.kind == FunctionKind::kLua ? line_text(f) : "0");
  const std::string place = f.kind == FunctionKind::kLua ? n.file + line : n.file;
  switch (options.style) {
    case FrameStyle::kOurs:
      n.label = place.empty() || place == n.name ? n.name : n.name + " (" + place + ')';
      break;
    case FrameStyle::kTagged:
      n.label = n.name = tagged(f, n, "L:");
      break;
    case FrameStyle::kAtFile:
      n.label = n.name = tagged(f, n, "@");
      break;
  }
  n.unique = (n.line == 0 && f.code == 0) || n.name.ends_with(line) ? n.name : n.name + line;
  return n;
}

std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options) {
  std::vector<FrameName> names;
  for (const auto& f : report.functions) names.push_back(frame_name(f, options));
  return names;
}

std::string track_name(const Track& track, bool of_state) {
  const std::string name = "coroutine " + std::to_string(track.coroutine);
  return of_state ? "state " + std::to_string(track.stream) + ", " + name : name;
}

std::string marker_name(Slice::Kind kind, uint32_t coroutine) {
  switch (kind) {
    case Slice::kResumed:
      return "[coroutine " + std::to_string(coroutine) + ']';
    case Slice::kSuspended:
      return "[yielded]";
    case Slice::kUnknown:
      return "[unknown]";
    default:
      return "[filtered]";
  }
}

std::string tsv_cell(const std::string& text) {
  std::string cell = no_formula(text);
  std::replace(cell.begin(), cell.end(), '\t', ' ');
  return cell;
}

std::string microseconds(uint64_t ns) {
  std::string rest = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
}

}  // namespace luatrace::analyze
