// SPDX-License-Identifier: MIT
// Events that do not fit are counted exactly; names arrive even if their memory was not present.
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;

// 60,000 calls and one of the main chunk: as many entries and returns.
const char* const kManyCalls = "local function f(x) return x end for i = 1, 60000 do f(i) end";

// No hit of the second recording is unaccounted for: it arrived or was lost, and the file says so.
class Loss : public BpfTest, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Sites, Loss, testing::Values("block", "single"));

TEST_P(Loss, IsCountedExactly) {
  const auto program = host(write_script(kManyCalls), {"-j", "off"});
  record(program, "all", {"--bpf-site", GetParam()});
  const auto [all, none] = hits("all");
  EXPECT_GE(all, 120002u);
  EXPECT_EQ(0u, none);
  record(program, "some", {"--bpf-site", GetParam(), "--ring-size", "256K"});
  const auto [some, lost] = hits("some");
  EXPECT_EQ(all, some + lost);
  EXPECT_EQ(lost, trust("some", "lost"));
}

// The recorder is stopped while the program runs: the ring is full soon, and at the end, too. The
// loss is in the trace with its time, and on standard error.
TEST_P(Loss, AtTheEndIsCounted) {
  const auto program = host(write_script(kManyCalls), {"-j", "off"});
  record(program, "all", {"--bpf-site", GetParam()});
  auto p = start(program);
  auto r = attach({p->pid()}, "some", {"--bpf-site", GetParam(), "--ring-size", "256K"});
  r->send(SIGSTOP);
  p->go();
  EXPECT_EQ(0, p->wait());
  r->send(SIGCONT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("some");
  const auto [some, lost] = hits("some");
  EXPECT_EQ(hits("all").first, some + lost);
  EXPECT_GT(some, 1000u);
  EXPECT_GT(lost, 50000u);
  EXPECT_EQ(lost, trust("some", "lost"));
  EXPECT_GE(kinds("some")["loss"], 1u);
  EXPECT_NE(messages("some").find("LOST: "), std::string::npos) << messages("some");
}

// The function's first call comes after its chunk's name was dropped from memory. Around the name
// is nothing that is touched: the kernel maps the neighbourhood of a page that is.
TEST_F(BpfTest, NamesThatAreNotInMemory) {
  const std::string code =
      "collectgarbage('stop') "
      "local before = ('x'):rep(500000) local name = '@far/' .. #before .. '.lua' "
      "local after = ('y'):rep(500000) "
      "local f = loadstring('local function inner() return 1 end return inner', name)() "
      "name = nil evict() f() io.read()";
  auto p = start(host(write_script(code), {"-e", "-j", "off"}));
  auto r = attach({p->pid()}, "bpf", {"--bpf-site", "single"});
  p->go();
  const auto function_is_there = [&] {
    const mini::File file = mini::read(path("bpf"));  // findings refer to it
    for (const auto* b : file.of_type(LT_BLOCK_FUNCS))
      if (b->payload.find("@far/500000.lua") != std::string::npos) return true;
    return false;
  };
  wait_until(function_is_there);
  p->go();
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000));
  EXPECT_EQ(1u, counts("bpf")["500000.lua:1"]) << calls("bpf");
  EXPECT_EQ(0u, trust("bpf", "undescribed"));
  // Otherwise the test proves nothing: what BPF alone sees.
  EXPECT_NE(messages("bpf").find("names were read late"), std::string::npos) << messages("bpf");
}

}  // namespace
