// SPDX-License-Identifier: MIT
// Which nodes of a large call tree the next events are going to need: told to the memory in time.
//
// With a million nodes nearly every call is a cache miss, and the next one cannot begin to be
// looked up before it is known where this one led. But where a chain of calls stands in the tree's
// table depends on its functions alone (collect/call_tree.h). So this follows entries and returns
// some windows of words ahead of the loop that does the work, keeps hashes instead of nodes, and
// has fetched: for the window after the next one the places, for the next one what stands there.
//
// Invariant: as long as the loop has done exactly what the words in between say (entries, and
// returns of the call on top), hash() is that of the chain which its entry makes. Whenever that is
// not so the loop ends, and this with it.
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

  // `base` to `limit` are the coroutine's frames, of which `top` is on top; `p` to `end` the words.
  Prefetcher(const Tree& tree, const IdMap& ids, const Frame* base, const Frame* top,
             const Frame* limit, const uint64_t* p, const uint64_t* end)
      : tree_(tree),
        ids_(ids),
        base_(base),
        most_(static_cast<size_t>(limit - base)),
        depth_(static_cast<size_t>(top - base)),
        known_(depth_),
        reached_(p),
        fetched_(p),
        end_(end) {
    chain_[depth_ % kChain] = tree_.hash_of(top->node);
    follow();
    follow();
    fetch();
  }

  // The loop has come to `p`. Returns up to where it may go on before it must ask again; `p`: it
  // has to leave the next word to others.
  const uint64_t* advance(const uint64_t* p) {
    follow();
    fetch();
    return std::min(p + kWindow, reached_);
  }
  uint64_t hash(const uint64_t* p) const { return hashes_[number(p)]; }

 private:
  static constexpr size_t kChain = 256;  // More than three windows can go down.
  static constexpr size_t kHashes = 128;

  static size_t number(const uint64_t* p) {
    return reinterpret_cast<uintptr_t>(p) / sizeof *p % kHashes;
  }
  void follow();
  void fetch();
  void know(size_t depth) {
    chain_[depth % kChain] = tree_.hash_of(base_[depth].node);
    known_ = depth;
  }

  const Tree& tree_;
  const IdMap& ids_;
  const Frame* const base_;
  const size_t most_;
  size_t depth_, known_;  // chain_ has the hashes of known_ to depth_.
  const uint64_t *reached_, *fetched_, *end_;
  uint64_t chain_[kChain];
  uint64_t hashes_[kHashes];
};

// One window more. Without branches that depend on what the words are, as long as they are entries
// and returns: which of the two comes next cannot be predicted.
template <class Tree>
void Prefetcher<Tree>::follow() {
  const uint64_t* to =
      end_ - reached_ > static_cast<ptrdiff_t>(kWindow) ? reached_ + kWindow : end_;
  for (; reached_ != to; ++reached_) {
    const uint64_t w = *reached_;
    const uint32_t kind = lt_kind(w), function = ids_.known(lt_payload(w));
    if (kind - LT_ENTRY > LT_RETURN - LT_ENTRY || function == 0) break;
    const uint64_t enters = kind == LT_ENTRY;
    const uint64_t child = tree_.child_hash(chain_[depth_ % kChain], function);
    const size_t depth = depth_ + 2 * enters - 1;
    if (depth >= most_) break;        // Nothing was open, or too much.
    if (depth < known_) know(depth);  // From before the first word: it has not changed.
    if (depth - known_ >= kChain) known_ = depth - kChain + 1;
    depth_ = depth;
    const uint64_t hash = chain_[depth % kChain] ^ ((chain_[depth % kChain] ^ child) & -enters);
    chain_[depth % kChain] = hash;
    hashes_[number(reached_)] = hash;
    tree_.fetch_place(hash);
  }
  if (reached_ != to) end_ = reached_;
}

// All but the window that was followed last, of which the places are still on their way.
template <class Tree>
void Prefetcher<Tree>::fetch() {
  const bool all = reached_ == end_ || reached_ - fetched_ < static_cast<ptrdiff_t>(kWindow);
  const uint64_t* to = all ? reached_ : reached_ - kWindow;
  for (; fetched_ < to; ++fetched_) tree_.fetch_node(hashes_[number(fetched_)]);
}

}  // namespace luatrace::analyze
