// SPDX-License-Identifier: MIT
// The tests' own tools: the notation, the reduction of a dump, the comparison.
#include <gtest/gtest.h>

#include "expect.h"
#include "process.h"

namespace luatrace::test {
namespace {

const std::map<std::string, std::string> kNames = {
    {"main", "t.lua:0"}, {"f", "t.lua:1"}, {"g", "t.lua:2"}};

std::string Expanded(const std::string& text) {
  std::string all;
  for (const Call& call : ParseExpectation(text, "t.expect", kNames).calls)
    all += ToText(call) + "\n";
  return all;
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseExpectation(text, "t.expect", kNames);
  } catch (const ExpectError& error) {
    return error.what();
  }
  return "";
}

TEST(Notation, EveryEnding) {
  EXPECT_EQ(Expanded("trace { main { f { g ! } ! f => g f => - g ~ } ~ }"),
            "C1 D1 entry t.lua:0\n"
            "C1 D2   entry t.lua:1\nC1 D3     entry t.lua:2\n"
            "C1 D3     unwind t.lua:2\nC1 D2   unwind t.lua:1\n"
            "C1 D2   entry t.lua:1\nC1 D2   tail t.lua:1\n"
            "C1 D2   entry t.lua:2\nC1 D2   return t.lua:2\n"
            "C1 D2   entry t.lua:1\nC1 D2   tail t.lua:1\n"
            "C1 D2   entry t.lua:2\n");
}

TEST(Notation, RulesAndLoops) {
  std::string text =
      "rule down(0) = f\n"
      "rule down(n) = f { down(n - 1) }\n"
      "trace { for i = 1, 3 { if i % 2 == 0 { g } else { down(i - 1) } } repeat 2 * 1 { g } }";
  EXPECT_EQ(Expanded(text),
            "C1 D1 entry t.lua:1\nC1 D1 return t.lua:1\n"
            "C1 D1 entry t.lua:2\nC1 D1 return t.lua:2\n"
            "C1 D1 entry t.lua:1\nC1 D2   entry t.lua:1\nC1 D3     entry t.lua:1\n"
            "C1 D3     return t.lua:1\nC1 D2   return t.lua:1\nC1 D1 return t.lua:1\n"
            "C1 D1 entry t.lua:2\nC1 D1 return t.lua:2\n"
            "C1 D1 entry t.lua:2\nC1 D1 return t.lua:2\n");
}

TEST(Notation, Coroutines) {
  std::string text =
      "co body(n) { f { repeat n { yield } g ! } ! fail }\n"
      "trace { create body(1) as a create body(0) as b resume a resume b resume a }";
  EXPECT_EQ(Expanded(text),
            "create co2\ncreate co3\n"
            "resume co2\nC2 D1 entry t.lua:1\nsuspend yield\n"
            "resume co3\nC3 D1 entry t.lua:1\nC3 D2   entry t.lua:2\nC3 D2   unwind t.lua:2\n"
            "C3 D1 unwind t.lua:1\nsuspend error\n"
            "resume co2\nC2 D2   entry t.lua:2\nC2 D2   unwind t.lua:2\nC2 D1 unwind t.lua:1\n"
            "suspend error\n");
}

TEST(Notation, MistakesAreNamed) {
  EXPECT_EQ(ErrorOf("trace {\n  h }"), "t.expect:2: no function has the marker --:h");
  EXPECT_EQ(ErrorOf("trace { f { g ~ } }"), "t.expect:1: cannot end here: t.lua:2 is still open");
  EXPECT_EQ(ErrorOf("co x { f }\ntrace { create x resume x\nresume x }"),
            "t.expect:3: x cannot be resumed");
  EXPECT_EQ(ErrorOf("trace { f"), "t.expect:2: an event expected, not ''");
  EXPECT_EQ(ErrorOf("rule r(n) = f => r(n)\ntrace { r(1) }"),
            "t.expect:1: too deep; a rule without an end?");
  EXPECT_EQ(ErrorOf("# nothing"), "t.expect: missing trace { ... }");
}

TEST(Notation, MarkersBindNames) {
  auto names = FunctionNames("-- x\nlocal function f() --:f\nend --:g  more\n", "p.lua");
  EXPECT_EQ(names.at("f"), "p.lua:2");
  EXPECT_EQ(names.at("g"), "p.lua:3");
  EXPECT_EQ(names.at("main"), "p.lua:0");
}

const char* const kDump =
    "S1 C1 D0 start rec=1\n"
    "S1 C1 D1 entry C:pmain\n"
    "S1 C1 D2 entry t.lua:0\n"
    "S1 C1 D3 entry C:print\n"
    "S1 C1 D3 return C:print\n"
    "S1 C1 D2 create 7\n"
    "S1 C1 D2 resume 7\n"
    "S1 C7 D1 entry t.lua:1\n"
    "S1 C7 D1 suspend error\n"
    "S1 C1 D2 return t.lua:0\n"
    "S1 C1 D1 return C:pmain\n"
    "S1 C1 D0 collect 7\n";

std::string Reduced2Text(const std::string& dump, const ReduceOptions& options) {
  std::string all;
  for (const Call& call : Reduce(dump, options).calls) all += ToText(call) + "\n";
  return all;
}

TEST(Reduction, FromMainChunkOnWithItsOwnDepth) {
  EXPECT_EQ(Reduced2Text(kDump, {"t.lua:0", {"C:print"}, true}),
            "C1 D1 entry t.lua:0\ncreate co2\nresume co2\nC2 D1 entry t.lua:1\n"
            "C2 D1 unwind t.lua:1\nsuspend error\nC1 D1 return t.lua:0\n");
  EXPECT_TRUE(Reduce(kDump, {"t.lua:0", {}, true}).problems.empty());
}

TEST(Reduction, ContradictionsAreProblems) {
  auto problems = [](const std::string& lines) {
    return Reduce("S1 C1 D1 entry t.lua:0\n" + lines, {"t.lua:0", {}, true}).problems.size();
  };
  EXPECT_EQ(problems("S1 C1 D1 return t.lua:0\n"), 0u);
  EXPECT_EQ(problems("S1 C1 D3 entry t.lua:1\n"), 1u);
  EXPECT_EQ(problems("S1 C1 D1 return t.lua:1\n"), 1u);
  EXPECT_EQ(problems("S1 C1 D1 suspend yield\n"), 1u);
  EXPECT_EQ(problems("S1 C1 entry\n"), 1u);
}

TEST(Comparison, FindsWhatDiffers) {
  auto expected = Reduce(kDump, {"t.lua:0", {}, true}).calls;
  EXPECT_EQ(FirstDifference(expected, expected), "");
  for (size_t i = 0; i < expected.size(); ++i) {
    auto fewer = expected;
    fewer.erase(fewer.begin() + static_cast<long>(i));
    EXPECT_NE(FirstDifference(expected, fewer), "") << i;
    auto deeper = expected;
    deeper[i].depth += deeper[i].depth ? 1 : 0;
    EXPECT_EQ(FirstDifference(expected, deeper).empty(), expected[i].depth == 0) << i;
  }
}

TEST(Comparison, StarMatchesTheRestOfAName) {
  std::vector<Call> expected{{Kind::kEntry, 1, 1, "C:*"}}, other{{Kind::kEntry, 1, 1, "t.lua:3"}};
  std::vector<Call> same{{Kind::kEntry, 1, 1, "C:print"}};
  EXPECT_EQ(FirstDifference(expected, same), "");
  EXPECT_NE(FirstDifference(expected, other), "");
}

TEST(Process, StatusOutputAndTimeLimit) {
  RunResult result = RunCommand({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(RunCommand({"sh", "-c", "kill -9 $$"}).status, 137);
  EXPECT_EQ(RunCommand({"/nonexistent/program"}).status, 127);
  RunOptions brief;
  brief.timeout_ms = 50;
  EXPECT_TRUE(RunCommand({"sleep", "30"}, brief).timed_out);
}

}  // namespace
}  // namespace luatrace::test
