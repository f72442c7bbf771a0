// SPDX-License-Identifier: MIT
// The functions of an interval by samples: their shares of the CPU time.
#include <algorithm>
#include <sstream>
#include <utility>

#include "analyzer/live_samples.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/top/view.h"

namespace luatrace::top {

using namespace analyze;

namespace {

uint64_t figure(const ReportFunction& f, const std::string& field) {
  return field == "inclusive" ? f.inclusive_ns : field == "samples" ? f.samples : f.self_ns;
}

std::vector<uint32_t> sorted(const Report& r, const std::string& field) {
  std::vector<uint32_t> list;
  for (const uint32_t i : sorted_functions(r, "name"))
    if (r.functions[i].samples) list.push_back(i);
  if (field == "name") return list;
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return figure(r.functions[a], field) > figure(r.functions[b], field);
  });
  return list;
}

std::string samples_text(const Report& r, const std::string& sort, size_t limit,
                         const TextStyle& style) {
  Table t;
  t.name = "top";
  t.columns = {{"samples", "samples"},
               {"inclusive_ns", "inclusive"},
               {"inclusive_share", "inclusive %"},
               {"self_ns", "self"},
               {"share", "self %"}};
  mark_sorted(t, sort, false);
  add_function_columns(t, "function");
  const auto list = sorted(r, sort);
  for (size_t n = 0; n < std::min(limit, list.size()); n++) {
    const ReportFunction& f = r.functions[list[n]];
    Row row{Cell::of_count(f.samples), Cell::of_time(f.inclusive_ns),
            Cell::of_percent(percent(f.inclusive_ns, r.traced_ns)), Cell::of_time(f.self_ns),
            Cell::of_percent(percent(f.self_ns, r.traced_ns))};
    add_function_cells(row, f);
    t.rows.push_back(std::move(row));
  }
  std::ostringstream out;
  write_text(out, t, style);
  return out.str();
}

class SampleView : public View {
 public:
  SampleView(Input& input, const Warn& warn, const TableOptions& options)
      : samples_(input, warn), options_(options) {}
  bool step() override { return samples_.step(); }
  std::string text(size_t lines, const TextStyle& style) override {
    constexpr size_t kOtherLines = 4;  // The sums, the heading, a note.
    const Report r = samples_.interval();
    if (r.samples.samples == 0) return kNoSample;
    std::ostringstream out;
    out << format_time(r.traced_ns) << " of CPU time in " << counted(r.threads, "thread") << ": "
        << counted(r.samples.samples, "sample") << ", " << format_count(r.trust.lost) << " lost ("
        << format_count(samples_.trust().lost) << " in all)\n";
    return out.str() +
           samples_text(r, options_.sort, row_limit(options_, lines, kOtherLines), style);
  }

 private:
  LiveSamples samples_;
  const TableOptions options_;
};

}  // namespace

std::unique_ptr<View> sample_view(Input& input, const Warn& warn, const TableOptions& options) {
  return std::make_unique<SampleView>(input, warn, options);
}

}  // namespace luatrace::top
