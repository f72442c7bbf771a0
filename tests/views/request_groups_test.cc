// SPDX-License-Identifier: MIT
// --group-by request: against the requests' own ledgers, which are counted elsewhere, on any trace;
// and what must not depend on groups, on ranges of time or on threads.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

Report report_of(const std::vector<uint8_t>& bytes, const PipelineOptions& options) {
  Pipeline pipeline(options, [](const std::string&) {});
  Input input("test.bin", bytes);
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish();
}

// All requests have groups of their own.
PipelineOptions grouped(PipelineOptions options = {}) {
  options.jobs = 1;
  options.filter.group = GroupBy::kRequest;
  options.filter.request_groups = 0;
  return options;
}

// Time in each group, of what runs; without those that have none.
std::map<std::string, uint64_t> times(const Report& r) {
  std::map<std::string, uint64_t> out;
  std::vector<uint32_t> root(r.tree.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    const uint32_t above = r.tree[i].parent;
    root[i] = above ? root[above] : r.tree[i].function;
    if (r.tree[i].self && r.tree[i].function != kReportUnknown)
      out[r.functions[root[i]].name] += r.tree[i].self;
  }
  return out;
}

// "request 17 handle (x.lua:3)" without the name of its entry.
std::string number_of(const std::string& group) {
  return group.substr(0, group.find(' ', group.find(' ') + 1));
}

std::map<std::string, uint64_t> times_of_requests(const Report& r) {
  std::map<std::string, uint64_t> out;
  for (const auto& [name, ns] : times(r))
    if (name[0] != '[') out[number_of(name)] += ns;
  return out;
}

std::map<std::string, uint64_t> ledgers(const Report& r) {
  std::map<std::string, uint64_t> out;
  for (const ReportRequest& q : r.requests)
    if (q.running_ns) out["request " + std::to_string(q.id)] = q.running_ns;
  return out;
}

// Requests of the host, calls, or coroutines; some traces are damaged.
struct Case {
  std::vector<uint8_t> bytes;
  std::string text;
  PipelineOptions options;
};
Case random_case(uint64_t seed) {
  Case c;
  c.text = with_requests(random_trace(seed, "mult=1 shift=0"), seed);
  if (seed % 2) c.text = with_phases(std::move(c.text));
  c.bytes = to_binary(c.text);
  std::mt19937_64 random(seed);
  for (int i = 0; seed % 4 == 2 && i < 3; i++)
    c.bytes[c.bytes.size() / 3 + random() % (c.bytes.size() / 2)] ^= 4;
  if (seed % 5 == 0) c.options.request_by = {"/[123]$/"};
  if (seed % 5 == 1) c.options.request_by = {kByCoroutines};
  return c;
}

TEST(RequestGroups, HaveTheTimeOfTheirLedgers) {
  uint64_t found = 0;
  for (uint64_t seed = 1; seed <= seeds(400); seed++) {
    const Case c = random_case(seed);
    PipelineOptions plain = c.options;
    plain.requests = true;
    const auto want = ledgers(report_of(c.bytes, plain));
    PipelineOptions calls = grouped(c.options), parallel = grouped(c.options);
    calls.threads = true;  // Needs single calls: no runs.
    parallel.jobs = 3;
    EXPECT_EQ(times_of_requests(report_of(c.bytes, grouped(c.options))), want);
    EXPECT_EQ(times_of_requests(report_of(c.bytes, calls)), want);
    EXPECT_EQ(times_of_requests(report_of(c.bytes, parallel)), want);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << c.text;
    found += want.size();
  }
  EXPECT_GT(found, seeds(400));
}

// Ranges that follow one another have all of each group's time.
TEST(RequestGroups, RangesAddUp) {
  for (uint64_t seed = 1; seed <= seeds(200); seed++) {
    const Case c = random_case(seed);
    const auto whole = times(report_of(c.bytes, grouped(c.options)));
    std::map<std::string, uint64_t> sum;
    for (const uint64_t from : {0, 1, 2}) {
      PipelineOptions options = grouped(c.options);
      const uint64_t at[] = {0, 200 + seed, 900};
      if (from) options.filter.from = {TimePoint::kRelative, at[from]};
      if (from < 2) options.filter.to = {TimePoint::kRelative, at[from + 1]};
      for (const auto& [name, ns] : times(report_of(c.bytes, options))) sum[name] += ns;
    }
    EXPECT_EQ(sum, whole);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << c.text;
  }
}

