// SPDX-License-Identifier: MIT
#include "analyzer/output/views.h"

#include <utility>

#include "analyzer/output/format.h"
#include "analyzer/report/compensate.h"
#include "analyzer/report/conditions.h"
#include "analyzer/report/suggestions.h"
#include "base/escape.h"
#include "base/saturate.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

std::vector<Field> fields_of(const Report& report, const ViewOptions& options) {
  if (!options.fields.empty()) return options.fields;
  if (report.sampled == SampleKind::kOffCpu) return parse_fields("samples,inclusive,self,share");
  if (report.is_sampled()) return parse_fields("samples,inclusive,self,share,error,compiled");
  return parse_fields("calls,inclusive,self,share,avg,p50,p99,max");
}

Column column_of(const Field& field) {
  if (field.kind == Field::kShare) return {"self_share", "self %"};
  if (field.kind == Field::kError) return {"self_share_error", "±"};
  if (field.kind == Field::kCompiled) return {"compiled_share", "compiled %"};
  const std::string unit = field.is_time() ? "_ns" : "";
  Column column{field.name + unit, field.name};
  if (!field.former.empty()) column.former = field.former + unit;
  return column;
}

// Marks the column by which the rows are sorted.
void mark_sorted_field(Table& t, const std::string& sort) {
  const auto field = find_field(sort);
  const std::string key = field ? column_of(*field).key : sort == "name" ? "function" : "";
  for (Column& c : t.columns)
    if (c.key == key) c.title += sort == "name" ? "▲" : "▼";
}

}  // namespace

bool ViewOptions::needs_histogram() const {
  bool needs = (report && fields.empty()) || !hist.empty();
  for (const Field& field : fields) needs |= field.needs_histogram();
  auto key = find_field(sort);
  return needs || (key && key->needs_histogram());
}

std::string full_name(const FunctionName& f) {
  std::string name = display_name(f), place = shown_place(f);
  return place.empty() || place == name ? name : name + "  (" + place + ')';
}

std::string marked_name(const ReportFunction& f) {
  std::string text = full_name(f);
  if (shows_hint(f)) text.insert(f.name.size(), "?");
  return text;
}

Cell field_cell(const Field& field, std::optional<double> value) {
  if (!value) return {};
  if (field.is_share()) return Cell::of_percent(*value);
  const uint64_t n = saturate_u64(*value);
  return field.is_time() ? Cell::of_time(n) : Cell::of_count(n);
}

const char* open_ends(bool begun_before, bool unfinished) {
  if (unfinished) return begun_before ? "<>" : ">";
  return begun_before ? "<" : "";
}

void add_data_columns(Table& t, std::initializer_list<const char*> keys) {
  for (const char* key : keys) t.columns.push_back({key, key, false, Column::kDataOnly});
}

void add_function_columns(Table& t, const char* title) {
  t.columns.push_back({"function", title, true, Column::kTextOnly});
  for (const char* key : {"name", "chunk", "line", "kind", "hint"})
    t.columns.push_back({key, key, true, Column::kDataOnly});
}

void add_function_cells(Row& row, const ReportFunction& f, const std::string& indent) {
  row.push_back(Cell::of_text(indent + marked_name(f)));
  row.push_back(Cell::of_text(distinct_name(f)));
  row.push_back(Cell::of_text(f.chunk));
  row.push_back(Cell::of_count(f.line));
  row.push_back(Cell::of_text(kind_name(f.kind)));
  row.push_back(Cell::of_count(shows_hint(f)));
}

void add_corrected_columns(Table& t) {
  t.columns.push_back({"inclusive_corrected_ns", "inclusive'"});
  t.columns.back().former = "total_corrected_ns";
  t.columns.push_back({"self_corrected_ns", "self'"});
  t.columns.push_back({"rough", ""});
}

void add_corrected_cells(Row& row, const Corrected& c) {
  row.push_back(Cell::of_time(c.inclusive_ns));
  row.push_back(Cell::of_time(c.self_ns));
  row.push_back(Cell::of_text(c.rough ? "!" : ""));
}

void prefer_corrected(Table& t, const std::string& sort) {
  const auto field = find_field(sort);
  const std::string key = field ? field->name : sort;
  auto spare = [&](const std::string& title) {
    if (title == "self'" || title.empty()) return 0;
    if (title == "inclusive'") return 1;
    return title == "inclusive" || title == "self" || title == "[suspended]" || title == key ? 2
                                                                                             : 3;
  };
  for (Column& c : t.columns)
    if (!c.left) c.spare = spare(c.title);
}

void explain_corrected(Table& t) {
  t.notes.push_back(
      "': without the cost of recording; !: a rough guess, the cost exceeds 30 % of the time");
}

void limit_rows(Table& table, size_t limit) {
  if (limit == 0 || table.rows.size() <= limit) return;
  note_left_out(table, table.rows.size() - limit);
  table.rows.limit(limit);
}

void note_left_out(Table& table, uint64_t count, const char* what) {
  if (count) table.notes.push_back(format_count(count) + what + ": --limit 0 shows all");
  table.left_out += count;
}

