// SPDX-License-Identifier: MIT
// speedscope's own format (file-format-schema.json of its release): the call tree as one "evented"
// profile, in which each node is opened and closed once, at the sum of the self times before it. So
// the file grows with the tree, not with its depth, and weights are exact nanoseconds.
#include <ostream>

#include "analyzer/collect/tree_links.h"
#include "analyzer/output/formats/names.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

void write_frames(std::ostream& out, const std::vector<FrameName>& names) {
  const char* comma = "";
  for (const auto& n : names) {
    out << comma << "\n  {\"name\":" << json_string(n.name);
    if (!n.file.empty()) out << ",\"file\":" << json_string(n.file);
    if (n.line) out << ",\"line\":" << n.line;
    out << '}';
    comma = ",";
  }
}

void write_events(std::ostream& out, const Report& report) {
  const std::vector<uint64_t> inclusive = inclusive_ns(report.tree);
  const char* comma = "";
  uint64_t at = 0;
  auto event = [&](char type, NodeId node) {
    if (inclusive[node] == 0) return;
    out << comma << "\n   {\"type\":\"" << type << "\",\"frame\":" << report.tree[node].function
        << ",\"at\":" << at << '}';
    comma = ",";
  };
  TreeLinks(report.tree)
      .walk([&](NodeId node) { event('O', node); },
            [&](NodeId node) {
              at += report.tree[node].self;
              event('C', node);
            });
}

}  // namespace

void write_speedscope(std::ostream& out, const Report& report, const ExportOptions& options) {
  const std::string name =
      json_string(report.files.empty() ? std::string("luatrace") : report.files[0].path);
  out << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
      << " \"exporter\":\"luatrace\",\"name\":" << name << ",\"activeProfileIndex\":0,\n"
      << " \"shared\":{\"frames\":[";
  write_frames(out, frame_names(report, options));
  out << "]},\n \"profiles\":[{\"type\":\"evented\",\"name\":" << name
      << ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":" << inclusive_ns(report.tree)[0]
      << ",\n  \"events\":[";
  write_events(out, report);
  out << "]}]}\n";
}

}  // namespace luatrace::analyze
