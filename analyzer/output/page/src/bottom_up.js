// SPDX-License-Identifier: MIT
// The call tree bottom-up. For all functions: below the root each function by its self time, below
// it its callers, and so on. For one function (`focus`): the root is this function with its
// inclusive time (recursion counted once), below it its callers. A node is a path from a function
// up through its callers; its figures are sums over all nodes of the call tree with this path.
//
// The whole bottom-up tree can be far larger than the call tree (nodes times depth), so it grows on
// demand: grow(node) adds what is large enough to be seen when zoomed to that node, and adds no
// further levels after `maxSteps` steps. hasMore(node): whether callers are missing.
import { newTree } from "./data.js";

const minShare = 1 / 20000;
const maxSteps = 6e6;

export class BottomUp {
  constructor(calls, functionCount, focus = -1) {
    this.calls = calls;  // the call tree
    this.focus = focus;
    this.origins = focus < 0 ? withSelfTime(calls) : outermost(calls, focus);
    this.time = focus < 0 ? calls.self : calls.total;
    this.was = calls.diff ? (focus < 0 ? calls.wasSelf : calls.wasTotal) : null;
    this.slots = new Int32Array(functionCount).fill(-1);
    this.tree = newTree(1024, calls.diff);
    this.tree.size = 0;
    this.grown = [];    // per node: callers with at least this time have been added; Infinity: none
    this.missing = [];  // per node: smaller callers have not been added
    this.next = [];     // per node: its next sibling
    this.child = [];    // per node: its first child
    if (calls.size) this.addRoot();
  }

  addRoot() {
    const sum = { func: this.focus < 0 ? this.calls.func[0] : this.focus, time: 0, was: 0, calls: 0, wasCalls: 0 };
    for (const origin of this.origins) this.count(sum, origin);
    if (this.focus < 0) sum.calls = sum.wasCalls = 0;
    this.add(-1, sum);
  }

  count(sum, origin) {
    sum.time += this.time[origin];
    sum.calls += this.calls.calls[origin];
    if (!this.was) return;
    sum.was += this.was[origin];
    sum.wasCalls += this.calls.wasCalls[origin];
  }

  add(parent, sum) {
    if (this.tree.size === this.tree.parent.length) this.widen();
    const node = this.tree.size++;
    this.tree.parent[node] = parent;
    this.tree.func[node] = sum.func;
    this.tree.depth[node] = parent < 0 ? 0 : this.tree.depth[parent] + 1;
    this.tree.total[node] = sum.time;
    this.tree.calls[node] = sum.calls;
    if (this.was) {
      this.tree.wasTotal[node] = sum.was;
      this.tree.wasCalls[node] = sum.wasCalls;
    }
    this.grown[node] = Infinity;
    this.missing[node] = false;
    this.child[node] = -1;
    this.next[node] = parent < 0 ? -1 : this.child[parent];
    if (parent >= 0) this.child[parent] = node;
    return node;
  }

  widen() {
    const wider = newTree(this.tree.size * 2, this.tree.diff);
    for (const column of Object.keys(wider)) {
      if (ArrayBuffer.isView(wider[column])) wider[column].set(this.tree[column]);
    }
    wider.size = this.tree.size;
    this.tree = wider;
  }

  hasMore(node) {
    return this.missing[node] || this.grown[node] === Infinity;
  }

  // Adds the part below `node` that can be seen when zoomed to it. True if the tree has changed.
  grow(node) {
    const minTime = this.tree.size ? this.sizeOf(this.tree.total[node], this.was && this.tree.wasTotal[node]) * minShare : 0;
    if (!this.tree.size || this.grown[node] <= minTime) return false;
    const queue = [{ node, ...this.itemsOf(node) }];
    let steps = 0;
    for (let i = 0; i < queue.length && steps < maxSteps; i++) {
      steps += queue[i].leaf.length;
      this.expand(queue[i], minTime, queue);
      queue[i] = null;  // its lists may be large
    }
    return true;
  }

  // A node is as large as the larger of its times now and before.
  sizeOf(time, was) {
    return Math.max(time, was || 0);
  }

  // The nodes of the call tree that `node` sums: `leaf` spent the time, `caller` is the first caller
  // beyond the path of `node` (-1: none).
  itemsOf(node) {
    const path = [];
    for (let n = node; n > 0; n = this.tree.parent[n]) path.unshift(this.tree.func[n]);
    const { func } = this.calls;
    const leaf = [];
    const caller = [];
    for (const origin of this.origins) {
      let at = this.focus < 0 ? origin : this.above(origin);
      let step = 0;
      while (step < path.length && at >= 0 && func[at] === path[step]) {
        at = this.above(at);
        step++;
      }
      if (step < path.length) continue;
      leaf.push(origin);
      caller.push(at);
    }
    return { leaf, caller };
  }

  // The caller of a node, or -1: the root is not a call.
  above(node) {
    return this.calls.parent[node] > 0 ? this.calls.parent[node] : -1;
  }

  // Sums the items by caller and adds a child for each caller that is large enough.
  expand({ node, leaf, caller }, minTime, queue) {
    const { func } = this.calls;
    const groups = [];
    for (let i = 0; i < leaf.length; i++) {
      if (caller[i] < 0) continue;
      const f = func[caller[i]];
      if (this.slots[f] < 0) this.slots[f] = groups.push({ func: f, time: 0, was: 0, calls: 0, wasCalls: 0, items: 0 }) - 1;
      const group = groups[this.slots[f]];
      this.count(group, leaf[i]);
      group.items++;
    }
    this.makeChildren(node, groups, minTime);
    for (let i = 0; i < leaf.length; i++) {
      const group = caller[i] < 0 ? null : groups[this.slots[func[caller[i]]]];
      if (!group || group.node < 0) continue;
      const at = --group.items;
      group.leaf[at] = leaf[i];
      group.caller[at] = this.above(caller[i]);
    }
    for (const group of groups) {
      this.slots[group.func] = -1;
      if (group.node >= 0) queue.push({ node: group.node, leaf: group.leaf, caller: group.caller });
    }
    this.grown[node] = minTime;
    this.missing[node] = groups.some((group) => group.node < 0);
  }

  makeChildren(node, groups, minTime) {
    const known = new Map();
    for (let c = this.child[node]; c >= 0; c = this.next[c]) known.set(this.tree.func[c], c);
    for (const group of groups) {
      group.node = known.get(group.func) ?? -1;
      if (group.node < 0 && this.sizeOf(group.time, group.was) >= minTime) group.node = this.add(node, group);
      if (group.node < 0) continue;
      group.leaf = new Int32Array(group.items);
      group.caller = new Int32Array(group.items);
    }
  }
}

// The nodes with self time, now or before.
function withSelfTime({ size, self, wasSelf }) {
  const list = [];
  for (let node = 0; node < size; node++) if (self[node] > 0 || (wasSelf && wasSelf[node] > 0)) list.push(node);
  return list;
}

// The nodes of a function that are not below another node of the same function.
export function outermost({ size, func, depth }, focus) {
  const list = [];
  let within = Infinity;  // depth of the node of `focus` around this one
  for (let node = 0; node < size; node++) {
    if (depth[node] <= within) within = Infinity;
    if (within !== Infinity || func[node] !== focus) continue;
    within = depth[node];
    list.push(node);
  }
  return list;
}
