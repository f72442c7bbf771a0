// SPDX-License-Identifier: MIT
#include "analyzer/collect/label_values.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/filter/filter.h"

namespace luatrace::analyze {

std::unordered_set<std::string> values_with_groups(const CallTree& tree,
                                                   const FunctionTable& functions, size_t most) {
  std::vector<uint32_t> root(tree.size());
  std::map<std::string, uint64_t> times;
  for (NodeId i{1}; i < tree.size(); ++i) {
    root[i] = tree[i].parent ? root[tree[i].parent] : tree[i].function;
    const Function& group = functions[FunctionId(root[i])];
    if (group.type == kGroupType && group.name != kNoLabel) times[group.name] += tree[i].self;
  }
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [value, time] : times) order.emplace_back(UINT64_MAX - time, value);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), most));
  std::unordered_set<std::string> values;
  for (auto& [time, value] : order) values.insert(std::move(value));
  return values;
}

}  // namespace luatrace::analyze
