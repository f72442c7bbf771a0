// SPDX-License-Identifier: MIT
// What each coroutine did all its life, as far as the chart's slices tell: stretches in which it ran,
// waited for one that it had resumed, or was suspended.
import { codes } from "./chart_data.js";
import { addPseudo } from "./data.js";

const states = [
  ["running", "laneRuns"],
  ["waits for a coroutine it resumed", "laneWaits"],
  ["suspended", "laneSuspended"],
  ["runs and is suspended in turn", "laneMixed"],
];
const stateOf = { runs: 0, waits: 1, suspended: 2, mixed: 3 };

// Columns with one place per stretch, those of a track one after the other by time: track, func (the
// state, a pseudo function that is added), begin, total, other (the track waited for, or -1), parent.
export function addStretches(chart, functions) {
  const ids = states.map(([name, kind]) => addPseudo(functions, name, "", kind, true));
  chart.stretches = { ...makeStretches(chart, ids), suspended: ids[stateOf.suspended] };
}

// By track: does it do anything between the two times but be suspended?
export function tracksAtWork({ stretches, tracks }, from, to) {
  const works = new Uint8Array(tracks.length);
  const { size, track, func, begin, total, suspended } = stretches;
  for (let at = 0; at < size; at++) {
    if (func[at] !== suspended && begin[at] < to && begin[at] + total[at] > from) works[track[at]] = 1;
  }
  return works;
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