std::string figures(const Report& r) {
  std::ostringstream out;
  out << "self " << r.self_ns << " idle " << r.idle_ns << " gap " << r.gap_ns << " filtered "
      << r.filtered_ns << " traced " << r.traced_ns << '\n';
  std::map<std::string, std::vector<uint64_t>> lines;
  for (const ReportFunction& f : r.functions)
    if (f.kind != FunctionKind::kGroup)
      lines[f.name + ' ' + f.chunk + ':' + std::to_string(f.line)] = {f.calls, f.complete, f.min_ns,
                                                                      f.max_ns, f.sum_ns};
  for (const auto& [name, list] : lines) {
    out << name;
    for (const uint64_t n : list) out << ' ' << n;
    out << '\n';
  }
  return out.str();
}

// A filter selects the same calls and the same time with groups as without them. (A coroutine's
// time outside of its calls is its group's, if that is not the resumer's.)
TEST(RequestGroups, DoNotChangeWhatFiltersSelect) {
  static const char* const kNames[] = {"n0", "n1", "n2", "/n[12]/", "x.lua:3", "x.lua:?"};
  for (uint64_t seed = 1; seed <= seeds(300); seed++) {
    Case c = random_case(seed);
    std::mt19937_64 random(seed);
    FilterOptions& f = c.options.filter;
    for (auto* list : {&f.only, &f.without, &f.callers})
      if (random() % 3 == 0) *list = {kNames[random() % 6]};
    if (random() % 3 == 0) f.vms = {StreamId(1 + static_cast<uint32_t>(random() % 3))};
    PipelineOptions plain = c.options;
    plain.jobs = 1;
    plain.threads = true;
    EXPECT_EQ(figures(report_of(c.bytes, grouped(c.options))), figures(report_of(c.bytes, plain)));
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << c.text;
  }
}

// Of `count` requests, each with an access block of so many ns more than the one before it.
std::string requests_of(int count) {
  std::ostringstream out;
  out << "#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\n"
         "stream 1 process=1 tid=7 recording=1\n"
         "func 1:1 lua chunk=\"=access_by_lua(nginx.conf:1)\"\n0 1 start rec=1\n";
  for (int i = 1, at = 10; i <= count; at += 10 + i, i++)
    out << at << " 1 create " << i + 1 << '\n'
        << at << " 1 request " << i + 1 << ' ' << 64 * i << '\n'
        << at << " 1 resume " << i + 1 << '\n'
        << at << " 1 entry 1\n"
        << at + i << " 1 return 1\n"
        << at + i << " 1 suspend done\n";
  out << "9999999 1 stop close\nend\n";
  return out.str();
}

TEST(RequestGroups, OnlyTheSlowestHaveTheirOwn) {
  PipelineOptions options = grouped();
  options.filter.request_groups = 2;
  const std::string entry = " access_by_lua(nginx.conf:1)";
  EXPECT_EQ(times(report_of(to_binary(requests_of(5)), options)),
            (std::map<std::string, uint64_t>{{"[other requests]" + entry, 1 + 2 + 3},
                                             {"request 4" + entry, 4},
                                             {"request 5" + entry, 5}}));
}

// A stack of calls that moves with each change costs no more than the work budget has.
TEST(RequestGroups, ManyChangesOfADeepStackCostLittle) {
  std::ostringstream out;
  for (int i = 0; i < 20000; i++) out << "10 entry 1\n";
  for (int i = 0; i < 20000; i++)
    out << 20 + 2 * i << " request 1 " << 1 + i % 2 << '\n' << 21 + 2 * i << " time\n";
  PipelineOptions options = grouped();
  options.requests = true;
  const Report r = report_of(
      to_binary(trace_text("1 start\n1 ringblock co=1 tid=7 rec=1\n" + out.str())), options);
  EXPECT_EQ(r.self_ns + r.idle_ns + r.gap_ns + r.filtered_ns, r.traced_ns);
  EXPECT_GT(r.trust.unbalanced, 0u);
}

}  // namespace
}  // namespace luatrace::analyze
