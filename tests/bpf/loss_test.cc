// SPDX-License-Identifier: MIT
// Events that do not fit are counted exactly.
#include "tests/bpf/support.h"

namespace {

using bpftest::BpfTest;

// 60,000 calls and one of the main chunk: as many entries and returns.
const char* const kManyCalls = "local function f(x) return x end for i = 1, 60000 do f(i) end";

// No event of the second recording is unaccounted for: it arrived or was lost, and the file says
// so.
class Loss : public BpfTest {};

TEST_F(Loss, IsCountedExactly) {
  const auto program = host(write_script(kManyCalls), {"-j", "off"});
  record(program, "all");
  const auto [all, none] = events("all");
  EXPECT_GE(all, 120002u);
  EXPECT_EQ(0u, none);
  record(program, "some", {"--ring-size", "256K"});
  const auto [some, lost] = events("some");
  // After a loss the VM reports its stack again if the program still runs: up to four records more.
  // No more and no fewer: what of a report is lost, too, is counted as such.
  auto kind = kinds("some"), before = kinds("all");
  const uint64_t reported = kind["stack"] + kind["frame"] - before["stack"] - before["frame"];
  EXPECT_GE(some + lost, all + reported);
  EXPECT_LE(some + lost, all + 4 * kind["loss"]);
  EXPECT_EQ(lost, trust("some", "lost"));
}

// The recorder is stopped while the program runs: the ring is full soon, and at the end, too. The
// loss is in the trace with its time, and on standard error.
TEST_F(Loss, AtTheEndIsCounted) {
  const auto program = host(write_script(kManyCalls), {"-j", "off"});
  record(program, "all");
  auto p = start(program);
  auto r = attach({p->pid()}, "some", {"--ring-size", "256K"});
  r->send(SIGSTOP);
  p->go();
  EXPECT_EQ(0, p->wait());
  r->send(SIGCONT);
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("some");
  const auto [some, lost] = events("some");
  EXPECT_EQ(events("all").first, some + lost);
  EXPECT_GT(some, 1000u);
  EXPECT_GT(lost, 50000u);
  EXPECT_EQ(lost, trust("some", "lost"));
  EXPECT_GE(kinds("some")["loss"], 1u);
  EXPECT_NE(messages("some").find("LOST: "), std::string::npos) << messages("some");
}

// The stack is reported some time after the loss, in the middle of a recursion: none of the calls
// that are known by then is an anomaly.
TEST_F(Loss, InARecursionIsOnlyALoss) {
  const std::string code =
      "local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end "
      "for i = 1, 60 do f(18) io.write('.') io.flush() end";
  auto p = start(host(write_script(code), {"-j", "off"}));
  auto r = attach({p->pid()}, "some", {"--ring-size", "256K"});
  r->send(SIGSTOP);
  p->go();
  wait_until([&] { return p->output().find("....................") != std::string::npos; });
  r->send(SIGCONT);
  EXPECT_EQ(0, p->wait());
  EXPECT_EQ(0, r->wait_ms(60000)) << messages("some");
  EXPECT_GT(trust("some", "lost"), 0u);
  EXPECT_EQ(trust("some", "lost"), trust("some", "anomalies")) << analyze("some", {"--json"});
}

}  // namespace