std::string no_function(const Report& report, const std::string& pattern) {
  const FunctionPattern wanted(pattern);
  const std::string matches = " matches '" + printable(pattern) + '\'';
  for (const FunctionName& f : report.hidden)
    if (wanted.matches(f))
      return "no function that the filters show" + matches + ": nothing is left of " +
             printable(full_name(f)) + (report.grouped ? ", or it is part of a group" : "");
  std::vector<FunctionName> known(report.functions.begin(), report.functions.end());
  if (only_groups(report)) return "no group" + matches + printable(did_you_mean(pattern, known));
  known.insert(known.end(), report.hidden.begin(), report.hidden.end());
  return "no function of the trace" + matches + printable(did_you_mean(pattern, known));
}

std::vector<bool> chosen_functions(const Report& report, const std::string& pattern) {
  FunctionPattern wanted(pattern);
  std::vector<bool> chosen(report.functions.size());
  bool any = false;
  for (size_t i = kReportUnknown; i < chosen.size(); i++)
    any |= chosen[i] = wanted.matches(report.functions[i]);
  if (!any) throw UsageError(no_function(report, pattern));
  return chosen;
}

// Whether the figure is a time of which more than 1 % was apportioned.
bool is_apportioned(const Field& field, const ReportFunction& f) {
  if (field.kind == Field::kSelf)
    return f.segments->self_apportioned_ns > (f.self_ns + f.inner_self_ns) / 100;
  const bool inclusive = field.kind == Field::kInclusive || field.kind == Field::kWall;
  if (inclusive) return f.segments->apportioned_ns > f.inclusive_ns / 100;
  return field.kind == Field::kAvg && f.segments->inside > f.all_complete() / 100;
}

Row report_row(const std::vector<Field>& fields, const ReportFunction& f, uint64_t self_ns) {
  Row row;
  for (const Field& field : fields) {
    row.push_back(field_cell(field, value_of(field, f, self_ns)));
    row.back().about = is_apportioned(field, f);
  }
  return row;
}

void add_apportioned_cells(Row& row, const SegmentFigures& f) {
  row.push_back(Cell::of_time(f.apportioned_ns));
  row.push_back(Cell::of_time(f.self_apportioned_ns));
  row.push_back(Cell::of_count(f.inside));
}

Table report_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "report";
  auto fields = fields_of(report, options);
  for (const Field& field : fields) t.columns.push_back(column_of(field));
  if (options.compensate) add_corrected_columns(t);
  add_function_columns(t, report.grouped ? "group" : "function");
  if (options.compensate && options.fields.empty()) prefer_corrected(t, options.sort);
  mark_sorted_field(t, options.sort);
  std::vector<Corrected> corrected;
  if (options.compensate) corrected = compensate(report).functions;
  const bool apportioned = report.apportioned_ns;
  if (apportioned) add_data_columns(t, {"apportioned_ns", "self_apportioned_ns", "inside"});
  auto order = sorted_functions(report, options.sort);
  const size_t count = order.size();
  t.rows.add(count, [&report, fields = std::move(fields), corrected = std::move(corrected),
                     order = std::move(order), apportioned](size_t n) {
    const ReportFunction& f = report.functions[order[n]];
    Row row = report_row(fields, f, report.self_ns);
    if (!corrected.empty()) add_corrected_cells(row, corrected[order[n]]);
    add_function_cells(row, f);
    if (apportioned) add_apportioned_cells(row, *f.segments);
    return row;
  });
  limit_rows(t, options.limit);
  if (options.compensate) explain_corrected(t);
  if (report.apportioned_ns)
    t.notes.push_back(
        "~: more than 1 % of it is apportioned inside compiled segments; -: not known");
  if (report.sampled == SampleKind::kCpu)
    t.notes.push_back("±: 95 % confidence interval of self %, in percentage points");
  return t;
}

std::vector<Table> make_views(const Report& report, const ViewOptions& o) {
  std::vector<Table> out;
  auto add = [&](std::vector<Table> more) {
    for (auto& table : more) out.push_back(std::move(table));
  };
  if (o.info) out.push_back(info_view(report));
  if (o.report) out.push_back(report_view(report, o));
  if (o.tree) out.push_back(tree_view(report, o));
  for (const auto& fn : o.callers) out.push_back(callers_view(report, o, fn));
  for (const auto& fn : o.callees) out.push_back(callees_view(report, o, fn));
  for (const auto& fn : o.hist) out.push_back(hist_view(report, o, fn));
  for (const auto& fn : o.slow) chosen_functions(report, fn);
  if (!o.slow.empty()) add(slow_views(report, o));
  if (o.coroutines) add(coroutine_views(report, o));
  if (o.waits) out.push_back(waits_view(report, o));
  if (o.requests) out.push_back(requests_view(report, o));
  if (o.request) add(request_views(report, o));
  if (o.turns) add(turn_views(report, o));
  if (o.threads) out.push_back(thread_view(report, o));
  if (o.timeline) add(timeline_views(report, o));
  if (o.symbols) out.push_back(symbols_view(report, o));
  return out;
}

}  // namespace luatrace::analyze
