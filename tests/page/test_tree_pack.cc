// SPDX-License-Identifier: MIT
// Packing a call tree: totals, pruning and the encoding (flame_page.h). The test has its own
// decoder.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

#include "analyzer/output/page/flame_page.h"
#include "tests/page/page_input.h"

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

// The nodes after the root: parent, function from 0, calls, self time in ns.
struct Node {
  uint32_t parent, function;
  uint64_t calls, self_ns;
};

PageInput input_of(const std::vector<Node>& nodes, size_t functions = 3) {
  PageInput input;
  for (size_t i = 0; i < functions; i++)
    input.add_function(FunctionKind::kLua, uint32_t(i + 1), "@f.lua", "f" + std::to_string(i));
  for (const Node& n : nodes) EXPECT_TRUE(input.add_node(n.parent, n.function, n.calls, n.self_ns));
  return input;
}

PageInput random_input(size_t nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  PageInput input = input_of({}, 20);
  while (input.tree.size() < nodes)
    input.add_node(uint32_t(random() % input.tree.size()), uint32_t(random() % 20),
                   1 + random() % 9, random() % 4 ? random() % 1000 : 0);
  return input;
}

PackedTree pack(const PageInput& input, size_t max_nodes = 0) {
  FlameInput page = input.input();
  page.max_nodes = max_nodes;
  return pack_tree(page);
}

uint64_t self_of_all(const std::vector<Decoded>& nodes) {
  uint64_t sum = 0;
  for (const Decoded& node : nodes) sum += node.self_ns;
  return sum;
}

}  // namespace

// Functions are those of the test, from 1; after them come [pruned] and the root.
TEST(TreePack, WritesPreorderWithTheOrderOfSiblings) {
  // 0 -> 1 -> 3, 0 -> 2; the input has the children of 0 before the grandchild.
  PageInput input = input_of({{0, 0, 1, 200}, {0, 1, 2, 5}, {1, 2, 300, 9}});
  input.tree[kRootNode].self = 7;  // Idle time.
  const auto tree = pack(input);
  const uint64_t root = 5;
  EXPECT_EQ(decode(tree),
            (std::vector<Decoded>{{0, root, 0, 0}, {1, 1, 1, 200}, {2, 3, 300, 9}, {1, 2, 2, 5}}));
  EXPECT_EQ(tree.total_ns, 214u);
  EXPECT_EQ(tree.pruned_nodes, 0u);
}

TEST(TreePack, NoTreeAndRootAlone) {
  const auto none = pack_tree({});
  EXPECT_TRUE(none.bytes.empty());
  EXPECT_EQ(none.total_ns, 0u);
  EXPECT_EQ(decode(pack(input_of({}, 0))), (std::vector<Decoded>{{0, 2, 0, 0}}));
}

TEST(TreePack, CountsRecursionOnceInInclusive) {
  // f0 -> f1 -> f0, and f0 again in another call of f1.
  const auto tree =
      pack(input_of({{0, 0, 1, 10}, {1, 1, 2, 20}, {2, 0, 3, 30}, {0, 1, 1, 0}, {4, 0, 4, 1}}));
  EXPECT_EQ(tree.functions[1].calls, 8u);
  EXPECT_EQ(tree.functions[1].self_ns, 41u);
  EXPECT_EQ(tree.functions[1].inclusive_ns, 61u);
  EXPECT_EQ(tree.functions[2].inclusive_ns, 51u);
  EXPECT_EQ(tree.functions[3].calls, 0u);
}

TEST(TreePack, TheRootIsNoFunction) {
  PageInput input = input_of({{0, 0, 1, 10}});
  input.tree[kRootNode].self = 100, input.tree[kRootNode].calls = 5;
  const auto tree = pack(input);
  EXPECT_EQ(tree.functions[0].calls, 0u);
  EXPECT_EQ(tree.functions[0].inclusive_ns, 0u);
  EXPECT_EQ(tree.functions[1].inclusive_ns, 10u);
}

