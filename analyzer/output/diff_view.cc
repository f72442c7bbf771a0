// SPDX-License-Identifier: MIT
// --diff: what became faster or slower, appeared or vanished.
#include "analyzer/report/diff.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "analyzer/output/format.h"
#include "analyzer/output/row_order.h"
#include "analyzer/output/views.h"

namespace luatrace::analyze {
namespace {

constexpr int kRed = 31, kGreen = 32;

Cell delta_cell(const Field& field, double delta) {
  if (field.is_share()) return Cell::of_change(delta);
  if (field.is_time()) return Cell::of_delta(delta);
  return {Cell::kDeltaCount, delta, 0, {}};
}

Cell change_cell(double before, double after) {
  return before > 0 ? Cell::of_change(100 * (after - before) / before) : Cell();
}

const char* status(bool was, bool is) {
  return !was ? "added" : !is ? "vanished" : "";
}

int color_of(double delta) {
  return delta > 0 ? kRed : delta < 0 ? kGreen : 0;
}

void add_names(Table& t) {
  t.columns.push_back({"status", "", true});
  add_function_columns(t, "function");
}

void add_name_cells(Row& row, const ReportFunction& f, const char* status,
                    const std::string& indent) {
  row.push_back(Cell::of_text(status));
  add_function_cells(row, f, indent);
}

struct Values {
  std::optional<double> before, after;
  double delta() const { return after.value_or(0) - before.value_or(0); }
};

Values values_of(const Diff& d, const Field& field, uint32_t i) {
  Values v;
  if (d.in_before[i]) v.before = value_of(field, d.before[i], d.before_self_ns);
  if (d.in_after[i]) v.after = value_of(field, d.after[i], d.after_self_ns);
  return v;
}

std::vector<uint32_t> sorted(const Diff& d, const ViewOptions& options) {
  const Field key = find_field(options.sort).value_or(Field{});
  std::vector<uint32_t> list;
  for (uint32_t i : d.by_name) {
    bool group = d.any(i).kind == FunctionKind::kGroup && !d.any(i).in_group;
    bool row =
        i == kReportUnknown ? d.before[i].self_ns || d.after[i].self_ns : group || !d.grouped;
    if (row && (d.in_before[i] || d.in_after[i])) list.push_back(i);
  }
  if (options.sort == "name") return list;
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return std::fabs(values_of(d, key, a).delta()) > std::fabs(values_of(d, key, b).delta());
  });
  return list;
}

void add_scale_note(Table& t, const Diff& d) {
  if (d.scale != 1) t.notes.push_back("times of before are multiplied by " + decimal(d.scale, 3));
}

// If not all columns fit, keeps those of the field by which rows are sorted; of these, drops the
// difference last and the value after the change second to last.
void prefer_delta(Table& t, const std::string& field) {
  for (Column& c : t.columns) {
    if (c.key == "function") continue;
    c.spare = c.of != field ? 3 : c.title == "delta" ? 0 : c.title == "is" ? 1 : 2;
  }
}

// The key of the column is the field's name and `suffix`.
void add_field_column(Table& t, const Field& field, const std::string& suffix,
                      const std::string& title) {
  Column& column = t.columns.emplace_back();
  column.key = field.name + suffix;
  column.title = title;
  column.of = field.name;
  if (!field.former.empty()) column.former = field.former + suffix;
}

using SharedDiff = std::shared_ptr<const Diff>;

Row diff_row(const Diff& d, const std::vector<Field>& fields, uint32_t i) {
  Row row;
  for (const Field& field : fields) {
    Values v = values_of(d, field, i);
    row.push_back(field_cell(field, v.before));
    row.push_back(field_cell(field, v.after));
    row.push_back(delta_cell(field, v.delta()));
    row.push_back(change_cell(v.before.value_or(0), v.after.value_or(0)));
  }
  add_name_cells(row, d.any(i), status(d.in_before[i], d.in_after[i]), "");
  return row;
}

Table diff_view(const SharedDiff& shared, const ViewOptions& options) {
  const Diff& d = *shared;
  const char* usual = d.sampled ? "self,inclusive,samples" : "self,inclusive,calls";
  auto fields = options.fields.empty() ? parse_fields(usual) : options.fields;
  Table t;
  t.name = "diff";
  for (const Field& field : fields) {
    std::string unit = field.is_time() ? "_ns" : "";
    add_field_column(t, field, "_before" + unit, "was");
    add_field_column(t, field, unit, "is");
    add_field_column(t, field, "_delta" + unit, "delta");
    add_field_column(t, field, "_change", "%");
  }
  const Field key = find_field(options.sort).value_or(Field{});
  auto is_key = [&](const Field& f) { return f.name == key.name; };
  const bool shown = std::any_of(fields.begin(), fields.end(), is_key);
  add_names(t);
  prefer_delta(t, (shown ? key : fields[0]).name);
  auto order = sorted(d, options);
  for (uint32_t i : order) t.colors.push_back(color_of(values_of(d, key, i).delta()));
  const size_t count = order.size();
  t.rows.add(count, [shared, fields = std::move(fields), order = std::move(order)](size_t n) {
    return diff_row(*shared, fields, order[n]);
  });
  limit_rows(t, options.limit);
  add_scale_note(t, d);
  return t;
}

