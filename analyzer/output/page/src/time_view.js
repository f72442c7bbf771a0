// SPDX-License-Identifier: MIT
// What the views over time show: rows of slices on one axis of time. Knows nothing of the screen. It
// has the interface of View (view.js): slices are nodes, their lengths are totals.
//
// Invariant: `layout.row` is sorted by begin within each row, and no two slices of a row overlap.
import { firstAfter } from "./layout.js";
import { NodeView } from "./node_view.js";
import { activeTracks } from "./stretches.js";

const minSpan = 20;  // ns

export class TimeView extends NodeView {
  constructor(functions, chart) {
    super();
    this.functions = functions;
    this.chart = chart;
    this.end = Math.max(chart.end, 1);
    this.offset = chart.offset;  // added to times when they are shown: the chart may be of a range
    this.onlyActive = false;  // hide tracks that are suspended in the whole range
    this.isTime = true;
    this.range = { x: 0, span: this.end };
    this.selected = -1;
    this.zoom = 0;
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
    if (!this.onlyActive) return [...this.chart.tracks];
    const active = activeTracks(this.chart, x, x + span);
    if (this.selected >= 0) active[this.tree.track[this.selected]] = 1;
    return this.chart.tracks.filter((track) => active[track.id]);
  }

  setOnlyActive(on) {
    this.onlyActive = on;
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
    const newSpan = Math.min(this.end, Math.max(minSpan, span));
    this.range = { x: Math.min(Math.max(0, x), this.end - newSpan), span: newSpan };
    if (this.onlyActive) this.rearrange();
  }

  // Makes the range `factor` times as wide; the time `fixed` stays where it is on the screen.
  scale(factor, fixed) {
    const { x, span } = this.range;
    const newSpan = Math.min(this.end, Math.max(minSpan, span * factor));
    this.showRange(fixed - ((fixed - x) * newSpan) / span, newSpan);
  }

  pan(part) {
    this.showRange(this.range.x + part * this.range.span, this.range.span);
  }

  // With a margin on both sides.
  showAround(begin, length) {
    this.showRange(begin - length * 0.02, length * 1.04);
  }

  zoomTo(node) {
    this.showAround(this.layout.start[node], this.tree.total[node]);
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

  // In the range.
  child(node) {
    const { x, span } = this.range;
    return super.child(node, Math.max(x, this.layout.start[node]), x + span);
  }

  // The next (step 1) or previous (-1) slice of the row, or -1.
  beside(node, step) {
    const { layout } = this;
    const depth = this.tree.depth[node];
    const at = firstAfter(layout, depth, layout.start[node]) + step;
    return at >= layout.rowFirst[depth] && at < layout.rowFirst[depth + 1] ? layout.row[at] : -1;
  }

  // The first slice in the range in the first row that has one, or -1.
  firstShown() {
    const { layout, range } = this;
    for (let depth = 0; depth < layout.rows; depth++) {
      const at = firstAfter(layout, depth, range.x);
      if (at < layout.rowFirst[depth + 1] && layout.start[layout.row[at]] < range.x + range.span) return layout.row[at];
    }
    return -1;
  }

  // The next (step 1) or previous (-1) slice by begin time that matches; -1 if there is
  // none. from: a slice, or -1 to start at the range's edge.
  nextOf(matches, from, step) {
    const { tree, layout } = this;
    const edge = step > 0 ? this.range.x : this.range.x + this.range.span;
    const before = (a, b) => layout.start[a] - layout.start[b] || a - b;
    let next = -1;
    for (let node = 0; node < tree.size; node++) {
      if (tree.depth[node] < 0 || !matches(node)) continue;
      const passed = from >= 0 ? before(node, from) * step > 0 : (layout.start[node] - edge) * step >= 0;
      if (passed && (next < 0 || before(node, next) * step < 0)) next = node;
    }
    return next;
  }
}
