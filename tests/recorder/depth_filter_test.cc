// SPDX-License-Identifier: MIT
// --max-depth: the output is that of a plain model of stacks, and every end has its beginning.
#include "trace/depth_filter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace luatrace {
namespace {

using Words = std::vector<uint64_t>;

uint64_t ext(uint64_t t, uint32_t sub, uint32_t nwords, uint32_t arg = 0) {
  return lt_word(t, lt_ext(sub, nwords, arg), LT_EXT);
}

Words filtered(uint32_t max, const Words& in) {
  DepthFilter f(max, 0);
  Words out;
  EXPECT_EQ(in.size(), f.run(in, out));
  return out;
}

TEST(DepthFilter, LeavesOutDeepCallsAndTheirEnds) {
  const uint64_t a = lt_word(1, 1, LT_ENTRY), b = lt_word(2, 2, LT_ENTRY);
  const uint64_t c = lt_word(3, 3, LT_ENTRY), rc = lt_word(4, 3, LT_RETURN);
  const uint64_t tb = lt_word(5, 2, LT_TAIL), d = lt_word(6, 4, LT_ENTRY);
  const uint64_t rd = lt_word(7, 4, LT_RETURN), ra = lt_word(8, 1, LT_RETURN);
  const Words in = {ext(1, LTX_BLOCK, 3), 1, 1, 1, a, b, c, rc, tb, d, rd, ra};
  EXPECT_EQ(in.size(), filtered(3, in).size());
  EXPECT_EQ((Words{in[0], 1, 1, 1, a, b, tb, d, rd, ra}), filtered(2, in));
  EXPECT_EQ((Words{in[0], 1, 1, 1, a, ra}), filtered(1, in));
}

TEST(DepthFilter, UnwindingsCountOnlyWhatIsInTheFile) {
  Words in = {ext(1, LTX_BLOCK, 3), 1, 1, 1};
  for (uint64_t i = 0; i < 5; i++) in.push_back(lt_word(2 + i, 1 + i, LT_ENTRY));
  const size_t n = in.size();
  in.insert(in.end(), {ext(9, LTX_UNWIND, 1), lt_pack(3, 2)});
  EXPECT_EQ(lt_pack(1, 2), filtered(3, in).back());
  EXPECT_EQ(lt_pack(3, 2), filtered(5, in).back());
  EXPECT_EQ(4u + 2, filtered(2, in).size());  // all three were hidden
  in[n] = ext(9, LTX_UNWIND, 1, 1);           // down to a depth
  in[n + 1] = lt_pack(2 + 1, 2);
  EXPECT_EQ(lt_pack(3, 2), filtered(3, in).back());
  EXPECT_EQ(4u + 2, filtered(2, in).size());
}

TEST(DepthFilter, ReportedStacksAreCut) {
  const Words in = {ext(1, LTX_STACK, 2),
                    1,
                    4,
                    lt_word(2, 1, LT_FRAME),
                    lt_word(3, 2, LT_FRAME),
                    lt_word(4, 3, LT_FRAME),
                    lt_word(5, 3, LT_RETURN),
                    lt_word(6, 2, LT_RETURN)};
  EXPECT_EQ((Words{in[0], 1, 3, in[3], in[4], in[7]}), filtered(2, in));
}

// The model: the depth of each coroutine, and which coroutines are resumed.
TEST(DepthFilter, AgreesWithAModelOnRandomStreams) {
  for (uint32_t seed = 1; seed <= 50; seed++) {
    std::mt19937 rng(seed);
    const uint32_t max = 1 + rng() % 5;
    Words in = {ext(1, LTX_BLOCK, 3), 1, 1, 1}, expected = in;
    std::map<uint32_t, uint32_t> depth;
    std::vector<uint32_t> chain = {1};
    for (uint64_t t = 2; t < 3000; t++) {
      uint32_t& d = depth[chain.back()];
      const uint32_t dice = rng() % 100;
      Words r;
      bool keep = true;
      if (dice < 4) {
        const uint32_t co = 2 + rng() % 6;
        bool running = false;
        for (const uint32_t c : chain) running = running || c == co;
        if (running) continue;
        r = {lt_word(t, co, LT_RESUME)};
        chain.push_back(co);
      } else if (dice < 8 && chain.size() > 1) {
        r = {lt_word(t, LTS_YIELD, LT_SUSPEND)};
        chain.pop_back();
      } else if (dice < 12 && d > 0) {
        const uint32_t n = 1 + rng() % d, hidden = d > max ? d - max : 0;
        in.insert(in.end(), {ext(t, LTX_UNWIND, 1), lt_pack(n, 7)});
        d -= n;
        if (n > hidden)
          expected.insert(expected.end(), {ext(t, LTX_UNWIND, 1), lt_pack(n - hidden, 7)});
        continue;
      } else if (dice < 55 || d == 0) {
        r = {lt_word(t, 9, LT_ENTRY)};
        keep = ++d <= max;
      } else {
        r = {lt_word(t, LT_PAYLOAD_BIG, LT_RETURN), 9};
        keep = d-- <= max;
      }
      in.insert(in.end(), r.begin(), r.end());
      if (keep) expected.insert(expected.end(), r.begin(), r.end());
    }
    EXPECT_EQ(expected, filtered(max, in)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace luatrace
