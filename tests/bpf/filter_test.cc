// SPDX-License-Identifier: MIT
// Filters leave the same events as with the direct recorder, line by line: where the VM applies
// them (a command that is started) and where the recorder does (a process that is attached to).
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;
using runs::Words;

class Filters : public BpfTest, public testing::WithParamInterface<Words> {
 protected:
  void expect_same(const std::string& a, const std::string& b) {
    const std::string x = calls(a), y = calls(b);
    EXPECT_GT(x.size(), 1000u);
    EXPECT_TRUE(x == y) << "the first difference is at byte "
                        << std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
    EXPECT_EQ(0u, trust(b, "anomalies"));
  }
};

TEST_P(Filters, OfAnAttachedProcess) {
  Words direct = GetParam();
  direct.insert(direct.begin(), {"--via", "direct"});
  record(host(script("chunks")), "direct", direct);
  record(host(script("chunks")), "bpf", GetParam());
  expect_same("direct", "bpf");
}

TEST_P(Filters, OfACommand) {
  for (const char* via : {"direct", "bpf"}) {
    Words w = {RECORDER, "--via", via, "-o", path(via)};
    w.insert(w.end(), GetParam().begin(), GetParam().end());
    w.insert(w.end(), {"--", LUAJIT, script("chunks")});
    EXPECT_EQ(0, run(w)) << err();
  }
  expect_same("direct", "bpf");
}

INSTANTIATE_TEST_SUITE_P(
    All, Filters,
    testing::Values(Words{}, Words{"--include", "plugins/*"}, Words{"--exclude", "plugins/*"},
                    Words{"--include", "*b.lua", "--include", "chunks.lua", "--exclude", "core/*"},
                    Words{"--exclude", "chunks.lua"}, Words{"--c-functions", "none"},
                    Words{"--c-functions", "user"}, Words{"--c-functions", "all"},
                    Words{"--max-depth", "2"},
                    Words{"--max-depth", "3", "--exclude", "plugins/*"}));

// One recorder's settings do not affect the next one.
TEST_F(BpfTest, FiltersAreGoneAfterTheRecording) {
  auto p = start(host(script("chunks")));
  for (const char* via : {"direct", "bpf"}) {
    auto r =
        attach({p->pid()}, via, {"--via", via, "--include", "nothing", "--c-functions", "all"});
    r->send(SIGINT);
    r->wait_ms(60000);
  }
  record(host(script("chunks")), "all");
  auto r = attach({p->pid()}, "after");
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  EXPECT_EQ(calls("all"), calls("after"));
}

}  // namespace
