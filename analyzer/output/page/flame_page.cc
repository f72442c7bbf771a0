// SPDX-License-Identifier: MIT
// Fills the page shell (HTML, CSS and script, joined at build time by inline_page.cmake), which has
// placeholders. They are replaced in one pass, so that no input can be taken for a placeholder.
#include "analyzer/output/page/flame_page.h"

#include <map>
#include <ostream>
#include <set>
#include <string_view>

#include "analyzer/collect/request_rules.h"
#include "analyzer/output/page/chart_pack.h"
#include "analyzer/output/page/page_shell.h"
#include "analyzer/output/page/page_text.h"
#include "analyzer/output/page/request_pack.h"
#include "analyzer/output/page/tree_pack.h"

namespace luatrace::analyze {
namespace {

using page::FunctionTotals;
using page::PackedTree;
using page::script_string;

// Writes [a, b, c], calling write(item) for each.
template <typename Items, typename Write>
void write_array(std::ostream& out, const Items& items, Write write) {
  out << '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out << ',';
    first = false;
    write(item);
  }
  out << ']';
}

// Chunks, kinds and threads repeat a lot: each is written once and referred to by index.
class Names {
 public:
  size_t place(const std::string& text) {
    auto [at, is_new] = places_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(&at->first);
    return at->second;
  }
  void write(std::ostream& out) const {
    write_array(out, list_, [&](const std::string* text) { out << script_string(*text); });
  }

