// SPDX-License-Identifier: MIT
// The coroutines: one row for each, with the stretches of time in which it ran, waited for one that
// it had resumed, or was suspended. The stretches are made from the chart's slices, which lack short
// calls; the sums shown are those of the tracks, which are exact.
import { trackTitle } from "./chart_view.js";
import { firstAfter } from "./layout.js";
import { TimeView } from "./time_view.js";

const orders = {
  begin: (a, b) => a.begin - b.begin,
  life: (a, b) => b.life - a.life,
  running: (a, b) => b.running - a.running,
  suspended: (a, b) => b.suspended - a.suspended,
  resumes: (a, b) => b.resumes - a.resumes,
};

export class LanesView extends TimeView {
  constructor(functions, chart) {
    super(functions, chart);
    this.name = "lanes";
    this.order = "begin";
    this.stretches = chart.stretches;
    this.resumptions = findResumptions(chart);
    this.arrange();
  }

  setOrder(order) {
    this.order = order;
    this.arrange();
  }

  arrange() {
    const { tracks } = this.chart;
    this.lanes = this.tracksShown().sort((a, b) => orders[this.order](a, b) || a.id - b.id);
    this.rowOfTrack = new Int32Array(tracks.length).fill(-1);
    this.lanes.forEach((track, row) => (this.rowOfTrack[track.id] = row));
    const { track, begin } = this.stretches;
    const rowOf = track.map((id) => this.rowOfTrack[id]);
    this.setRows(this.stretches, begin, rowOf, this.lanes.length);
  }

  // The name beside a row.
  labelOf(row) {
    return trackTitle(this.lanes[row], this.functions);
  }

  // A wait is labelled with the coroutine that is waited for; the other states need no label.
  labelFor(node) {
    const other = this.stretches.other[node];
    return { name: other < 0 ? "" : `→ ${trackTitle(this.chart.tracks[other], this.functions)}`, where: "" };
  }

  parent() {
    return -1;
  }

  // The stretch at the same time in the lane above (step -1) or below (1), else the next or
  // the last one there; -1 if there is no such lane.
  above(node, step) {
    const { layout, tree } = this;
    const row = tree.depth[node] + step;
    if (row < 0 || row >= layout.rows) return -1;
    const at = firstAfter(layout, row, layout.start[node]);
    const last = layout.rowFirst[row + 1] - 1;
    return last < layout.rowFirst[row] ? -1 : layout.row[Math.min(at, last)];
  }

  trackOf(node) {
    return this.stretches.track[node];
  }

  // The resumptions in the range; null if there are more than `limit`.
  resumptionsShown(limit) {
    const { x, span } = this.range;
    const shown = ({ from, to }) => this.rowOfTrack[from] >= 0 && this.rowOfTrack[to] >= 0;
    const list = this.resumptions.filter((one) => one.time >= x && one.time <= x + span && shown(one));
    return list.length > limit ? null : list;
  }
}

// Every moment at which one track resumed another: { time, from, to }.
function findResumptions({ slices }) {
  const list = [];
  for (let at = 0; at < slices.size; at++) {
    if (slices.other[at] >= 0) list.push({ time: slices.begin[at], from: slices.track[at], to: slices.other[at] });
  }
  return list;
}
