// SPDX-License-Identifier: MIT
// --weights: the time inside segments is apportioned by samples of the same code: with known truth,
// with few samples, and with those of something else.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "analyzer/output/json.h"
#include "analyzer/output/views.h"
#include "analyzer/pipeline.h"
#include "cli/usage_error.h"
#include "segment_traces.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "weights" + std::to_string(getpid()) + ".txt") {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An iteration calls f2, which has half of the code: 50 bytes for the caller, 50 for f2. There are
// 1,000 iterations, which take a millisecond.
const std::string kCode =
    "segments 1:1 parent=0 trace=3 bytes=100 level=1 counts=1 marks=1 @0+0 @0+0 @1+50 1:2 2:2\n";
const std::string kRun = "100 1 entry 1\n1000100 1 segment 2 1000\n1000100 1 return 1\n";

std::string traced(const std::string& events) {
  return "#luatrace-text 1\nprocess 1 pid=7\nstream 1 process=1 state=0x50\n"
         "func 1:1 lua line=10 chunk=\"@a.lua\" name=\"f1\"\n"
         "func 1:2 lua line=20 chunk=\"@a.lua\" name=\"f2\"\n" +
         events + "end exit=0\n";
}

// So many samples at that offset; what: of which Lua VM and trace.
std::string at(uint32_t offset, int n, const std::string& what = "vm=0x50 trace=3 bytes=100") {
  std::string out;
  for (int i = 0; i < n; i++)
    out += "sample 1 100 ns=1000 tid=7 state=compiled " + what + " at=" + std::to_string(offset) +
           " 1\n";
  return out;
}

std::string sampled(const std::string& samples, int pid = 7) {
  return "#luatrace-text 1\nprocess 1 pid=" + std::to_string(pid) +
         "\nstream 1 process=1 flags=0x200\nfunc 1:1 lua line=10 chunk=\"@a.lua\" name=\"f1\"\n" +
         samples + "end exit=0\n";
}

struct Weighed {
  Report report;
  std::vector<std::string> messages;
  double share(const std::string& name) const {
    for (const ReportFunction& f : report.functions)
      if (f.name == name)
        return static_cast<double>(f.self_ns) / static_cast<double>(report.self_ns);
    return -1;
  }
  std::string json() const {
    std::ostringstream out;
    write_json(out, report, make_views(report, {}), false);
    return out.str();
  }
};

// samples: "": none.
Weighed weigh(const std::string& trace, const std::string& samples, size_t jobs = 1) {
  const TextFile file(samples);
  PipelineOptions options;
  options.jobs = jobs;
  if (!samples.empty()) options.weights = file.path();
  Weighed out;
  Pipeline pipeline(options, [&](const std::string& m) { out.messages.push_back(m); });
  const FileBytes bytes = file_bytes("trace", trace);
  Input input(bytes.name, bytes.bytes);
  Diagnostics diag(bytes.name, [](const std::string&) {});
  pipeline.read(input, diag);
  out.report = pipeline.finish();
  return out;
}

TEST(Weights, PlacesInCodeComeBack) {
  const std::string text = dump(to_binary(sampled(at(70, 1)))),
                    place = " trace=3 bytes=100 at=70 1";
  EXPECT_NE(text.find(place), std::string::npos) << text;
  EXPECT_NE(dump(to_binary(text)).find(place), std::string::npos);
}

TEST(Weights, SamplesDecideWhereThereAreMany) {
  const Weighed size = weigh(traced(kCode + kRun), "");
  EXPECT_NEAR(size.share("f2"), 0.5, 0.01);
  EXPECT_EQ(size.report.weight_samples, 0u);
  const Weighed w = weigh(traced(kCode + kRun), sampled(at(10, 100) + at(49, 100) + at(50, 1800)));
  EXPECT_NEAR(w.share("f2"), 0.9, 0.005);
  EXPECT_EQ(w.report.weight_samples, 2000u);
  EXPECT_EQ(w.report.apportioned_ns, size.report.apportioned_ns);
  EXPECT_TRUE(w.messages.empty());
}

// The factor of a piece that is the only one of its kind.
double factor(double samples, double expected) {
  return (samples + 1) / (expected + 1);
}

TEST(Weights, SizeDecidesWhereThereAreFew) {
  const Weighed w = weigh(traced(kCode + kRun), sampled(at(70, 1)));
  EXPECT_NEAR(w.share("f2"), factor(1, 0.5) / (factor(1, 0.5) + factor(0, 0.5)), 0.003);
  EXPECT_LT(w.share("f2"), 0.7);
}

// The second half of the code runs half as often: f2 returns early. Of 300 samples it has 100, as
// by its size.
TEST(Weights, CodeThatRanLessHasFewerSamples) {
  const std::string code =
      "segments 1:1 parent=0 trace=3 bytes=100 level=0 marks=1 @0+0 @1+50 @2+100 1:2 2:2\n";
  std::string run = "100 1 entry 1\n";
  for (int i = 1; i <= 500; i++) {
    const std::string tick = std::to_string(100 + i * 3000);
    run += tick + " 1 segment 2\n" + tick + " 1 return 2\n" + tick + " 1 segment 3\n";
  }
  run += "1600000 1 segment 3\n1600000 1 return 1\n";
  const Weighed size = weigh(traced(code + run), "");
  const Weighed w = weigh(traced(code + run), sampled(at(20, 200) + at(60, 100)));
  EXPECT_EQ(w.report.weight_samples, 300u);
  EXPECT_NEAR(w.share("f2"), size.share("f2"), 0.01);
}