// The union of both trees.
struct DiffTree {
  explicit DiffTree(const SharedDiff& d)
      : diff(d),
        before_ns(inclusive_before_ns(d->tree, d->before_nodes)),
        after_ns(inclusive_ns(d->tree)) {}
  double delta(NodeId node) const {
    return static_cast<double>(after_ns[node]) - static_cast<double>(before_ns[node]);
  }
  RowOrder order(size_t limit) const;

  SharedDiff diff;
  std::vector<uint64_t> before_ns, after_ns;  // Inclusive times by node.
};

// By the size of the difference. Those of children may cancel out, so a node with a large one may
// be below a node that has none.
RowOrder DiffTree::order(size_t limit) const {
  std::vector<uint32_t> parent;
  std::vector<uint64_t> weight;
  for (uint32_t i = 0; i < after_ns.size(); i++) {
    parent.push_back(diff->tree[NodeId(i)].parent);
    weight.push_back(std::max(before_ns[i], after_ns[i]) - std::min(before_ns[i], after_ns[i]));
  }
  return RowOrder(parent, weight, limit);
}

Row diff_tree_row(const DiffTree& tree, NodeId i, uint32_t depth) {
  const CallNode& after = tree.diff->tree[i];
  const NodeFigures& before = tree.diff->before_nodes[i];
  const double self = static_cast<double>(after.self) - static_cast<double>(before.self_ns);
  Row row;
  for (uint32_t number : std::initializer_list<uint32_t>{i, after.parent, depth})
    row.push_back(Cell::of_count(number));
  const bool was = before.calls || tree.before_ns[i], is = after.calls || tree.after_ns[i];
  // A side on which the node does not occur gets an empty cell instead of 0.
  auto of = [](bool there, Cell cell) { return there ? cell : Cell(); };
  const bool had = was || !is, has = is || !was;
  for (const Cell& cell :
       {of(had, Cell::of_time(tree.before_ns[i])), of(has, Cell::of_time(tree.after_ns[i])),
        Cell::of_delta(tree.delta(i)), of(had, Cell::of_time(before.self_ns)),
        of(has, Cell::of_time(after.self)), Cell::of_delta(self),
        of(had, Cell::of_count(before.calls)), of(has, Cell::of_count(after.calls))})
    row.push_back(cell);
  add_name_cells(row, tree.diff->any(after.function), was == is ? "" : status(was, is),
                 std::string(2 * std::min<size_t>(depth - 1, 30), ' '));
  return row;
}

Table diff_tree_view(const SharedDiff& diff, const ViewOptions& options) {
  Table t;
  t.name = "diff_tree";
  add_data_columns(t, {"node", "parent", "depth"});
  for (const Field& field : parse_fields("inclusive,self")) {
    add_field_column(t, field, "_before_ns", "was");
    add_field_column(t, field, "_ns", "is");
    add_field_column(t, field, "_delta_ns", "delta");
  }
  Field calls = *find_field("calls");
  if (diff->sampled) calls.name = "self_samples";
  add_field_column(t, calls, "_before", "were");
  add_field_column(t, calls, "", "are");
  add_names(t);
  prefer_delta(t, "inclusive");
  const auto tree = std::make_shared<const DiffTree>(diff);
  RowOrder order = tree->order(options.tree_limit());
  for (const RowOrder::Entry& row : order.rows)
    t.colors.push_back(color_of(tree->delta(NodeId(row.node))));
  const size_t count = order.rows.size();
  t.rows.add(count, [tree, rows = std::move(order.rows)](size_t i) {
    return diff_tree_row(*tree, NodeId(rows[i].node), rows[i].depth);
  });
  note_left_out(t, order.hidden, " more branches");
  add_scale_note(t, *diff);
  return t;
}

}  // namespace

std::vector<Table> make_diff_views(const Report& before, const Report& after,
                                   const ViewOptions& o) {
  const auto diff = std::make_shared<const Diff>(make_diff(before, after, o.normalize));
  std::vector<Table> out;
  if (o.report || !o.tree) out.push_back(diff_view(diff, o));
  if (o.tree) out.push_back(diff_tree_view(diff, o));
  return out;
}

}  // namespace luatrace::analyze
