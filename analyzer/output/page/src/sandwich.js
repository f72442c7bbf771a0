// SPDX-License-Identifier: MIT
// The lower half of the sandwich: the callees of one function, merged over all its call paths. The
// upper half, its callers, is in bottom_up.js.
import { outermost } from "./bottom_up.js";
import { newTree } from "./data.js";

// Merges the subtrees of all outermost nodes of the function.
export function mergeCallees(calls, functionCount, focus) {
  const known = new Map();  // parent * functionCount + function: node
  const place = new Int32Array(calls.size);  // node of the call tree: node of the merged tree
  const made = { parent: [], func: [], depth: [], from: [] };
  const add = (parent, func, depth) => {
    made.parent.push(parent);
    made.func.push(func);
    made.depth.push(depth);
    return made.parent.length - 1;
  };
  add(-1, focus, 0);
  const sources = [];  // node of the call tree, node of the merged tree, and so on
  for (const top of outermost(calls, focus)) {
    for (let node = top; node < calls.size && (node === top || calls.depth[node] > calls.depth[top]); node++) {
      let to = 0;
      if (node !== top) {
        const parent = place[calls.parent[node]];
        const key = parent * functionCount + calls.func[node];
        to = known.get(key) ?? -1;
        if (to < 0) known.set(key, (to = add(parent, calls.func[node], made.depth[parent] + 1)));
      }
      place[node] = to;
      sources.push(node, to);
    }
  }
  return fill(calls, made, sources);
}

function fill(calls, made, sources) {
  const tree = newTree(made.parent.length, calls.diff);
  for (const column of ["parent", "func", "depth"]) tree[column].set(made[column]);
  const columns = Object.keys(tree).filter((name) => tree[name] instanceof Float64Array);
  for (const column of columns) {
    const from = calls[column];
    const to = tree[column];
    for (let i = 0; i < sources.length; i += 2) to[sources[i + 1]] += from[sources[i]];
  }
  return tree;
}
