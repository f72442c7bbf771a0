// SPDX-License-Identifier: MIT
// Call trees as tables: the whole tree (--tree), the inverted tree of callers of some functions
// (--callers), the tree of their callees (--callees), and that of a single slow call (--slow).
//
// Of a large tree the nodes with the greatest times are shown; a parent's time is never less than
// its child's, so the nodes shown form a tree.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/canonical_order.h"
#include "analyzer/report/compensate.h"

namespace luatrace::analyze {
namespace {

// Limit of the callers followed outwards: a recursion n deep would yield n * n / 2 nodes.
constexpr uint32_t kMostCallers = 256;
// Limit of the steps to follow callers of all nodes of a function: a constant plus a number per
// node of the tree. Beyond it fewer callers are followed.
constexpr uint64_t kStepsFree = 1 << 17, kStepsPerNode = 4;

struct TreeNode {
  uint32_t parent = 0, function = 0;
  uint64_t calls = 0, self = 0, total = 0, yielded = 0;
};

// Node 0 is the root and is not shown. Parents come before children.
struct ViewTree {
  std::vector<TreeNode> nodes{1};
  std::vector<Corrected> corrected{};  // By node, if requested.
  uint64_t whole = 0;                  // 100 %
  bool yielded = false;

  uint64_t weight(uint32_t i) const { return nodes[i].total + nodes[i].yielded; }
  void sum_up() {
    for (size_t i = nodes.size(); i-- > 1;) {
      nodes[i].total += nodes[i].self;
      nodes[nodes[i].parent].total += nodes[i].total;
    }
  }
};

// Selects the nodes to show: the `rows` greatest (0: all) and their ancestors.
std::vector<bool> choose(const ViewTree& tree, size_t rows) {
  const size_t n = tree.nodes.size();
  std::vector<bool> shown(n, true);
  if (rows == 0 || n - 1 <= rows) return shown;
  std::vector<uint32_t> order(n - 1);
  std::iota(order.begin(), order.end(), 1);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tree.nodes[a].total > tree.nodes[b].total;
  });
  shown.assign(n, false);
  for (size_t i = 0; i < rows; i++)
    for (uint32_t at = order[i]; at && !shown[at]; at = tree.nodes[at].parent) shown[at] = true;
  return shown;
}

// The order of a tree's rows: depth first, greatest first, equal ones in order of the tree.
class RowOrder {
 public:
  struct Place {
    uint32_t node, depth;
  };

  RowOrder(const ViewTree& tree, size_t rows);
  std::vector<Place> places;
  size_t hidden = 0;  // Branches.

 private:
  void push(const ViewTree& tree, uint32_t node, uint32_t depth);

  std::vector<uint32_t> child_, sibling_;
  std::vector<Place> stack_;
};

RowOrder::RowOrder(const ViewTree& tree, size_t rows)
    : child_(tree.nodes.size()), sibling_(tree.nodes.size()) {
  for (auto i = static_cast<uint32_t>(tree.nodes.size()); i-- > 1;) {
    sibling_[i] = child_[tree.nodes[i].parent];
    child_[tree.nodes[i].parent] = i;
  }
  const std::vector<bool> shown = choose(tree, rows);
  push(tree, 0, 1);
  while (!stack_.empty()) {
    const Place at = stack_.back();
    stack_.pop_back();
    if (!shown[at.node]) {
      hidden++;
      continue;
    }
    places.push_back(at);
    push(tree, at.node, at.depth + 1);
  }
}

void RowOrder::push(const ViewTree& tree, uint32_t node, uint32_t depth) {
  const size_t begin = stack_.size();
  for (uint32_t at = child_[node]; at; at = sibling_[at]) stack_.push_back({at, depth});
  std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end(),
            [&](const Place& a, const Place& b) {
              const uint64_t x = tree.weight(a.node), y = tree.weight(b.node);
              return x != y ? x < y : a.node > b.node;
            });
}

void add_tree_columns(Table& t, const ViewTree& tree) {
  t.columns.push_back({"node", "node", false, Column::kDataOnly});
  t.columns.push_back({"parent", "parent", false, Column::kDataOnly});
  t.columns.push_back({"depth", "depth", false, Column::kDataOnly});
  t.columns.push_back({"calls", "calls"});
  t.columns.push_back({"total_ns", "total"});
  t.columns.push_back({"self_ns", "self"});
  if (!tree.corrected.empty()) add_corrected_columns(t);
  if (tree.yielded) t.columns.push_back({"yielded_ns", "[yielded]"});
  t.columns.push_back({"total_share", "total %"});
  add_function_columns(t, "function");
  if (!tree.corrected.empty()) prefer_corrected(t, "total");
}

