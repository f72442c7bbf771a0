// SPDX-License-Identifier: MIT
// Signs of life, when there is less time than processes need.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <list>
#include <vector>

#include "recorder/direct/live.h"

namespace luatrace::record::direct {
namespace {

// Ten processes are due every 250 ms, and there is time for three every 100 ms.
TEST(RenewOldest, NoProcessStarves) {
  constexpr size_t kProcesses = 10, kAtOnce = 3;
  constexpr uint64_t kPassNs = 100'000'000;
  std::list<Live> all;
  for (size_t i = 0; i < kProcesses; i++) all.emplace_back().pid = static_cast<pid_t>(i + 1);
  std::vector<size_t> last_pass(kProcesses, 0);
  for (size_t pass = 1; pass <= 100; pass++) {
    const uint64_t now = pass * kPassNs;
    size_t renewed = 0;
    renew_oldest(all, now, [&] { return ++renewed < kAtOnce; });
    EXPECT_EQ(kAtOnce, renewed);
    for (const Live& live : all) {
      size_t& last = last_pass[static_cast<size_t>(live.pid) - 1];
      if (live.renew_ns == now + kRenewNs) last = pass;
      EXPECT_LE(pass - last, kProcesses / kAtOnce + 1) << "process " << live.pid;
    }
  }
}

// One that has ended takes no time; one that is not due, neither.
TEST(RenewOldest, OnlyWhereItIsDue) {
  std::list<Live> all(3);
  all.front().lost = true;
  all.back().renew_ns = 2;
  size_t renewed = 0;
  renew_oldest(all, 1, [&] { return ++renewed > 0; });
  EXPECT_EQ(1u, renewed);
  EXPECT_EQ(1 + kRenewNs, std::next(all.begin())->renew_ns);
}

}  // namespace
}  // namespace luatrace::record::direct