TEST(Weights, CodeThatIsCompiledAgainIsOneTrace) {
  const std::string again =
      "segments 1:4 parent=0 trace=3 bytes=100 level=1 counts=1 marks=1 @0+0 @0+0 @1+50 1:2 2:2\n"
      "2000000 1 entry 1\n3000000 1 segment 5 1000\n3000000 1 return 1\n";
  const Weighed w = weigh(traced(kCode + kRun + again), sampled(at(10, 1) + at(60, 9)));
  EXPECT_NEAR(w.share("f2"), factor(9, 5) / (factor(9, 5) + factor(1, 5)), 0.003);
}

// Another trace with the same events, which runs once, counts like the first one.
TEST(Weights, CodeWithoutSamplesCountsLikeOthersOfItsKind) {
  const std::string other =
      "segments 1:4 parent=0 trace=4 bytes=60 level=1 counts=1 marks=1 @0+0 @0+0 @1+30 1:2 2:2\n"
      "2000000 1 entry 1\n9000000 1 segment 5 1\n9000000 1 return 1\n";
  const Weighed w = weigh(traced(kCode + kRun + other), sampled(at(10, 100) + at(70, 900)));
  EXPECT_NEAR(w.share("f2"), 0.865, 0.01);
}

TEST(Weights, SamplesOfSomethingElseAreIgnored) {
  const std::string none = weigh(traced(kCode + kRun), "").json();
  const std::string others[] = {
      sampled(at(70, 50), 8),
      sampled(at(70, 50, "vm=0x58 trace=3 bytes=100")),
      sampled(at(70, 50, "vm=0x50 trace=4 bytes=100")),
      sampled(at(70, 50, "vm=0x50 trace=3 bytes=96")),
      sampled(at(100, 50)),
      sampled(at(70, 50, "vm=0x50 off=1 trace=3 bytes=100")),
      sampled("sample 1 100 ns=1000 tid=7 state=compiled vm=0x50 1\n"),
  };
  for (const std::string& other : others) {
    const Weighed w = weigh(traced(kCode + kRun), other);
    EXPECT_EQ(none, w.json()) << other.substr(0, 300);
    ASSERT_EQ(w.messages.size(), 1u);
    EXPECT_NE(w.messages[0].find("no samples in the compiled code"), std::string::npos);
  }
}

TEST(Weights, WhatCannotBeWeighedIsRefused) {
  const std::string samples = sampled(at(70, 1));
  EXPECT_THROW(weigh(traced(kCode + kRun), traced(kRun)), UsageError);
  EXPECT_THROW(weigh(samples, samples), UsageError);
  EXPECT_THROW(weigh(saved(weigh(traced(kRun), "").report), samples), UsageError);
}

std::string random_samples(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out;
  for (int i = 0; i < 3000; i++) {
    const uint64_t bytes = 40 + random() % 100;
    out += at(static_cast<uint32_t>(random() % bytes), 1,
              "trace=" + std::to_string(1 + random() % 7) + " bytes=" + std::to_string(bytes));
  }
  return sampled(out);
}

uint64_t all_calls(const Report& r) {
  uint64_t n = 0;
  for (const ReportFunction& f : r.functions) n += f.calls;
  return n;
}

TEST(Weights, TheNumberOfThreadsChangesNothingNorDoWeightsChangeCalls) {
  uint64_t used = 0;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const std::string trace = segment_trace(seed, "mult=1 shift=0"), samples = random_samples(seed);
    const Weighed size = weigh(trace, ""), one = weigh(trace, samples);
    EXPECT_EQ(one.json(), weigh(trace, samples, 4).json()) << seed;
    EXPECT_EQ(all_calls(one.report), all_calls(size.report)) << seed;
    const Report& r = one.report;
    EXPECT_EQ(r.self_ns + r.idle_ns + r.gap_ns, r.traced_ns) << seed;
    used += one.report.weight_samples;
  }
  EXPECT_GT(used, 100u);
}

// As SegmentTest.TheMostIterationsAndTicksAreMultiplied: the heaviest code there can be.
TEST(Weights, TheHeaviestCodeDoesNotOverflow) {
  const std::string loop =
      "segments 1:1 parent=0 trace=3 bytes=1048576 level=1 counts=1 marks=1 @0+0 @2+65535 1:2 "
      "2:2\n";
  const uint64_t times = uint64_t{LT_SEGMENT_LEVELS + 1} << 20, end = (uint64_t{1} << 39) - 100;
  std::string words = "100 1 entry 1\n";
  for (int i = 0; i < 40; i++) words += "100 1 segment 1 " + std::to_string(times - 1) + "\n";
  words += std::to_string(end) + " 1 segment 1 " + std::to_string(times - 1) + "\n";
  const Weighed w = weigh(traced(loop + words + std::to_string(end) + " 1 return 1\n"),
                          sampled(at(70000, 50, "vm=0x50 trace=3 bytes=1048576")));
  EXPECT_EQ(w.report.trust.anomalies(), 0u);
  EXPECT_EQ(w.report.self_ns, end - 100);
  EXPECT_GT(w.report.weight_samples, 0u);
}

}  // namespace
}  // namespace luatrace::analyze
