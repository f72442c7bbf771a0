// SPDX-License-Identifier: MIT
// --symbols: the code of C functions and the functions inlined into it. Inlined functions have no
// events: their time is part of the self time of the C function, so their rows have no times.
#include <algorithm>
#include <span>

#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/report/fields.h"
#include "analyzer/symbols/native_code.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kShownId = 8;  // Bytes of a build ID shown in text.

Cell count_or_none(uint64_t n) {
  return n ? Cell::of_count(n) : Cell{};
}

Cell text_or_none(const std::string& text) {
  return text.empty() ? Cell{} : Cell::of_text(text);
}

// For text: "strbuf.h:120".
std::string short_line(const SourceLine& at) {
  const std::string& file = at.file();
  if (file.empty()) return "";
  const std::string name = file.substr(file.rfind('/') + 1);
  return at.line ? name + ':' + std::to_string(at.line) : name;
}

class SymbolRows {
 public:
  explicit SymbolRows(Table& table, size_t limit) : table_(table), limit_(limit) { columns(); }
  void add(const ReportFunction& f, const ReportCode& place);
  void notes(size_t functions_left_out);

 private:
  void columns();
  void add_inlined(const NativeCode& code);
  void add_inlined(const InlinedFunction& f, const NativeCode& code, uint64_t base);
  void add_place(std::vector<Cell>& row, const NativeCode& code, bool own);
  void add_line(std::vector<Cell>& row, const SourceLine& at);

  Table& table_;
  const size_t limit_;  // Inlined functions per function; 0: all.
  uint64_t left_out_ = 0, unknown_ = 0, unmapped_ = 0;
  bool has_inlined_ = false, is_cut_ = false, is_pruned_ = false;
};

void SymbolRows::columns() {
  const auto text = Column::kTextOnly, data = Column::kDataOnly;
  auto& c = table_.columns;
  add_data_columns(table_, {"node", "parent", "depth"});
  c.push_back({"calls", "calls"});
  c.push_back({"self_ns", "self"});
  c.push_back({"times", "times", false, data});
  c.push_back({"code_bytes", "bytes", false, Column::kBoth, false, true});
  c.push_back({"inlined", "inlined", false, Column::kBoth, false, true});
  c.push_back({"left_out", "left out", false, data});
  const size_t function = c.size();
  add_function_columns(table_, "function");
  c[function].min_width = 24;
  c.push_back({"defined", "defined", true, text});
  c.push_back({"called", "called at", true, text});
  for (const char* key : {"defined_file", "defined_line", "called_file", "called_line"})
    c.push_back({key, key, true, data});
  for (const char* title : {"file", "named by", "offset", "build-id"})
    c.push_back({title, title, true, text, false, true});
  for (const char* key : {"named_by", "module", "offset", "build_id", "read_from"})
    c.push_back({key, key, true, data});
}

void SymbolRows::add_line(std::vector<Cell>& row, const SourceLine& at) {
  row.push_back(text_or_none(at.file()));
  row.push_back(count_or_none(at.line));
}

// Adds the last columns. An inlined function is at the location of the function that contains it,
// which text does not repeat.
void SymbolRows::add_place(std::vector<Cell>& row, const NativeCode& code, bool own) {
  const std::string offset = code.module.empty() ? "" : hex(code.offset);
  for (const std::string& text : {code.module, std::string(code.named_by), offset,
                                  hex_bytes(code.build_id.substr(0, kShownId))})
    row.push_back(own ? text_or_none(text) : Cell::of_text(""));
  row.push_back(Cell::of_text(own ? code.named_by : "debug"));
  row.push_back(text_or_none(code.module));
  row.push_back(text_or_none(own ? offset : ""));
  row.push_back(text_or_none(hex_bytes(code.build_id)));
  row.push_back(text_or_none(code.read_from));
}

