// SPDX-License-Identifier: MIT
// --diff: what became faster or slower, appeared or vanished.
#include "analyzer/report/diff.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "base/saturate.h"

namespace luatrace::analyze {
namespace {

constexpr int kRed = 31, kGreen = 32;

Cell value_cell(const Field& field, std::optional<double> value) {
  if (!value) return {};
  if (field.kind == Field::kShare) return Cell::of_percent(*value);
  auto n = saturate_u64(*value);
  return field.is_time() ? Cell::of_time(n) : Cell::of_count(n);
}

Cell delta_cell(const Field& field, double delta) {
  if (field.kind == Field::kShare) return Cell::of_change(delta);
  if (field.is_time()) return Cell::of_delta(delta);
  return {Cell::kDeltaCount, delta, 0, {}};
}

Cell change_cell(double before, double after) {
  return before > 0 ? Cell::of_change(100 * (after - before) / before) : Cell();
}

const char* status(bool was, bool is) {
  return !was ? "added" : !is ? "vanished" : "";
}

// `now` may be null where there is no colour.
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
  if (d.was[i]) v.before = value_of(field, d.before[i], d.before_sums);
  if (d.is[i]) v.after = value_of(field, d.after[i], d.after_sums);
  return v;
}

std::vector<uint32_t> sorted(const Diff& d, const ViewOptions& options) {
  const Field key = find_field(options.sort).value_or(Field{});
  std::vector<uint32_t> list;
  for (uint32_t i : d.by_name) {
    bool group = d.any(i).kind == FunctionKind::kGroup && !d.any(i).in_group;
    bool row = i == 1 ? d.before[i].self_ns || d.after[i].self_ns : group || !d.after_sums.grouped;
    if (row && (d.was[i] || d.is[i])) list.push_back(i);
  }
  if (options.sort == "name") return list;
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return std::fabs(values_of(d, key, a).delta()) > std::fabs(values_of(d, key, b).delta());
  });
  return list;
}

void say_scale(Table& t, const Diff& d) {
  if (d.scale != 1) t.notes.push_back("times of before multiplied with " + decimal(d.scale, 3));
}

// If not all columns fit, keeps those of the field by which rows are sorted; of these, drops the
// difference last and the value after the change second to last.
void prefer_delta(Table& t, const std::string& field) {
  for (Column& c : t.columns) {
    if (c.key == "function") continue;
    c.spare = c.of != field ? 3 : c.title == "delta" ? 0 : c.title == "is" ? 1 : 2;
  }
}

void add_field_column(Table& t, const std::string& field, const std::string& key,
                      const std::string& title) {
  Column& column = t.columns.emplace_back();
  column.key = key;
  column.title = title;
  column.of = field;
}

using SharedDiff = std::shared_ptr<const Diff>;

Row diff_row(const Diff& d, const std::vector<Field>& fields, uint32_t i) {
  Row row;
  for (const Field& field : fields) {
    Values v = values_of(d, field, i);
    row.push_back(value_cell(field, v.before));
    row.push_back(value_cell(field, v.after));
    row.push_back(delta_cell(field, v.delta()));
    row.push_back(change_cell(v.before.value_or(0), v.after.value_or(0)));
  }
  add_name_cells(row, d.any(i), status(d.was[i], d.is[i]), "");
  return row;
}

