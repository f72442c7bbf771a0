// SPDX-License-Identifier: MIT
// The functions of an interval, by their times.
#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "analyzer/collect/tree_links.h"
#include "analyzer/live.h"
#include "analyzer/output/views.h"
#include "analyzer/report/tree_times.h"
#include "analyzer/top/view.h"

namespace luatrace::top {

using namespace analyze;

namespace {

// What the functions are sorted by, and their suspended times.
struct Figures {
  std::vector<uint64_t> suspended;  // By function.
  uint64_t of(const ReportFunction& f, size_t index, const std::string& field) const {
    return field == "inclusive"   ? f.inclusive_ns
           : field == "calls"     ? f.calls
           : field == "suspended" ? suspended[index]
                                  : f.self_ns;
  }
};

std::vector<uint32_t> sorted(const Report& r, const Figures& figures, const std::string& field) {
  std::vector<uint32_t> list;
  for (const uint32_t i : sorted_functions(r, "name")) {
    const ReportFunction& f = r.functions[i];
    if (f.calls || f.inclusive_ns || figures.suspended[i]) list.push_back(i);
  }
  if (field == "name") return list;
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return figures.of(r.functions[a], a, field) > figures.of(r.functions[b], b, field);
  });
  return list;
}

std::string table_text(const Report& r, const std::string& sort, size_t limit,
                       const TextStyle& style) {
  const Figures figures{
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.node_suspended_ns[node]; }))};
  Table t;
  t.name = "top";
  t.columns = {{"calls", "calls"},
               {"inclusive_ns", "inclusive"},
               {"self_ns", "self"},
               {"share", "self %"},
               {"suspended_ns", "suspended"}};
  mark_sorted(t, sort, false);
  add_function_columns(t, "function");
  const auto list = sorted(r, figures, sort);
  const size_t count = std::min(limit, list.size());
  for (size_t n = 0; n < count; n++) {
    const ReportFunction& f = r.functions[list[n]];
    Row row{Cell::of_count(f.calls), Cell::of_time(f.inclusive_ns), Cell::of_time(f.self_ns),
            Cell::of_percent(percent(f.self_ns, r.self_ns)),
            Cell::of_time(figures.suspended[list[n]])};
    add_function_cells(row, f);
    t.rows.push_back(std::move(row));
  }
  std::ostringstream out;
  write_text(out, t, style);
  return out.str();
}

class FunctionView : public View {
 public:
  FunctionView(Input& input, const Warn& warn, const TableOptions& options)
      : trace_(input, warn), options_(options) {}
  bool step() override { return trace_.step(); }
  std::string text(size_t lines, const TextStyle& style) override {
    constexpr size_t kOtherLines = 4;  // The sums, the heading, a note.
    const Report r = trace_.interval();
    if (r.traced_ns == 0) return kNothing;
    const VmTimes times{r.files[0].streams.size(), r.traced_ns, r.self_ns, r.idle_ns, r.gap_ns};
    return sums_line(times, r.trust, trace_.trust()) +
           table_text(r, options_.sort, row_limit(options_, lines, kOtherLines), style);
  }

 private:
  LiveTrace trace_;
  const TableOptions options_;
};

}  // namespace

std::unique_ptr<View> function_view(Input& input, const Warn& warn, const TableOptions& options) {
  return std::make_unique<FunctionView>(input, warn, options);
}

}  // namespace luatrace::top
