// SPDX-License-Identifier: MIT
// --turns: against a slow model (tests/analyzer/model.cc), and that what turns delay is what
// requests call others, on any trace. tests/views/data/nginx.txt is an example whose figures
// views.table has.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "../analyzer/model.h"
#include "analyzer/output/views.h"
#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

Report turns_of(const std::vector<uint8_t>& bytes, PipelineOptions options = {}) {
  options.requests = options.turns = true;
  Pipeline pipeline(options, [](const std::string&) {});
  Input input("test.bin", bytes);
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish();
}

PipelineOptions all_turns() {
  PipelineOptions options;
  options.limit = 0;
  options.turn_order = TurnLog::By::kStart;
  return options;
}

// "start+length function", in order of time; those without length left out. Functions up to this
// time: after a gap it is not always known which call is the outermost.
std::string brief(const Report& report, uint64_t first, uint64_t named_until = UINT64_MAX) {
  std::vector<const ReportTurn*> list;
  for (const ReportTurn& t : report.turns)
    if (t.ns) list.push_back(&t);
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->start_ns < b->start_ns; });
  std::ostringstream out;
  for (const ReportTurn* t : list) {
    out << t->start_ns + first << '+' << t->ns;
    if (t->start_ns + first < named_until) out << ' ' << report.functions[t->entry].name;
    out << '\n';
  }
  return out.str();
}

std::string brief(const std::vector<model::Turn>& turns, uint64_t named_until) {
  std::ostringstream out;
  for (const model::Turn& t : turns) {
    out << t.begin << '+' << t.end - t.begin;
    if (t.begin < named_until) out << " f" << t.function;
    out << '\n';
  }
  return out.str();
}

uint64_t first_loss(const std::vector<model::Event>& events) {
  for (const model::Event& e : events)
    if (e.what == model::Do::kLoss) return e.since;
  return UINT64_MAX;
}

std::string text_of(const std::string& events) {
  std::string text = trace_text(events);
  const std::string begin = "\n0 1 ringblock co=1 tid=7 rec=1\n0 1 start rec=1\n";
  return text.replace(text.find("\nstart\n"), 7, begin);
}

// A timer (2), which sleeps, and a request (3), which waits, while another one (4) holds the
// worker.
TEST(Turns, NameDelayedTimersAsSuch) {
  std::string text = text_of(
      "start\n10 create 2\n10 request 2 7\n10 resume 2\n10 entry 1\n11 suspend yield\n"
      "12 create 3\n12 request 3 8\n12 resume 3\n12 entry 11\n13 suspend yield\n"
      "20 create 4\n20 request 4 9\n20 resume 4\n20 entry 11\n90 return 11\n90 suspend done\n"
      "91 resume 2\n92 return 1\n92 suspend done\n93 resume 3\n94 return 11\n94 suspend done\n");
  text.insert(text.find("func 1:1 "), "func 1:11 lua chunk=\"=access_by_lua(nginx.conf:1)\"\n");
  const Report report = turns_of(to_binary(text));
  std::ostringstream out;
  write_text(out, turn_views(report, {})[0], {});
  EXPECT_NE(out.str().find(" 2, timer 1 "), std::string::npos) << out.str();
  std::ostringstream csv;
  write_csv(csv, turn_views(report, {}));
  EXPECT_NE(csv.str().find("\"[1, 2]\",[1],"), std::string::npos) << csv.str();
}

// The host resumes 2, in which f1 runs until it yields to the host, and then the main coroutine.
// 3 runs inside of 2. In 50..60 a C function of f3 runs f4 on the main coroutine.
TEST(Turns, EndWhereTheHostContinues) {
  const Report report = turns_of(
      to_binary(text_of("start\n10 create 2\n10 resume 2\n10 entry 1\n12 create 3\n13 resume 3\n"
                        "13 entry 2\n15 suspend yield\n17 suspend yield\n20 entry 5\n"
                        "22 return 5\n22 entry 6\n25 return 6\n30 resume 2\n31 return 1\n"
                        "31 suspend done\n50 resume 3\n50 entry 3\n52 switch 1\n53 entry 4\n"
                        "55 return 4\n58 switch 3\n60 suspend yield\n70 entry 7\n")),
      all_turns());
  EXPECT_EQ(brief(report, 0), "10+7 f1\n20+2 f5\n22+3 f6\n30+1 f1\n50+10 f2\n");
  EXPECT_EQ(report.turns.size(), 5u);  // f7, in which the trace ends, has no length.
}

