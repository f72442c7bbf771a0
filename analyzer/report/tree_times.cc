// SPDX-License-Identifier: MIT
// Two sweeps: in reverse order of the nodes, to sum their subtrees; then depth-first, to
// distinguish the outermost call of each function from those inside it, which must not count twice.
//
// "Outermost" has two meanings. For inclusive time: no call of the same function further out on the
// whole call stack, across coroutines. For wall time: none further out in the same coroutine,
// because each coroutine is suspended separately.
#include "analyzer/report/tree_times.h"

#include "analyzer/collect/tree_links.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class TreeTimes {
 public:
  TreeTimes(const Profile& profile, size_t functions)
      : profile_(profile), tree_(profile.tree()), result_(functions), inside_(functions, kNone) {}

  std::vector<FunctionTicks> run() {
    sum_up();
    find_owners();
    result_[kNoFunction].self += tree_[kRootNode].self;
    TreeLinks(tree_).walk([&](NodeId node) { enter(node); }, [&](NodeId node) { leave(node); });
    return std::move(result_);
  }

 private:
  void sum_up();
  void find_owners();
  void enter(NodeId node);
  void leave(NodeId node);

  const Profile& profile_;
  const CallTree& tree_;
  std::vector<FunctionTicks> result_;
  std::vector<uint64_t> inclusive_;  // By node: self time of its subtree.
  std::vector<uint64_t> suspended_;  // By node: suspended time of its subtree within the coroutine.
  std::vector<uint32_t> owner_;      // By node: the function whose time it is.
  std::vector<uint32_t> segment_;    // By node: the coroutine node above it.
  std::vector<uint32_t> inside_;     // By function: segment of its innermost open call, or kNone.
  std::vector<uint32_t> before_;     // By node: the previous value of inside_.
};

void TreeTimes::sum_up() {
  inclusive_ = subtree_sums(tree_, [&](NodeId node) { return tree_[node].self; });
  suspended_.resize(tree_.size());
  for (NodeId node(static_cast<uint32_t>(tree_.size())); node > 1;) {
    --node;
    suspended_[node] += profile_.suspended_at(node);
    if (tree_[node].function != kCoroutineFunction)
      suspended_[tree_[node].parent] += suspended_[node];
  }
}

void TreeTimes::find_owners() {
  size_t n = tree_.size();
  segment_.resize(n);
  before_.resize(n);
  owner_.resize(n);
  for (NodeId i{1}; i < n; ++i) {
    const NodeId parent = tree_[i].parent;
    owner_[i] = tree_[i].function == kCoroutineFunction ? owner_[parent] : tree_[i].function;
    segment_[i] = tree_[i].function == kCoroutineFunction ? i : segment_[parent];
  }
}

void TreeTimes::enter(NodeId node) {
  const CallNode& n = tree_[node];
  result_[owner_[node]].self += n.self;
  if (n.function < kFirstFunction) return;
  FunctionTicks& f = result_[n.function];
  f.calls += n.calls;
  uint32_t& inside = inside_[n.function];
  if (inside == kNone) f.inclusive += inclusive_[node];
  if (inside != segment_[node]) f.wall += inclusive_[node] + suspended_[node];
  before_[node] = inside;
  inside = segment_[node];
}

void TreeTimes::leave(NodeId node) {
  uint32_t function = tree_[node].function;
  if (function >= kFirstFunction) inside_[function] = before_[node];
}

}  // namespace

std::vector<uint64_t> outermost_sums(const CallTree& tree, size_t functions,
                                     const std::vector<uint64_t>& inclusive) {
  std::vector<uint32_t> open(functions);  // Open calls.
  std::vector<uint64_t> sums(functions);
  TreeLinks(tree).walk(
      [&](NodeId node) {
        const uint32_t f = tree[node].function;
        if (open[f]++ == 0) sums[f] += inclusive[node];
      },
      [&](NodeId node) { open[tree[node].function]--; });
  return sums;
}

std::vector<uint64_t> self_sums(const Report& r, const NodeTimes& part) {
  std::vector<uint64_t> sums(r.functions.size());
  std::vector<NodeId> root(r.tree.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    root[i] = r.tree[i].parent ? root[r.tree[i].parent] : i;
    const uint32_t function = r.tree[i].function, group = r.tree[root[i]].function;
    const bool is_group = r.functions[function].kind == FunctionKind::kGroup;
    sums[function] += part.at(i);
    if (root[i] != i && !is_group && r.functions[group].kind == FunctionKind::kGroup)
      sums[group] += part.at(i);
  }
  return sums;
}

std::vector<FunctionTicks> function_ticks(const Profile& profile, size_t functions) {
  return TreeTimes(profile, functions).run();
}

}  // namespace luatrace::analyze
