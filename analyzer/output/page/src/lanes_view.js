// SPDX-License-Identifier: MIT
// The coroutines: one row for each, or packed into few rows by their bodies (packing.js), with the stretches of time in which it ran, waited for one that
// it had resumed, or was suspended. The stretches are made from the chart's slices, which lack short
// calls; the sums shown are those of the tracks, which are exact.
import { trackTitle } from "./chart_view.js";
import { formatCount } from "./format.js";
import { atSameTime } from "./layout.js";
import { groupTitle, groupTracks, packSlots } from "./packing.js";
import { TimeView } from "./time_view.js";

const orders = {
  begin: (a, b) => a.begin - b.begin,
  life: (a, b) => b.life - a.life,
  running: (a, b) => b.running - a.running,
  suspended: (a, b) => b.suspended - a.suspended,
  resumes: (a, b) => b.resumes - a.resumes,
};

const maxSingleRows = 100;  // more coroutines are packed at first

export class LanesView extends TimeView {
  constructor(functions, chart) {
    super(functions, chart);
    this.name = "lanes";
    this.order = chart.tracks.length > maxSingleRows ? "packed" : "begin";
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
    this.lanes = [];  // by row: the first coroutine in it
    this.titles = [];
    this.rowOfTrack = new Int32Array(tracks.length).fill(-1);
    if (this.order === "packed") this.addGroups();
    else this.addSingly();
    const { track, begin } = this.stretches;
    const rowOf = track.map((id) => this.rowOfTrack[id]);
    this.setRows(this.stretches, begin, rowOf, this.lanes.length);
  }

  addSingly() {
    for (const track of this.tracksShown().sort((a, b) => orders[this.order](a, b) || a.id - b.id)) {
      this.addRow(trackTitle(track, this.functions), [track]);
    }
  }

  addGroups() {
    for (const group of groupTracks(this.tracksShown())) {
      const title = group.tracks.length === 1 ? trackTitle(group.tracks[0], this.functions) : groupTitle(group, this.functions);
      packSlots(group.tracks).forEach((slot, i) => this.addRow(i ? "" : title, slot));
    }
  }

  addRow(title, tracks) {
    for (const track of tracks) this.rowOfTrack[track.id] = this.lanes.length;
    this.lanes.push(tracks[0]);
    this.titles.push(title);
  }

  // The name beside a row.
  labelOf(row) {
    return this.titles[row];
  }

  // A wait is labelled with the coroutine that is waited for; the other states need no label.
  labelFor(node) {
    const other = this.stretches.other[node];
    return { name: other < 0 ? "" : `→ ${trackTitle(this.chart.tracks[other], this.functions)}`, where: "" };
  }

  parent() {
    return -1;
  }

  // A coroutine matches by its name, or by a call in it.
  isMarked(node, look) {
    return this.marksOf(look)[this.stretches.track[node]] === 1;
  }

  marksOf(look) {
    if (this.marks?.of === look.marks) return this.marks.flags;
    const { slices, tracks } = this.chart;
    const flags = Uint8Array.from(tracks, (track) => (look.matcher(trackTitle(track, this.functions)) ? 1 : 0));
    for (let at = 0; at < slices.size; at++) if (look.marks[slices.func[at]]) flags[slices.track[at]] = 1;
    this.marks = { of: look.marks, flags };
    return flags;
  }

  foundText(look) {
    const count = this.marksOf(look).reduce((sum, flag) => sum + flag, 0);
    return `${formatCount(count)} ${count === 1 ? "coroutine" : "coroutines"}`;
  }

  // In the lane above (step -1) or below (1).
  above(node, step) {
    return atSameTime(this.layout, node, step);
  }

  trackOf(node) {
    return this.stretches.track[node];
  }

  // The resumptions in the range, with `own` only those from or to that coroutine; null if there are
  // more than `limit`.
  resumptionsShown(limit, own = -1) {
    const { x, span } = this.range;
    const { time, from, to } = this.resumptions;
    const list = [];
    for (let at = firstFrom(time, x); at < time.length && time[at] <= x + span; at++) {
      if (own >= 0 && from[at] !== own && to[at] !== own) continue;
      if (this.rowOfTrack[from[at]] < 0 || this.rowOfTrack[to[at]] < 0) continue;
      if (list.length === limit) return own >= 0 ? list : null;
      list.push({ time: time[at], from: from[at], to: to[at] });
    }
    return list;
  }
}

// Every moment at which one track resumed another, by time: columns time, from, to.
function findResumptions({ slices }) {
  const list = [];
  for (let at = 0; at < slices.size; at++) if (slices.other[at] >= 0) list.push(at);
  const order = Int32Array.from(list).sort((a, b) => slices.begin[a] - slices.begin[b] || a - b);
  return {
    time: Float64Array.from(order, (at) => slices.begin[at]),
    from: Int32Array.from(order, (at) => slices.track[at]),
    to: Int32Array.from(order, (at) => slices.other[at]),
  };
}

function firstFrom(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
