// SPDX-License-Identifier: MIT
// --format parquet -o DIR: calls.parquet, functions.parquet and requests.parquet. docs/sql.md
// describes their columns.
//
// Invariant: the tables appear together and complete, or none of them does: they get their names
// when all of them are written.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/output/columns/call_rows.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/report/report.h"
#include "trace/output_file.h"

namespace luatrace::analyze {

class CallTables : public CallConsumer {
 public:
  // Creates the directory options.output, if it does not exist. See error().
  CallTables(const ExportOptions& options, std::string host);
  ~CallTables() override;

  CallObserver& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                           const SymbolFinder& symbols) override;
  void end_file() override;
  std::string required_by() const override { return "--format parquet"; }
  // The file that is read next.
  void set_path(const std::string& path) { path_ = path; }
  // Writes the other tables and completes all.
  void finish(const Report& report);
  // Why the tables cannot be written; empty if they can.
  const std::string& error() const { return error_; }

 private:
  struct Table {
    Table(const std::string& path, const KeepReason& keep, std::vector<ParquetColumn> columns)
        : file(path, keep), rows(file, std::move(columns)) {}
    OutputFile file;
    ParquetFile rows;
  };
  void define(SliceFunctionId number, const FrameName& name);
  void write_requests(const Report& report);

  const std::string host_;
  std::string error_, path_;
  std::string created_;  // The directory, if it did not exist.
  std::optional<Table> calls_, functions_, requests_;
  std::optional<CallRows> rows_;
  SliceNumbers used_;
  DistinctFrames names_;
  DistinctNames distinct_;
  std::map<std::string, std::string> labels_;  // By identity of the function: each has its own.
  std::vector<std::string> function_names_;    // By number; in the columns function and caller.
  FunctionKind kind_ = FunctionKind::kNone;    // Of the function that is defined next, ...
  std::string identity_;                       // ... and its identity.
};

}  // namespace luatrace::analyze
