// SPDX-License-Identifier: MIT
// The coroutines: one row for each, with its life as stretches in which it ran, waited for one that
// it had resumed, or was suspended. Made from the chart's slices; the sums shown are exact all the
// same, they come with the tracks.
import { addPseudo } from "./data.js";
import { firstAfter } from "./layout.js";
import { codes } from "./chart_data.js";
import { trackTitle } from "./chart_view.js";
import { TimeView } from "./time_view.js";

const states = [
  ["running", "laneRuns"],
  ["waits for a coroutine it resumed", "laneWaits"],
  ["suspended", "laneSuspended"],
  ["runs and is suspended in turn", "laneMixed"],
];
const stateOf = { runs: 0, waits: 1, suspended: 2, mixed: 3 };

const orders = {
  begin: (a, b) => a.begin - b.begin,
  life: (a, b) => b.life - a.life,
  running: (a, b) => b.running - a.running,
  suspended: (a, b) => b.suspended - a.suspended,
  resumes: (a, b) => b.resumes - a.resumes,
};

export class LanesView extends TimeView {
  constructor(functions, chart) {
    super(functions, chart.end);
    this.name = "lanes";
    this.chart = chart;
    this.order = "begin";
    this.states = states.map(([name, kind]) => addPseudo(functions, name, "", kind));
    this.stretches = makeStretches(chart, this.states);
    this.resumptions = findResumptions(chart);
    this.arrange();
  }

  setOrder(order) {
    this.order = order;
    this.arrange();
  }

  arrange() {
    const { tracks } = this.chart;
    this.lanes = [...tracks].sort((a, b) => orders[this.order](a, b) || a.id - b.id);
    this.rowOfTrack = new Int32Array(tracks.length);
    this.lanes.forEach((track, row) => (this.rowOfTrack[track.id] = row));
    const { track, begin } = this.stretches;
    const rowOf = track.map((id) => this.rowOfTrack[id]);
    this.setRows(this.stretches, begin, rowOf, tracks.length);
  }

  // The name beside a row.
  labelOf(row) {
    return trackTitle(this.lanes[row], this.functions);
  }

  // What a coroutine waits for; the other states have their colours.
  labelFor(node) {
    const other = this.stretches.other[node];
    return { name: other < 0 ? "" : `→ ${trackTitle(this.chart.tracks[other], this.functions)}`, where: "" };
  }

  parent() {
    return -1;
  }

  // Up and down: the stretch of the lane above or below that is nearest in time.
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

  // The resumptions that are in the range, at most `most`; null if there are more.
  resumptionsShown(most) {
    const { x, span } = this.range;
    const list = this.resumptions.filter(({ time }) => time >= x && time <= x + span);
    return list.length > most ? null : list;
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

function makeStretches(chart, ids) {
  const made = { track: [], func: [], begin: [], total: [], other: [] };
  const add = (track, state, begin, end, other = -1) => {
    if (end <= begin) return;
    const last = made.track.length - 1;
    const joins = last >= 0 && made.track[last] === track && made.func[last] === ids[state] && state !== stateOf.waits;
    if (joins && made.begin[last] + made.total[last] >= begin) {
      made.total[last] = end - made.begin[last];
      return;
    }
    for (const [name, value] of Object.entries({ track, func: ids[state], begin, total: end - begin, other })) made[name].push(value);
  };
  for (const track of chart.tracks) addTrack(chart, track, add);
  return {
    size: made.track.length,
    track: Int32Array.from(made.track),
    func: Int32Array.from(made.func),
    begin: Float64Array.from(made.begin),
    total: Float64Array.from(made.total),
    other: Int32Array.from(made.other),
    parent: new Int32Array(made.track.length).fill(-1),
  };
}

// An outermost slice runs where nothing in it says otherwise.
function addTrack({ slices, pseudo }, track, add) {
  let at = track.first;
  while (at < track.last) {
    let from = slices.begin[at];
    const end = from + slices.length[at];
    let inner = at;
    do {
      const state = stateAt(slices, pseudo, inner);
      if (state !== stateOf.runs) {
        const begin = slices.begin[inner];
        add(track.id, stateOf.runs, from, begin);
        from = begin + slices.length[inner];
        add(track.id, state, begin, from, slices.other[inner]);
      }
      inner++;
    } while (inner < track.last && slices.level[inner] > 0);
    add(track.id, stateOf.runs, from, end);
    at = inner;
  }
}

function stateAt(slices, pseudo, at) {
  const func = slices.func[at];
  if (func === pseudo[codes.waits]) return stateOf.waits;
  if (func === pseudo[codes.yielded]) return stateOf.suspended;
  if (func === pseudo[codes.short] && slices.running[at] < slices.length[at] * 0.98) return stateOf.mixed;
  return stateOf.runs;
}
