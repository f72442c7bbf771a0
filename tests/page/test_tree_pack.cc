// SPDX-License-Identifier: MIT
// Packing a call tree: totals, pruning and the encoding (tree_pack.h). A decoder of the test's own
// reads the bytes back.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <stdexcept>

#include "analyzer/output/page/tree_pack.h"

using namespace luatrace::analyze;
using luatrace::analyze::page::pack_tree;
using luatrace::analyze::page::PackedTree;

namespace {

struct Decoded {
  size_t depth;
  uint64_t function, calls, self_ns;
  bool operator==(const Decoded&) const = default;
};

std::vector<Decoded> decode(const PackedTree& tree) {
  std::vector<Decoded> nodes;
  size_t at = 0, below = 0;
  auto number = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = tree.bytes.at(at++);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < tree.bytes.size()) {
    const size_t depth = below - number();
    const uint64_t function = number(), calls = number();
    nodes.push_back({depth, function, calls, number()});
    below = depth + 1;
  }
  EXPECT_EQ(nodes.size(), tree.nodes);
  return nodes;
}

FlameInput input_of(std::vector<FlameNode> nodes, size_t functions = 3) {
  FlameInput input;
  for (size_t i = 0; i < functions; i++) {
    input.functions.push_back({"f" + std::to_string(i), "@f.lua", uint32_t(i), "lua"});
  }
  for (size_t i = nodes.size(); i-- > 0;) {
    nodes[i].inclusive_ns += nodes[i].self_ns;
    if (i > 0) nodes[nodes[i].parent].inclusive_ns += nodes[i].inclusive_ns;
  }
  input.nodes = std::move(nodes);
  return input;
}

FlameInput random_input(size_t nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<FlameNode> list(nodes);
  for (size_t i = 1; i < nodes; i++) {
    const auto parent = uint32_t(random() % i);
    list[i] = {parent, uint32_t(random() % 20), 1 + random() % 9, 0,
               random() % 4 ? random() % 1000 : 0};
  }
  return input_of(list, 20);
}

uint64_t self_of_all(const std::vector<Decoded>& nodes) {
  uint64_t sum = 0;
  for (const Decoded& node : nodes) sum += node.self_ns;
  return sum;
}

}  // namespace

TEST(TreePack, WritesPreorderWithTheOrderOfSiblings) {
  // 0 -> 1 -> 3, 0 -> 2; the input has the children of 0 before the grandchild.
  const auto tree = pack_tree(
      input_of({{0, 0, 0, 0, 7}, {0, 0, 1, 0, 200}, {0, 1, 2, 0, 5}, {1, 2, 300, 0, 9}}), {});
  const uint64_t root = 4;
  EXPECT_EQ(decode(tree),
            (std::vector<Decoded>{{0, root, 0, 7}, {1, 0, 1, 200}, {2, 2, 300, 9}, {1, 1, 2, 5}}));
  EXPECT_EQ(tree.total_ns, 221u);
  EXPECT_EQ(tree.pruned_nodes, 0u);
  EXPECT_EQ(tree.unequal, 0u);
}

TEST(TreePack, EmptyTreeAndRootAlone) {
  const auto empty = pack_tree(input_of({}), {});
  EXPECT_TRUE(empty.bytes.empty());
  EXPECT_EQ(empty.total_ns, 0u);
  const auto root = pack_tree(input_of({{99, 99, 0, 0, 5}}, 0), {});
  EXPECT_EQ(decode(root), (std::vector<Decoded>{{0, 1, 0, 5}}));
}

TEST(TreePack, CountsRecursionOnceInInclusive) {
  // f0 -> f1 -> f0, and f0 once more beside it.
  const auto tree = pack_tree(
      input_of(
          {{0, 0, 0, 0, 0}, {0, 0, 1, 0, 10}, {1, 1, 2, 0, 20}, {2, 0, 3, 0, 30}, {0, 0, 4, 0, 1}}),
      {});
  EXPECT_EQ(tree.functions[0].calls, 8u);
  EXPECT_EQ(tree.functions[0].self_ns, 41u);
  EXPECT_EQ(tree.functions[0].inclusive_ns, 61u);
  EXPECT_EQ(tree.functions[1].inclusive_ns, 50u);
  EXPECT_EQ(tree.functions[2].calls, 0u);
}

TEST(TreePack, TheRootIsNoFunction) {
  const auto tree = pack_tree(input_of({{0, 0, 5, 0, 100}, {0, 0, 1, 0, 10}}), {});
  EXPECT_EQ(tree.functions[0].calls, 1u);
  EXPECT_EQ(tree.functions[0].inclusive_ns, 10u);
}

TEST(TreePack, PrunedTimeStaysInTheParent) {
  // Under f0: f1 with a child (30 together) and f2 (20) go, f2 (500) stays.
  const auto input = input_of({{0, 0, 0, 0, 0},
                               {0, 0, 1, 0, 1000},
                               {1, 1, 2, 0, 10},
                               {2, 0, 3, 0, 20},
                               {1, 2, 4, 0, 20},
                               {1, 2, 5, 0, 500}});
  const auto tree = pack_tree(input, {.min_share = 0.02, .max_nodes = 0});
  const uint64_t pruned = 3;
  EXPECT_EQ(decode(tree), (std::vector<Decoded>{
                              {0, 4, 0, 0}, {1, 0, 1, 1000}, {2, pruned, 6, 50}, {2, 2, 5, 500}}));
  EXPECT_EQ(tree.pruned_nodes, 3u);
  EXPECT_EQ(tree.pruned_ns, 50u);
  EXPECT_EQ(tree.functions[2].calls, 9u) << "functions are summed before pruning";
}

