// SPDX-License-Identifier: MIT
// The call tree turned round: under the root each function by its self time, under it its callers,
// under them theirs. A node is a way that a leaf was reached; its total is the self time of the
// leaf when it was reached that way, its calls are the leaf's.
//
// The whole tree turned round can be far larger than the tree (nodes times depth), so it grows as
// it is looked at: grow(node) makes what is large enough to be seen when zoomed to that node, and
// does no more than `maxSteps` steps. A node that has callers not made yet is found by hasMore().
import { newTree } from "./data.js";

const smallestShare = 1 / 20000;
const maxSteps = 6e6;

export class BottomUp {
  constructor(calls, functionCount) {
    this.calls = calls;  // the call tree
    this.slots = new Int32Array(functionCount).fill(-1);
    this.tree = newTree(1024);
    this.tree.size = 0;
    this.grown = [];    // per node: callers with at least this much time are made; Infinity: none are
    this.missing = [];  // per node: there are smaller ones
    this.next = [];   // per node: its next sibling, first child
    this.child = [];
    if (calls.size) this.add(-1, calls.func[0], calls.total[0], 0);
  }

  add(parent, func, total, calls) {
    if (this.tree.size === this.tree.parent.length) this.widen();
    const node = this.tree.size++;
    this.tree.parent[node] = parent;
    this.tree.func[node] = func;
    this.tree.depth[node] = parent < 0 ? 0 : this.tree.depth[parent] + 1;
    this.tree.total[node] = total;
    this.tree.calls[node] = calls;
    this.grown[node] = Infinity;
    this.missing[node] = false;
    this.child[node] = -1;
    this.next[node] = parent < 0 ? -1 : this.child[parent];
    if (parent >= 0) this.child[parent] = node;
    return node;
  }

  widen() {
    const wider = newTree(this.tree.size * 2);
    for (const column of Object.keys(wider)) {
      if (column !== "size") wider[column].set(this.tree[column]);
    }
    wider.size = this.tree.size;
    this.tree = wider;
  }

  hasMore(node) {
    return this.missing[node] || this.grown[node] === Infinity;
  }

  // Makes the part under `node` that can be seen when zoomed to it. True if the tree has changed.
  grow(node) {
    const least = this.tree.total[node] * smallestShare;
    if (!this.tree.size || this.grown[node] <= least) return false;
    const queue = [{ node, ...this.itemsOf(node) }];
    let steps = 0;
    for (let i = 0; i < queue.length && steps < maxSteps; i++) {
      steps += queue[i].leaf.length;
      this.expand(queue[i], least, queue);
      queue[i] = null;  // its lists may be large
    }
    return true;
  }

  // The nodes of the call tree whose time `node` sums: `leaf` spent it, `caller` is the next one up
  // that is not on the way yet (-1: the way ends).
  itemsOf(node) {
    const way = [];
    for (let n = node; n > 0; n = this.tree.parent[n]) way.unshift(this.tree.func[n]);
    const { func, parent, self, size } = this.calls;
    const leaf = [];
    const caller = [];
    for (let origin = 0; origin < size; origin++) {
      if (self[origin] === 0) continue;
      let at = origin;
      let step = 0;
      while (step < way.length && at >= 0 && func[at] === way[step]) {
        at = this.above(at);
        step++;
      }
      if (step < way.length) continue;
      leaf.push(origin);
      caller.push(at);
    }
    return { leaf, caller };
  }

  // The caller of a node; the root is none, it only stands for itself.
  above(node) {
    return this.calls.parent[node] > 0 ? this.calls.parent[node] : -1;
  }

  // Sums the items by their callers and makes a child for each that is large enough.
  expand({ node, leaf, caller }, least, queue) {
    const { func, self, calls } = this.calls;
    const groups = [];
    for (let i = 0; i < leaf.length; i++) {
      if (caller[i] < 0) continue;
      const f = func[caller[i]];
      if (this.slots[f] < 0) this.slots[f] = groups.push({ func: f, time: 0, calls: 0, count: 0 }) - 1;
      const group = groups[this.slots[f]];
      group.time += self[leaf[i]];
      group.calls += calls[leaf[i]];
      group.count++;
    }
    this.makeChildren(node, groups, least);
    for (let i = 0; i < leaf.length; i++) {
      const group = caller[i] < 0 ? null : groups[this.slots[func[caller[i]]]];
      if (!group || group.node < 0) continue;
      const at = --group.count;
      group.leaf[at] = leaf[i];
      group.caller[at] = this.above(caller[i]);
    }
    for (const group of groups) {
      this.slots[group.func] = -1;
      if (group.node >= 0) queue.push({ node: group.node, leaf: group.leaf, caller: group.caller });
    }
    this.grown[node] = least;
    this.missing[node] = groups.some((group) => group.node < 0);
  }

  makeChildren(node, groups, least) {
    const known = new Map();
    for (let c = this.child[node]; c >= 0; c = this.next[c]) known.set(this.tree.func[c], c);
    for (const group of groups) {
      group.node = known.get(group.func) ?? -1;
      if (group.node < 0 && group.time >= least) {
        group.node = this.add(node, group.func, group.time, group.calls);
      }
      if (group.node < 0) continue;
      group.leaf = new Int32Array(group.count);
      group.caller = new Int32Array(group.count);
    }
  }
}
