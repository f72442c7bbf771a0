// SPDX-License-Identifier: MIT
// BPF gives the same events as the direct recorder, one by one: with the compiler on and off,
// attached in both ways, and with compiled code recorded in every way.
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

struct Case {
  const char* program;
  const char* jit;
  const char* link;
  const char* times = "auto";
};

// Where two texts begin to differ: some lines of both around it.
std::string difference(const std::string& direct, const std::string& bpf) {
  const auto at =
      std::mismatch(direct.begin(), direct.end(), bpf.begin(), bpf.end()).first - direct.begin();
  const size_t from = at > 300 ? at - 300 : 0;
  return "at byte " + std::to_string(at) + "\n-- direct:\n" + direct.substr(from, 600) +
         "\n-- bpf:\n" + bpf.substr(from, 600);
}

class Same : public BpfTest, public testing::WithParamInterface<Case> {
 protected:
  static bool has_segments(const Case& c) {
    return std::string(c.jit) == "on" && std::string(c.times) != "events";
  }
};

TEST_P(Same, EventByEvent) {
  const Case c = GetParam();
  const Words program = host(script(c.program), {"-j", c.jit});
  record(program, "direct", {"--via", "direct", "--times", c.times});
  const std::string output = output_;
  record(program, "bpf", {"--bpf-link", c.link, "--times", c.times});
  EXPECT_EQ(output, output_);
  for (const char* trace : {"direct", "bpf"})
    EXPECT_EQ(has_segments(c), said(trace, " % of the events are in segments")) << messages(trace);
  const std::string direct = calls("direct"), bpf = calls("bpf");
  EXPECT_GT(direct.size(), 10000u);
  EXPECT_TRUE(direct == bpf) << difference(direct, bpf);
  EXPECT_EQ(0u, trust("bpf", "anomalies"));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(c.program) + "_" + c.jit + "_" + c.link + "_" + c.times;
}

INSTANTIATE_TEST_SUITE_P(
    All, Same,
    testing::Values(Case{"calls", "on", "auto"}, Case{"calls", "off", "auto"},
                    Case{"coroutines", "on", "auto"}, Case{"coroutines", "off", "auto"},
                    Case{"errors", "on", "auto"}, Case{"errors", "off", "auto"},
                    Case{"cfunctions", "on", "auto"}, Case{"cfunctions", "off", "auto"},
                    Case{"calls", "off", "each"}, Case{"coroutines", "on", "each"},
                    Case{"calls", "on", "auto", "segments"}, Case{"calls", "on", "auto", "events"},
                    Case{"coroutines", "on", "auto", "segments"},
                    Case{"errors", "on", "auto", "segments"},
                    Case{"cfunctions", "on", "each", "segments"},
                    Case{"cfunctions", "on", "auto", "events"}),
    name_of);

// Counted by hand; see programs/calls.lua.
TEST_F(BpfTest, KnownAnswers) {
  record(host(script("calls")), "bpf");
  const auto n = counts("bpf");
  const auto at = [&](const std::string& what) {
    const auto it = n.find(what);
    return it == n.end() ? 0 : it->second;
  };
  EXPECT_EQ(1u, at("calls.lua:0"));
  EXPECT_EQ(4001u, at("calls.lua:3"));  // leaf: 2000 and 2000 by tail, and the callback's
  EXPECT_EQ(2000u, at("calls.lua:4"));
  EXPECT_EQ(2000u, at("calls.lua:5"));
  EXPECT_EQ(1973u, at("calls.lua:6"));  // fib(15): 2 * fib(16) - 1
  EXPECT_EQ(2000u, at("calls.lua:7"));
  EXPECT_EQ(4000u, at("calls.lua:8"));  // two functions in one line
  EXPECT_EQ(1u, at("calls.lua:14"));
  EXPECT_EQ(1000u, at("C:plain_c"));
  EXPECT_EQ(1u, at("C:calls_back"));
}

}  // namespace
