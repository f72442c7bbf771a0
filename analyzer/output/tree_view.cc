// SPDX-License-Identifier: MIT
// Call trees as tables: the whole tree (--tree), the inverted tree of callers of some functions
// (--callers), the tree of their callees (--callees), and that of a single slow call (--slow).
#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/output/format.h"
#include "analyzer/output/row_order.h"
#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"
#include "analyzer/report/compensate.h"

namespace luatrace::analyze {
namespace {

// Limit of the callers followed outwards: a recursion n deep would yield n * n / 2 nodes.
constexpr uint32_t kMaxCallers = 256;
// Limit of the steps to follow callers of all nodes of a function: a constant plus a number per
// node of the tree. Beyond it fewer callers are followed.
constexpr uint64_t kStepsFree = 1 << 17, kStepsPerNode = 4;

// Without ownership: of a tree or list of the report, which outlives all rows.
template <class T>
std::shared_ptr<const T> borrowed(const T& of_report) {
  return {std::shared_ptr<const T>(), &of_report};
}

// A tree as rows show it: each node has a number, parents before children; 0 is the root, which is
// not shown.
struct ViewTree {
  // `order`: the nodes by number. `inclusive_ns`: by node.
  ViewTree(std::shared_ptr<const CallTree> shown, std::vector<NodeId> order,
           std::vector<uint64_t> inclusive_ns, uint64_t whole_ns)
      : tree(std::move(shown)),
        nodes(std::move(order)),
        inclusive(std::move(inclusive_ns)),
        whole(whole_ns) {
    std::vector<uint32_t> number(nodes.size());
    for (uint32_t n = 0; n < nodes.size(); n++) number[nodes[n]] = n;
    for (NodeId node : nodes) parents.push_back(number[(*tree)[node].parent]);
  }

