// SPDX-License-Identifier: MIT
// CPU time of requests (--cpu), on random traces with records of when threads did not run: it is
// the running time of the same trace without the time in which they did not run, to the nanosecond;
// the records change nothing else; and what they say beyond the time that passed is cut and
// counted.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

struct Absent {
  std::string with;     // The trace with records.
  std::string without;  // Without the time that they take away.
};

class Absences {
 public:
  Absences(const std::string& text, uint64_t seed, bool lies)
      : lies_(lies), in_(text), random_(seed) {}
  Absent run();

 private:
  struct Stream {
    uint64_t tick = 0, removed = 0;
    bool begun = false;
  };
  void absence(Stream& s, uint64_t until, const std::string& number);
  void event(uint64_t tick, const std::string& number, const std::string& rest);

  const bool lies_;  // Some are longer than the time that passed.
  std::istringstream in_;
  std::mt19937_64 random_;
  std::map<std::string, Stream> streams_;
  std::ostringstream with_, without_;
};

// Somewhere since the last line of the stream.
void Absences::absence(Stream& s, uint64_t until, const std::string& number) {
  const uint64_t at = s.tick + 1 + random_() % (until - s.tick);
  const uint64_t ticks = 1 + random_() % (at - s.tick);
  const char* const kind = random_() % 2 ? " cpu off ticks=" : " cpu preempted ticks=";
  const bool lie = lies_ && random_() % 4 == 0;
  with_ << at << ' ' << number << kind << (lie ? UINT64_MAX - random_() % 1000 : ticks) << '\n';
  s.removed += ticks;
}

void Absences::event(uint64_t tick, const std::string& number, const std::string& rest) {
  Stream& s = streams_[number];
  const std::string what = rest.substr(0, rest.find(' '));
  const bool leads_in = what == "thread" || what == "loss";
  if (s.begun && !leads_in && tick > s.tick && random_() % 2) absence(s, tick, number);
  const size_t since = rest.find("since=");
  with_ << tick << ' ' << number << ' ' << rest << '\n';
  without_ << tick - s.removed << ' ' << number << ' ';
  if (since == rest.npos)
    without_ << rest << '\n';
  else
    without_ << rest.substr(0, since) << "since=" << std::stoull(rest.substr(since + 6)) - s.removed
             << '\n';
  if (!s.begun && !leads_in) with_ << tick << ' ' << number << " cpu unknown ticks=1\n";
  s.begun |= !leads_in;
  s.tick = tick;
}

Absent Absences::run() {
  for (std::string line; std::getline(in_, line);) {
    std::istringstream words(line);
    std::string tick, number, rest;
    words >> tick >> number >> std::ws;
    std::getline(words, rest);
    if (!line.empty() && isdigit(static_cast<unsigned char>(line[0]))) {
      event(std::stoull(tick), number, rest);
      continue;
    }
    with_ << line << '\n';
    without_ << line << '\n';
  }
  return {with_.str(), without_.str()};
}

Report report_of(const std::string& text, const PipelineOptions& options) {
  Pipeline pipeline(options, [](const std::string&) {});
  Input input("test.bin", to_binary(text));
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish();
}

std::string without_cpu(const Report& report) {
  std::ostringstream out;
  for (const ReportRequest& r : report.requests)
    out << r.id << ' ' << r.start_ns << ' ' << r.wall_ns << ' ' << r.running_ns << ' ' << r.wait_ns
        << ' ' << r.others_ns << ' ' << r.unattributed_ns << ' ' << r.coroutines << '\n';
  for (const ReportFunction& f : report.functions)
    out << f.name << ' ' << f.calls << ' ' << f.inclusive_ns << ' ' << f.self_ns << '\n';
  return out.str();
}

// By Lua VM, in the order in which they began there.
std::map<StreamId, std::vector<uint64_t>> times(const Report& report,
                                                uint64_t ReportRequest::*member) {
  std::map<StreamId, std::vector<uint64_t>> out;
  for (const ReportRequest& r : report.requests) out[r.vm].push_back(r.*member);
  return out;
}

PipelineOptions options_of(uint64_t seed) {
  PipelineOptions options;
  options.requests = true;
  options.request_by = random_request_by(seed);
  options.jobs = 1 + seed % 3;
  return options;
}

TEST(RequestCpu, IsTheRunningTimeWithoutTheAbsences) {
  uint64_t off = 0;
  for (uint64_t seed = 1; seed <= seeds(200); seed++) {
    const std::string text = random_requests(seed, "mult=1 shift=0");
    const Absent absent = Absences(text, seed, false).run();
    const PipelineOptions options = options_of(seed);
    const Report with = report_of(absent.with, options);
    ASSERT_TRUE(with.cpu.known());
    EXPECT_EQ(without_cpu(with), without_cpu(report_of(text, options)));
    EXPECT_EQ(times(with, &ReportRequest::cpu_ns),
              times(report_of(absent.without, options), &ReportRequest::running_ns));
    EXPECT_EQ(with.cpu.cut_ns, 0u);
    for (const ReportRequest& r : with.requests) {
      EXPECT_LE(r.cpu_ns, r.running_ns);
      off += r.running_ns - r.cpu_ns;
    }
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << absent.with << "\n" << absent.without;
  }
  EXPECT_GT(off, 20000u);  // There were some.
}

// Any clock, damaged files: no request has more CPU time than it ran, and no function.
TEST(RequestCpu, IsNeverMoreThanRan) {
  uint64_t off = 0, cut = 0;
  for (uint64_t seed = 1; seed <= seeds(200); seed++) {
    const std::string text = Absences(random_requests(seed), seed, true).run().with;
    const std::vector<uint8_t> bytes = maybe_damaged(text, seed);
    Pipeline pipeline(options_of(seed), [](const std::string&) {});
    Input input("test.bin", bytes);
    Diagnostics diag("test.bin", [](const std::string&) {});
    pipeline.read(input, diag);
    const Report report = pipeline.finish();
    for (const ReportRequest& r : report.requests) {
      EXPECT_LE(r.cpu_ns, r.running_ns);
      off += r.running_ns - r.cpu_ns;
    }
    for (const ReportFunction& f : report.functions) EXPECT_LE(f.cpu_ns, f.inclusive_ns);
    uint64_t all_off = 0;
    for (NodeId i{0}; i < report.tree.size(); ++i) all_off += report.cpu.off.at(i);
    EXPECT_LE(report.cpu.preempted_ns, report.traced_ns);
    EXPECT_LE(all_off, report.traced_ns);
    cut += report.cpu.cut_ns;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(off, 100000u);
  EXPECT_GT(cut, 1000u);
}

}  // namespace
}  // namespace luatrace::analyze
