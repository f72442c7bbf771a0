// SPDX-License-Identifier: MIT
#include "analyzer/report/canonical_order.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "analyzer/collect/tree_links.h"

namespace luatrace::analyze {
namespace {

// All nodes but the root, by the rank of their functions; equal ranks keep the tree's order.
std::vector<NodeId> by_rank(const CallTree& tree, const std::vector<uint32_t>& rank) {
  const uint32_t max_rank = rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end());
  std::vector<uint32_t> begin(size_t{max_rank} + 2);
  for (NodeId i{1}; i < tree.size(); ++i) begin[rank[tree[i].function] + 1]++;
  for (size_t r = 1; r < begin.size(); r++) begin[r] += begin[r - 1];
  std::vector<NodeId> out(tree.size() - 1);
  for (NodeId i{1}; i < tree.size(); ++i) out[begin[rank[tree[i].function]]++] = i;
  return out;
}

}  // namespace

std::vector<NodeId> canonical_order(const CallTree& tree, const std::vector<uint32_t>& rank) {
  std::vector<NodeId> order;
  order.reserve(tree.size());
  order.push_back(kRootNode);
  const TreeLinks links(tree, by_rank(tree, rank));
  links.walk([&](NodeId node) { order.push_back(node); }, [](NodeId) {});
  return order;
}

std::vector<uint32_t> by_name(const std::vector<ReportFunction>& functions, uint32_t skip) {
  std::vector<std::string> names;
  for (const ReportFunction& f : functions) names.push_back(display_name(f));
  std::vector<uint32_t> order;
  for (uint32_t i = skip; i < functions.size(); i++) order.push_back(i);
  auto key = [&](uint32_t i) {
    const ReportFunction& f = functions[i];
    return std::tie(names[i], f.chunk, f.line, f.code, f.kind, f.coroutine);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

std::vector<uint32_t> name_ranks(const std::vector<ReportFunction>& functions) {
  std::vector<uint32_t> ranks(functions.size());
  uint32_t next = 0;
  for (uint32_t i : by_name(functions, 0)) ranks[i] = next++;
  return ranks;
}

std::vector<uint32_t> file_ranks(const std::vector<ReportFile>& files) {
  std::vector<uint32_t> order(files.size()), ranks(files.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](uint32_t i) {
    const ReportFile& f = files[i];
    return std::tie(f.path, f.start_real_ns, f.bytes, f.duration_ns);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (uint32_t i = 0; i < order.size(); i++) ranks[order[i]] = i;
  return ranks;
}

}  // namespace luatrace::analyze
