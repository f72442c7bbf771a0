// SPDX-License-Identifier: MIT
// What all views share: the way from node to node of a `layout` (layout.js, time_view.js).
import { firstAfter } from "./layout.js";

export class NodeView {
  get tree() {
    return this.layout.tree;
  }

  parent(node) {
    return this.tree.parent[node];
  }

  // The widest child that ends after `from` and begins before `to`, or -1.
  child(node, from = this.layout.start[node], to = Infinity) {
    const { layout, tree } = this;
    const depth = tree.depth[node] + 1;
    let widest = -1;
    if (depth >= layout.rows) return widest;
    for (let at = firstAfter(layout, depth, from); at < layout.rowFirst[depth + 1]; at++) {
      const child = layout.row[at];
      if (tree.parent[child] !== node || layout.start[child] >= to) break;
      if (widest < 0 || tree.total[child] > tree.total[widest]) widest = child;
    }
    return widest;
  }

  // The widest node of a function that is shown, or -1. The root of a tree is no call.
  widest(func) {
    const { tree } = this;
    let best = -1;
    for (let node = this.isTime ? 0 : 1; node < tree.size; node++) {
      if (tree.func[node] === func && tree.depth[node] >= 0 && (best < 0 || tree.total[node] > tree.total[best])) best = node;
    }
    return best;
  }

  // Whether the node matches the search. look.marks: flags by function.
  isMarked(node, look) {
    return look.marks[this.tree.func[node]] === 1;
  }

  // The next (step 1) or previous (-1) node that matches, in the order of the tree; -1 if there is none.
  nextOf(matches, from, step) {
    const { size } = this.tree;
    const first = from >= 0 ? from + step : step > 0 ? 1 : size - 1;
    for (let node = first; node > 0 && node < size; node += step) if (matches(node)) return node;
    return -1;
  }

  pathTo(node) {
    const path = [];
    for (let n = node; n >= 0; n = this.tree.parent[n]) path.push(n);
    return path.reverse();
  }
}
