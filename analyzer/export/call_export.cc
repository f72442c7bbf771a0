// SPDX-License-Identifier: MIT
#include "analyzer/export/call_export.h"

#include <cerrno>
#include <iostream>

namespace luatrace {

CallExport::CallExport(const ExportOptions& options)
    : options_(options), out_(options.output == "-" ? std::cout : file_) {
  if (options.output != "-") file_.open(options.output, std::ios::binary | std::ios::trunc);
  if (!out_) error_ = errno;
  writer_ = find_format(options.format)->make_writer(out_);
}

CallLog& CallExport::begin_file(const FilterPlan& plan, const TraceFacts& facts,
                                const SymbolFinder& symbols) {
  log_.emplace(*writer_, facts, plan, [&facts, &symbols, this](uint32_t function) {
    return frame_name(describe(facts.functions[function], symbols), options_);
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
  errno = EIO;  // If a buffer could not be written earlier, nobody knows why any more.
  writer_->finish();
  out_.flush();
  if (!out_ && error_ == 0) error_ = errno;
}

}  // namespace luatrace
