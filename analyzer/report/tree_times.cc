// SPDX-License-Identifier: MIT
// Two sweeps: in reverse order of the nodes, to sum their subtrees; then depth-first, to
// distinguish the outermost call of each function from those inside it, which must not count twice.
//
// "Outermost" has two meanings. For inclusive time: no call of the same function further out on the
// whole call stack, across coroutines. For wall time: none further out in the same coroutine,
// because each coroutine is suspended separately.
#include "analyzer/report/tree_times.h"

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
    link();
    walk();
    return std::move(result_);
  }

 private:
  void sum_up();
  void link();
  void walk();
  void enter(uint32_t node);
  void leave(uint32_t node);

  const Profile& profile_;
  const CallTree& tree_;
  std::vector<FunctionTicks> result_;
  std::vector<uint64_t> running_;    // By node: self time of its subtree.
  std::vector<uint64_t> suspended_;  // By node: suspended time of its subtree within the coroutine.
  std::vector<uint32_t> child_, sibling_;
  std::vector<uint32_t> owner_;    // By node: the function whose time it is.
  std::vector<uint32_t> segment_;  // By node: the coroutine node above it.
  std::vector<uint32_t> inside_;   // By function: segment of its innermost open call, or kNone.
  std::vector<uint32_t> before_;   // By node: the previous value of inside_.
};

void TreeTimes::sum_up() {
  size_t n = tree_.size();
  running_.resize(n);
  suspended_.resize(n);
  for (size_t i = n; i-- > 0;) {
    auto node = static_cast<uint32_t>(i);
    running_[i] += tree_[node].self;
    suspended_[i] += profile_.suspended_at(node);
    if (node == 0) break;
    uint32_t parent = tree_[node].parent;
    running_[parent] += running_[i];
    if (tree_[node].function != kCoroutineFunction) suspended_[parent] += suspended_[i];
  }
}

void TreeTimes::link() {
  size_t n = tree_.size();
  child_.resize(n);
  sibling_.resize(n);
  segment_.resize(n);
  before_.resize(n);
  owner_.resize(n);
  for (uint32_t i = 1; i < n; i++) {
    uint32_t parent = tree_[i].parent;
    owner_[i] = tree_[i].function == kCoroutineFunction ? owner_[parent] : tree_[i].function;
    segment_[i] = tree_[i].function == kCoroutineFunction ? i : segment_[parent];
    sibling_[i] = child_[parent];
    child_[parent] = i;
  }
}

void TreeTimes::enter(uint32_t node) {
  const CallNode& n = tree_[node];
  result_[owner_[node]].self += n.self;
  if (n.function < kFirstFunction) return;
  FunctionTicks& f = result_[n.function];
  f.calls += n.calls;
  uint32_t& inside = inside_[n.function];
  if (inside == kNone) f.running += running_[node];
  if (inside != segment_[node]) f.wall += running_[node] + suspended_[node];
  before_[node] = inside;
  inside = segment_[node];
}

void TreeTimes::leave(uint32_t node) {
  uint32_t function = tree_[node].function;
  if (function >= kFirstFunction) inside_[function] = before_[node];
}

void TreeTimes::walk() {
  uint32_t node = 0;
  enter(node);
  while (true) {
    if (child_[node]) {
      enter(node = child_[node]);
      continue;
    }
    while (node && !sibling_[node]) {
      leave(node);
      node = tree_[node].parent;
    }
    if (!node) return;
    leave(node);
    enter(node = sibling_[node]);
  }
}

}  // namespace

// Counts the open calls of each function during a depth-first walk: only the outermost one adds to
// the sum.
std::vector<uint64_t> outermost_sums(const CallTree& tree, size_t functions,
                                     const std::vector<uint64_t>& inclusive) {
  const auto n = static_cast<uint32_t>(tree.size());
  std::vector<uint32_t> child(n), sibling(n), open(functions);
  std::vector<uint64_t> sums(functions);
  for (uint32_t i = n; i-- > 1;) {
    sibling[i] = child[tree[i].parent];
    child[tree[i].parent] = i;
  }
  uint32_t node = 0;
  while (true) {
    const uint32_t f = tree[node].function;
    if (open[f]++ == 0) sums[f] += inclusive[node];
    if (child[node]) {
      node = child[node];
      continue;
    }
    while (true) {
      open[tree[node].function]--;
      if (node == 0) return sums;
      if (sibling[node]) break;
      node = tree[node].parent;
    }
    node = sibling[node];
  }
}

std::vector<FunctionTicks> function_ticks(const Profile& profile, size_t functions) {
  return TreeTimes(profile, functions).run();
}

}  // namespace luatrace::analyze
