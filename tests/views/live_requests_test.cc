// SPDX-License-Identifier: MIT
// LiveRequests: wherever the intervals end, they have the requests of the whole trace; what is open
// at the end of one; and that memory does not grow with the trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <tuple>

#include "analyzer/collect/request_rules.h"
#include "analyzer/live_requests.h"
#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kAll = 1000000;

// With all descriptions before the first event: what is known of a function only later counts for
// the whole trace in a report, and from then on in intervals. In blocks of up to `size` lines,
// which are what is read in one step.
std::string in_blocks(const std::string& text, uint64_t size) {
  std::istringstream in(text);
  std::string head, events;
  uint64_t n = 0;
  for (std::string line; std::getline(in, line);) {
    const bool is_event = isdigit(static_cast<unsigned char>(line[0])) || line.starts_with("end");
    (is_event ? events : head) += line + '\n';
    if (is_event && !line.starts_with("end") && ++n % size == 0) events += "note x\n";
  }
  return head + events;
}

using Figures = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, bool, bool, size_t>;

std::vector<Figures> figures(const std::vector<ReportRequest>& list) {
  std::vector<Figures> out;
  for (const ReportRequest& r : list)
    out.emplace_back(r.wall_ns, r.running_ns, r.wait_ns, r.others_ns, r.begun_before, r.unfinished,
                     r.coroutines);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ReportRequest> whole(const std::vector<uint8_t>& bytes,
                                 const std::vector<std::string>& by) {
  PipelineOptions options;
  options.requests = true;
  options.request_by = by;
  options.jobs = 1;
  Pipeline pipeline(options, [](const std::string&) {});
  Input input("test.bin", bytes);
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish().requests;
}

class Watched {
 public:
  explicit Watched(const std::vector<uint8_t>& bytes, std::vector<std::string> by = {},
                   size_t limit = kAll)
      : input_("test.bin", bytes),
        live_(input_, [](const std::string&) {}, {std::move(by), "wall", limit}) {}

  LiveRequests* operator->() { return &live_; }
  // The largest LiveRequests::size() while the rest is read.
  size_t read_all() {
    size_t largest = 0;
    while (live_.step()) largest = std::max(largest, live_.size());
    return largest;
  }

 private:
  Input input_;
  LiveRequests live_;
};

TEST(LiveRequests, IntervalsHaveTheRequestsOfTheTrace) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= seeds(300); seed++) {
    const std::vector<uint8_t> bytes = to_binary(in_blocks(random_requests(seed), 1 + seed % 7));
    const std::vector<std::string> by = random_request_by(seed);
    std::vector<ReportRequest> live;
    RequestTotals sums;
    const auto take = [&](const RequestsReport& r) {
      live.insert(live.end(), r.first.requests.begin(), r.first.requests.end());
      sums.count += r.ended.count;
      sums.timers += r.ended.timers;
      sums.wall_ns += r.ended.wall_ns;
      sums.running_ns += r.ended.running_ns + r.ended.wait_ns + r.ended.others_ns;
      sums.running_ns += r.ended.unattributed_ns;
    };
    Watched watched(bytes, by);
    for (uint64_t n = 1; watched->step(); n++)
      if (n % (1 + seed % 11) == 0) take(watched->interval(0));
    const RequestsReport last = watched->interval(0);
    take(last);
    EXPECT_EQ(last.open, 0u);
    EXPECT_EQ(figures(live), figures(whole(bytes, by)));
    EXPECT_EQ(sums.count + sums.timers, live.size());
    EXPECT_EQ(sums.running_ns, sums.wall_ns);
    found += live.size();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(found, seeds(300));
}

