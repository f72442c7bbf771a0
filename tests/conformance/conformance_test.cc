// SPDX-License-Identifier: MIT
// Every program of programs/ in every mode: the recorded calls must be those of
// its .expect file, and its output that of the unpatched LuaJIT.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "expect.h"
#include "record.h"

namespace luatrace::test {
namespace {

// The names of all files, so that a program without its .expect file, or that without its program,
// is a case, too, which fails. Modules of the programs are in a folder of their own.
std::set<std::string> Programs() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CONFORMANCE_PROGRAMS))
    if (entry.is_regular_file()) names.insert(entry.path().stem());
  return names;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

struct Loaded {
  Expectation expectation;
  RecordRequest request;
  int status = 0;
};

Loaded Load(const std::string& name) {
  Loaded loaded;
  std::string base = std::string(CONFORMANCE_PROGRAMS) + "/" + name;
  auto names = FunctionNames(ReadFile(base + ".lua"), name + ".lua");
  loaded.expectation = ParseExpectation(ReadFile(base + ".expect"), base + ".expect", names);
  auto& directives = loaded.expectation.directives;
  loaded.request.program = base + ".lua";
  loaded.request.args = Words(directives["args"]);
  if (!directives["c-functions"].empty()) loaded.request.c_functions = directives["c-functions"];
  if (!directives["status"].empty()) loaded.status = std::stoi(directives["status"]);
  loaded.request.reduce.main = name + ".lua:0";
  for (const auto& f : Words(directives["ignore"]))
    loaded.request.reduce.ignore.insert(names.at(f));
  loaded.request.env = {{"CONFORMANCE_MODULE", CONFORMANCE_MODULE_DIR "/?.so"},
                        {"LUA_PATH", ";;"},
                        {"LUA_CPATH", ";;"}};
  return loaded;
}

using Param = std::tuple<std::string, Mode>;

class Conformance : public testing::TestWithParam<Param> {};

TEST_P(Conformance, Calls) {
  const auto& [name, mode] = GetParam();
  std::string missing = Missing(mode);
  if (!missing.empty()) GTEST_SKIP() << "SKIPPED: " << missing;
  Loaded loaded = Load(name);
  if (loaded.expectation.directives["skip"].find(mode.name) != std::string::npos)
    GTEST_SKIP() << "SKIPPED: " << loaded.expectation.directives["skip"];
  ScratchDir scratch;
  RecordRequest traced = loaded.request;
  if (const std::string other = OtherLuajits(); !other.empty())
    traced.env.emplace_back("CONFORMANCE_MODULE", other + "/?.so");
  Recorded recorded = Record(mode, traced, scratch);
  RunResult upstream = RunUpstream(mode, loaded.request);
  SCOPED_TRACE(recorded.commands);
  EXPECT_FALSE(recorded.run.timed_out || recorded.analyze.timed_out);
  EXPECT_EQ(recorded.run.status, loaded.status) << recorded.run.err;
  EXPECT_EQ(recorded.analyze.status, 0) << recorded.analyze.err;
  EXPECT_EQ(upstream.status, loaded.status) << upstream.err;
  EXPECT_EQ(recorded.run.out, upstream.out) << recorded.run.err;
  for (const auto& problem : recorded.reduced.problems) ADD_FAILURE() << problem;
  std::string difference = FirstDifference(loaded.expectation.calls, recorded.reduced.calls);
  EXPECT_TRUE(difference.empty()) << difference;
}

std::string TestName(const testing::TestParamInfo<Param>& info) {
  return std::get<0>(info.param) + "_in_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Programs, Conformance,
                         testing::Combine(testing::ValuesIn(Programs()),
                                          testing::ValuesIn(AllModes())),
                         TestName);

}  // namespace
}  // namespace luatrace::test
