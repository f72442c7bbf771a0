// SPDX-License-Identifier: MIT
// Fills the page shell (HTML, CSS and script, joined at build time by inline_page.cmake), which has
// placeholders. They are replaced in one pass, so that no input can be taken for a placeholder.
#include "analyzer/output/page/flame_page.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>

#include "analyzer/collect/request_rules.h"
#include "analyzer/collect/tree_links.h"
#include "analyzer/output/page/chart_pack.h"
#include "analyzer/output/page/page_shell.h"
#include "analyzer/output/page/page_text.h"
#include "analyzer/output/page/request_pack.h"
#include "analyzer/report/report.h"
#include "analyzer/report/tree_times.h"
#include "base/leb128.h"

namespace luatrace::analyze {
namespace {

using page::FunctionTotals;
using page::PackedTree;
using page::script_string;

// -- The call tree: sums per function, pruning of nodes that are too small, encoding --

void check(const FlameInput& input) {
  for (NodeId i{1}; i < input.tree->size(); ++i) {
    const uint32_t function = (*input.tree)[i].function;
    if (function >= input.functions.size())
      throw std::invalid_argument("flame page: node " + std::to_string(i) + " names function " +
                                  std::to_string(function) + " of " +
                                  std::to_string(input.functions.size()));
  }
}

// The figures written for a node.
struct Figures {
  uint64_t calls = 0, self_ns = 0, before_calls = 0, before_self_ns = 0;

