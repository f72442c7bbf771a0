// SPDX-License-Identifier: MIT
// The pipeline as another program uses it: files in, reports out.
#include "analyzer/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/usage_error.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

// A file that is removed with this object: f1 runs 10 ns, f2 in it 4 ns.
class TraceFile {
 public:
  TraceFile() : path_(testing::TempDir() + "pipeline" + std::to_string(getpid()) + ".txt") {
    std::ofstream(path_) << trace_text(
        "0 start\n0 entry 1\n3 entry 2\n7 return 2\n10 return 1\n10 stop close\n");
  }
  ~TraceFile() { std::remove(path_.c_str()); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

uint64_t self_ns(const Report& report, const std::string& name) {
  uint64_t sum = 0;
  for (const ReportFunction& f : report.functions)
    if (f.name == name) sum += f.self_ns;
  return sum;
}

void ignore(const std::string&) {}

TEST(Pipeline, FilesAreSummedUntilTheReportIsFinished) {
  const TraceFile trace;
  Pipeline pipeline({}, ignore);
  pipeline.read(trace.path());
  pipeline.read(trace.path());
  const Report both = pipeline.finish();
  EXPECT_EQ(self_ns(both, "f1"), 12u);
  EXPECT_EQ(self_ns(both, "f2"), 8u);
  EXPECT_EQ(both.files.size(), 2u);
  EXPECT_EQ(both.files[0].path, trace.path());
  pipeline.read(trace.path());
  EXPECT_EQ(self_ns(pipeline.finish(), "f2"), 4u) << "the next report begins empty";
}

TEST(Pipeline, FiltersAreAppliedAndWhatMatchesNothingIsARemark) {
  const TraceFile trace;
  PipelineOptions options;
  options.filter.only = {"f2", "f7x"};
  Pipeline pipeline(options, ignore);
  pipeline.read(trace.path());
  const Report report = pipeline.finish();
  EXPECT_EQ(self_ns(report, "f2"), 4u);
  EXPECT_EQ(self_ns(report, "f1"), 0u);
  ASSERT_EQ(pipeline.remarks().size(), 1u);
  EXPECT_NE(pipeline.remarks()[0].find("f7x"), std::string::npos);
}

TEST(Pipeline, WhatCannotBeReadThrowsAndTheReportIsAsItWas) {
  const TraceFile trace;
  Pipeline pipeline({}, ignore);
  pipeline.read(trace.path());
  EXPECT_THROW(pipeline.read(trace.path() + ".none"), Unreadable);
  EXPECT_EQ(self_ns(pipeline.finish(), "f2"), 4u);
}

// Counts the calls that it gets, and the files.
class Entries : public CallConsumer, private CallObserver {
 public:
  CallObserver& begin_file(const FilterPlan&, const TraceFacts&, const SymbolFinder&) override {
    return files++, *this;
  }
  void end_file() override { ended++; }
  int files = 0, ended = 0, calls = 0;

 private:
  void opened(const Coroutine&, StreamId, ThreadId, FunctionId, uint64_t) override { calls++; }
  void closed(const Coroutine&, StreamId, uint64_t, const CallEnd&) override {}
  void moved(const Coroutine&, StreamId, ThreadId, uint64_t, const std::vector<Open>&) override {}
  void add_self_time(FilteredProfile::Machine&, StreamId, uint64_t, uint64_t, Owner) override {}
  void gone(const Coroutine&, StreamId, uint64_t) override {}
};

TEST(Pipeline, AConsumerGetsTheCallsOfEachFileUntilTheReportIsFinished) {
  const TraceFile trace;
  Entries entries;
  Pipeline pipeline({}, ignore);
  pipeline.add(entries);
  pipeline.read(trace.path());
  pipeline.read(trace.path());
  pipeline.finish();
  pipeline.read(trace.path());
  EXPECT_EQ(entries.files, 2);
  EXPECT_EQ(entries.ended, 2);
  EXPECT_EQ(entries.calls, 4);
}

}  // namespace
}  // namespace luatrace::analyze
