// SPDX-License-Identifier: MIT
// The views convert the report to tables. ViewOptions selects and limits them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/filter/pattern.h"
#include "analyzer/output/table.h"
#include "analyzer/report/collect_options.h"
#include "analyzer/report/compensate.h"
#include "analyzer/report/fields.h"

namespace luatrace::analyze {

struct ViewOptions : CollectOptions {
  bool report = false, tree = false, info = false;
  std::vector<std::string> callers, callees, hist;  // FN
  uint64_t slow_requests_ns = 0;                    // Only requests that took at least so long.
  std::vector<Field> fields;
  std::string sort = "self";
  bool sort_given = false;
  bool limit_given = false;
  bool suspended = false;  // Show suspended time in trees.
  bool compensate = false;
  bool normalize = false;  // --diff
  TextStyle style;

  bool any() const {
    return report || tree || coroutines || waits || threads || timeline || symbols || info ||
           follows_requests() || !callers.empty() || !callees.empty() || !hist.empty() ||
           !slow.empty();
  }
  bool needs_histogram() const;
  // Rows of a tree, which needs more of them to make sense; 0: all.
  size_t tree_limit() const { return limit_given ? limit : 100; }
};

// The tables of all requested views, in a fixed order. Throws UsageError if a named function does
// not occur. Rows are generated from the report, which must outlive them unchanged.
std::vector<Table> make_views(const Report& report, const ViewOptions& options);

Table report_view(const Report& report, const ViewOptions& options);
Table tree_view(const Report& report, const ViewOptions& options);
Table callers_view(const Report& report, const ViewOptions& options, const std::string& function);
Table callees_view(const Report& report, const ViewOptions& options, const std::string& function);
Table hist_view(const Report& report, const ViewOptions& options, const std::string& function);
std::vector<Table> slow_views(const Report& report, const ViewOptions& options);
std::vector<Table> coroutine_views(const Report& report, const ViewOptions& options);
Table waits_view(const Report& report, const ViewOptions& options);
Table requests_view(const Report& report, const ViewOptions& options);
std::vector<Table> request_views(const Report& report, const ViewOptions& options);
Table request_tree_view(const Report& report, const std::vector<SlowNode>& nodes,
                        const ViewOptions& options);
std::vector<Table> turn_views(const Report& report, const ViewOptions& options);
// Whether `sort`, the value of --sort, is an order of requests.
bool is_request_order(const std::string& sort);
Table thread_view(const Report& report, const ViewOptions& options);
std::vector<Table> timeline_views(const Report& report, const ViewOptions& options);
Table symbols_view(const Report& report, const ViewOptions& options);
Table info_view(const Report& report);

// The same for --diff: the report of differences, unless only --tree was requested, and the tree of
// differences.
std::vector<Table> make_diff_views(const Report& before, const Report& after,
                                   const ViewOptions& options);

// "work (co.lua:3)", unescaped; for the views themselves.
std::string full_name(const FunctionName& f);
// full_name(), with a '?' after a name that is only known from a call.
std::string marked_name(const ReportFunction& f);
// The message for a pattern that matches nothing, or only functions that filters or groups left out
// entirely, with suggestions of names. Escaped.
std::string no_function(const Report& report, const std::string& pattern);
// Empty if there is no value.
Cell field_cell(const Field& field, std::optional<double> value);
// '<' for what began before the recording, '>' for what did not end in it.
const char* open_ends(bool begun_before, bool unfinished);
// Adds columns of numbers for data only.
void add_data_columns(Table& table, std::initializer_list<const char*> keys);
// Shows the Lua VMs of the rows, which are otherwise only data, if they are of several; that column
// is left out first. list: pointers to what has a member `vm`.
template <class T>
void show_vms(Table& table, const std::vector<const T*>& list) {
  if (std::all_of(list.begin(), list.end(), [&](auto* row) { return row->vm == list[0]->vm; }))
    return;
  for (Column& c : table.columns)
    if (c.key == "vm") c.use = Column::kBoth, c.title = "VM", c.spare = 3;
}
// The same for their files; list: pointers to what has a member `file`.
template <class T>
void show_files(Table& table, const std::vector<const T*>& list) {
  if (std::all_of(list.begin(), list.end(), [&](auto* row) { return row->file == list[0]->file; }))
    return;
  for (Column& c : table.columns)
    if (c.key == "file") c.use = Column::kBoth, c.title = "file", c.left = true, c.spare = 2;
}
// Adds the columns that identify the function of a row, and their cells. A name that is only known
// from a call has a '?' after it in text, and 1 in the column `hint` in data.
void add_function_columns(Table& table, const char* title);
void add_function_cells(Row& row, const ReportFunction& f, const std::string& indent = "");
// Adds the columns of --compensate, and their cells.
void add_corrected_columns(Table& table);
void add_corrected_cells(Row& row, const Corrected& c);
// If not all columns fit, the corrected ones are dropped last (self' with its mark after
// inclusive'); before them, the columns that they correct and the sort key.
void prefer_corrected(Table& table, const std::string& sort);
// Adds a line below the table that explains their marks.
void explain_corrected(Table& table);
// Truncates the rows to `limit` and adds a note that says so.
void limit_rows(Table& table, size_t limit);
// Adds the note that `count` rows (`what`) are left out, unless it is 0.
void note_left_out(Table& table, uint64_t count, const char* what = " more");
// By function: whether it matches the pattern. Throws UsageError with suggestions if none does.
std::vector<bool> chosen_functions(const Report& report, const std::string& pattern);

}  // namespace luatrace::analyze