  Figures& operator+=(const Figures& other) {
    calls += other.calls;
    self_ns += other.self_ns;
    before_calls += other.before_calls;
    before_self_ns += other.before_self_ns;
    return *this;
  }
};

// The root's self time is idle time, which the page does not show.
Figures figures_of(const FlameInput& input, NodeId node) {
  if (node == kRootNode) return {};
  const CallNode& n = (*input.tree)[node];
  if (!input.before) return {n.calls, n.self, 0, 0};
  const NodeFigures& before = (*input.before)[node];
  return {n.calls, n.self, before.calls, before.self_ns};
}

// Selects the nodes to keep: the max_nodes largest. A parent is never smaller than its child, and
// of equal nodes the first in the input wins, so the parent of a kept node is kept.
std::vector<bool> choose(const std::vector<uint64_t>& inclusive, size_t max_nodes) {
  if (max_nodes == 0 || inclusive.size() <= max_nodes)
    return std::vector<bool>(inclusive.size(), true);
  std::vector<uint32_t> order(inclusive.size());
  std::iota(order.begin(), order.end(), 0);
  auto larger = [&](uint32_t a, uint32_t b) {
    return inclusive[a] != inclusive[b] ? inclusive[a] > inclusive[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + max_nodes, order.end(), larger);
  order.resize(max_nodes);
  std::vector<bool> keep(inclusive.size());
  for (uint32_t node : order) keep[node] = true;
  return keep;
}

std::vector<FunctionTotals> sum_functions(const FlameInput& input,
                                          const std::vector<uint64_t>& inclusive,
                                          const std::vector<uint64_t>& before) {
  const CallTree& tree = *input.tree;
  std::vector<FunctionTotals> totals(input.functions.size());
  for (NodeId i{1}; i < tree.size(); ++i) {
    const Figures figures = figures_of(input, i);
    FunctionTotals& sum = totals[tree[i].function];
    sum.calls += figures.calls;
    sum.self_ns += figures.self_ns;
    sum.before_calls += figures.before_calls;
    sum.before_self_ns += figures.before_self_ns;
  }
  const auto sums = outermost_sums(tree, totals.size(), inclusive);
  for (size_t f = 0; f < totals.size(); f++) totals[f].inclusive_ns = sums[f];
  if (!input.before) return totals;
  const auto sums_before = outermost_sums(tree, totals.size(), before);
  for (size_t f = 0; f < totals.size(); f++) totals[f].before_inclusive_ns = sums_before[f];
  return totals;
}

// Appends nodes to PackedTree::bytes; depth 0 is the root.
class Encoder {
 public:
  Encoder(PackedTree& tree, bool diff) : tree_(tree), diff_(diff) {}

  void add(uint32_t depth, uint64_t function, const Figures& figures) {
    auto number = [&](uint64_t value) { put_leb128(tree_.bytes, value); };
    number(below_ - depth);
    number(function);
    number(figures.calls);
    number(figures.self_ns);
    if (diff_) number(figures.before_calls), number(figures.before_self_ns);
    below_ = depth + 1;
    tree_.nodes++;
  }

 private:
  PackedTree& tree_;
  const bool diff_;
  uint32_t below_ = 0;
};

// Writes the nodes to keep, each with a [pruned] child for those of its children that are not kept.
class TreeWriter {
 public:
  // inclusive, before: times by node, in ns.
  TreeWriter(PackedTree& packed, const FlameInput& input, const std::vector<bool>& keep,
             const std::vector<uint64_t>& inclusive, const std::vector<uint64_t>& before)
      : packed_(packed),
        input_(input),
        keep_(keep),
        inclusive_(inclusive),
        before_(before),
        links_(*input.tree),
        encoder_(packed, input.before) {}

  void write() {
    uint32_t depth = 0;
    add(kRootNode, depth++, packed_.functions.size() + 1);
    links_.walk(
        [&](NodeId node) {
          if (keep_[node]) add(node, depth, (*input_.tree)[node].function);
          depth++;
        },
        [&](NodeId) { depth--; });
  }

 private:
  void add(NodeId node, uint32_t depth, uint64_t function) {
    encoder_.add(depth, function, figures_of(input_, node));
    Figures lost;
    bool any = false;
    for (NodeId child = links_.child(node); child; child = links_.sibling(child)) {
      if (keep_[child]) continue;
      any = true;
      Figures figures = figures_of(input_, child);
      figures.self_ns = inclusive_[child];
      figures.before_self_ns = before_[child];
      lost += figures;
    }
    if (any) encoder_.add(depth + 1, packed_.functions.size(), lost);
    packed_.pruned_ns += lost.self_ns;
  }

  PackedTree& packed_;
  const FlameInput& input_;
  const std::vector<bool>& keep_;
  const std::vector<uint64_t>&inclusive_, &before_;
  const TreeLinks links_;
  Encoder encoder_;
};

// -- The other data --

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
// standard deviation], or 0. Minimum and maximum are null if they are not known.
void write_times(std::ostream& out, const ReportFunction& f) {
  if (f.all_complete() == 0 && f.wall_ns == 0) return void(out << '0');
  const auto single = [&f](uint64_t ns) { return f.knows_times() ? std::to_string(ns) : "null"; };
  out << '[' << f.all_complete() << ',' << single(f.min_ns) << ',' << f.average_ns() << ','
      << single(f.max_ns) << ',' << f.wall_ns;
  if (!f.times.buckets.empty() && f.knows_times()) {
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

bool has_cpu_times(const ReportFunction* f) {
  return f->has_cpu_times();
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
  if (std::any_of(input.functions.begin(), input.functions.end(), has_cpu_times)) {
    write_column(out, "cpu", input.functions,
                 [](auto* f) { return f->has_cpu_times() ? f->cpu_ns : 0; });
    write_column(out, "selfCpu", input.functions,
                 [](auto* f) { return f->has_cpu_times() ? f->self_cpu_ns : 0; });
  }
  const auto has_apportioned = [](const ReportFunction* f) {
    return f->segments->apportioned_ns > 0;
  };
  if (std::any_of(input.functions.begin(), input.functions.end(), has_apportioned)) {
    write_column(out, "apportioned", input.functions,
                 [](auto* f) { return f->segments->apportioned_ns; });
    write_column(out, "selfApportioned", input.functions,
                 [](auto* f) { return f->segments->self_apportioned_ns; });
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
  column("file", [](const FlameTrack& t) { return t.file; });
  column("vm", [](const FlameTrack& t) { return t.vm; });
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

// phases: the functions that are phases, and the names of these. labels: of each request, unless
// none has any.
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
  out << ",\"labels\":";
  const std::span<const FlameRequest> shown = input.requests.shown;
  const bool any = std::any_of(shown.begin(), shown.end(),
                               [](const FlameRequest& r) { return !r.sums->labels.empty(); });
  write_array(out, shown.first(any ? shown.size() : 0),
              [&](const FlameRequest& r) { out << script_string(labels_text(*r.sums)); });
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
      << ",\"counts\":" << (input.sampled ? "\"self samples\"" : "\"calls\"")
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

PackedTree page::pack_tree(const FlameInput& input) {
  PackedTree tree;
  tree.functions.resize(input.functions.size());
  if (!input.tree) return tree;
  check(input);
  const std::vector<uint64_t> inclusive = inclusive_ns(*input.tree);
  std::vector<uint64_t> before(inclusive.size());
  if (input.before) before = inclusive_before_ns(*input.tree, *input.before);
  // Nodes that vanished are as worth keeping as those that exist.
  std::vector<uint64_t> larger(inclusive.size());
  for (size_t i = 0; i < larger.size(); i++) larger[i] = std::max(inclusive[i], before[i]);
  const std::vector<bool> keep = choose(larger, input.max_nodes);
  tree.functions = sum_functions(input, inclusive, before);
  tree.total_ns = inclusive[0];
  tree.before_ns = before[0];
  tree.pruned_nodes = std::count(keep.begin(), keep.end(), false);
  TreeWriter(tree, input, keep, inclusive, before).write();
  return tree;
}

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
