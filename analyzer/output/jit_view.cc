// SPDX-License-Identifier: MIT
// --jit: a table for each question about the compiler, the most frequent or expensive first.
#include "analyzer/output/jit_view.h"

#include <algorithm>

#include "analyzer/output/format.h"
#include "analyzer/output/views.h"

namespace luatrace::analyze {
namespace {

Cell function_cell(const JitLog& log, const JitPlace& p) {
  return Cell::of_text(log.name(p));
}

// The entries of a map, those with the greatest `key` first, equal ones in their order there.
template <class Map, class Key>
auto sorted(const Map& map, Key key) {
  std::vector<const typename Map::value_type*> out;
  for (const auto& entry : map) out.push_back(&entry);
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto* a, const auto* b) { return key(a->second) > key(b->second); });
  return out;
}

Table totals_view(const JitTotals& t) {
  Table out;
  out.name = "jit";
  out.columns = {{"begun", "begun"},
                 {"completed", "completed"},
                 {"aborted", "given up"},
                 {"exits", "exits"},
                 {"code_bytes", "code bytes"},
                 {"compiler_ns", "compiler"},
                 {"collector_ns", "collector"},
                 {"collector_steps", "steps"},
                 {"flushes", "flushes"},
                 {"flushed", "traces", false, Column::kDataOnly},
                 {"own_flushes", "ours"},
                 {"own_flushed", "traces", false, Column::kDataOnly}};
  Row row;
  for (uint64_t n : {t.begun, t.completed, t.aborted, t.exits, t.code_bytes})
    row.push_back(Cell::of_count(n));
  row.push_back(Cell::of_time(t.ns));
  row.push_back(Cell::of_time(t.collector_ns));
  for (uint64_t n : {t.steps, t.flushes, t.flushed, t.own_flushes, t.own_flushed})
    row.push_back(Cell::of_count(n));
  out.rows.push_back(std::move(row));
  if (t.own_flushes)
    out.notes.push_back("ours: " + counted(t.own_flushed, "compiled trace") +
                        " discarded because the recording began; not the program's doing");
  return out;
}

Table aborts_view(const JitLog& log, size_t limit) {
  Table out;
  out.name = "jit_aborts";
  out.heading = "given up: where, and why";
  out.columns = {{"aborts", "times"},
                 {"ns", "cost"},
                 {"blacklisted", "blacklisted"},
                 {"line", "line"},
                 {"function", "function", true},
                 {"reason", "reason", true}};
  for (const auto* e : sorted(log.aborts(), [](const JitAborts& a) { return a.count; }))
    out.rows.push_back({Cell::of_count(e->second.count), Cell::of_time(e->second.ns),
                        Cell::of_count(e->second.blacklisted), Cell::of_count(e->first.at.line),
                        function_cell(log, e->first.at), Cell::of_text(e->first.reason)});
  if (out.rows.empty()) out.notes.push_back("no trace was given up");
  limit_rows(out, limit);
  return out;
}

std::string why_interpreted(const JitLog& log, const JitInterpreted& i) {
  if (i.off && i.last.reason.empty()) return "the program has switched the compiler off for it";
  std::string why = i.last.reason + ", at line " + std::to_string(i.last.at.line);
  if (!i.last.at.function.empty()) why += " of " + log.name(i.last.at);
  return why;
}

Table interpreted_view(const JitLog& log, size_t limit) {
  Table out;
  out.name = "jit_interpreted";
  out.heading = "stays interpreted: a loop or function that begins here, because of";
  out.columns = {
      {"times", "times"}, {"line", "line"}, {"function", "function", true}, {"why", "why", true}};
  for (const auto* e : sorted(log.interpreted(), [](const JitInterpreted& i) { return i.count; }))
    out.rows.push_back({Cell::of_count(e->second.count), Cell::of_count(e->first.line),
                        function_cell(log, e->first),
                        Cell::of_text(why_interpreted(log, e->second))});
  if (out.rows.empty()) out.notes.push_back("nothing was blacklisted in the recording");
  limit_rows(out, limit);
  return out;
}

// After ten exits (hotexit) a trace is compiled that continues there. An exit that is taken so
// often all the same has none: compiling it was given up, or it is for something that always ends
// in the interpreter.
constexpr uint64_t kStorm = 1000;
constexpr size_t kNamedStorms = 3;

std::string storm_text(const JitLog& log, const JitExit& e, uint64_t times) {
  const std::string trace = e.trace.line == 0
                                ? log.name(e.trace)
                                : "the trace that begins at line " + std::to_string(e.trace.line) +
                                      " of " + log.name(e.trace);
  return "exit storm: exit " + std::to_string(e.exit) + " of " + trace + ", " +
         format_count(times) +
         " times: each goes on in the interpreter (docs/cookbook.md, \"Is it the JIT?\")";
}

Table exits_view(const JitLog& log, size_t limit) {
  Table out;
  out.name = "jit_exits";
  out.heading = "left for the interpreter: traces by exit, and the root from which they branch";
  out.columns = {{"exits", "times"},    {"exit", "exit"},
                 {"line", "line"},      {"function", "trace begins in", true},
                 {"root_line", "line"}, {"root", "root trace", true},
                 {"storm", "", true}};
  for (const auto* e : sorted(log.exits(), [](uint64_t n) { return n; }))
    out.rows.push_back({Cell::of_count(e->second), Cell::of_count(e->first.exit),
                        Cell::of_count(e->first.trace.line), function_cell(log, e->first.trace),
                        Cell::of_count(e->first.root.line), function_cell(log, e->first.root),
                        Cell::of_text(e->second >= kStorm ? "storm" : "")});
  size_t storms = 0;
  for (const auto* e : sorted(log.exits(), [](uint64_t n) { return n; }))
    if (e->second >= kStorm && storms++ < kNamedStorms)
      out.notes.push_back(storm_text(log, e->first, e->second));
  if (storms > kNamedStorms)
    out.notes.push_back("and " + counted(storms - kNamedStorms, "more exit storm"));
  if (out.rows.empty()) out.notes.push_back("no trace was left");
  limit_rows(out, limit);
  return out;
}

}  // namespace

std::vector<Table> jit_views(const JitLog& log, size_t limit) {
  return {totals_view(log.totals()), aborts_view(log, limit), interpreted_view(log, limit),
          exits_view(log, limit)};
}

}  // namespace luatrace::analyze
