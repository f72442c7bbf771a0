// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/call_export.h"

#include <iostream>

namespace luatrace::analyze {

CallExport::CallExport(const ExportOptions& options)
    : options_(options),
      file_(options.output == "-" ? std::nullopt
                                  : std::optional<OutputFile>(std::in_place, options.output)),
      out_(file_ ? static_cast<std::ostream&>(*file_) : std::cout) {
  if (!out_) error_ = file_ ? file_->finish() : error_text(write_error(out_));
  writer_ = find_format(options.format)->make_writer(out_);
}

CallLog& CallExport::begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                const SymbolFinder& symbols) {
  log_.emplace(*writer_, facts, plan, [&facts, &symbols, &plan, this](uint32_t function) {
    // Names are written before the whole file is read, so the best description may come later.
    const Function& known = best_known(facts.functions[function], plan.known);
    return frame_name(describe(known, symbols), options_);
  });
  log_->number_from(tracks_, functions_, flows_);
  return *log_;
}

void CallExport::end_file() {
  log_->finish();
  tracks_ = log_->tracks();
  functions_ = log_->functions();
  flows_ = log_->flows();
  log_.reset();
}

void CallExport::finish() {
  writer_->finish();
  out_.flush();
  error_ = file_ ? file_->finish() : error_text(write_error(out_));
}

}  // namespace luatrace::analyze
