// SPDX-License-Identifier: MIT
// Changes of the call tree on request, one function at a time. The call tree that is shown is the whole
// one with a list of these applied in turn.
import { TreeBuilder } from "./tree_builder.js";

// key: on the keyboard.
export const transforms = {
  focus: { label: "Focus on the function", short: "focus", key: "f", about: "only its calls and what they call" },
  merge: { label: "Merge the function into its callers", short: "merge", key: "m", about: "its own time counts as theirs" },
  drop: { label: "Drop the function's calls", short: "drop", key: "d", about: "with all that they call" },
  collapse: { label: "Collapse its recursion", short: "collapse", key: "r", about: "a call inside another one of the same function is part of it" },
};

// list: [{ type, func }]
export function transformed(tree, functionCount, list) {
  return list.reduce((from, transform) => rebuilt(from, functionCount, transform), tree);
}

// By type: place(tree, node, above, builder) -> the node of the new tree that takes the figures of a
// node; `above` is that of its caller. nowhere: its figures are not in the new tree.
const nowhere = -1;
const places = {
  focus: (func) => (tree, node, above, builder) => {
    if (above === nowhere) return tree.func[node] === func ? builder.child(0, func) : nowhere;
    return builder.child(above, tree.func[node]);
  },
  merge: (func) => (tree, node, above, builder) => (tree.func[node] === func ? above : builder.child(above, tree.func[node])),
  drop: (func) => (tree, node, above, builder) => (above === nowhere || tree.func[node] === func ? nowhere : builder.child(above, tree.func[node])),
  collapse: (func) => {
    const outer = [nowhere];  // by node: the place of the nearest call of the function around it
    return (tree, node, above, builder) => {
      const around = outer[tree.parent[node]];
      const isIt = tree.func[node] === func;
      const place = isIt && around !== nowhere ? around : builder.child(above, tree.func[node]);
      outer[node] = isIt ? place : around;
      return place;
    };
  },
};

function rebuilt(tree, functionCount, { type, func }) {
  const builder = new TreeBuilder(tree.func[0], functionCount, tree.diff);
  const place = places[type](func);
  const to = new Int32Array(tree.size);
  to[0] = type === "focus" ? nowhere : 0;
  for (let node = 0; node < tree.size; node++) {
    if (node) to[node] = place(tree, node, to[tree.parent[node]], builder);
    if (to[node] === nowhere) continue;
    const isMerged = builder.func[to[node]] !== tree.func[node];
    for (const name of builder.names) {
      if (isMerged && name.toLowerCase().endsWith("calls")) continue;  // these are no calls of the caller
      builder.add(to[node], name, tree[name][node]);
    }
  }
  return builder.finish();
}
