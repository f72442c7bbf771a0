// SPDX-License-Identifier: MIT
// What is looked at: which tree, in which order, zoomed to which node. Knows nothing of the screen.
// (What is looked at over time is in time_view.js.)
//
// Invariant: `layout` belongs to `tree`; `zoom` and `selected` are nodes of it (selected may be -1).
import { BottomUp } from "./bottom_up.js";
import { firstAfter, makeLayout, rowsIn } from "./layout.js";
import { mergeCallees } from "./sandwich.js";

// A tree, and how it is looked at. `grower`, if it has one, makes more of it where one zooms to.
class TreeView {
  constructor(functions, calls) {
    this.functions = functions;
    this.calls = calls;
    this.grower = null;
    this.order = "size";
    this.rank = alphabet(functions);
  }

  get tree() {
    return this.layout.tree;
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

  // Callers that are too small to be made before someone zooms to the node.
  hasMore(node) {
    return this.grower !== null && this.grower.hasMore(node);
  }

  parent(node) {
    return this.tree.parent[node];
  }

  // The widest child, or -1.
  child(node) {
    const { layout, tree } = this;
    const depth = tree.depth[node] + 1;
    let widest = -1;
    if (depth >= layout.rows) return widest;
    for (let at = firstAfter(layout, depth, layout.start[node]); at < layout.rowFirst[depth + 1]; at++) {
      const child = layout.row[at];
      if (tree.parent[child] !== node) break;
      if (widest < 0 || tree.total[child] > tree.total[widest]) widest = child;
    }
    return widest;
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

  // The widest node of a function, or -1.
  widest(func) {
    const { tree } = this;
    let best = -1;
    for (let node = 1; node < tree.size; node++) {
      if (tree.func[node] === func && (best < 0 || tree.total[node] > tree.total[best])) best = node;
    }
    return best;
  }

  isInZoom(node) {
    for (let n = node; n >= 0; n = this.tree.parent[n]) if (n === this.zoom) return true;
    return false;
  }

  wayTo(node) {
    const way = [];
    for (let n = node; n >= 0; n = this.tree.parent[n]) way.push(n);
    return way.reverse();
  }
}

// The call tree, or all of it turned round.
export class View extends TreeView {
  constructor(functions, calls) {
    super(functions, calls);
    this.bottomUp = null;  // made when first asked for
    this.callers = false;
    this.show();
  }

  get name() {
    return this.callers ? "callers" : "calls";
  }

  show() {
    if (this.callers) this.setTree(null, this.turned());
    else this.setTree(this.calls);
  }

  turned() {
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

  // The times of the call tree are others now.
  renew() {
    this.bottomUp = null;
    this.show();
  }
}

// One half of the sandwich: the callers of a function, or what it called. Its root is the function.
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

  renew() {
    this.setFocus(this.focus);
  }
}

// Each function's place in the alphabet.
function alphabet(functions) {
  const order = functions.map((f) => f.id);
  const key = functions.map((f) => `${f.name}\0${f.where}`);
  order.sort((a, b) => (key[a] < key[b] ? -1 : key[a] > key[b] ? 1 : a - b));
  const rank = new Int32Array(functions.length);
  order.forEach((id, place) => (rank[id] = place));
  return rank;
}