TEST(TreePack, PrunedTimeStaysInTheParent) {
  // Under f0: f1 with a child (30 together) and f2 (20) go, f3 (500) stays.
  const auto input =
      input_of({{0, 0, 1, 1000}, {1, 1, 2, 10}, {2, 0, 3, 20}, {1, 2, 4, 20}, {1, 3, 5, 500}}, 4);
  const auto tree = pack(input, 3);
  const uint64_t pruned = 5, root = 6;
  EXPECT_EQ(
      decode(tree),
      (std::vector<Decoded>{{0, root, 0, 0}, {1, 1, 1, 1000}, {2, pruned, 6, 50}, {2, 4, 5, 500}}));
  EXPECT_EQ(tree.pruned_nodes, 3u);
  EXPECT_EQ(tree.pruned_ns, 50u);
  EXPECT_EQ(tree.functions[3].calls, 4u) << "functions are summed before pruning";
}

TEST(TreePack, KeepsTheLargestNodesAndTheirParents) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const PageInput input = random_input(2000, seed);
    const auto whole = pack(input);
    for (size_t limit : {1u, 2u, 50u, 700u, 1999u, 2000u}) {
      const auto tree = pack(input, limit);
      const auto nodes = decode(tree);
      EXPECT_EQ(tree.pruned_nodes, 2000 - limit);
      size_t kept = 0;
      uint64_t pruned = 0;
      for (const Decoded& node : nodes) {
        if (node.function == 21)
          pruned += node.self_ns;
        else
          kept++;
      }
      EXPECT_EQ(kept, limit) << "seed " << seed;
      EXPECT_EQ(pruned, tree.pruned_ns) << "seed " << seed;
      EXPECT_EQ(self_of_all(nodes), whole.total_ns) << "seed " << seed;
      EXPECT_EQ(tree.total_ns, whole.total_ns);
    }
  }
}

// Compares the totals of functions with a slow sum over each node's call path.
TEST(TreePack, FunctionTotalsAgainstASlowSum) {
  const PageInput input = random_input(1500, 7);
  std::map<uint32_t, uint64_t> inclusive;
  for (NodeId i{1}; i < input.tree.size(); ++i) {
    std::map<uint32_t, bool> on_path;
    for (NodeId n = i; n != kRootNode; n = input.tree[n].parent)
      on_path[input.tree[n].function] = true;
    for (const auto& [function, yes] : on_path) inclusive[function] += input.tree[i].self;
  }
  const auto tree = pack(input, 10);
  for (const auto& [function, time] : inclusive) {
    EXPECT_EQ(tree.functions[function].inclusive_ns, time) << "function " << function;
  }
}

TEST(TreePack, ADeepTreeNeedsNoDeepStack) {
  PageInput input = input_of({});
  for (uint32_t i = 1; i < 1000000; i++) input.add_node(i - 1, i % 3, 1, 2);
  const auto tree = pack(input, 0);
  EXPECT_EQ(tree.nodes, 1000000u);
  EXPECT_EQ(tree.total_ns, 1999998u);
  EXPECT_EQ(tree.functions[2].inclusive_ns, 1999998u);
}

TEST(TreePack, RefusesFunctionsOutOfRange) {
  EXPECT_THROW(pack(input_of({{0, 3, 1, 1}})), std::invalid_argument);
}

TEST(TreePack, WithAComparisonEachNodeHasSixNumbers) {
  PageInput input = input_of({{0, 0, 2, 7}, {1, 1, 0, 0}}, 2);
  input.is_diff = true;
  input.before = {{0, 0}, {3, 1}, {5, 9}};
  const PackedTree tree = pack(input);
  EXPECT_EQ(tree.bytes,
            (std::vector<uint8_t>{0, 4, 0, 0, 0, 0, 0, 1, 2, 7, 3, 1, 0, 2, 0, 0, 5, 9}));
  EXPECT_EQ(tree.total_ns, 7u);
  EXPECT_EQ(tree.before_ns, 10u);
  EXPECT_EQ(tree.functions[1].before_inclusive_ns, 10u);
  EXPECT_EQ(tree.functions[2].before_self_ns, 9u);
}

TEST(TreePack, VanishedNodesCountByTheirTimeBefore) {
  PageInput input = input_of({{0, 0, 1, 5}, {0, 1, 0, 0}, {0, 2, 1, 4}});
  input.is_diff = true;
  input.before[2] = {1, 100};
  const PackedTree tree = pack(input, 2);
  EXPECT_EQ(tree.pruned_nodes, 2u);
  EXPECT_EQ(tree.pruned_ns, 9u) << "the vanished one stays";
}
