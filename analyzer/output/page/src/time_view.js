// SPDX-License-Identifier: MIT
// What is looked at in the views over time: rows of slices on one axis of time. Knows nothing of the
// screen. To the graph it is what View (view.js) is: slices are nodes, their lengths are totals.
//
// Invariant: `layout.row` is sorted by begin within each row, and no two slices of a row overlap.
import { firstAfter } from "./layout.js";
import { tracksAtWork } from "./stretches.js";

const smallestSpan = 20;  // ns

export class TimeView {
  constructor(functions, chart) {
    this.functions = functions;
    this.chart = chart;
    this.end = Math.max(chart.end, 1);
    this.offset = chart.offset;  // what to add to a time to tell it: the chart may be of a range
    this.onlyAtWork = false;  // leave out tracks that are suspended in all of the range
    this.isTime = true;
    this.range = { x: 0, span: this.end };
    this.selected = -1;
    this.zoom = 0;
  }

  get tree() {
    return this.layout.tree;
  }

  get total() {
    return this.end;
  }

  get zoomDepth() {
    return 0;
  }

  get isZoomed() {
    return this.range.span < this.end;
  }

  rowsShown() {
    return this.layout.rows;
  }

  tracksShown() {
    const { x, span } = this.range;
    if (!this.onlyAtWork) return [...this.chart.tracks];
    const works = tracksAtWork(this.chart, x, x + span);
    if (this.selected >= 0) works[this.tree.track[this.selected]] = 1;
    return this.chart.tracks.filter((track) => works[track.id]);
  }

  setOnlyAtWork(on) {
    this.onlyAtWork = on;
    this.rearrange();
  }

  rearrange() {
    this.arrange();
    if (this.selected >= 0 && this.tree.depth[this.selected] < 0) this.selected = -1;
  }

  // rowOf[node]: its row, or -1 for a node that is not shown.
  setRows(tree, start, rowOf, rows) {
    const rowFirst = new Int32Array(rows + 1);
    let shown = 0;
    for (let node = 0; node < tree.size; node++) {
      if (rowOf[node] < 0) continue;
      rowFirst[rowOf[node] + 1]++;
      shown++;
    }
    for (let i = 1; i <= rows; i++) rowFirst[i] += rowFirst[i - 1];
    const next = rowFirst.slice();
    const row = new Int32Array(shown);
    for (let node = 0; node < tree.size; node++) if (rowOf[node] >= 0) row[next[rowOf[node]]++] = node;
    this.layout = { tree: { ...tree, depth: rowOf }, start, row, rowFirst, rows };
  }

  showRange(x, span) {
    const wide = Math.min(this.end, Math.max(smallestSpan, span));
    this.range = { x: Math.min(Math.max(0, x), this.end - wide), span: wide };
    if (this.onlyAtWork) this.rearrange();
  }

  // Makes the range `factor` times as wide; the time `fixed` stays where it is on the screen.
  scale(factor, fixed) {
    const { x, span } = this.range;
    const wide = Math.min(this.end, Math.max(smallestSpan, span * factor));
    this.showRange(fixed - ((fixed - x) * wide) / span, wide);
  }

  pan(part) {
    this.showRange(this.range.x + part * this.range.span, this.range.span);
  }

  // Zooms to a slice with a little room on both sides.
  zoomTo(node) {
    const length = this.tree.total[node];
    this.showRange(this.layout.start[node] - length * 0.02, length * 1.04);
  }

  // Moves the range, without zooming in, so that the slice is in it.
  reveal(node) {
    const { x, span } = this.range;
    const begin = this.layout.start[node];
    const end = begin + this.tree.total[node];
    if (end > x && begin < x + span) return;
    this.showRange((begin + end) / 2 - span / 2, span);
  }

  hasMore() {
    return false;
  }

  isInZoom() {
    return true;
  }

  parent(node) {
    return this.tree.parent[node];
  }

  // The longest slice right below that is in the range, or -1.
  child(node) {
    const depth = this.tree.depth[node] + 1;
    return depth >= this.layout.rows ? -1 : this.longestIn(depth, node);
  }

  longestIn(depth, parent) {
    const { layout, tree } = this;
    const from = Math.max(this.range.x, layout.start[parent]);
    let longest = -1;
    for (let at = firstAfter(layout, depth, from); at < layout.rowFirst[depth + 1]; at++) {
      const node = layout.row[at];
      if (tree.parent[node] !== parent || layout.start[node] >= this.range.x + this.range.span) break;
      if (longest < 0 || tree.total[node] > tree.total[longest]) longest = node;
    }
    return longest;
  }

  // The next slice of the row, or -1.
  beside(node, step) {
    const { layout } = this;
    const depth = this.tree.depth[node];
    const at = firstAfter(layout, depth, layout.start[node]) + step;
    return at >= layout.rowFirst[depth] && at < layout.rowFirst[depth + 1] ? layout.row[at] : -1;
  }

  // The slice to begin with: the first row's first in the range.
  firstShown() {
    const { layout, range } = this;
    for (let depth = 0; depth < layout.rows; depth++) {
      const at = firstAfter(layout, depth, range.x);
      if (at < layout.rowFirst[depth + 1] && layout.start[layout.row[at]] < range.x + range.span) return layout.row[at];
    }
    return -1;
  }

  // The longest slice of a function, or -1.
  widest(func) {
    const { tree } = this;
    let best = -1;
    for (let node = 0; node < tree.size; node++) {
      if (tree.func[node] === func && tree.depth[node] >= 0 && (best < 0 || tree.total[node] > tree.total[best])) best = node;
    }
    return best;
  }

  // The next slice (step 1) or the one before (-1), by the time they begin, whose function fits; -1 if
  // there is none. from: a slice, or -1 to begin at the range's edge.
  nextOf(fits, from, step) {
    const { tree, layout } = this;
    const edge = step > 0 ? this.range.x : this.range.x + this.range.span;
    const before = (a, b) => layout.start[a] - layout.start[b] || a - b;
    let next = -1;
    for (let node = 0; node < tree.size; node++) {
      if (tree.depth[node] < 0 || !fits(tree.func[node])) continue;
      const passed = from >= 0 ? before(node, from) * step > 0 : (layout.start[node] - edge) * step >= 0;
      if (passed && (next < 0 || before(node, next) * step < 0)) next = node;
    }
    return next;
  }

  wayTo(node) {
    const way = [];
    for (let n = node; n >= 0; n = this.tree.parent[n]) way.push(n);
    return way.reverse();
  }
}
