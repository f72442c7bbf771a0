// SPDX-License-Identifier: MIT
// The requests of an interval: how many ended and how long they took, the slowest of them, and of
// those that are open the ones that began first.
#include <time.h>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include "analyzer/live_requests.h"
#include "analyzer/output/format.h"
#include "analyzer/output/views.h"
#include "analyzer/top/view.h"

namespace luatrace::top {

using namespace analyze;

namespace {

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

std::string ended_line(const RequestTotals& ended, uint64_t ns) {
  const std::string timers = ended.timers ? ", and " + counted(ended.timers, "timer") : "";
  if (ended.count == 0) return "no request ended" + timers + '\n';
  std::ostringstream out;
  out << counted(ended.count, "request") << " ended" << timers;
  if (ns)
    out << " (" << std::fixed << std::setprecision(1)
        << static_cast<double>(ended.count) * 1e9 / static_cast<double>(ns) << "/s)";
  if (ended.walls.count) {
    const Distribution walls = ended.walls.times();
    out << "; wall: " << percentiles_text([&](int percent) {
      return walls.percentile(percent, ended.walls.min_ns, ended.walls.max_ns);
    });
  }
  out << "\nin all: " << ledger_text(ended) << '\n';
  return out.str();
}

class RequestView : public View {
 public:
  RequestView(Input& input, const Warn& warn, const TableOptions& options)
      : options_(options),
        live_(input, warn,
              {options.request_by, options.sort, options.limit.value_or(kMaxTerminalRows)}) {}
  bool step() override { return live_.step(); }
  std::string text(size_t lines, const TextStyle& style) override;

 private:
  static constexpr size_t kMaxTerminalRows = 500;

  Table table(const Report& rows, const std::string& sort, size_t limit) const;
  void add_processes(Table& t) const;
  std::string empty_note() const;

  const TableOptions options_;
  LiveRequests live_;
  uint64_t last_ = monotonic_ns();  // When the interval began.
  bool any_ = false;                // A request was seen.
};

// With a column for the process where there are several.
void RequestView::add_processes(Table& t) const {
  if (live_.facts().processes.size() < 2) return;
  const auto is_vm = [](const Column& c) { return c.key == "vm"; };
  const auto vm = std::find_if(t.columns.begin(), t.columns.end(), is_vm) - t.columns.begin();
  Rows rows;
  t.rows.each([&](const Row& row) {
    const StreamId stream(static_cast<uint32_t>(row[static_cast<size_t>(vm)].exact));
    const auto process = live_.facts().processes.find(live_.facts().process_of(stream));
    Row with = row;
    with.insert(with.begin() + 1, process == live_.facts().processes.end()
                                      ? Cell{}
                                      : Cell::of_text(std::to_string(process->second.pid)));
    rows.push_back(std::move(with));
  });
  t.rows = std::move(rows);
  t.columns.insert(t.columns.begin() + 1, Column{"pid", "pid"});
  t.columns[1].min_width = 5;
}

Table RequestView::table(const Report& rows, const std::string& sort, size_t limit) const {
  analyze::ViewOptions view;
  view.requests = view.sort_given = view.limit_given = true;
  view.sort = sort;
  view.limit = limit;
  view.request_by = options_.request_by;
  Table t = requests_view(rows, view);
  t.notes.clear();  // They count the rows only.
  add_processes(t);
  return t;
}

std::string RequestView::empty_note() const {
  if (any_) return "";
  return options_.request_by.empty() ? "no request is known: see --request-by\n"
                                     : "nothing that --request-by names was seen\n";
}

std::string RequestView::text(size_t lines, const TextStyle& style) {
  constexpr size_t kOtherLines = 8;  // The sums, two headings with columns, a note.
  const uint64_t now = monotonic_ns();
  const RequestsReport r = live_.interval(now);
  const uint64_t ns = now - std::exchange(last_, now);
  any_ |= r.ended.count || r.open;
  if (r.traced_ns == 0 && r.open == 0 && r.ended.count == 0) return kNothing;
  const uint64_t known = r.running_ns + r.idle_ns;
  const VmTimes times{live_.facts().streams.size(), r.traced_ns, r.running_ns, r.idle_ns,
                      r.traced_ns - std::min(known, r.traced_ns)};
  std::ostringstream out;
  out << sums_line(times, r.trust, live_.trust()) << ended_line(r.ended, ns) << empty_note();
  const size_t rows = row_limit(options_, lines, kOtherLines);
  const size_t ended = r.first.requests.size(), open = r.oldest.requests.size();
  const size_t shown_open = std::min(open, std::max(rows / 3, rows - std::min(ended, rows)));
  if (const size_t shown = std::min(ended, rows - shown_open))
    write_text(out, table(r.first, options_.sort, shown), style);
  if (open) out << counted(r.open, "open request") << ", those that began first:\n";
  if (shown_open) write_text(out, table(r.oldest, "wall", shown_open), style);
  return out.str();
}

}  // namespace

std::unique_ptr<View> request_view(Input& input, const Warn& warn, const TableOptions& options) {
  return std::make_unique<RequestView>(input, warn, options);
}

}  // namespace luatrace::top
