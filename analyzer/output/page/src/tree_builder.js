// SPDX-License-Identifier: MIT
// Makes call trees whose nodes come in any order: sums per call path, in preorder at the end.
import { figuresOf, newTree, sumTotals } from "./data.js";

export class TreeBuilder {
  constructor(rootFunc, functionCount, diff) {
    this.functionCount = functionCount;
    this.diff = diff;
    this.names = figuresOf(diff).filter((name) => !/total/i.test(name))  // totals follow from self times;
    this.func = [rootFunc];
    this.parent = [-1];
    this.known = new Map();  // parent * functionCount + function: node
    this.figures = Object.fromEntries(this.names.map((name) => [name, [0]]));
  }

  // The callee of a node, made on first use.
  child(parent, func) {
    const key = parent * this.functionCount + func;
    let node = this.known.get(key);
    if (node === undefined) {
      this.known.set(key, (node = this.func.push(func) - 1));
      this.parent.push(parent);
      for (const name of this.names) this.figures[name].push(0);
    }
    return node;
  }

  add(node, name, value) {
    this.figures[name][node] += value;
  }

  finish() {
    const size = this.func.length;
    const child = new Int32Array(size).fill(-1);
    const next = new Int32Array(size).fill(-1);
    for (let node = size - 1; node > 0; node--) {
      next[node] = child[this.parent[node]];
      child[this.parent[node]] = node;
    }
    const tree = newTree(size, this.diff);
    const place = new Int32Array(size);
    const stack = [0];
    for (let at = 0; stack.length; at++) {
      const node = stack.pop();
      place[node] = at;
      tree.func[at] = this.func[node];
      tree.parent[at] = node ? place[this.parent[node]] : -1;
      tree.depth[at] = node ? tree.depth[tree.parent[at]] + 1 : 0;
      for (const name of this.names) tree[name][at] = this.figures[name][node];
      if (node && next[node] >= 0) stack.push(next[node]);
      if (child[node] >= 0) stack.push(child[node]);
    }
    sumTotals(tree);
    return tree;
  }
}
