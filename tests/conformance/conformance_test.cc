// SPDX-License-Identifier: MIT
// Every program of programs/ in every mode: the recorded calls must be those of
// its .expect file, and its output that of the unpatched LuaJIT.
//
// One process runs all modes of a program. Its status is 77 if none failed but some were skipped,
// so that those are not counted as passed.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

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

// The unpatched LuaJIT's run of the program in this mode. Modes may differ in the recorder's
// options only: the last program's runs are kept.
const RunResult& Upstream(const Mode& mode, const RecordRequest& request) {
  static std::string program;
  static std::map<std::pair<std::string, std::vector<std::string>>, RunResult> runs;
  if (program != request.program) runs.clear();
  program = request.program;
  auto [run, is_new] = runs.try_emplace({mode.upstream, mode.flags});
  if (is_new) run->second = RunUpstream(mode, request);
  return run->second;
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
  const RunResult& upstream = Upstream(mode, loaded.request);
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

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (failed || all.test_to_run_count() == 0) return 1;
  return all.skipped_test_count() > 0 ? 77 : 0;
}
