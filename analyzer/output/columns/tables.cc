// SPDX-License-Identifier: MIT
#include "analyzer/output/columns/tables.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analyzer/output/formats/own_output.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

using C = ParquetColumn;

std::vector<ParquetColumn> function_columns() {
  return {{C::kText, "host"}, {C::kText, "function"}, {C::kText, "name"},
          {C::kText, "kind"}, {C::kText, "file"},     {C::kInt32, "line"}};
}

std::vector<ParquetColumn> request_columns() {
  return {{C::kText, "file"},
          {C::kText, "host"},
          {C::kInt32, "process"},
          {C::kInt32, "vm"},
          {C::kInt32, "request"},
          {C::kInt32, "id"},
          {C::kInt64, "start_ns"},
          {C::kInt64, "wall_ns"},
          {C::kInt64, "running_ns"},
          {C::kInt64, "wait_ns"},
          {C::kInt64, "others_ns"},
          {C::kInt64, "unattributed_ns"},
          {C::kInt64, "collector_ns"},
          {C::kInt64, "compiler_ns"},
          {C::kInt32, "coroutines"},
          {C::kText, "entry"},
          {C::kText, "labels"},
          {C::kText, "beginning"},
          {C::kText, "end"}};
}

int32_t pid_of(const ReportFile& file, StreamId vm) {
  for (const StreamInfo& s : file.streams)
    if (s.number == vm)
      for (const ProcessInfo& p : file.processes)
        if (p.number == s.process) return p.pid;
  return 0;
}

}  // namespace

CallTables::CallTables(const ExportOptions& options, std::string host)
    : host_(std::move(host)), names_(options) {
  const std::string& directory = options.output;
  if (mkdir(directory.c_str(), 0777) == 0) {
    created_ = directory;
  } else if (errno != EEXIST) {
    error_ = std::strerror(errno);
    return;
  }
  const auto open = [&](std::optional<Table>& table, const char* name,
                        std::vector<ParquetColumn> columns) {
    table.emplace(directory + '/' + name, keep_others(kTables, options.force), std::move(columns));
    if (!table->file && error_.empty()) error_ = name + (": " + table->file.finish());
  };
  open(calls_, "calls.parquet", CallRows::columns());
  open(functions_, "functions.parquet", function_columns());
  open(requests_, "requests.parquet", request_columns());
}

CallTables::~CallTables() {
  for (std::optional<Table>* table : {&calls_, &functions_, &requests_}) table->reset();
  if (!created_.empty()) rmdir(created_.c_str());  // Only if nothing was written.
}

CallObserver& CallTables::begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                     const SymbolFinder& symbols) {
  const auto name = [&facts, &symbols, &plan, this](FunctionId function) {
    const FunctionName known = describe(best_known(facts.functions[function], plan.known), symbols);
    kind_ = known.kind;
    identity_ = identity(known);
    return names_.name(known);
  };
  rows_.emplace(
      calls_->rows, used_, facts, plan, name,
      [this](SliceFunctionId number, const FrameName& f) { define(number, f); }, function_names_,
      printable(path_), host_);
  return *rows_;
}

void CallTables::end_file() {
  rows_->finish();
  rows_.reset();
}

void CallTables::define(SliceFunctionId number, const FrameName& f) {
  constexpr size_t kMaxBytes = 500;  // They are repeated in each group of rows.
  if (function_names_.size() <= number) function_names_.resize(number + 1);
  const auto [label, is_new] = labels_.try_emplace(identity_);
  if (is_new) label->second = distinct_.add(cut_bytes(f.label, kMaxBytes));
  function_names_[number] = label->second;
  if (!is_new) return;
  ParquetFile& t = functions_->rows;
  t.put_text(0, host_);
  t.put_text(1, function_names_[number]);
  t.put_text(2, f.name);
  t.put_text(3, kind_name(kind_));
  t.put_text(4, f.file);
  t.put(5, f.line);
  t.end_row();
}

void CallTables::write_requests(const Report& report) {
  ParquetFile& t = requests_->rows;
  for (const ReportRequest& r : report.requests) {
    const ReportFile& file = report.files[r.file];
    const uint64_t begin = file.start_real_ns ? file.start_real_ns : file.start_mono_ns;
    size_t column = 0;
    const auto put = [&](uint64_t value) { t.put(column++, static_cast<int64_t>(value)); };
    const auto text = [&](const std::string& value) { t.put_text(column++, value); };
    text(printable(file.path));
    text(host_);
    put(static_cast<uint64_t>(pid_of(file, r.vm)));
    for (const uint64_t value :
         {uint64_t{r.vm}, uint64_t{r.number}, uint64_t{r.id}, begin + r.start_ns, r.wall_ns,
          r.running_ns, r.wait_ns, r.others_ns, r.unattributed_ns, r.collector_ns, r.compiler_ns})
      put(value);
    put(r.coroutines);
    text(r.phases.empty() ? "" : printable(display_name(report.functions[r.phases[0].function])));
    text(labels_json(r.labels));
    text(r.begun_before ? "unseen" : "seen");
    text(r.unfinished ? "unseen" : "seen");
    t.end_row();
  }
}

void CallTables::finish(const Report& report) {
  if (!error_.empty()) return;
  write_requests(report);
  for (std::optional<Table>* table : {&calls_, &functions_, &requests_}) {
    (*table)->rows.finish();
    (*table)->file.flush();
    if (error_.empty()) error_ = error_text(write_error((*table)->file));
  }
  for (std::optional<Table>* table : {&calls_, &functions_, &requests_})
    if (error_.empty()) error_ = (*table)->file.finish();
}

}  // namespace luatrace::analyze
