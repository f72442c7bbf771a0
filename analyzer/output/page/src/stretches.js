// SPDX-License-Identifier: MIT
// What each coroutine did in its lifetime, as far as the chart's slices show: stretches of time in
// which it ran, waited for one that it had resumed, or was suspended.
import { codes } from "./chart_data.js";
import { addPseudo } from "./data.js";

const states = [
  ["running", "laneRuns"],
  ["waiting for a coroutine it resumed", "laneWaits"],
  ["suspended", "laneSuspended"],
  ["running and suspended in turn", "laneMixed"],
];
const stateOf = { runs: 0, waits: 1, suspended: 2, mixed: 3 };

// Adds the states to `functions`; returns their numbers.
export function addStates(functions) {
  return states.map(([name, kind]) => addPseudo(functions, name, "", kind, true));
}

// Adds chart.stretches: columns with one entry per stretch, those of a track adjacent and sorted by
// time: track, func (the state, a pseudo function), begin, total, other (the track waited for, or
// -1), parent (-1); and `suspended`, the pseudo function of that state.
// ids: the numbers of the states.
export function addStretches(chart, ids) {
  chart.stretches = { ...makeStretches(chart, ids), suspended: ids[stateOf.suspended] };
}

// By track: 1 if it runs or waits at any time between the two.
export function activeTracks({ stretches, tracks }, from, to) {
  const active = new Uint8Array(tracks.length);
  const { size, track, func, begin, total, suspended } = stretches;
  for (let at = 0; at < size; at++) {
    if (func[at] !== suspended && begin[at] < to && begin[at] + total[at] > from) active[track[at]] = 1;
  }
  return active;
}

function makeStretches(chart, ids) {
  const types = { track: Int32Array, func: Int32Array, begin: Float64Array, total: Float64Array, other: Int32Array };
  const made = Object.fromEntries(Object.keys(types).map((name) => [name, []]));
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
  const size = made.track.length;
  for (const [name, type] of Object.entries(types)) made[name] = type.from(made[name]);
  return { ...made, size, parent: new Int32Array(size).fill(-1) };
}

// Within an outermost slice the coroutine runs, except where a slice in it is another state.
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
  if (func === pseudo[codes.suspended]) return stateOf.suspended;
  if (func === pseudo[codes.short] && slices.running[at] < slices.length[at] * 0.98) return stateOf.mixed;
  return stateOf.runs;
}