// Adds the node's cells to a row.
void add_node(Row& row, const Report& report, const ViewTree& tree, RowOrder::Place at) {
  const TreeNode& n = tree.nodes[at.node];
  row.push_back(Cell::of_count(at.node));
  row.push_back(Cell::of_count(n.parent));
  row.push_back(Cell::of_count(at.depth));
  row.push_back(Cell::of_count(n.calls));
  row.push_back(Cell::of_time(n.total));
  row.push_back(Cell::of_time(n.self));
  if (!tree.corrected.empty()) add_corrected_cells(row, tree.corrected[at.node]);
  if (tree.yielded) row.push_back(Cell::of_time(n.yielded));
  double share =
      tree.whole ? 100 * static_cast<double>(n.total) / static_cast<double>(tree.whole) : 0;
  row.push_back(Cell::of_percent(share));
  // Limit the indentation, so that deep recursion does not push names out of sight.
  std::string indent(2 * std::min<size_t>(at.depth - 1, 30), ' ');
  if (at.depth > 31) indent += "[" + std::to_string(at.depth) + "] ";
  add_function_cells(row, report.functions[n.function], indent);
}

// Adds the columns and up to `rows` rows (0: all) of the tree. Each row begins with `first`.
void add_tree(Table& t, const Report& report, ViewTree&& shown, size_t rows, const Row& first) {
  const auto tree = std::make_shared<const ViewTree>(std::move(shown));
  add_tree_columns(t, *tree);
  RowOrder order(*tree, rows);
  if (order.hidden)
    t.notes.push_back(format_count(order.hidden) + " smaller branches: --limit 0 shows all");
  if (!tree->corrected.empty()) explain_corrected(t);
  const size_t count = order.places.size();
  t.rows.add(count, [&report, tree, first, places = std::move(order.places)](size_t i) {
    Row row = first;
    add_node(row, report, *tree, places[i]);
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

// By node: whether a call further out is of a chosen function.
std::vector<bool> nodes_inside(const CallTree& tree, const std::vector<bool>& chosen) {
  std::vector<bool> inside(tree.size());
  for (uint32_t i = 1; i < tree.size(); i++) {
    uint32_t parent = tree[i].parent;
    inside[i] = inside[parent] || (parent && chosen[tree[parent].function]);
  }
  return inside;
}

// `order` has all nodes in canonical order, so that node numbers do not depend on arrival.
ViewTree from_call_tree(const Report& report, const CallTree& sums,
                        const std::vector<uint64_t>& totals, const std::vector<uint32_t>& order) {
  ViewTree out;
  out.whole = report.self_ns;
  out.nodes.resize(sums.size());
  std::vector<uint32_t> place(sums.size());
  for (uint32_t n = 1; n < order.size(); n++) {
    const uint32_t i = order[n];
    place[i] = n;
    out.nodes[n] = {place[sums[i].parent], sums[i].function, sums[i].calls,
                    sums[i].self,          totals[i],        0};
  }
  return out;
}

ViewTree from_call_tree(const Report& report, const CallTree& sums,
                        const std::vector<uint64_t>& totals) {
  return from_call_tree(report, sums, totals, canonical_order(sums, name_ranks(report.functions)));
}

}  // namespace

Table tree_view(const Report& report, const ViewOptions& options) {
  const auto order = canonical_order(report.tree, name_ranks(report.functions));
  ViewTree tree = from_call_tree(report, report.tree, inclusive_ns(report.tree), order);
  tree.yielded = options.yielded;
  if (options.yielded)
    for (uint32_t n = 1; n < order.size(); n++)
      tree.nodes[n].yielded = report.node_yielded_ns[order[n]];
  if (options.compensate) {
    const Compensation all = compensate(report);
    for (uint32_t node : order) tree.corrected.push_back(all.nodes[node]);
  }
  return make_table(report, std::move(tree), options, "tree", "");
}

// The number of levels for which callers of the chosen functions can be followed.
static uint32_t callers_followed(const CallTree& tree, const std::vector<bool>& chosen) {
  std::vector<uint32_t> depth(tree.size());
  std::vector<uint64_t> steps(kMostCallers + 2);  // By depth; the last entry has the rest.
  for (uint32_t i = 1; i < tree.size(); i++) {
    depth[i] = depth[tree[i].parent] + 1;
    if (chosen[tree[i].function]) steps[std::min(depth[i], kMostCallers + 1)]++;
  }
  for (uint32_t d = kMostCallers + 1; d-- > 1;) steps[d] += steps[d + 1];
  uint64_t left = kStepsFree + kStepsPerNode * tree.size();
  for (uint32_t d = 1; d <= kMostCallers + 1; d++) {
    if (steps[d] > left) return std::max(d - 1, 2u) - 1;
    left -= steps[d];
  }
  return kMostCallers;
}

Table callers_view(const Report& report, const ViewOptions& options, const std::string& fn) {
  auto chosen = chosen_functions(report, fn);
  const CallTree& tree = report.tree;
  auto inside = nodes_inside(tree, chosen);
  auto inclusive = inclusive_ns(tree);
  CallTree turned;
  std::vector<uint64_t> totals(1);
  bool cut = false;
  const uint32_t most = callers_followed(tree, chosen);
  for (uint32_t i = 1; i < tree.size(); i++) {
    if (!chosen[tree[i].function]) continue;
    uint32_t at = 0, n = 0;
    for (uint32_t up = i; up; up = tree[up].parent) {
      if (n++ > most) {
        cut = true;
        break;
      }
      at = turned.enter(at, tree[up].function);
      totals.resize(turned.size());
      turned[at].calls += tree[i].calls;
      turned[at].self += tree[i].self;
      if (!inside[i]) totals[at] += inclusive[i];  // Otherwise the outer call has it.
    }
  }
  Table t = make_table(report, from_call_tree(report, turned, totals), options, "callers", fn);
  if (cut)
    t.notes.push_back("callers more than " + std::to_string(most) +
                      " calls further out are left out");
  return t;
}

Table callees_view(const Report& report, const ViewOptions& options, const std::string& fn) {
  auto chosen = chosen_functions(report, fn);
  const CallTree& tree = report.tree;
  auto inside = nodes_inside(tree, chosen);
  CallTree merged;
  std::vector<uint32_t> place(tree.size());
  for (uint32_t i = 1; i < tree.size(); i++) {
    if (!inside[i] && !chosen[tree[i].function]) continue;
    place[i] = merged.enter(inside[i] ? place[tree[i].parent] : 0, tree[i].function);
    merged[place[i]].calls += tree[i].calls;
    merged[place[i]].self += tree[i].self;
  }
  return make_table(report, from_call_tree(report, merged, inclusive_ns(merged)), options,
                    "callees", fn);
}

namespace {

// Rows of a slow call's tree; --limit counts calls.
constexpr size_t kSlowRows = 1000;

// The slowest calls in descending order.
std::vector<const ReportSlowCall*> slowest(const Report& report, const ViewOptions& options) {
  auto length = [&](const ReportSlowCall& c) { return options.wall ? c.wall_ns : c.running_ns; };
  std::vector<const ReportSlowCall*> calls;
  for (const auto& call : report.slow) calls.push_back(&call);
  const std::vector<uint32_t> file = file_ranks(report.files);
  auto key = [&](const ReportSlowCall& c) {
    return std::tuple(~length(c), file[c.file], c.state, c.at_ns);
  };
  std::stable_sort(calls.begin(), calls.end(), [&](auto* a, auto* b) { return key(*a) < key(*b); });
  if (options.slow_limit && calls.size() > options.slow_limit) calls.resize(options.slow_limit);
  return calls;
}

std::string slow_heading(const Report& report, const ReportSlowCall& call) {
  const ReportFile& file = report.files[call.file];
  std::string out = marked_name(report.functions[call.nodes[0].function]) + " at " +
                    format_moment(call.at_ns, file.start_real_ns) + ": running " +
                    format_time(call.running_ns) + ", wall " + format_time(call.wall_ns) +
                    ", state " + std::to_string(call.state) + ", coroutine " +
                    std::to_string(call.coroutine) + ", thread " + std::to_string(call.thread);
  return report.files.size() > 1 ? out + ", " + file.path : out;
}

// Adds the columns that describe the call to the table; returns their cells, the same in every row.
Row slow_columns(Table& t, const Report& report, const ReportSlowCall& call, size_t number) {
  const std::pair<const char*, Cell> about[] = {
      {"call", Cell::of_count(number)},
      {"file", Cell::of_text(report.files[call.file].path)},
      {"at_ns", Cell::of_time(call.at_ns)},
      {"running_ns", Cell::of_time(call.running_ns)},
      {"wall_ns", Cell::of_time(call.wall_ns)},
      {"state", Cell::of_count(call.state)},
      {"coroutine", Cell::of_count(call.coroutine)},
      {"thread", Cell::of_count(call.thread)}};
  Row cells;
  for (const auto& [key, cell] : about) {
    t.columns.push_back({key, key, true, Column::kDataOnly});
    cells.push_back(cell);
  }
  return cells;
}

ViewTree slow_tree(const ReportSlowCall& call) {
  ViewTree tree;
  for (const SlowNode& n : call.nodes) {
    // The call itself is node 1, below the root.
    uint32_t parent = tree.nodes.size() == 1 ? 0 : n.parent + 1;
    tree.nodes.push_back({parent, n.function, n.calls, n.self, 0, n.suspended});
  }
  tree.sum_up();
  tree.whole = tree.nodes[1].total;
  tree.yielded = true;
  return tree;
}

}  // namespace

std::vector<Table> slow_views(const Report& report, const ViewOptions& options) {
  std::vector<Table> out;
  for (const ReportSlowCall* call : slowest(report, options)) {
    Table t;
    t.name = "slow";
    t.heading = slow_heading(report, *call);
    const auto first = slow_columns(t, report, *call, out.size() + 1);
    add_tree(t, report, slow_tree(*call), options.limit ? kSlowRows : 0, first);
    out.push_back(std::move(t));
  }
  Table last;
  last.name = "slow";
  last.notes.push_back(counted(report.slow_found, "such call") + ", " + format_count(out.size()) +
                       " shown" + (out.size() < report.slow_found ? ": --limit N shows more" : ""));
  last.drawn = true;
  out.push_back(std::move(last));
  return out;
}

}  // namespace luatrace::analyze