TEST(Turns, AreThoseOfTheModel) {
  uint64_t found = 0, with_losses = 0;
  for (uint64_t seed = 1; seed <= seeds(1000); seed++) {
    const std::vector<model::Event> events = model::generate(seed, 40 + seed % 160, seed % 2);
    const std::string text = trace_text(model::to_text(events));
    const model::Result expected = model::evaluate(events);
    const Report report = turns_of(to_binary(text), all_turns());
    const uint64_t known = first_loss(events);
    EXPECT_EQ(brief(report, events[0].tick, known), brief(expected.turns, known))
        << "seed " << seed << "\n"
        << text;
    found += expected.turns.size();
    with_losses += expected.lost > 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 1000u);
  EXPECT_GT(with_losses, 100u);
}

// -- Any trace --

std::string all_of(const Report& report) {
  std::ostringstream out;
  for (const auto& [entry, sums] : report.turn_sums)
    out << report.functions[entry].name << ' ' << sums.turns.count << ' ' << sums.turns.total_ns
        << ' ' << sums.turns.max_ns << ' ' << sums.delayed_ns << '\n';
  std::vector<std::string> rows;
  for (const ReportTurn& t : report.turns) {
    std::ostringstream row;
    row << t.vm << ' ' << t.start_ns << ' ' << t.ns << ' ' << t.request << ' ' << t.delayed << ' '
        << t.delayed_ns << ':';
    for (const uint32_t id : t.delayed_ids) row << ' ' << id;
    rows.push_back(row.str());
  }
  std::sort(rows.begin(), rows.end());
  for (const std::string& row : rows) out << row << '\n';
  return out.str();
}

// Returns the sum of the delays.
uint64_t expect_consistent(const Report& report) {
  uint64_t others = 0, delayed = 0, own = 0, length = 0, by_entry = 0, count = 0;
  for (const ReportRequest& r : report.requests) others += r.others_ns, own += r.running_ns;
  for (const auto& [entry, sums] : report.turn_sums)
    by_entry += sums.delayed_ns, count += sums.turns.count;
  for (const ReportTurn& t : report.turns) {
    delayed += t.delayed_ns;
    length += t.ns;
    EXPECT_EQ(t.delayed_ids.size(), std::min<uint64_t>(t.delayed, 32));
    EXPECT_EQ(t.delayed == 0, t.delayed_ns == 0);
    for (const uint32_t id : t.delayed_ids) {
      const ReportRequest& r = report.requests.at(id - 1);
      EXPECT_EQ(r.vm, t.vm);
      EXPECT_GT(r.others_ns, 0u);
      EXPECT_LE(r.start_ns, t.start_ns + t.ns);
      EXPECT_GE(r.start_ns + r.wall_ns, t.start_ns);
    }
  }
  EXPECT_EQ(delayed, others);
  EXPECT_EQ(by_entry, others);
  EXPECT_EQ(count, report.turns.size());
  EXPECT_LE(own, length);
  return delayed;
}

TEST(Turns, DelayRequestsByWhatTheseCallOthers) {
  uint64_t delayed = 0;
  for (uint64_t seed = 1; seed <= seeds(300); seed++) {
    const std::string text = random_requests(seed, "mult=1 shift=0");
    const std::vector<uint8_t> bytes = maybe_damaged(text, seed);
    PipelineOptions options = all_turns();
    options.jobs = 1;
    options.request_by = random_request_by(seed);
    PipelineOptions slow = options, parallel = options;
    slow.threads = true;
    parallel.jobs = 3;
    const Report report = turns_of(bytes, options);
    delayed += expect_consistent(report);
    EXPECT_EQ(all_of(turns_of(bytes, slow)), all_of(report));
    EXPECT_EQ(all_of(turns_of(bytes, parallel)), all_of(report));
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(delayed, 1000u);
}

// With a limit the same turns are kept as without it, as many as it allows.
TEST(Turns, TheFirstInTheOrderAreKept) {
  for (const TurnLog::By by : {TurnLog::By::kWall, TurnLog::By::kStart, TurnLog::By::kDelayed}) {
    for (uint64_t seed = 1; seed <= seeds(50); seed++) {
      PipelineOptions options = all_turns();
      options.turn_order = by;
      const std::vector<uint8_t> bytes =
          to_binary(with_requests(random_trace(seed, "mult=1 shift=0"), seed));
      const auto ranks = [&](const Report& report) {
        std::vector<uint64_t> list;
        for (const ReportTurn& t : report.turns)
          list.push_back(by == TurnLog::By::kStart     ? UINT64_MAX - t.start_ns
                         : by == TurnLog::By::kDelayed ? t.delayed_ns
                                                       : t.ns);
        std::sort(list.begin(), list.end(), std::greater());
        return list;
      };
      std::vector<uint64_t> expected = ranks(turns_of(bytes, options));
      expected.resize(std::min<size_t>(expected.size(), options.limit = 3));
      EXPECT_EQ(ranks(turns_of(bytes, options)), expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace luatrace::analyze
