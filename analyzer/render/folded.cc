// SPDX-License-Identifier: MIT
#include "analyzer/render/folded.h"

#include <algorithm>
#include <ostream>

#include "analyzer/decode/escape.h"
#include "analyzer/render/format.h"

namespace luatrace {
namespace {

std::string frame_name(const ReportFunction& f) {
  std::string name = display_name(f), place = display_place(f);
  if (!place.empty() && place != name) name += " (" + place + ')';
  return printable(name);
}

}  // namespace

void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns) {
  std::vector<std::string> names;
  for (const auto& f : report.functions) names.push_back(frame_name(f));
  write_folded(out, report, unit_ns, std::move(names));
}

void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns,
                  std::vector<std::string> names) {
  for (auto& name : names) std::replace(name.begin(), name.end(), ';', ':');
  std::vector<uint32_t> chain;
  for (uint32_t i = 1; i < report.tree.size(); i++) {
    uint64_t weight = report.tree[i].self / unit_ns;
    if (weight == 0) continue;
    chain.clear();
    for (uint32_t at = i; at != 0; at = report.tree[at].parent) chain.push_back(at);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at)
      out << (at == chain.rbegin() ? "" : ";") << names[report.tree[*at].function];
    out << ' ' << weight << '\n';
  }
}

void write_folded_diff(std::ostream& out, const Diff& diff, uint64_t unit_ns) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < diff.before.size(); i++) names.push_back(frame_name(diff.any(i)));
  std::vector<uint32_t> chain;
  for (uint32_t i = 1; i < diff.nodes.size(); i++) {
    uint64_t before = diff.nodes[i].before.self_ns / unit_ns;
    uint64_t after = diff.nodes[i].after.self_ns / unit_ns;
    if (before == 0 && after == 0) continue;
    chain.clear();
    for (uint32_t at = i; at != 0; at = diff.nodes[at].parent) chain.push_back(at);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at)
      out << (at == chain.rbegin() ? "" : ";") << names[diff.nodes[*at].function];
    out << ' ' << before << ' ' << after << '\n';
  }
}

}  // namespace luatrace
