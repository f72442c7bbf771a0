// SPDX-License-Identifier: MIT
// --waits against the slow model, on random streams that obey the rules of the VM: coroutines that
// are collected, lost, and used by C code while they are suspended.
#include <gtest/gtest.h>

#include "model.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace model {

static std::ostream& operator<<(std::ostream& out, const Waits& w) {
  return out << w.count << " waits, " << w.sum << " in all, up to " << w.max << ", " << w.unfinished
             << " unfinished";
}

}  // namespace model

namespace {

std::map<uint32_t, model::Waits> waits_of(const Report& report) {
  std::map<uint32_t, model::Waits> out;
  for (const auto& [key, wait] : report.waits) {
    const std::string& name = report.functions[key.first].name;
    model::Waits& sums = out[static_cast<uint32_t>(std::stoul(name.substr(1)))];
    sums.count += wait.count;
    sums.sum += wait.total_ns;
    sums.max = std::max(sums.max, wait.max_ns);
    sums.unfinished += wait.unfinished;
    EXPECT_EQ(wait.times.count(), wait.count);
  }
  return out;
}

TEST(Waits, AgreeWithTheModel) {
  constexpr uint64_t kSeeds = 1000;
  uint64_t finished = 0, unfinished = 0;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    const auto events = model::generate(seed, 20 + seed % 400);
    const std::string text = model::to_text(events);
    const auto want = model::evaluate(events).waits;
    EXPECT_EQ(waits_of(analyse_filtered(trace_text(text), {})), want);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
    for (const auto& [function, sums] : want) {
      finished += sums.count;
      unfinished += sums.unfinished;
    }
  }
  EXPECT_GT(finished, kSeeds);
  EXPECT_GT(unfinished, kSeeds);
}

}  // namespace
}  // namespace luatrace::analyze
