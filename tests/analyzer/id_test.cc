// SPDX-License-Identifier: MIT
// Ids of different number spaces cannot be confused.
#include <gtest/gtest.h>

#include <type_traits>

#include "analyzer/machine/functions.h"
#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

template <class A, class B>
constexpr bool compares = requires(A a, B b) {
  a == b;
};

TEST(Id, IsNotAnIdOfAnotherSpace) {
  EXPECT_FALSE((std::is_constructible_v<StreamId, ThreadId>));
  EXPECT_FALSE((std::is_constructible_v<FunctionId, VmFunctionId>));
  EXPECT_FALSE((std::is_assignable_v<CoroutineId&, StreamId>));
  EXPECT_FALSE((compares<StreamId, ThreadId>));
  EXPECT_TRUE((compares<StreamId, StreamId>));
}

TEST(Id, IsMadeOfANumberOnlyWhereTheCodeSaysSo) {
  EXPECT_FALSE((std::is_convertible_v<uint32_t, StreamId>));
  EXPECT_TRUE((std::is_constructible_v<StreamId, uint32_t>));
  EXPECT_TRUE((std::is_convertible_v<StreamId, uint32_t>));
}

TEST(Id, CostsWhatItsNumberCosts) {
  EXPECT_EQ(sizeof(StreamId), sizeof(uint32_t));
  EXPECT_TRUE(std::is_trivially_copyable_v<StreamId>);
}

TEST(Id, APairIsAKeyInWhichTheOrderMatters) {
  EXPECT_EQ(pair_key(StreamId(1), CoroutineId(2)), 0x100000002u);
  EXPECT_EQ(pair_key(2, 1), 0x200000001u);
}

TEST(Grown, KeepsTheItemsAndReachesTheIndex) {
  std::vector<int> list{7};
  grown(list, 1000) = 8;
  EXPECT_EQ(list[0], 7);
  EXPECT_EQ(grown(list, 1000), 8);
  EXPECT_EQ(grown(list, 999), 0);
}

}  // namespace
}  // namespace luatrace::analyze
