// SPDX-License-Identifier: MIT
// Writes individual calls while files are read: opens the output and gives each file a CallLog.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analyzer/collect/call_consumer.h"
#include "analyzer/collect/call_log.h"
#include "analyzer/output/formats/names.h"
#include "trace/output_file.h"

namespace luatrace::analyze {

class CallExport : public CallConsumer {
 public:
  // The format must have a writer. Creates the file; see error() and finish() for errors.
  explicit CallExport(const ExportOptions& options);

  CallLog& begin_file(const FilterPlan& plan, const TraceFacts& facts,
                      const SymbolFinder& symbols) override;
  void end_file() override;
  std::string required_by() const override { return "--format " + options_.format; }
  // Completes the output.
  void finish();
  // Why the output cannot be written; empty if it can.
  const std::string& error() const { return error_; }

 private:
  const ExportOptions& options_;
  std::string error_;
  std::optional<OutputFile> file_;  // Empty for standard output.
  std::ostream& out_;
  std::unique_ptr<CallWriter> writer_;
  std::optional<CallLog> log_;
  SliceNumbers used_;
  DistinctFrames names_;
};

}  // namespace luatrace::analyze
