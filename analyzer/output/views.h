// SPDX-License-Identifier: MIT
// The views: from the report to tables. Which ones, and how they are cut, is in ViewOptions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/filter/pattern.h"
#include "analyzer/output/table.h"
#include "analyzer/report/compensate.h"
#include "analyzer/report/fields.h"

namespace luatrace::analyze {

struct ViewOptions {
  bool report = false, tree = false, coroutines = false, threads = false, timeline = false,
       symbols = false, info = false;
  std::vector<std::string> callers, callees, hist, slow;  // FN
  uint64_t over_ns = 0;
  bool wall = false;  // --slow by wall time.
  std::vector<Field> fields;
  std::string sort = "self";
  bool sort_given = false;
  size_t limit = 20;  // Rows; 0: all.
  bool limit_given = false;
  size_t slow_limit = 5;  // Calls.
  bool yielded = false;   // Show suspended time in trees.
  bool compensate = false;
  bool normalize = false;  // --diff
  TextStyle style;

  bool any() const {
    return report || tree || coroutines || threads || timeline || symbols || info ||
           !callers.empty() || !callees.empty() || !hist.empty() || !slow.empty();
  }
  bool needs_histogram() const;
  // Rows of a tree, of which more are needed to make sense of it; 0: all.
  size_t tree_limit() const { return limit_given ? limit : 100; }
};

// Tables of every view that was asked for, in a fixed order. Throws UsageError if a function that
// was named does not occur. The rows of tables are made from the report: it has to live, unchanged,
// as long as they do.
std::vector<Table> make_views(const Report& report, const ViewOptions& options);

Table report_view(const Report& report, const ViewOptions& options);
Table tree_view(const Report& report, const ViewOptions& options);
Table callers_view(const Report& report, const ViewOptions& options, const std::string& function);
Table callees_view(const Report& report, const ViewOptions& options, const std::string& function);
Table hist_view(const Report& report, const ViewOptions& options, const std::string& function);
std::vector<Table> slow_views(const Report& report, const ViewOptions& options);
std::vector<Table> coroutine_views(const Report& report, const ViewOptions& options);
Table thread_view(const Report& report, const ViewOptions& options);
std::vector<Table> timeline_views(const Report& report, const ViewOptions& options);
Table symbols_view(const Report& report, const ViewOptions& options);
Table info_view(const Report& report);

// With --diff: the report of differences unless only --tree was asked for, and the tree of them.
std::vector<Table> make_diff_views(const Report& before, const Report& after,
                                   const ViewOptions& options);

// For the views themselves: "work (co.lua:3)", unescaped.
std::string full_name(const FunctionName& f);
// Its name is shown, and only a call told it: a ? stands behind it where people read it.
bool shows_hint(const ReportFunction& f);
std::string marked_name(const ReportFunction& f);  // full_name() with that mark.
// "no function of the trace fits 'FN'; did you mean 'fn'?", for messages about functions that are
// not there, or of which filters or groups left nothing. Escaped.
std::string no_function(const Report& report, const std::string& pattern);
// The columns that say which function a row is about, and their cells. In text a name that only a
// call told has a '?' behind it; in data the column `hint` is 1.
void add_function_columns(Table& table, const char* title);
void add_function_cells(Row& row, const ReportFunction& f, const std::string& indent = "");
// The columns of --compensate, and their cells.
void add_corrected_columns(Table& table);
void add_corrected_cells(Row& row, const Corrected& c);
// Where there is no room for all columns these stay longest, self' with its mark before total';
// then those that they correct, and that by which rows are sorted.
void prefer_corrected(Table& table, const std::string& sort);
// A line below the table that says what their marks mean.
void explain_corrected(Table& table);
// Cuts the rows at options.limit and says so.
void limit_rows(Table& table, size_t limit);
// Functions that fit the pattern. Throws UsageError that names close ones if there is none.
std::vector<bool> chosen_functions(const Report& report, const std::string& pattern);

}  // namespace luatrace::analyze
