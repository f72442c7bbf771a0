// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/formats.h"

#include <algorithm>
#include <ostream>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/folded.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/output/json.h"

namespace luatrace::analyze {
namespace {

void folded(std::ostream& out, const Report& report, const ExportOptions& options) {
  std::vector<std::string> labels;
  for (const auto& name : frame_names(report, options)) labels.push_back(name.label);
  write_folded(out, report, options.unit_ns, std::move(labels), options.delimiter);
}

void json(std::ostream& out, const Report& report, const ExportOptions&) {
  write_json(out, report);
}

constexpr ExportFormat kFormats[] = {
    {"folded", folded, nullptr, true},
    {"speedscope", write_speedscope, nullptr, true},
    {"perfetto", nullptr, make_perfetto_writer},
    {"chrome", nullptr, make_chrome_writer},
    {"pprof", write_pprof, nullptr, true},
    {"callgrind", write_callgrind, nullptr, true},
    {"csv", write_functions_csv},
    {"json", json},
    {"luaprofiler", nullptr, make_luaprofiler_writer},
    {"luaprofile", write_luaprofile},
    {"xmake", write_xmake},
    {kTables, nullptr},
};

}  // namespace

std::span<const ExportFormat> export_formats() {
  return kFormats;
}

const ExportFormat* find_format(const std::string& name) {
  auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                            [&](const ExportFormat& f) { return name == f.name; });
  return found == std::end(kFormats) ? nullptr : found;
}

FrameStyle frame_style(const std::string& name) {
  return name == "L" ? FrameStyle::kTagged : name == "@" ? FrameStyle::kAtFile : FrameStyle::kOurs;
}

}  // namespace luatrace::analyze
