// SPDX-License-Identifier: MIT
// Functions and streams of processes that have ended take no memory.
#include <gtest/gtest.h>
#include <malloc.h>

#include "trace/hits/hit_writer.h"
#include "trace/spool.h"

namespace luatrace {
namespace {

TEST(Import, ProcessesThatHaveEnded) {
  Spool spool;
  TraceWriter writer(spool, "spool", make_file_header());
  HitWriter hits(writer, {});
  const auto run = [&](uint32_t pid) {
    HitFunction function;
    function.type = LT_FUNC_LUA;
    function.chunk.assign(1000, 'x');
    for (uint64_t key = 1; key <= 2000; key++) hits.describe(pid, key, function);
    Hit hit;
    hit.time = 1000 * pid;
    hit.pid = hit.tid = pid;
    hit.kind = HitKind::kEntry;
    for (const uint64_t state : {1, 2, 3, 4, 5, 6, 7, 8}) {
      hit.time += 10;
      hit.L = hit.state = hit.what = state;
      hits.hit(hit);
    }
    hit.kind = HitKind::kExit;
    hits.hit(hit);
    hits.settle();
  };
  for (uint32_t pid = 1; pid <= 10; pid++) run(pid);
  const size_t before = mallinfo2().uordblks;
  for (uint32_t pid = 11; pid <= 50; pid++) run(pid);
  EXPECT_LT(mallinfo2().uordblks, before + (8u << 20)) << "2 MB each would be 80 MB";
  hits.finish();
  EXPECT_EQ(0u, hits.lost_events());
}

}  // namespace
}  // namespace luatrace
