// SPDX-License-Identifier: MIT
// Prefetches the nodes of a large call tree that the next events will need.
//
// With a million nodes nearly every call is a cache miss, and the next lookup cannot begin before
// this one's result is known. But the slot of a call path in the tree's table depends only on its
// functions (collect/profile.h). So the prefetcher follows entries and returns a few windows of
// words ahead of the main loop, computes hashes instead of nodes, and prefetches the slots for the
// window after the next one and the nodes for the next one.
//
// Invariant: as long as the main loop has done exactly what the words in between say (entries, and
// returns of the call on top), hash() is that of the call path which its entry makes. Otherwise the
// main loop ends, and the prefetcher with it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analyzer/machine/coroutine.h"
#include "analyzer/machine/functions.h"
#include "analyzer/read/words.h"

namespace luatrace::analyze {

template <class Tree>
class Prefetcher {
 public:
  static constexpr size_t kWindow = 32;  // Words.

  // `base` to `limit` are the coroutine's frames, `top` is the innermost; `p` to `end` are the
  // words.
  Prefetcher(const Tree& tree, const IdMap& ids, const Frame* base, const Frame* top,
             const Frame* limit, const uint64_t* p, const uint64_t* end)
      : tree_(tree),
        ids_(ids),
        base_(base),
        max_depth_(static_cast<size_t>(limit - base)),
        depth_(static_cast<size_t>(top - base)),
        known_(depth_),
        reached_(p),
        fetched_(p),
        end_(end) {
    path_hashes_[depth_ % kKeptDepths] = tree_.hash_of(top->node);
    follow();
    follow();
    fetch();
  }

  // To be called when the main loop has reached `p`. Returns up to where the loop may go before it
  // must call again; `p` itself if the loop cannot handle the next word.
  const uint64_t* advance(const uint64_t* p) {
    follow();
    fetch();
    return std::min(p + kWindow, reached_);
  }
  uint64_t hash(const uint64_t* p) const { return hashes_[number(p)]; }

 private:
  static constexpr size_t kKeptDepths = 256;  // Frames; more than three windows can descend.
  static constexpr size_t kHashes = 128;

  static size_t number(const uint64_t* p) {
    return reinterpret_cast<uintptr_t>(p) / sizeof *p % kHashes;
  }
  void follow();
  void fetch();
  void know(size_t depth) {
    path_hashes_[depth % kKeptDepths] = tree_.hash_of(base_[depth].node);
    known_ = depth;
  }

  const Tree& tree_;
  const IdMap& ids_;
  const Frame* const base_;
  const size_t max_depth_;
  size_t depth_, known_;  // path_hashes_ has the hashes at depths known_ to depth_.
  const uint64_t *reached_, *fetched_, *end_;
  uint64_t path_hashes_[kKeptDepths];
  uint64_t hashes_[kHashes];
};

// Follows one more window. Entries and returns are handled without data-dependent branches: which
// of the two comes next cannot be predicted.
template <class Tree>
void Prefetcher<Tree>::follow() {
  const uint64_t* to =
      end_ - reached_ > static_cast<ptrdiff_t>(kWindow) ? reached_ + kWindow : end_;
  for (; reached_ != to; ++reached_) {
    const uint64_t w = *reached_;
    const uint32_t kind = lt_kind(w);
    const FunctionId function = ids_.known(VmFunctionId(lt_payload(w)));
    if (kind - LT_ENTRY > LT_RETURN - LT_ENTRY || function == kNoFunction) break;
    const uint64_t enters = kind == LT_ENTRY;
    const uint64_t child = tree_.child_hash(path_hashes_[depth_ % kKeptDepths], function);
    const size_t depth = depth_ + 2 * enters - 1;
    if (depth >= max_depth_) break;   // No call was open, or too many are.
    if (depth < known_) know(depth);  // From before the first word: unchanged.
    if (depth - known_ >= kKeptDepths) known_ = depth - kKeptDepths + 1;
    depth_ = depth;
    const uint64_t hash =
        path_hashes_[depth % kKeptDepths] ^ ((path_hashes_[depth % kKeptDepths] ^ child) & -enters);
    path_hashes_[depth % kKeptDepths] = hash;
    hashes_[number(reached_)] = hash;
    tree_.fetch_place(hash);
  }
  if (reached_ != to) end_ = reached_;
}

// Prefetches nodes for all but the last followed window, whose slots are still on their way.
template <class Tree>
void Prefetcher<Tree>::fetch() {
  const bool all = reached_ == end_ || reached_ - fetched_ < static_cast<ptrdiff_t>(kWindow);
  const uint64_t* to = all ? reached_ : reached_ - kWindow;
  for (; fetched_ < to; ++fetched_) tree_.fetch_node(hashes_[number(fetched_)]);
}

}  // namespace luatrace::analyze
