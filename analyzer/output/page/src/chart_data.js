// SPDX-License-Identifier: MIT
// Decodes the chart: tracks (one for each coroutine) and their slices (calls, and periods that are
// not calls).
//
// Slices are columns with one entry per slice, those of a track adjacent and in preorder: track,
// level (0: outermost in its track), parent, func, begin, length, running, self, calls (of a block
// of short calls: their number; of a call: the number of calls in it that are not drawn), other (of
// a wait: the track that is waited for, else -1). Times are in ns since the chart's beginning.
import { addPseudo, numbersOf } from "./data.js";

// Slices that are not calls, by their code in the data. Each is drawn as a function of its kind.
const pseudoSlices = [
  ["[short calls]", "calls too short to be drawn individually", "short"],
  ["[resumed another]", "waiting for the coroutine that it resumed", "waits"],
  ["[suspended]", "suspended", "suspended"],
  ["[filtered]", "left out by the filters", "filtered"],
  ["coroutine", "from its first call to its end", "lifetime"],  // not in the data
];
export const codes = { short: 0, waits: 1, suspended: 2, filtered: 3, calls: 4, lifetime: 4 };

function newSlices(size) {
  const slices = { size };
  for (const name of ["track", "level", "parent", "func", "other"]) slices[name] = new Int32Array(size);
  for (const name of ["begin", "length", "running", "self", "calls"]) slices[name] = new Float64Array(size);
  return slices;
}

// Adds what is drawn over time but is not a function; returns the numbers, by code.
export function addPseudoSlices(functions) {
  return pseudoSlices.map(([name, where, kind]) => addPseudo(functions, name, where, kind, true));
}

// pseudo: the numbers of the pseudo functions, by code.
export function readChart(meta, base64, pseudo) {
  const counts = meta.tracks.slices;
  const slices = newSlices(counts.reduce((sum, count) => sum + count, 0));
  const number = numbersOf(base64);
  const tracks = [];
  let at = 0;
  for (let id = 0; id < counts.length; id++) {
    readSlices(slices, at, counts[id], id, number, pseudo);
    tracks.push(trackOf(meta.tracks, id, slices, at, at + counts[id]));
    at += counts[id];
  }
  const end = tracks.reduce((latest, track) => Math.max(latest, track.end), 0);
  return { ...meta, pseudo, tracks, slices, end };  // offset: from the first event to time 0
}

function readSlices(slices, from, count, track, number, pseudo) {
  const path = [];  // the last slice of each level
  let below = 0;
  let begin = 0;
  for (let at = from; at < from + count; at++) {
    const level = below - number();
    path[level] = at;
    below = level + 1;
    const code = number();
    begin += number();
    slices.track[at] = track;
    slices.level[at] = level;
    slices.parent[at] = level ? path[level - 1] : -1;
    slices.begin[at] = begin;
    slices.length[at] = number();
    slices.func[at] = code < codes.calls ? pseudo[code] : code - codes.calls;
    slices.other[at] = code === codes.waits ? number() - 1 : -1;
    slices.running[at] = code === codes.waits || code >= codes.calls ? slices.length[at] : 0;
    if (code === codes.short) readShort(slices, at, number);
    if (code >= codes.calls) readCall(slices, at, number);
  }
}

function readShort(slices, at, number) {
  slices.calls[at] = number();
  slices.self[at] = number();
  slices.running[at] = slices.length[at] - number();
}

function readCall(slices, at, number) {
  slices.self[at] = number();
  slices.running[at] = slices.length[at] - number();
  slices.calls[at] = number();
}

function trackOf(columns, id, slices, first, last) {
  let longest = -1;  // outermost call
  let levels = 0;
  for (let at = first; at < last; at++) {
    levels = Math.max(levels, slices.level[at] + 1);
    if (slices.level[at] === 0 && (longest < 0 || slices.length[at] > slices.length[longest])) longest = at;
  }
  const life = columns.end[id] - columns.begin[id];
  return {
    id, first, last, levels, life,
    name: columns.name[id],
    thread: columns.threads[columns.thread[id]],
    func: longest < 0 ? -1 : slices.func[longest],
    begin: columns.begin[id],
    end: columns.end[id],
    suspended: columns.suspended[id],
    waiting: columns.waiting[id],
    running: Math.max(0, life - columns.suspended[id] - columns.waiting[id]),
    resumes: columns.resumes[id],
    resumer: columns.resumer[id] - 1,
    file: columns.file[id],
    vm: columns.vm[id],
  };
}