 private:
  std::map<std::string, size_t> places_;
  std::vector<const std::string*> list_;
};

// Writes ,"key":[...] with get(item) for each item.
template <typename Items, typename Get>
void write_column(std::ostream& out, const char* key, const Items& items, Get get) {
  out << ",\"" << key << "\":";
  write_array(out, items, [&](const auto& item) { out << get(item); });
}

// Writes durations of calls: [complete, min, average, max, wall, and if known p50, p90, p99, p99.9,
// standard deviation], or 0.
void write_times(std::ostream& out, const ReportFunction& f) {
  if (f.complete == 0 && f.wall_ns == 0) return void(out << '0');
  out << '[' << f.complete << ',' << f.min_ns << ',' << f.average_ns() << ',' << f.max_ns << ','
      << f.wall_ns;
  if (!f.times.buckets.empty()) {
    for (double percent : {50.0, 90.0, 99.0, 99.9})
      out << ',' << f.times.percentile(percent, f.min_ns, f.max_ns);
    out << ',' << static_cast<uint64_t>(deviation(f.complete, f.sum_ns, f.times.squares));
  }
  out << ']';
}

// The colour of a group of coroutines is not that of other groups.
const char* page_kind(const ReportFunction& f) {
  return f.coroutine ? "coroutine" : kind_name(f.kind);
}

void write_functions(std::ostream& out, const FlameInput& input, const PackedTree& tree) {
  Names chunks, kinds;
  std::vector<size_t> chunk, kind;
  for (const ReportFunction* f : input.functions) {
    chunk.push_back(chunks.place(f->chunk));
    kind.push_back(kinds.place(page_kind(*f)));
  }
  auto number = [](auto value) { return value; };
  auto totals = [&](const char* key, uint64_t FunctionTotals::*member) {
    write_column(out, key, tree.functions, [&](const FunctionTotals& t) { return t.*member; });
  };
  out << "{\"name\":";
  write_array(out, input.functions, [&](auto* f) { out << script_string(distinct_name(*f)); });
  write_column(out, "line", input.functions, [](auto* f) { return f->line; });
  out << ",\"chunks\":", chunks.write(out);
  write_column(out, "chunk", chunk, number);
  out << ",\"kinds\":", kinds.write(out);
  write_column(out, "kind", kind, number);
  write_column(out, "main", input.functions, [](auto* f) { return is_main_chunk(*f); });
  write_column(out, "hint", input.functions, [](auto* f) { return shows_hint(*f); });
  totals("calls", &FunctionTotals::calls);
  totals("inclusive", &FunctionTotals::inclusive_ns);
  totals("self", &FunctionTotals::self_ns);
  if (input.before) {
    totals("beforeCalls", &FunctionTotals::before_calls);
    totals("beforeInclusive", &FunctionTotals::before_inclusive_ns);
    totals("beforeSelf", &FunctionTotals::before_self_ns);
  }
  out << ",\"times\":";
  write_array(out, input.functions, [&](auto* f) { write_times(out, *f); });
  out << '}';
}

void write_tracks(std::ostream& out, const FlameChart& chart, uint64_t origin) {
  Names threads;
  std::vector<size_t> thread;
  for (const FlameTrack& t : chart.tracks) thread.push_back(threads.place(t.thread));
  auto column = [&](const char* key, auto get) { write_column(out, key, chart.tracks, get); };
  out << "{\"name\":";
  write_array(out, chart.tracks, [&](const FlameTrack& t) { out << script_string(t.name); });
  out << ",\"threads\":", threads.write(out);
  write_column(out, "thread", thread, [](size_t value) { return value; });
  column("slices", [](const FlameTrack& t) { return t.slices.size(); });
  column("begin", [&](const FlameTrack& t) { return t.begin_ns - origin; });
  column("end", [&](const FlameTrack& t) { return t.end_ns - origin; });
  column("suspended", [](const FlameTrack& t) { return t.suspended_ns; });
  column("waiting", [](const FlameTrack& t) { return t.waiting_ns; });
  column("resumes", [](const FlameTrack& t) { return t.resumes; });
  column("resumer", [](const FlameTrack& t) { return t.resumer; });
  out << '}';
}

void write_chart(std::ostream& out, const FlameChart& chart, uint64_t origin) {
  const uint64_t offset = chart.zero_ns && chart.zero_ns < origin ? origin - chart.zero_ns : 0;
  out << "{\"offset\":" << offset << ",\"shortest\":" << chart.shortest_ns
      << ",\"calls\":" << chart.calls << ",\"self\":" << chart.self_ns
      << ",\"hiddenCalls\":" << chart.hidden_calls << ",\"hiddenTime\":" << chart.hidden_ns
      << ",\"hiddenTracks\":" << chart.hidden_tracks
      << ",\"linked\":" << (chart.linked ? "true" : "false")
      << ",\"note\":" << script_string(chart.note) << ",\"tracks\":";
  write_tracks(out, chart, origin);
  out << '}';
}

// phases: the functions that are phases, and the names of these.
void write_requests(std::ostream& out, const FlameInput& input) {
  if (input.requests.shown.empty() || input.chart.tracks.empty()) return void(out << "null");
  std::set<ReportFunctionId> phases;
  for (const FlameRequest& r : input.requests.shown)
    for (const auto& p : r.sums->phases)
      if (p.function != kReportRoot) phases.insert(p.function);
  out << "{\"count\":" << input.requests.shown.size() << ",\"all\":" << input.requests.all
      << ",\"files\":";
  write_array(out, input.requests.files, [&](const std::string& s) { out << script_string(s); });
  out << ",\"phases\":";
  write_array(out, phases, [&](ReportFunctionId f) {
    out << '[' << f << ',' << script_string(phase_name(*input.functions.at(f))) << ']';
  });
  out << '}';
}

void write_meta(std::ostream& out, const FlameInput& input, const PackedTree& tree,
                uint64_t origin) {
  out << "{\"title\":" << script_string(input.title) << ",\"subtitle\":";
  write_array(out, input.subtitle, [&](const std::string& s) { out << script_string(s); });
  out << ",\"trust\":" << script_string(input.trust) << ",\"nodes\":" << tree.nodes
      << ",\"total\":" << tree.total_ns << ",\"prunedNodes\":" << tree.pruned_nodes
      << ",\"prunedTime\":" << tree.pruned_ns << ",\"diff\":" << (input.before ? "true" : "false")
      << ",\"before\":" << tree.before_ns << ",\"scale\":" << input.scale
      << ",\"noChart\":" << script_string(input.no_chart)
      << ",\"onlyGraph\":" << (input.only_graph ? "true" : "false")
      << ",\"program\":" << script_string(input.program)
      << ",\"madeAt\":" << script_string(input.made_at) << ",\"command\":";
  write_array(out, input.command, [&](const std::string& s) { out << script_string(s); });
  out << ",\"chart\":";
  if (input.chart.tracks.empty())
    out << "null";
  else
    write_chart(out, input.chart, origin);
  out << ",\"requests\":", write_requests(out, input);
  out << ",\"functions\":";
  write_functions(out, input, tree);
  out << '}';
}

}  // namespace

void write_flame_page(std::ostream& out, const FlameInput& input) {
  const PackedTree tree = page::pack_tree(input);
  const page::PackedChart chart = page::pack_chart(input);
  std::string_view shell = page::page_shell();
  while (!shell.empty()) {
    const size_t mark = shell.find("@@");
    out << shell.substr(0, mark);
    if (mark == std::string_view::npos) break;
    const std::string_view name = shell.substr(mark + 2, shell.find("@@", mark + 2) - mark - 2);
    if (name == "TITLE") out << page::html_text(input.title);
    if (name == "META") write_meta(out, input, tree, chart.origin_ns);
    if (name == "SLICES") out << page::base64(chart.bytes);
    if (name == "REQUESTS" && !input.chart.tracks.empty())
      out << page::base64(page::pack_requests(input, chart.origin_ns));
    if (name == "NODES") out << page::base64(tree.bytes);
    shell.remove_prefix(mark + 4 + name.size());
  }
}

}  // namespace luatrace::analyze
