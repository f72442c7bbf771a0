// SPDX-License-Identifier: MIT
// What a graph shows: which tree, in which order, zoomed to which node. Knows nothing of the screen.
// The views over time are in time_view.js.
//
// Invariant: `layout` belongs to `tree`; `zoom` and `selected` are nodes of it (selected may be -1).
import { BottomUp } from "./bottom_up.js";
import { firstAfter, makeLayout, rowsIn } from "./layout.js";
import { NodeView } from "./node_view.js";
import { mergeCallees } from "./sandwich.js";

// A tree, its layout and zoom. `grower`, if not null, adds nodes to the tree on a zoom (BottomUp).
class TreeView extends NodeView {
  constructor(functions, calls) {
    super();
    this.functions = functions;
    this.calls = calls;
    this.grower = null;
    this.order = "size";
    this.rank = alphabet(functions);
  }

  get total() {
    return this.calls.size ? this.calls.total[0] : 0;
  }

  // The part of the time axis that is zoomed to.
  get range() {
    const { zoom, layout, tree } = this;
    return tree.size ? { x: layout.start[zoom], span: tree.total[zoom] } : { x: 0, span: 0 };
  }

  get zoomDepth() {
    return this.tree.size ? this.tree.depth[this.zoom] : 0;
  }

  get isZoomed() {
    return this.zoom > 0;
  }

  rowsShown() {
    const { x, span } = this.range;
    return this.tree.size ? rowsIn(this.layout, this.zoomDepth, x, span) : 0;
  }

  setTree(tree, grower = null) {
    this.grower = grower;
    this.root = tree;
    this.arrange();
    this.zoom = 0;
    this.selected = -1;
  }

  arrange() {
    this.layout = makeLayout(this.grower ? this.grower.tree : this.root, this.order, this.rank);
  }

  setOrder(order) {
    this.order = order;
    this.arrange();
  }

  zoomTo(node) {
    this.zoom = node;
    if (this.grower && this.grower.grow(node)) this.arrange();
  }

  // Whether the node has callers that are added only on a zoom to it.
  hasMore(node) {
    return this.grower !== null && this.grower.hasMore(node);
  }

  // The next node of the row to the right (step 1) or left (-1) with any width, or -1.
  beside(node, step) {
    const { layout, tree } = this;
    const depth = tree.depth[node];
    const { x, span } = this.range;
    let at = firstAfter(layout, depth, layout.start[node]) + step;
    for (; at >= layout.rowFirst[depth] && at < layout.rowFirst[depth + 1]; at += step) {
      const next = layout.row[at];
      if (tree.total[next] > 0) {
        return layout.start[next] >= x && layout.start[next] < x + span ? next : -1;
      }
    }
    return -1;
  }

  // The node of a path of functions from the root, as far as there is one.
  nodeOf(path) {
    let node = 0;
    for (const func of path) {
      if (this.grower?.grow(node)) this.arrange();
      const { tree, layout } = this;
      const depth = tree.depth[node] + 1;
      if (depth >= layout.rows) break;
      const row = layout.row.subarray(layout.rowFirst[depth], layout.rowFirst[depth + 1]);
      const next = row.find((one) => tree.parent[one] === node && tree.func[one] === func);
      if (next === undefined) break;
      node = next;
    }
    return node;
  }

  isInZoom(node) {
    for (let n = node; n >= 0; n = this.tree.parent[n]) if (n === this.zoom) return true;
    return false;
  }
}

// The call tree, or the whole tree bottom-up.
export class View extends TreeView {
  constructor(functions, calls) {
    super(functions, calls);
    this.bottomUp = null;  // made on first use
    this.callers = false;
    this.show();
  }

  get name() {
    return this.callers ? "callers" : "calls";
  }

  show() {
    if (this.callers) this.setTree(null, this.bottomUpTree());
    else this.setTree(this.calls);
  }

  bottomUpTree() {
    if (!this.bottomUp) {
      this.bottomUp = new BottomUp(this.calls, this.functions.length);
      this.bottomUp.grow(0);
    }
    return this.bottomUp;
  }

  setCallers(callers) {
    if (this.callers === callers) return;
    this.callers = callers;
    this.show();
  }

  // Shows another call tree, or the same after its times have been swapped.
  setCalls(calls) {
    this.calls = calls;
    this.bottomUp = null;
    this.show();
  }
}

// One half of the sandwich: the callers or the callees of a function. Its root is the function.
export class SandwichView extends TreeView {
  constructor(functions, calls, upper) {
    super(functions, calls);
    this.upper = upper;
    this.callers = upper;
    this.name = upper ? "focusCallers" : "focusCallees";
    this.setFocus(-1);
  }

  setFocus(func) {
    this.focus = func;
    if (!this.upper) {
      this.setTree(mergeCallees(this.calls, this.functions.length, func));
      return;
    }
    const grower = new BottomUp(this.calls, this.functions.length, func);
    grower.grow(0);
    this.setTree(null, grower);
  }

  // To be called with another call tree.
  setCalls(calls) {
    this.calls = calls;
    this.setFocus(this.focus);
  }
}

// Each function's place in alphabetical order.
function alphabet(functions) {
  const order = functions.map((f) => f.id);
  const key = functions.map((f) => `${f.name}\0${f.where}`);
  order.sort((a, b) => (key[a] < key[b] ? -1 : key[a] > key[b] ? 1 : a - b));
  const rank = new Int32Array(functions.length);
  order.forEach((id, place) => (rank[id] = place));
  return rank;
}