TEST(TreePack, KeepsTheLargestNodesAndTheirParents) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const FlameInput input = random_input(2000, seed);
    const auto whole = pack_tree(input, {});
    for (size_t most : {1u, 2u, 50u, 700u, 1999u, 2000u}) {
      const auto tree = pack_tree(input, {.max_nodes = most});
      const auto nodes = decode(tree);
      EXPECT_EQ(tree.pruned_nodes, 2000 - most);
      size_t kept = 0;
      uint64_t pruned = 0;
      for (const Decoded& node : nodes) {
        if (node.function == 20)
          pruned += node.self_ns;
        else
          kept++;
      }
      EXPECT_EQ(kept, most) << "seed " << seed;
      EXPECT_EQ(pruned, tree.pruned_ns) << "seed " << seed;
      EXPECT_EQ(self_of_all(nodes), whole.total_ns) << "seed " << seed;
      EXPECT_EQ(tree.total_ns, whole.total_ns);
    }
  }
}

// The totals of functions against a slow sum over each node's way to the root.
TEST(TreePack, FunctionTotalsAgainstASlowSum) {
  const FlameInput input = random_input(1500, 7);
  std::map<uint32_t, uint64_t> inclusive;
  for (size_t i = 1; i < input.nodes.size(); i++) {
    std::map<uint32_t, bool> on_way;
    for (size_t n = i; n != 0; n = input.nodes[n].parent) on_way[input.nodes[n].function] = true;
    for (const auto& [function, yes] : on_way) inclusive[function] += input.nodes[i].self_ns;
  }
  const auto tree = pack_tree(input, {.max_nodes = 10});
  for (const auto& [function, time] : inclusive) {
    EXPECT_EQ(tree.functions[function].inclusive_ns, time) << "function " << function;
  }
}

TEST(TreePack, SaysWhereInclusiveIsNotSelfAndChildren) {
  FlameInput input = input_of({{0, 0, 0, 0, 0}, {0, 0, 1, 0, 10}, {1, 1, 1, 0, 5}});
  input.nodes[1].inclusive_ns += 3;
  const auto tree = pack_tree(input, {});
  EXPECT_EQ(tree.unequal, 1u);
  EXPECT_EQ(tree.functions[0].inclusive_ns, 15u);
}

TEST(TreePack, ADeepTreeNeedsNoDeepStack) {
  std::vector<FlameNode> nodes(1000000);
  for (size_t i = 1; i < nodes.size(); i++) nodes[i] = {uint32_t(i - 1), uint32_t(i % 3), 1, 0, 2};
  const auto tree = pack_tree(input_of(nodes), {.max_nodes = 0});
  EXPECT_EQ(tree.nodes, 1000000u);
  EXPECT_EQ(tree.total_ns, 1999998u);
  EXPECT_EQ(tree.functions[1].inclusive_ns, 1999998u);
}

TEST(TreePack, RefusesNodesOutOfRange) {
  EXPECT_THROW(pack_tree(input_of({{}, {0, 3, 1, 0, 1}}), {}), std::invalid_argument);
  FlameInput input = input_of({{}, {0, 1, 1, 0, 1}, {0, 1, 1, 0, 1}});
  input.nodes[2].parent = 2;
  EXPECT_THROW(pack_tree(input, {}), std::invalid_argument);
}

TEST(TreePack, WithAComparisonEachNodeHasSixNumbers) {
  FlameInput input;
  input.diff = true;
  input.functions.resize(2);
  input.nodes = {{0, 0, 0, 7, 0, 0, 0}, {0, 0, 2, 7, 7, 3, 1}, {1, 1, 0, 0, 0, 5, 9}};
  const PackedTree tree = pack_tree(input, {});
  EXPECT_EQ(tree.bytes,
            (std::vector<uint8_t>{0, 3, 0, 0, 0, 0, 0, 0, 2, 7, 3, 1, 0, 1, 0, 0, 5, 9}));
  EXPECT_EQ(tree.total_ns, 7u);
  EXPECT_EQ(tree.before_ns, 10u);
  EXPECT_EQ(tree.functions[0].before_inclusive_ns, 10u);
  EXPECT_EQ(tree.functions[1].before_self_ns, 9u);
}

TEST(TreePack, WhatHasVanishedIsAsLargeAsItWas) {
  FlameInput input;
  input.diff = true;
  input.functions.resize(1);
  input.nodes = {
      {0, 0, 0, 9, 0, 0, 0}, {0, 0, 1, 5, 5, 0, 0}, {0, 0, 0, 0, 0, 1, 100}, {0, 0, 1, 4, 4, 0, 0}};
  FlamePageOptions options;
  options.max_nodes = 2;
  const PackedTree tree = pack_tree(input, options);
  EXPECT_EQ(tree.pruned_nodes, 2u);
  EXPECT_EQ(tree.pruned_ns, 9u) << "the vanished one stays";
}