  std::shared_ptr<const CallTree> tree;
  std::vector<NodeId> nodes;                                 // By number.
  std::vector<uint32_t> parents;                             // By number: that of the parent.
  std::vector<uint64_t> inclusive;                           // By node.
  uint64_t whole;                                            // 100 %
  std::shared_ptr<const std::vector<uint64_t>> suspended{};  // By node, if requested.
  // By node, without the processor: of the calls, and of these with their callees. If it is known.
  std::vector<uint64_t> off_cpu{}, off_cpu_inclusive{};
  // By node, inside segments: likewise. Empty: none.
  std::vector<uint64_t> apportioned{}, apportioned_inclusive{};
  std::vector<Corrected> corrected{};  // The same.
  bool sampled = false;                // Then the numbers of samples, by node, with callees.
  std::vector<uint64_t> samples{};
};

RowOrder order_rows(const ViewTree& tree, size_t limit) {
  std::vector<uint64_t> weight;
  for (NodeId node : tree.nodes)
    weight.push_back(tree.inclusive[node] + (tree.suspended ? (*tree.suspended)[node] : 0));
  return RowOrder(tree.parents, weight, limit);
}

void add_tree_columns(Table& t, const ViewTree& tree) {
  add_data_columns(t, {"node", "parent", "depth"});
  t.columns.push_back({"calls", "calls"});
  if (tree.sampled) t.columns.back() = {"samples", "samples"};
  t.columns.push_back({"inclusive_ns", "inclusive"});
  t.columns.back().former = "total_ns";
  t.columns.push_back({"self_ns", "self"});
  if (!tree.corrected.empty()) add_corrected_columns(t);
  if (!tree.off_cpu.empty()) {
    t.columns.push_back({"cpu_ns", "cpu"});
    t.columns.push_back({"self_cpu_ns", "self cpu"});
    for (size_t i = t.columns.size() - 2; i < t.columns.size(); i++) t.columns[i].spare = 3;
  }
  if (tree.suspended) {
    t.columns.push_back({"suspended_ns", "[suspended]"});
    t.columns.back().former = "yielded_ns";
  }
  t.columns.push_back({"inclusive_share", "inclusive %"});
  t.columns.back().former = "total_share";
  add_function_columns(t, "function");
  if (!tree.apportioned.empty()) add_data_columns(t, {"apportioned_ns", "self_apportioned_ns"});
  if (!tree.corrected.empty()) prefer_corrected(t, "inclusive");
}

// Adds the node's cells to a row.
void add_node(Row& row, const Report& report, const ViewTree& tree, RowOrder::Entry at) {
  const NodeId node = tree.nodes[at.node];
  const CallNode& n = (*tree.tree)[node];
  const uint64_t inclusive = tree.inclusive[node];
  const uint64_t calls = tree.sampled ? tree.samples[node] : n.calls;
  for (uint64_t number :
       {uint64_t{at.node}, uint64_t{tree.parents[at.node]}, uint64_t{at.depth}, calls})
    row.push_back(Cell::of_count(number));
  row.push_back(Cell::of_time(inclusive));
  if (!tree.apportioned.empty())
    row.back().about = tree.apportioned_inclusive[node] > inclusive / 100;
  row.push_back(Cell::of_time(n.self));
  if (!tree.apportioned.empty()) row.back().about = tree.apportioned[node] > n.self / 100;
  if (!tree.corrected.empty()) add_corrected_cells(row, tree.corrected[node]);
  if (!tree.off_cpu.empty()) {
    row.push_back(Cell::of_time(inclusive - std::min(inclusive, tree.off_cpu_inclusive[node])));
    row.push_back(Cell::of_time(n.self - std::min(n.self, tree.off_cpu[node])));
  }
  if (tree.suspended) row.push_back(Cell::of_time((*tree.suspended)[node]));
  double share =
      tree.whole ? 100 * static_cast<double>(inclusive) / static_cast<double>(tree.whole) : 0;
  row.push_back(Cell::of_percent(share));
  // Limit the indentation, so that deep recursion does not push names out of sight.
  std::string indent(2 * std::min<size_t>(at.depth - 1, 30), ' ');
  if (at.depth > 31) indent += "[" + std::to_string(at.depth) + "] ";
  add_function_cells(row, report.functions[n.function], indent);
  if (tree.apportioned.empty()) return;
  row.push_back(Cell::of_time(tree.apportioned_inclusive[node]));
  row.push_back(Cell::of_time(tree.apportioned[node]));
}

// Adds the columns and up to `limit` rows (0: all) of the tree. Each row begins with `first`.
void add_tree(Table& t, const Report& report, ViewTree&& shown, size_t limit, const Row& first) {
  const auto tree = std::make_shared<const ViewTree>(std::move(shown));
  add_tree_columns(t, *tree);
  RowOrder order = order_rows(*tree, limit);
  note_left_out(t, order.hidden, " smaller branches");
  if (!tree->corrected.empty()) explain_corrected(t);
  if (!tree->apportioned.empty())
    t.notes.push_back("~: more than 1 % of it is apportioned inside compiled segments");
  const size_t count = order.rows.size();
  t.rows.add(count, [&report, tree, first, rows = std::move(order.rows)](size_t i) {
    Row row = first;
    add_node(row, report, *tree, rows[i]);
    return row;
  });
}

Table make_table(const Report& report, ViewTree&& tree, const ViewOptions& options,
                 const std::string& name, const std::string& of) {
  Table t;
  t.name = name;
  Row first;
  if (!of.empty()) {
    t.heading = (name == "callers" ? "callers of " : "callees of ") + of;
    t.columns.push_back({"of", "of", true, Column::kDataOnly});
    first.push_back(Cell::of_text(of));
  }
  add_tree(t, report, std::move(tree), options.tree_limit(), first);
  return t;
}

// By node: the samples with it on their stack, in a tree of samples.
std::vector<uint64_t> inclusive_samples(const CallTree& tree) {
  return subtree_sums(tree, [&](NodeId node) { return tree[node].calls; });
}

// By node: whether a call further out is of a chosen function.
std::vector<bool> nodes_inside(const CallTree& tree, const std::vector<bool>& chosen) {
  std::vector<bool> inside(tree.size());
  for (NodeId i{1}; i < tree.size(); ++i) {
    const NodeId parent = tree[i].parent;
    inside[i] = inside[parent] || (parent && chosen[tree[parent].function]);
  }
  return inside;
}

// Nodes are numbered in canonical order, so that numbers do not depend on arrival.
ViewTree in_canonical_order(const Report& report, std::shared_ptr<const CallTree> tree,
                            std::vector<uint64_t> inclusive) {
  std::vector<NodeId> order = canonical_order(*tree, name_ranks(report.functions));
  ViewTree out{std::move(tree), std::move(order), std::move(inclusive), report.self_ns};
  out.sampled = report.is_sampled();
  return out;
}

// The same of a tree that is complete.
ViewTree in_canonical_order(const Report& report, CallTree&& tree,
                            std::vector<uint64_t> inclusive) {
  tree.drop_index();
  return in_canonical_order(report, std::make_shared<const CallTree>(std::move(tree)),
                            std::move(inclusive));
}

// `self`: by node, of its self time. If the report has any, so has each of its trees: tables of one
// name have the same columns.
void set_apportioned(ViewTree& tree, const Report& report, std::vector<uint64_t> self) {
  if (!report.apportioned_ns) return;
  tree.apportioned = std::move(self);
  tree.apportioned_inclusive =
      subtree_sums(*tree.tree, [&](NodeId i) { return tree.apportioned[i]; });
}

}  // namespace

Table tree_view(const Report& report, const ViewOptions& options) {
  ViewTree tree = in_canonical_order(report, borrowed(report.tree), inclusive_ns(report.tree));
  if (tree.sampled) tree.samples = inclusive_samples(report.tree);
  if (options.suspended) tree.suspended = borrowed(report.node_suspended_ns);
  if (report.cpu.known()) {
    for (NodeId i{0}; i < report.tree.size(); ++i) tree.off_cpu.push_back(report.cpu.off.at(i));
    tree.off_cpu_inclusive =
        subtree_sums(report.tree, [&](NodeId i) { return report.cpu.off.at(i); });
  }
  if (report.apportioned_ns) {
    std::vector<uint64_t> apportioned;
    for (NodeId i{0}; i < report.tree.size(); ++i) apportioned.push_back(report.apportioned.at(i));
    set_apportioned(tree, report, std::move(apportioned));
  }
  if (options.compensate) tree.corrected = compensate(report).nodes;
  return make_table(report, std::move(tree), options, "tree", "");
}

// The number of levels for which callers of the chosen functions can be followed.
static uint32_t callers_followed(const CallTree& tree, const std::vector<bool>& chosen) {
  std::vector<uint32_t> depth(tree.size());
  std::vector<uint64_t> steps(kMaxCallers + 2);  // By depth; the last entry has the rest.
  for (NodeId i{1}; i < tree.size(); ++i) {
    depth[i] = depth[tree[i].parent] + 1;
    if (chosen[tree[i].function]) steps[std::min(depth[i], kMaxCallers + 1)]++;
  }
  for (uint32_t d = kMaxCallers + 1; d-- > 1;) steps[d] += steps[d + 1];
  uint64_t left = kStepsFree + kStepsPerNode * tree.size();
  for (uint32_t d = 1; d <= kMaxCallers + 1; d++) {
    if (steps[d] > left) return std::max(d - 1, 2u) - 1;
    left -= steps[d];
  }
  return kMaxCallers;
}

Table callers_view(const Report& report, const ViewOptions& options, const std::string& fn) {
  auto chosen = chosen_functions(report, fn);
  const CallTree& tree = report.tree;
  auto inside = nodes_inside(tree, chosen);
  auto inclusive = inclusive_ns(tree);
  CallTree turned;
  std::vector<uint64_t> totals(1);
  bool cut = false;
  std::vector<uint64_t> samples(1);
  const std::vector<uint64_t> inclusive_calls = inclusive_samples(tree);
  const uint32_t limit = callers_followed(tree, chosen);
  for (NodeId i{1}; i < tree.size(); ++i) {
    if (!chosen[tree[i].function]) continue;
    NodeId at;
    uint32_t n = 0;
    for (NodeId up = i; up; up = tree[up].parent) {
      if (n++ > limit) {
        cut = true;
        break;
      }
      at = turned.enter(at, tree[up].function);
      totals.resize(turned.size());
      samples.resize(turned.size());
      turned[at].calls += tree[i].calls;
      turned[at].self += tree[i].self;
      if (inside[i]) continue;  // The outer call has it.
      totals[at] += inclusive[i];
      samples[at] += inclusive_calls[i];
    }
  }
  ViewTree rows = in_canonical_order(report, std::move(turned), std::move(totals));
  rows.samples = std::move(samples);
  Table t = make_table(report, std::move(rows), options, "callers", fn);
  if (cut)
    t.notes.push_back("callers more than " + std::to_string(limit) +
                      " calls further out are left out");
  return t;
}

Table callees_view(const Report& report, const ViewOptions& options, const std::string& fn) {
  auto chosen = chosen_functions(report, fn);
  const CallTree& tree = report.tree;
  auto inside = nodes_inside(tree, chosen);
  CallTree merged;
  std::vector<NodeId> place(tree.size());
  for (NodeId i{1}; i < tree.size(); ++i) {
    if (!inside[i] && !chosen[tree[i].function]) continue;
    place[i] = merged.enter(inside[i] ? place[tree[i].parent] : kRootNode, tree[i].function);
    merged[place[i]].calls += tree[i].calls;
    merged[place[i]].self += tree[i].self;
  }
  std::vector<uint64_t> inclusive = inclusive_ns(merged), samples = inclusive_samples(merged);
  ViewTree rows = in_canonical_order(report, std::move(merged), std::move(inclusive));
  rows.samples = std::move(samples);
  return make_table(report, std::move(rows), options, "callees", fn);
}

namespace {

// Rows of a slow call's tree; --limit counts calls.
constexpr size_t kSlowRows = 1000;

// The slowest calls in descending order.
std::vector<const ReportSlowCall*> slowest(const Report& report, const ViewOptions& options) {
  auto length = [&](const ReportSlowCall& c) {
    return options.slow_by_wall ? c.wall_ns : c.inclusive_ns;
  };
  std::vector<const ReportSlowCall*> calls;
  for (const auto& call : report.slow) calls.push_back(&call);
  const std::vector<uint32_t> file = file_ranks(report.files);
  auto key = [&](const ReportSlowCall& c) {
    return std::tuple(~length(c), file[c.file], c.vm, c.at_ns);
  };
  std::stable_sort(calls.begin(), calls.end(), [&](auto* a, auto* b) { return key(*a) < key(*b); });
  if (options.slow_limit && calls.size() > options.slow_limit) calls.resize(options.slow_limit);
  return calls;
}

std::string slow_heading(const Report& report, const ReportSlowCall& call) {
  const ReportFile& file = report.files[call.file];
  std::string out = marked_name(report.functions[call.nodes[0].function]) + " at " +
                    format_moment(call.at_ns, file.start_real_ns) + ": inclusive " +
                    format_time(call.inclusive_ns) + ", wall " + format_time(call.wall_ns) +
                    ", Lua VM " + std::to_string(call.vm) + ", coroutine " +
                    std::to_string(call.coroutine) + ", thread " + std::to_string(call.thread);
  return report.files.size() > 1 ? out + ", " + file.path : out;
}

// Adds the columns that describe the call to the table; returns their cells, the same in every row.
Row slow_columns(Table& t, const Report& report, const ReportSlowCall& call, size_t number) {
  const std::pair<const char*, Cell> about[] = {
      {"call", Cell::of_count(number)},
      {"file", Cell::of_text(report.files[call.file].path)},
      {"at_ns", Cell::of_time(call.at_ns)},
      {"running_ns", Cell::of_time(call.inclusive_ns)},
      {"wall_ns", Cell::of_time(call.wall_ns)},
      {"vm", Cell::of_count(call.vm)},
      {"coroutine", Cell::of_count(call.coroutine)},
      {"thread", Cell::of_count(call.thread)}};
  Row cells;
  for (const auto& [key, cell] : about) {
    t.columns.push_back({key, key, true, Column::kDataOnly});
    if (t.columns.back().key == "vm") t.columns.back().former = "state";
    cells.push_back(cell);
  }
  return cells;
}

// Nodes are numbered in the order in which they were added; `whole` has 100 %.
ViewTree numbered_as_added(std::shared_ptr<CallTree> tree, NodeId whole) {
  tree->drop_index();
  std::vector<NodeId> order(tree->size());
  std::iota(order.begin(), order.end(), kRootNode);
  std::vector<uint64_t> inclusive = inclusive_ns(*tree);
  const uint64_t whole_ns = inclusive[whole];
  return {std::move(tree), std::move(order), std::move(inclusive), whole_ns};
}

void add_slow_node(CallTree& tree, NodeId parent, const SlowNode& from) {
  CallNode& node = tree[tree.enter(parent, from.function)];
  node.calls = from.calls;
  node.self = from.self;
}

// The call itself is node 1.
ViewTree slow_tree(const Report& report, const ReportSlowCall& call) {
  auto tree = std::make_shared<CallTree>();
  std::vector<uint64_t> suspended(1), apportioned(1);
  for (const SlowNode& n : call.nodes) {
    add_slow_node(*tree, tree->size() == 1 ? kRootNode : NodeId(n.parent + 1), n);
    suspended.push_back(n.suspended);
    apportioned.push_back(n.apportioned);
  }
  ViewTree out = numbered_as_added(std::move(tree), NodeId{1});
  out.suspended = std::make_shared<const std::vector<uint64_t>>(std::move(suspended));
  set_apportioned(out, report, std::move(apportioned));
  return out;
}

}  // namespace

std::vector<Table> slow_views(const Report& report, const ViewOptions& options) {
  std::vector<Table> out;
  for (const ReportSlowCall* call : slowest(report, options)) {
    Table t;
    t.name = "slow";
    t.heading = slow_heading(report, *call);
    const auto first = slow_columns(t, report, *call, out.size() + 1);
    add_tree(t, report, slow_tree(report, *call), options.limit ? kSlowRows : 0, first);
    out.push_back(std::move(t));
  }
  Table last;
  last.name = "slow";
  last.notes.push_back(counted(report.slow_found, "such call") + ", " + format_count(out.size()) +
                       " shown" + (out.size() < report.slow_found ? ": --limit N shows more" : ""));
  last.drawn = true;
  last.left_out = report.slow_found - std::min<uint64_t>(report.slow_found, out.size());
  out.push_back(std::move(last));
  return out;
}

Table request_tree_view(const Report& report, const std::vector<SlowNode>& nodes,
                        const ViewOptions& options) {
  auto tree = std::make_shared<CallTree>();
  std::vector<uint64_t> apportioned(1);
  for (size_t i = 1; i < nodes.size(); i++) {
    add_slow_node(*tree, NodeId(nodes[i].parent), nodes[i]);
    apportioned.push_back(nodes[i].apportioned);
  }
  ViewTree shown = numbered_as_added(std::move(tree), kRootNode);
  set_apportioned(shown, report, std::move(apportioned));
  Table t;
  t.name = "request_tree";
  t.heading = "what it ran";
  add_tree(t, report, std::move(shown), options.tree_limit(), {});
  for (Column& c : t.columns) c.former.clear();
  return t;
}

}  // namespace luatrace::analyze
