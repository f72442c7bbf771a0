// SPDX-License-Identifier: MIT
// Missing samples: CPU time without them is a loss, unless chance explains it.
#include "recorder/sampler/coverage.h"

#include <gtest/gtest.h>

#include "recorder/os/clock.h"

namespace luatrace::record::sampler {
namespace {

constexpr uint64_t kPeriod = kMillisecond;

// Of a process that had 5 s of CPU time before, and then that.
uint64_t missing(uint64_t cpu_ns, uint64_t weight_ns) {
  Coverage c(5 * kSecond);
  c.look(5 * kSecond + cpu_ns);
  c.settle(weight_ns);
  return c.missing(kPeriod);
}

TEST(Coverage, CountsCpuTimeWithoutSamples) {
  EXPECT_EQ(missing(10 * kSecond, 10 * kSecond), 0u);
  EXPECT_EQ(missing(10 * kSecond, 8 * kSecond), 2000u);
  EXPECT_EQ(missing(10 * kSecond, 0), 10'000u);
  EXPECT_EQ(missing(10 * kSecond, 11 * kSecond), 0u);
}

TEST(Coverage, ChanceIsNoLoss) {
  EXPECT_EQ(missing(10 * kSecond, 10 * kSecond - 500 * kMillisecond), 0u);
  EXPECT_EQ(missing(10 * kSecond, 10 * kSecond - 550 * kMillisecond), 550u);
  // 100 samples may be 60, and the ticks of /proc are 20 more.
  EXPECT_EQ(missing(100 * kMillisecond, 41 * kMillisecond), 0u);
  EXPECT_EQ(missing(100 * kMillisecond, 39 * kMillisecond), 61u);
}

TEST(Coverage, OnlySettledLooksCount) {
  Coverage c(0);
  c.look(kSecond);
  c.settle(kSecond);
  c.look(3 * kSecond);
  EXPECT_EQ(c.missing(kPeriod), 0u);
  c.look(0);  // it has ended, or its number belongs to another process
  c.settle(kSecond);
  EXPECT_EQ(c.missing(kPeriod), 2000u);
}

}  // namespace
}  // namespace luatrace::record::sampler
