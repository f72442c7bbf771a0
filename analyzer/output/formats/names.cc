// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/names.h"

#include <algorithm>

#include "analyzer/symbols/function_name.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// display_place() without the line, with `root` stripped.
std::string file_of(const FunctionName& f, const std::string& root) {
  std::string file = f.kind == FunctionKind::kLua ? display_place(f) : f.chunk;
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
  if (f.kind == FunctionKind::kBuiltin)  // samples have only its number, as builtin#36
    return (n.name.starts_with("builtin#") ? "" : "builtin#") + n.name;
  if (f.kind == FunctionKind::kC) return "C:" + n.name;
  if (f.kind == FunctionKind::kKernel) return "K:" + n.name;
  return n.name;
}

}  // namespace

FrameName frame_name(const FunctionName& f, const ExportOptions& options) {
  FrameName n;
  n.file = file_of(f, options.source_root);
  n.line = f.kind == FunctionKind::kLua ? f.line : 0;
  const bool lua = f.kind == FunctionKind::kLua, main = is_main_chunk(f) && !n.file.empty();
  n.name = main ? n.file : printable(distinct_name(f));
  const std::string line = ':' + (lua ? line_text(f) : "0");
  const std::string place = main ? shown_place(f) : lua ? n.file + line : n.file;
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
  const bool has_line = lua && (f.line || f.code);
  n.unique = !has_line || n.name.ends_with(line) ? n.name : n.name + line;
  return n;
}

std::vector<FrameName> frame_names(const Report& report, const ExportOptions& options) {
  std::vector<FrameName> names;
  std::map<std::string, size_t> count;
  for (const auto& f : report.functions) {
    names.push_back(frame_name(f, options));
    count[names.back().name]++;
  }
  DistinctNames plain, labels, in_file;
  for (FrameName& n : names) {
    n.name = plain.add(count[n.name] > 1 ? n.label : n.name);
    n.label = labels.add(n.label);
    n.unique = in_file.add(n.file + '\n' + n.unique).substr(n.file.size() + 1);
  }
  return names;
}

FrameName DistinctFrames::name(const FunctionName& f) {
  FrameName n = frame_name(f, options_);
  const std::string key = identity(f);
  const auto [known, fresh] = names_.try_emplace(key);
  if (fresh) known->second = distinct_.add(used_.insert(n.name).second ? n.name : n.label);
  n.name = known->second;
  return n;
}

std::string track_name(const Track& track, bool of_vm) {
  const std::string name = "coroutine " + std::to_string(track.coroutine);
  return of_vm ? "Lua VM " + std::to_string(track.stream) + ", " + name : name;
}

std::string marker_name(Slice::Kind kind, CoroutineId coroutine) {
  switch (kind) {
    case Slice::kResumed:
      return "[coroutine " + std::to_string(coroutine) + ']';
    case Slice::kSuspended:
      return "[suspended]";
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
