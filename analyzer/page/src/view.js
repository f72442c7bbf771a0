// SPDX-License-Identifier: MIT
// What is looked at: which tree, in which order, zoomed to which node. Knows nothing of the screen.
//
// Invariant: `layout` belongs to `tree`; `zoom` and `selected` are nodes of it (selected may be -1).
import { BottomUp } from "./bottom_up.js";
import { firstAfter, makeLayout } from "./layout.js";

export class View {
  constructor(profile, calls) {
    this.functions = profile.functions;
    this.calls = calls;
    this.bottomUp = null;  // made when first asked for
    this.callers = false;
    this.order = "size";
    this.rank = alphabet(this.functions);
    this.show();
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

  show() {
    this.arrange();
    this.zoom = 0;
    this.selected = -1;
  }

  arrange() {
    const tree = this.callers ? this.turned().tree : this.calls;
    this.layout = makeLayout(tree, this.order, this.rank);
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

  setOrder(order) {
    this.order = order;
    this.arrange();
  }

  zoomTo(node) {
    this.zoom = node;
    if (this.callers && this.bottomUp.grow(node)) this.arrange();
  }

  // Callers that are too small to be made before someone zooms to the node.
  hasMore(node) {
    return this.callers && this.bottomUp.hasMore(node);
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

// Each function's place in the alphabet.
function alphabet(functions) {
  const order = functions.map((f) => f.id);
  const key = functions.map((f) => `${f.name}\0${f.where}`);
  order.sort((a, b) => (key[a] < key[b] ? -1 : key[a] > key[b] ? 1 : a - b));
  const rank = new Int32Array(functions.length);
  order.forEach((id, place) => (rank[id] = place));
  return rank;
}