Table diff_view(const SharedDiff& shared, const ViewOptions& options) {
  const Diff& d = *shared;
  auto fields = options.fields.empty() ? parse_fields("self,total,calls") : options.fields;
  Table t;
  t.name = "diff";
  for (const Field& field : fields) {
    std::string unit = field.is_time() ? "_ns" : "";
    add_field_column(t, field.name, field.name + "_before" + unit, "was");
    add_field_column(t, field.name, field.name + unit, "is");
    add_field_column(t, field.name, field.name + "_delta" + unit, "delta");
    add_field_column(t, field.name, field.name + "_change", "%");
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
  say_scale(t, d);
  return t;
}

double total_delta(const DiffNode& n) {
  return static_cast<double>(n.after.total_ns) - static_cast<double>(n.before.total_ns);
}

// The union of both trees, children sorted by size of difference. Of a large tree it shows the
// nodes with the greatest differences and their call paths. Differences below a node may cancel
// out, so a node on the path to a large difference may have none itself.
class DiffTree {
 public:
  DiffTree(const Diff& diff, size_t rows);
  // The nodes shown and their depths, depth first. Sets hidden(), the number of branches not shown.
  std::vector<std::pair<uint32_t, uint32_t>> rows();
  size_t hidden() const { return hidden_; }

 private:
  void sort(std::vector<uint32_t>& nodes) const;
  void choose(std::vector<uint32_t> order, size_t rows);
  void push(uint32_t node, uint32_t depth);

  const Diff& d_;
  std::vector<uint32_t> child_, sibling_;
  std::vector<bool> shown_;
  std::vector<std::pair<uint32_t, uint32_t>> stack_;  // Node and depth.
  size_t hidden_ = 0;
};

DiffTree::DiffTree(const Diff& diff, size_t rows)
    : d_(diff),
      child_(diff.nodes.size()),
      sibling_(diff.nodes.size()),
      shown_(diff.nodes.size(), rows == 0) {
  for (auto i = static_cast<uint32_t>(d_.nodes.size()); i-- > 1;) {
    sibling_[i] = child_[d_.nodes[i].parent];
    child_[d_.nodes[i].parent] = i;
  }
  if (!rows) return;
  std::vector<uint32_t> order(d_.nodes.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  choose(std::move(order), rows);
}

// Shows the call path of the node with the greatest difference, then of the next, while rows are
// left.
void DiffTree::choose(std::vector<uint32_t> order, size_t rows) {
  sort(order);
  for (size_t i = 0; i < order.size() && rows; i++) {
    std::vector<uint32_t> chain;
    for (uint32_t at = order[i]; at && !shown_[at]; at = d_.nodes[at].parent) chain.push_back(at);
    for (; !chain.empty() && rows; chain.pop_back(), rows--) shown_[chain.back()] = true;
  }
}

// Greatest difference first.
void DiffTree::sort(std::vector<uint32_t>& nodes) const {
  std::stable_sort(nodes.begin(), nodes.end(), [this](uint32_t a, uint32_t b) {
    return std::fabs(total_delta(d_.nodes[a])) > std::fabs(total_delta(d_.nodes[b]));
  });
}

void DiffTree::push(uint32_t node, uint32_t depth) {
  std::vector<uint32_t> children;
  for (uint32_t at = child_[node]; at; at = sibling_[at]) children.push_back(at);
  sort(children);
  for (auto at = children.rbegin(); at != children.rend(); ++at) stack_.emplace_back(*at, depth);
}

std::vector<std::pair<uint32_t, uint32_t>> DiffTree::rows() {
  std::vector<std::pair<uint32_t, uint32_t>> rows;
  push(0, 1);
  while (!stack_.empty()) {
    const auto [node, depth] = stack_.back();
    stack_.pop_back();
    if (!shown_[node]) {
      hidden_++;
      continue;
    }
    rows.emplace_back(node, depth);
    push(node, depth + 1);
  }
  return rows;
}

Row diff_tree_row(const Diff& d, uint32_t i, uint32_t depth) {
  const DiffNode& n = d.nodes[i];
  const double self = static_cast<double>(n.after.self_ns) - static_cast<double>(n.before.self_ns);
  Row row;
  for (uint64_t number : {i, n.parent, depth}) row.push_back(Cell::of_count(number));
  const bool was = n.before.calls || n.before.total_ns, is = n.after.calls || n.after.total_ns;
  // A side on which the node does not occur gets an empty cell instead of 0.
  auto of = [](bool there, Cell cell) { return there ? cell : Cell(); };
  const bool had = was || !is, has = is || !was;
  for (const Cell& cell :
       {of(had, Cell::of_time(n.before.total_ns)), of(has, Cell::of_time(n.after.total_ns)),
        Cell::of_delta(total_delta(n)), of(had, Cell::of_time(n.before.self_ns)),
        of(has, Cell::of_time(n.after.self_ns)), Cell::of_delta(self),
        of(had, Cell::of_count(n.before.calls)), of(has, Cell::of_count(n.after.calls))})
    row.push_back(cell);
  add_name_cells(row, d.any(n.function), was == is ? "" : status(was, is),
                 std::string(2 * std::min<size_t>(depth - 1, 30), ' '));
  return row;
}

Table diff_tree_view(const SharedDiff& shared, const ViewOptions& options) {
  const Diff& d = *shared;
  Table t;
  t.name = "diff_tree";
  t.columns = {{"node", "", false, Column::kDataOnly},
               {"parent", "", false, Column::kDataOnly},
               {"depth", "", false, Column::kDataOnly}};
  for (const std::string field : {"total", "self"}) {
    add_field_column(t, field, field + "_before_ns", "was");
    add_field_column(t, field, field + "_ns", "is");
    add_field_column(t, field, field + "_delta_ns", "delta");
  }
  add_field_column(t, "calls", "calls_before", "were");
  add_field_column(t, "calls", "calls", "are");
  add_names(t);
  prefer_delta(t, "total");
  DiffTree tree(d, options.tree_limit());
  auto rows = tree.rows();
  for (const auto& [node, depth] : rows) t.colors.push_back(color_of(total_delta(d.nodes[node])));
  const size_t count = rows.size();
  t.rows.add(count, [shared, rows = std::move(rows)](size_t i) {
    return diff_tree_row(*shared, rows[i].first, rows[i].second);
  });
  if (tree.hidden())
    t.notes.push_back(format_count(tree.hidden()) + " more branches: --limit 0 shows all");
  say_scale(t, d);
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