void SymbolRows::add(const ReportFunction& f, const ReportCode& place) {
  const NativeCode& code = *place.code;
  const uint64_t node = table_.rows.size() + 1;
  const size_t all = code.inlined ? code.inlined->list.size() : 0;
  const uint64_t hidden = limit_ && all > limit_ ? all - limit_ : 0;
  std::vector<Cell> row = {Cell::of_count(node),
                           Cell::of_count(0),
                           Cell::of_count(1),
                           Cell::of_count(place.calls),
                           Cell::of_time(place.self_ns),
                           Cell{},
                           count_or_none(code.bytes),
                           code.inlined ? Cell::of_count(all + code.inlined->more) : Cell{},
                           code.inlined ? Cell::of_count(hidden + code.inlined->more) : Cell{}};
  const size_t name = row.size();
  add_function_cells(row, f);
  row[name] = Cell::of_text(display_name(f) + (shows_hint(f) ? "?" : ""));
  row.push_back(text_or_none(short_line(code.defined)));
  row.push_back(Cell::of_text(""));
  add_line(row, code.defined);
  add_line(row, {});
  add_place(row, code, true);
  table_.rows.push_back(std::move(row));
  (code.module.empty() ? unmapped_ : unknown_) += !code.inlined;
  left_out_ += hidden;
  if (code.inlined) add_inlined(code);
}

void SymbolRows::add_inlined(const NativeCode& code) {
  const uint64_t base = table_.rows.size();
  std::span<const InlinedFunction> list = code.inlined->list;
  if (limit_ && list.size() > limit_) list = list.first(limit_);
  for (const InlinedFunction& f : list) add_inlined(f, code, base);
  has_inlined_ |= !list.empty();
  is_pruned_ |= code.inlined->more > 0;
  is_cut_ |= code.inlined->cut;
}

// `base`: the row of the containing function, to which parent 0 refers.
void SymbolRows::add_inlined(const InlinedFunction& f, const NativeCode& code, uint64_t base) {
  ReportFunction described;
  described.kind = FunctionKind::kInlined;
  described.name = f.name ? *f.name : "?";
  described.chunk = code.module;
  std::vector<Cell> row = {Cell::of_count(table_.rows.size() + 1),
                           Cell::of_count(base + f.parent),
                           Cell::of_count(f.depth + 1),
                           Cell{},
                           Cell{},
                           Cell::of_count(f.times),
                           Cell::of_count(f.bytes),
                           Cell{},
                           Cell{}};
  const size_t name = row.size();
  add_function_cells(row, described);
  row[name] = Cell::of_text(std::string(2 * f.depth, ' ') + described.name);
  row.push_back(text_or_none(short_line(f.defined)));
  const std::string called = short_line(f.called);
  const bool often = f.times > 1 && !called.empty();
  row.push_back(Cell::of_text(called + (often ? " x" + std::to_string(f.times) : "")));
  add_line(row, f.defined);
  add_line(row, f.called);
  add_place(row, code, false);
  table_.rows.push_back(std::move(row));
}

void SymbolRows::notes(size_t functions_left_out) {
  auto& notes = table_.notes;
  note_left_out(table_, functions_left_out);
  note_left_out(table_, left_out_, " more inlined functions");
  if (is_pruned_) notes.push_back("some functions have more inlined functions than can be shown");
  if (is_cut_)
    notes.push_back(
        "the debug information of some is damaged or nested too deeply: inlined functions may be "
        "missing");
  if (has_inlined_)
    notes.push_back(
        "indented: inlined by the compiler, without events; their time is the function's self");
  if (unknown_)
    notes.push_back("no debug information for " + counted(unknown_, "function") +
                    ", so what was inlined is unknown (compile with -g; --debug-dir DIR says where "
                    "debug files are)");
  if (unmapped_)
    notes.push_back("the trace does not say which file contained " +
                    counted(unmapped_, "function") +
                    ": the program ended, or unloaded the file, before the recorder read its "
                    "mappings");
  if (table_.rows.empty()) notes.push_back("no C functions");
}

// The locations of a function, which are adjacent in report.codes.
std::span<const ReportCode> places_of(const Report& report, uint32_t function) {
  auto [begin, end] = std::equal_range(
      report.codes.begin(), report.codes.end(),
      ReportCode{ReportFunctionId(function), 0, 0, nullptr},
      [](const ReportCode& a, const ReportCode& b) { return a.function < b.function; });
  return {begin, end};
}

}  // namespace

Table symbols_view(const Report& report, const ViewOptions& options) {
  Table t;
  t.name = "symbols";
  SymbolRows rows(t, options.limit);
  size_t shown = 0, left_out = 0;
  for (uint32_t i : sorted_functions(report, options.sort))
    for (const ReportCode& place : places_of(report, i)) {
      const bool show = options.limit == 0 || shown < options.limit;
      show ? shown++ : left_out++;
      if (show) rows.add(report.functions[i], place);
    }
  rows.notes(left_out);
  return t;
}

}  // namespace luatrace::analyze