// A request per millisecond, each at an address of its own, with or without a log block.
std::string many(int count, bool logs) {
  std::ostringstream out;
  out << "0 ringblock co=1 tid=7 rec=1\n0 start rec=1\n";
  for (int i = 1; i <= count; i++) {
    const uint64_t at = uint64_t(i) * 1000000;
    out << at << " create " << i + 1 << '\n'
        << at << " request " << i + 1 << ' ' << i << '\n'
        << at << " resume " << i + 1 << '\n'
        << at << " entry 1\n"
        << at + i << " return 1\n"
        << at + i << " suspend done\n";
    if (logs)
      out << at + i << " request 1 " << i << '\n'
          << at + i << " entry 9\n"
          << at + i << " return 9\n";
    if (i % 50 == 0) out << "note x\n";
  }
  std::string text = trace_text(out.str());
  const std::string log = "line=90 chunk=\"@dir/x.lua\" name=\"f9\"";
  text.replace(text.find(log), log.size(), "chunk=\"=log_by_lua(nginx.conf:2)\"");
  return text;
}

TEST(LiveRequests, MemoryDoesNotGrowWithTheTrace) {
  const size_t kLimit = 10;
  Watched logging(to_binary(many(40000, true)), {}, kLimit);
  EXPECT_LT(logging.read_all(), 2000u);
  const RequestsReport r = logging->interval(0);
  EXPECT_EQ(r.ended.count, 40000u);
  EXPECT_EQ(r.ended.walls.max_ns, 40000u);
  ASSERT_EQ(r.first.requests.size(), kLimit);
  uint64_t fastest = UINT64_MAX;
  for (const ReportRequest& q : r.first.requests) fastest = std::min(fastest, q.wall_ns);
  EXPECT_EQ(fastest, 39991u);
  // Those of the last ten seconds might go on.
  Watched quiet(to_binary(many(60000, false)), {}, kLimit);
  EXPECT_LT(quiet.read_all(), 30000u);
  EXPECT_EQ(quiet->interval(0).ended.count, 60000u);
}

TEST(LiveRequests, OpenOnesWaitUntilNow) {
  std::string text = trace_text(
      "0 ringblock co=1 tid=7 rec=1\n0 start rec=1\n10 create 2\n10 request 2 7\n10 resume 2\n"
      "10 entry 1\n14 entry 3\n16 suspend yield\n20 entry 2\n23 return 2\n"
      "25 create 3\n25 request 3 8\n25 resume 3\n25 entry 1\n26 return 1\n26 suspend done\nnote x\n"
      "90000000000 resume 2\n90000000001 return 3\n90000000002 return 1\n"
      "90000000002 suspend done\n90000000002 stop close\n");
  Watched watched(to_binary(text));
  RequestsReport r;
  while (watched->step()) {
    r = watched->interval(1026);
    if (r.open) break;
  }
  ASSERT_EQ(r.open, 1u);
  EXPECT_EQ(r.oldest.requests.at(0).wall_ns, 16u);  // More events may be on their way.
  r = watched->interval(2'000'000'026);
  ASSERT_EQ(r.open, 1u);
  EXPECT_EQ(r.ended.count, 0u);  // The other one may go on.
  const ReportRequest open = r.oldest.requests.at(0);
  EXPECT_EQ(open.id, 1u);
  EXPECT_EQ(open.wall_ns, 2000000016u);
  EXPECT_EQ(open.running_ns, 6u);
  EXPECT_EQ(open.others_ns, 4u);
  EXPECT_EQ(open.wait_ns, 2000000006u);
  ASSERT_EQ(open.waits.size(), 1u);
  EXPECT_EQ(r.oldest.functions[open.waits[0].function].name, "f3");
  r = watched->interval(20'000'000'000);
  EXPECT_EQ(r.ended.count, 1u);  // It did nothing for ten seconds.
  EXPECT_EQ(r.first.requests.at(0).wall_ns, 1u);
  EXPECT_EQ(r.first.requests.at(0).id, 2u);
  watched.read_all();
  r = watched->interval(0);
  EXPECT_EQ(r.ended.count, 1u);
  EXPECT_EQ(r.ended.wait_ns, 90000000000u - 16 - 4);
  EXPECT_EQ(r.ended.unattributed_ns, 0u);
}

}  // namespace
}  // namespace luatrace::analyze
