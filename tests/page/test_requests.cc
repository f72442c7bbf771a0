// SPDX-License-Identifier: MIT
// Which requests and steps are kept for the page, and how they are packed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "analyzer/collect/request_trail.h"
#include "analyzer/output/flame_requests.h"
#include "analyzer/output/page/request_pack.h"

using namespace luatrace::analyze;

namespace {

// A request that runs and waits in turn, `steps` steps of 10 ns.
uint64_t record(RequestStepLog& log, uint32_t number, size_t steps, uint64_t wall,
                bool ends = true) {
  RequestClock now;
  const RequestStepsId id = log.begin(now);
  for (size_t i = 0; i < steps; i++) {
    now.total += 10;
    if (i % 2)
      log.was(id, now, {FunctionId(7), {}, FunctionId(5), CoroutineId(3)});
    else
      log.ran(id, now, FunctionId(5), CoroutineId(3), 10);
  }
  if (ends) log.end(id, StreamId(1), RequestId(number), wall);
  return id;
}

TEST(RequestStepLog, KeepsTheSlowestRequests) {
  RequestStepLog log(100);
  std::vector<uint64_t> walls;
  for (uint32_t i = 1; i <= 1000; i++) {
    walls.push_back(1 + i * 7919 % 1000);
    record(log, i, 4, walls.back());
  }
  const auto kept = log.take();
  size_t steps = 0;
  for (const auto& k : kept) steps += k.steps.steps().size();
  EXPECT_LE(steps, 100u);
  EXPECT_GE(steps, 60u);
  std::sort(walls.rbegin(), walls.rend());
  for (size_t i = 0; i < kept.size(); i++) EXPECT_EQ(kept[i].wall, walls[i]);
}

TEST(RequestStepLog, CutsTheStepsOfOneRequest) {
  RequestStepLog log(10000);
  record(log, 1, RequestStepLog::kMaxSteps + 50, 1);
  const auto kept = log.take();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].steps.steps().size(), RequestStepLog::kMaxSteps);
  EXPECT_EQ(kept[0].steps.rest_ns(), 500u);
  EXPECT_EQ(kept[0].steps.steps().back().ns, 510u);
}

// A hostile trace has any number at a time.
TEST(RequestStepLog, BoundsTheStepsOfRequestsThatLive) {
  RequestStepLog log(100);
  for (uint32_t i = 1; i <= 1000; i++) record(log, i, 1, 0, false);
  EXPECT_EQ(record(log, 1001, 5, 9), 0u);
  EXPECT_TRUE(log.take().empty());
}

Report report_of(size_t requests) {
  Report report;
  report.files.emplace_back();
  for (uint32_t i = 0; i < requests; i++) {
    ReportRequest& r = report.requests.emplace_back();
    r.id = i + 1;
    r.start_ns = i;
    r.wall_ns = i * 7919 % requests;
  }
  return report;
}

TEST(PageRequests, AllOrTheSlowestAndSomeOfTheOthers) {
  const Report few = report_of(kMaxPageRequests);
  EXPECT_EQ(page_requests(few, {}).shown.size(), kMaxPageRequests);
  const Report many = report_of(25013);
  const FlameRequests page = page_requests(many, {});
  EXPECT_EQ(page.all, 25013u);
  ASSERT_EQ(page.shown.size(), kMaxPageRequests);
  std::set<uint32_t> ids;
  size_t slow = 0;
  uint32_t last = 0;
  for (const FlameRequest& r : page.shown) {
    EXPECT_GT(r.sums->id, last);
    last = r.sums->id;
    ids.insert(last);
    slow += r.sums->wall_ns >= 25013 - kMaxPageRequests / 2;
  }
  EXPECT_EQ(ids.size(), kMaxPageRequests);
  EXPECT_EQ(slow, kMaxPageRequests / 2);
  EXPECT_LT(*ids.begin(), 10u);
  EXPECT_GT(last, 25000u);
}

// Files that share no timeline begin at 0 each.
TEST(PageRequests, HaveTheTimesOfTheChart) {
  Report report = report_of(2);
  report.files[0].start_mono_ns = 1000;
  EXPECT_EQ(page_requests(report, {}).shown[1].begin_ns, 1001u);
  FlameChart chart;
  chart.file_begins_ns = {1000};
  EXPECT_EQ(page_requests(report, chart).shown[1].begin_ns, 1u);
  chart.file_begins_ns = {1001};
  EXPECT_EQ(page_requests(report, chart).shown[0].begin_ns, 0u);
}

TEST(PageRequests, HaveTheirOwnSteps) {
  Report report = report_of(25013);
  for (const uint32_t i : {17u, 20000u, 25000u}) {
    report.request_steps.emplace_back().request = i;
    report.requests[i].wall_ns = 1 << 20;
  }
  size_t found = 0;
  for (const FlameRequest& r : page_requests(report, {}).shown)
    if (r.steps) found += r.steps->request + 1 == r.sums->id;
  EXPECT_EQ(found, 3u);
}

TEST(RequestPack, EachNumber) {
  const ReportFunction f{};
  FlameInput input;
  input.functions.assign(9, &f);
  ReportRequest r;
  r.file = 1, r.id = 2, r.vm = StreamId(3), r.running_ns = 5, r.wait_ns = 6, r.others_ns = 7;
  r.unattributed_ns = 8, r.coroutines = 9, r.unfinished = r.timer = true;
  r.waits = {{ReportFunctionId(4), ReportFunctionId(5), 6, 7}};
  r.phases = {{ReportFunctionId(8), 1, 2}};
  ReportRequestSteps steps;
  steps.steps = {{0, 10, 11, true, ReportFunctionId(8), {}, ReportFunctionId(8), CoroutineId(12)},
                 {10, 13, 14, false, {}, {}, {}, {}}};
  input.requests.shown = {{&r, &steps, 104}};
  const std::vector<uint8_t> wanted = {1, 2, 3, 8, 5, 6,  7,  8, 9, 6,  1, 4, 5,  6,  7, 1,
                                       8, 1, 2, 2, 3, 10, 11, 8, 0, 12, 8, 0, 13, 14, 0, 0};
  EXPECT_EQ(page::pack_requests(input, 100), wanted);
  input.requests.shown[0].begin_ns = 97;
  EXPECT_EQ(page::pack_requests(input, 100)[3], 7);
  r.waits[0].inner = ReportFunctionId(9);
  EXPECT_THROW(page::pack_requests(input, 100), std::invalid_argument);
}

}  // namespace
