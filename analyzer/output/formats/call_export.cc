// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/call_export.h"

#include <iostream>

#include "analyzer/output/formats/own_output.h"

namespace luatrace::analyze {

CallExport::CallExport(const ExportOptions& options)
    : options_(options),
      file_(options.output == "-"
                ? std::nullopt
                : std::optional<OutputFile>(std::in_place, options.output,
                                            keep_others(options.format, options.force))),
      out_(file_ ? static_cast<std::ostream&>(*file_) : std::cout),
      names_(options) {
  if (!out_) error_ = file_ ? file_->finish() : error_text(write_error(out_));
  writer_ = find_format(options.format)->make_writer(out_);
}

CallLog& CallExport::begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                const SymbolFinder& symbols) {
  log_.emplace(*writer_, used_, facts, plan, [&facts, &symbols, &plan, this](FunctionId function) {
    // Names are written before the whole file is read, so the best description may come later.
    const Function& known = best_known(facts.functions[function], plan.known);
    return names_.name(describe(known, symbols));
  });
  return *log_;
}

void CallExport::end_file() {
  log_->finish();
  log_.reset();
}

void CallExport::finish() {
  writer_->finish();
  out_.flush();
  error_ = file_ ? file_->finish() : error_text(write_error(out_));
}

}  // namespace luatrace::analyze
